package slack

import (
	"container/heap"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// ages are the waiting jobs with reservations. They are the policy's memo, so that a round looks only
// at those that are aged.
type ages struct {
	young byInstant
	aged  []*backfill.Job // in order of jobs; some may not wait any more
}

// young is a job with the instant from which on it is aged.
type young struct {
	at  backfill.Time
	job *backfill.Job
}

// moveAged moves the reservations of aged jobs to their earliest starts, in order of jobs, until
// those that had their turn need the whole pool: if all of a long line of wide jobs moved, narrow
// jobs would wait for all of them. A job is aged when it has waited the option's share of the longest
// wait that it was promised; of a job that needs a share w of the pool, 1-kw times that is enough,
// where k is the option wide. The parameter entered lists the jobs that got reservations in this
// round.
func (p policy) moveAged(c *backfill.Cycle, entered []*backfill.Job) {
	a, ok := c.Fast().Memo().(*ages)
	unsettled := slices.ContainsFunc(c.Fast().Round().Events, unsettles)
	if !ok || unsettled {
		a, entered = new(ages), c.Fast().Planned()
	}
	if !unsettled { // else the end of the round may change what was promised
		c.Fast().Remember(a)
	}
	for _, j := range entered {
		if latest, promised := c.State().Guaranteed(j.ID); promised {
			heap.Push(&a.young, young{j.Submit + p.ageAfter(c, j, latest-j.Submit), j})
		}
	}
	for len(a.young) > 0 && a.young[0].at <= c.Now() {
		a.aged = append(a.aged, heap.Pop(&a.young).(young).job) //nolint:forcetypeassert // it holds nothing else
	}
	a.aged = slices.DeleteFunc(a.aged, func(j *backfill.Job) bool {
		_, _, waits := c.Reservation(j)
		return !waits
	})
	slices.SortFunc(a.aged, backfill.Compare)
	moved := 0.0 // what those that may move need of the pool, together
	for _, j := range a.aged {
		if moved >= 1 {
			return
		}
		moved += share(c, j)
		planned, _, _ := c.Reservation(j)
		if planned <= c.Now() {
			continue
		}
		if p.replace && moveBeside(c, j, planned) {
			continue
		}
		if start, at, ok := c.Earliest(j, c.Now()); ok && start < planned {
			c.Reserve(j, start, at)
		}
	}
}

// moveBeside moves a job's reservation to its earliest start, if that is before the planned one and
// the sums of the pool say when it is, and reports whether they do.
func moveBeside(c *backfill.Cycle, j *backfill.Job, planned backfill.Time) bool {
	start, ok := c.Fast().EarliestBeside(j, c.Now())
	return ok && (start >= planned || placeBeside(c, j, start))
}

// ageAfter returns after which wait a job is aged if it was promised to wait no longer than longest.
// Each operation is rounded once, so that every machine comes to the same result.
func (p policy) ageAfter(c *backfill.Cycle, j *backfill.Job, longest backfill.Time) backfill.Time {
	// One of the longest waits, multiplied by the option, may be more than an instant can hold.
	after := math.Ceil(p.aging * max(0, 1-float64(p.wide*share(c, j))) * float64(longest))
	return backfill.Time(min(after, float64(backfill.Forever/2)))
}

// share returns which share of the pool a job needs, that of the resource of which it is largest.
func share(c *backfill.Cycle, j *backfill.Job) (largest float64) {
	for k, amount := range j.Request {
		if all := c.Capacity()[k]; all > 0 {
			largest = max(largest, float64(amount)*float64(j.Nodes)/float64(all))
		}
	}
	return largest
}

// unsettles reports whether an event may change jobs that wait, what they were promised, or how much
// the pool has.
func unsettles(e backfill.Event) bool {
	return e.Kind != backfill.Submitted && e.Kind != backfill.Completed && e.Kind != backfill.Wake &&
		e.Kind != backfill.Released
}

// byInstant is a heap of jobs, that which is aged first on top.
type byInstant []young

func (h byInstant) Len() int           { return len(h) }
func (h byInstant) Less(i, j int) bool { return h[i].at < h[j].at }
func (h byInstant) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byInstant) Push(x any)        { *h = append(*h, x.(young)) } //nolint:forcetypeassert // see above

// Pop implements [heap.Interface].
func (h *byInstant) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
