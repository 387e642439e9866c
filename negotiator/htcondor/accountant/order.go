package accountant

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Order makes fair share the order of a queue: its Key is a [backfill.Order]. Call Open at the
// start of each cycle. It is not safe for concurrent use.
type Order struct {
	a     *Accountant
	of    func(*backfill.Job) Waiting
	share *Share
}

// NewOrder returns an order without waiting jobs. The callback returns the submitter, weight and
// priority of a job; Order sets the ID.
func NewOrder(a *Accountant, of func(*backfill.Job) Waiting) *Order {
	o := &Order{a: a, of: of}
	o.Open(nil)
	return o
}

// Open computes the keys of the waiting jobs, given in any order, from the accountant's current
// data.
func (o *Order) Open(jobs []*backfill.Job) {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, backfill.Compare)
	waiting := make([]Waiting, len(jobs))
	for i, j := range jobs {
		waiting[i] = o.describe(j)
	}
	o.share = o.a.Share(waiting)
}

// Key returns the job's key until the next Open. A job that was not passed to Open counts as one
// that has arrived since. moves is always true: the next cycle has other keys.
func (o *Order) Key(j *backfill.Job, _ backfill.Time) (key float64, moves bool) {
	key, known := o.share.Key(j.ID)
	if !known {
		key = o.share.Arrive(o.describe(j))
	}
	return key, true
}

func (o *Order) describe(j *backfill.Job) Waiting {
	w := o.of(j)
	w.ID = j.ID
	return w
}
