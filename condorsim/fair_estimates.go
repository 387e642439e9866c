package condorsim

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// foretell keeps the run time that the order goes by, which is not in the state. The
// estimators are asked as they were just now: they learn before anything is decided.
func (f *fairStarts) foretell(j *backfill.Job) {
	if f.estimates == nil {
		return
	}
	asked := f.w.Jobs[j.ID].asked()
	asked.Actual = f.w.actual(j.ID)
	if t := f.estimates.Estimate(&asked).Order; t != j.Estimate {
		ordered := *j
		ordered.Estimate = t
		f.ordered[j.ID] = &ordered
	}
}

// order is the one of copies, in which jobs are foretold what they were at their
// arrival.
func (f *fairStarts) order(by backfill.Order) backfill.Order {
	if f.estimates == nil || by == nil {
		return by
	}
	return func(j *backfill.Job, now backfill.Time) (key float64, moves bool) {
		return by(cmp.Or(f.ordered[j.ID], j), now)
	}
}
