package estimate

import "github.com/condor-backfill/condor-backfill/backfill"

// Basis is what a prediction was made of.
type Basis struct {
	// Estimator is the one for the queue's order, as users write it, and Predicted what it predicts.
	Estimator string
	Predicted backfill.Time
	// Parts are what it rests on, from the jobs that are most alike to all; nil: the estimator does not
	// tell, or it knows no job.
	Parts []Part
}

// Part is a group of jobs that are alike and what they count in a prediction.
type Part struct {
	// Alike says what the jobs have in common, for a sentence: "of the user with the same request".
	Alike string
	// Ended and Running are how many jobs count: those that ended last, and those that started last.
	Ended, Running int
	// Share is the part of the prediction that is the mean of these jobs, from 0 to 1.
	Share float64
}

// alike says what the jobs of a key have in common.
var alike = [levels]string{
	sameProgram: "of the user with the same executable, request and cpus",
	sameShape:   "of the user with the same request and cpus",
	sameRequest: "of the user with the same request",
	sameUser:    "of the user",
	anyJob:      "of all users",
}

// Basis returns what the prediction for the queue's order is made of. It changes nothing.
func (s *Set) Basis(j *Job, now backfill.Time) Basis {
	b := Basis{Estimator: s.names[s.order], Predicted: s.Estimate(j, now).Order}
	l := s.bases[s.order]
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
