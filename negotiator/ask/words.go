package ask

import (
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// Words are a question as a user writes it.
type Words struct {
	Job       *whatif.Job // nil: none is asked about
	Policy    string      // another one
	PolicyOpt map[string]string
	Order     string
	Estimates string
	Without   []string // slots or machines
	With      []string // more slots, such as cpus=64,count=4
	Drain     []string // slots or machines, from an instant on and for a time
	From, For string
}

// Question puts the words into a question, with instants as the clock reads them.
func (w Words) Question(now backfill.Time, clock instant.Clock) (q whatif.Question, err error) {
	q = whatif.Question{
		Job: w.Job, Policy: w.Policy, Options: w.PolicyOpt, Order: w.Order, Estimates: w.Estimates, Without: w.Without,
	}
	for _, spec := range w.With {
		more, wrong := negotiator.ReadMoreSlots(spec)
		if wrong != nil {
			return q, fmt.Errorf("--with %s: %w", spec, wrong)
		}
		q.With = append(q.With, more)
	}
	if len(w.Drain) == 0 {
		if w.From != "" || w.For != "" {
			return q, errors.New("--from and --for: name with --drain what is to be drained")
		}
		return q, nil
	}
	from, err := readInstant(w.From, now, clock)
	if err != nil {
		return q, fmt.Errorf("--from %s: %w", w.From, err)
	}
	if w.For == "" {
		return q, errors.New("--drain: say with --for how long, such as --for 4h")
	}
	length, err := readSpan(w.For)
	if err != nil {
		return q, fmt.Errorf("--for %s: %w", w.For, err)
	}
	if from+length <= int64(now) {
		return q, fmt.Errorf("--from %s and --for %s: that was over at %s, and it is %s", w.From, w.For, clock.Text(from+length),
			clock.Text(int64(now)))
	}
	for _, slot := range w.Drain {
		q.Drain = append(q.Drain, whatif.Drain{Slot: slot, From: from, For: length})
	}
	return q, nil
}
