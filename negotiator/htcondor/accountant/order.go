package accountant

import (
	"slices"
	"sort"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Order makes fair share the order of a queue: its Key is a [backfill.Order]. Call Open at the
// start of each cycle. It is not safe for concurrent use.
type Order struct {
	a       *Accountant
	entry   func(*backfill.Job) Waiting
	waiting func() []Waiting
	share   *Share // nil: not asked for since Open
}

// NewOrder returns an order without waiting jobs. The callback returns the submitter, weight and
// priority of a job; Order sets the ID.
func NewOrder(a *Accountant, entry func(*backfill.Job) Waiting) *Order {
	o := &Order{a: a, entry: entry}
	o.Open(func() []Waiting { return nil })
	return o
}

// Open begins a cycle. The callback returns the waiting jobs, in the order of [backfill.Compare].
// It is called when the first key is asked for, if any is: their keys follow from the accountant's
// data then.
func (o *Order) Open(waiting func() []Waiting) { o.waiting, o.share = waiting, nil }

// Key returns the job's key until the next Open. A job that does not wait by Open's callback counts
// as one that has arrived since. The key always moves with time: the next cycle has other keys.
func (o *Order) Key(j *backfill.Job, _ backfill.Moment) (key float64, moves backfill.Moves) {
	if o.share == nil {
		o.share = o.a.Share(o.waiting())
	}
	key, known := o.share.Key(j.ID)
	if !known {
		key = o.share.Arrive(o.describe(j))
	}
	return key, backfill.Moves{WithTime: true}
}

// Passed returns a function that tells how many of the jobs that started came behind another one, by
// their keys since Open; nil if it does not matter, as no key was asked for or there are no groups.
func (o *Order) Passed(started []backfill.JobID) func(backfill.JobID) int {
	if o.share == nil || !o.share.mixed {
		return nil
	}
	var keys []float64
	for _, id := range started {
		if key, known := o.share.Key(id); known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return func(id backfill.JobID) int {
		key, known := o.share.Key(id)
		if !known {
			return 0
		}
		return sort.Search(len(keys), func(i int) bool { return keys[len(keys)-1-i] <= key })
	}
}

func (o *Order) describe(j *backfill.Job) Waiting {
	w := o.entry(j)
	w.ID = j.ID
	return w
}
