package estimate

import (
	"fmt"
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Basis is what a prediction was made of.
type Basis struct {
	// Estimator is the one that predicts, as users write it, and Predicted what it predicts.
	Estimator string        `json:"estimator"`
	Predicted backfill.Time `json:"-"`
	// Parts are what it rests on, from the jobs that are most alike to all; nil: the estimator does not
	// tell, or it knows no job.
	Parts []Part `json:"parts,omitempty"`
}

// Part is a group of jobs that are alike and what they count in a prediction.
type Part struct {
	// Alike says what the jobs have in common, for a sentence: "of the user with the same request".
	Alike string `json:"alike"`
	// Ended and Running are how many jobs count: those that ended last, and those that started last.
	Ended   int `json:"ended"`
	Running int `json:"running"`
	// Share is the part of the prediction that is the mean of these jobs, from 0 to 1.
	Share float64 `json:"share"`
}

// ofTheUser begins what jobs of one user have in common.
const ofTheUser = "of the user"

// alike says what the jobs of a key have in common.
var alike = [levels]string{
	sameProgram: ofTheUser + " with the same executable, request and cpus",
	sameShape:   ofTheUser + " with the same request and cpus",
	sameRequest: ofTheUser + " with the same request",
	sameUser:    ofTheUser,
	anyJob:      "of all users",
}

// Basis returns what the prediction for the queue's order is made of. It changes nothing.
func (s *Set) Basis(j *Job, now backfill.Time) Basis { return s.basis(j, now, s.order) }

// PlannedBasis returns what the prediction is made of with which a waiting job is placed. It changes
// nothing.
func (s *Set) PlannedBasis(j *Job, now backfill.Time) Basis { return s.basis(j, now, s.backfill) }

// basis returns what an estimator's prediction is made of.
func (s *Set) basis(j *Job, now backfill.Time, which int) Basis {
	b := Basis{
		Estimator: s.names[which],
		Predicted: max(1, min(s.estimators[which](j, now), j.Requested)),
	}
	l := s.bases[which]
	if l == nil {
		return b
	}
	var parts [levels]part
	l.mean(j, now, &parts)
	for level, p := range parts {
		if p.ended+p.running > 0 {
			b.Parts = append(b.Parts, Part{Alike: alike[level], Ended: p.ended, Running: p.running, Share: p.share})
		}
	}
	return b
}

// Describe says what a prediction rests on, to stand behind it: "by the last 8 jobs of ann with the same
// request, and to 20 % by others". The jobs that count most are named, and the others if they count for a
// tenth. The user is whose job it is; "": nobody is named.
func (b Basis) Describe(user string) string {
	if len(b.Parts) == 0 {
		return "by the estimator " + b.Estimator
	}
	most := b.Parts[0]
	for _, p := range b.Parts[1:] {
		if p.Share > most.Share {
			most = p
		}
	}
	text := "by " + most.describe(user)
	if others := math.Round(float64(100 * (1 - most.Share))); others >= few {
		text += fmt.Sprintf(", and to %.0f %% by others", others)
	}
	return text
}

// few is which share others may have of a prediction without being named, in percent.
const few = 10

// describe says which jobs they are, as words of a sentence.
func (p Part) describe(user string) string {
	whose := p.Alike
	if rest, ofUser := strings.CutPrefix(whose, ofTheUser); ofUser && user != "" {
		whose = "of " + user + rest
	}
	run := "run"
	if p.Running == 1 {
		run = "runs"
	}
	ended := fmt.Sprintf("the last %d jobs %s", p.Ended, whose)
	if p.Ended == 1 {
		ended = "the last job " + whose
	}
	switch {
	case p.Ended > 0 && p.Running > 0:
		return fmt.Sprintf("%s and %d that still %s", ended, p.Running, run)
	case p.Ended > 0:
		return ended
	case p.Running == 1:
		return "1 job " + whose + " that still runs"
	default:
		return fmt.Sprintf("%d jobs %s that still run", p.Running, whose)
	}
}
