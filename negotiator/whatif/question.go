package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Question is what is asked. Either Job is set, or at least one of the others.
type Question struct {
	Job *Job `json:"job,omitempty"`
	// Policy is the name of another policy, with Options of its own; "": the one in charge.
	Policy  string            `json:"policy,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Order and Estimates are names of another order of the queue and of other estimators.
	Order     string `json:"order,omitempty"`
	Estimates string `json:"estimates,omitempty"`
	// Without are slots, or machines with all their slots, that take no more jobs.
	Without []string `json:"without,omitempty"`
	With    []Slots  `json:"with,omitempty"`
	Drain   []Drain  `json:"drain,omitempty"`
}

// Job is a job that is not in the pool.
type Job struct {
	// Ad is its ad, one attribute a line.
	Ad string `json:"ad"`
	// Seconds is the run time that it asks for; 0: what the ad says.
	Seconds int64 `json:"seconds,omitempty"`
}

// Slots are further slots.
type Slots = negotiator.MoreSlots

// Drain is a slot, or a machine with all its slots, that is drained for a time: from then on no job
// starts there until the time is over. What runs there finishes.
type Drain struct {
	Slot string `json:"slot"`
	// From is an instant in the pool's seconds; one that is past is now.
	From int64 `json:"from"`
	// For is how long, in seconds.
	For int64 `json:"for"`
}

// BadQuestion is a question to which there is no answer, with the reason.
type BadQuestion struct{ Err error }

func (e *BadQuestion) Error() string { return e.Err.Error() }
func (e *BadQuestion) Unwrap() error { return e.Err }

func badly(format string, args ...any) error { return &BadQuestion{fmt.Errorf(format, args...)} }

// The bounds of a question.
const (
	longestQuestion = 64 << 10
	mostTokens      = 16 << 10 // names, constants and signs of a job's ad
	mostSlots       = 10_000   // that come
	mostNames       = 1000     // of slots that go
	mostDrains      = 20       // each of them changes what jobs may use at two instants
)

// Read reads a question as JSON, from a stranger.
func Read(text string) (q Question, err error) {
	if len(text) > longestQuestion {
		return q, badly("a question of %d bytes: at most %d are allowed", len(text), longestQuestion)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err = d.Decode(&q); err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return q, q.Validate()
		}
		err = errors.New("there is more behind it")
	}
	return q, badly("the question cannot be read: %s", inwords.JSON(err))
}

// Estimators are the names of those that can be asked about. The others need a file, or the run
// times that only a simulation knows.
func Estimators() []string {
	return slices.DeleteFunc(estimate.Names(false), func(usage string) bool { return strings.Contains(usage, ":") })
}

// Validate refuses a question that has no answer in any pool.
func (q *Question) Validate() error {
	change := q.Policy != "" || q.Options != nil || q.Order != "" || q.Estimates != "" ||
		len(q.Without)+len(q.With)+len(q.Drain) > 0
	switch {
	case q.Job == nil && !change:
		return badly("nothing is asked: name a job, or what is to be otherwise")
	case q.Job != nil && change:
		return badly("ask one at a time: about a job, or about another policy or other slots")
	case q.Options != nil && q.Policy == "":
		return badly("name the policy with whose options to plan")
	case q.Job != nil && (q.Job.Seconds < 0 || q.Job.Seconds > backfill.MaxTime):
		return badly("a run time of %d s: must be from 1 to %d", q.Job.Seconds, int64(backfill.MaxTime))
	case len(q.Without)+len(q.Drain) > mostNames:
		return badly("%d names of slots: at most %d are allowed", len(q.Without)+len(q.Drain), mostNames)
	case len(q.Drain) > mostDrains:
		return badly("%d drains: at most %d are allowed", len(q.Drain), mostDrains)
	}
	if q.Estimates != "" && !slices.Contains(Estimators(), q.Estimates) {
		return badly("estimator %q: must be one of %s", backfill.Printable(q.Estimates, 100),
			strings.Join(Estimators(), ", "))
	}
	for _, name := range []string{q.Policy, q.Order} {
		if strings.ContainsAny(name, "/\\:. \n") {
			return badly("%q: must be a name", backfill.Printable(name, 100))
		}
	}
	return q.validateSlots()
}

func (q *Question) validateSlots() error {
	if len(q.With) > 1 {
		return badly("ask for one kind of further slots at a time")
	}
	for _, s := range q.With {
		if s.Count < 1 || s.Count > mostSlots {
			return badly("%d more slots: must be from 1 to %d", s.Count, mostSlots)
		}
		for resource, amount := range s.Amounts {
			if amount < 0 || amount > backfill.MaxAmount {
				return badly("%d %s: must be from 0 to %d", amount, backfill.Printable(resource, 100), int64(backfill.MaxAmount))
			}
		}
	}
	for _, d := range q.Drain {
		switch {
		case d.For < 1 || d.For > backfill.MaxTime:
			return badly("drained for %d s: must be from 1 to %d", d.For, int64(backfill.MaxTime))
		case d.From < 0 || d.From > backfill.MaxTime:
			return badly("drained from %d s on: must be from 0 to %d", d.From, int64(backfill.MaxTime))
		}
	}
	return nil
}
