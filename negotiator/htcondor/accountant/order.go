package accountant

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Order is fair share as the order of a queue: its Key is a [backfill.Order].
// Each cycle begins with Open. One goroutine at a time may use it.
type Order struct {
	a     *Accountant
	of    func(*backfill.Job) Waiting
	share *Share
}

// NewOrder is the order of jobs of which the function knows submitter, weight
// and priority; the ID is set for it.
func NewOrder(a *Accountant, of func(*backfill.Job) Waiting) *Order {
	o := &Order{a: a, of: of}
	o.Open(nil)
	return o
}

// Open computes the keys of the waiting jobs, in whatever order they come, from
// what the accountant knows now.
func (o *Order) Open(jobs []*backfill.Job) {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, backfill.Compare)
	waiting := make([]Waiting, len(jobs))
	for i, j := range jobs {
		waiting[i] = o.describe(j)
	}
	o.share = o.a.Share(waiting)
}

// Key is the job's key until the next Open; a job that Open was not given is one
// that has arrived since. Moves is true: the next cycle has other keys.
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
