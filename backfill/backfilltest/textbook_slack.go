package backfilltest

import (
	"math/big"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TextbookSlack is slack without any shortcuts: it asks every waiting job in each round. It follows
// [backfill.Planning].
type TextbookSlack struct {
	Factor string        // of the estimate, as a decimal number
	Base   backfill.Time // slack besides
	Cap    backfill.Time // the longest slack; 0: no limit
	Aging  float64
	Wide   float64 // how often the share of the pool counts for aging
	// Stay says that reservations stay on their slots.
	Stay bool
}

// Decide reacts to each event in turn, lets jobs enter the plan up to its depth, and goes once
// through the queue.
func (t TextbookSlack) Decide(c *backfill.Cycle) {
	for e, more := c.Next(); more; e, more = c.Next() {
		atOnce := allWithin(c, &e)
		for _, j := range e.Displaced {
			if _, promised := c.State().Guaranteed(j.ID); promised {
				t.again(c, j)
			} else if atOnce {
				t.reserve(c, j)
			}
		}
		if e.Kind == backfill.Submitted && atOnce {
			t.enter(c, e.Job)
		}
	}
	admit(c, func(j *backfill.Job) { t.enter(c, j) })
	if t.Aging > 0 {
		t.moveAged(c)
	}
	m := moving{c: c, divisible: divisible(c)}
	for j := range c.Queue() {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
			m.vain = nil
		} else if !t.Stay {
			m.start(j)
		}
	}
}

// moveAged moves each job that has waited for long to its earliest start, in order of jobs, until
// those need the whole pool.
func (t TextbookSlack) moveAged(c *backfill.Cycle) {
	jobs := c.Fast().Planned()
	slices.SortFunc(jobs, backfill.Compare)
	moved := 0.0
	for _, j := range jobs {
		planned, _, _ := c.Reservation(j)
		latest, promised := c.State().Guaranteed(j.ID)
		if !promised ||
			float64(c.Now()-j.Submit) < t.Aging*max(0, 1-float64(t.Wide*share(c, j)))*float64(latest-j.Submit) {
			continue
		}
		if moved >= 1 {
			return
		}
		if moved += share(c, j); planned <= c.Now() {
			continue
		}
		if start, a, ok := t.earliest(c, j, c.Now()); ok {
			if start < planned {
				apply(c, a, func() { c.Reserve(j, start, a.At) })
			}
		} else if start, at, ok := c.Earliest(j, c.Now()); ok && start < planned {
			c.Reserve(j, start, at)
		}
	}
}

// share returns which part of the pool a job needs, of the resource of which that is largest.
func share(c *backfill.Cycle, j *backfill.Job) (largest float64) {
	for k, all := range c.Capacity() {
		if all > 0 {
			largest = max(largest, float64(j.Total()[k])/float64(all))
		}
	}
	return min(largest, 1)
}

// enter plans a job that enters the plan, and promises it the planned start.
func (t TextbookSlack) enter(c *backfill.Cycle, j *backfill.Job) {
	if _, promised := c.State().Guaranteed(j.ID); promised { // it had no start when it lost its place
		t.again(c, j)
		return
	}
	t.reserve(c, j)
	if start, _, ok := c.Reservation(j); ok {
		c.Guarantee(j, start)
	}
}

// reserve plans a job for its earliest start after its slack.
func (t TextbookSlack) reserve(c *backfill.Cycle, j *backfill.Job) {
	if first, _, ok := t.earliest(c, j, c.Now()); ok {
		if start, a, fits := t.earliest(c, j, first+t.slack(j)); fits {
			apply(c, a, func() { c.Reserve(j, start, a.At) })
			return
		}
	}
	soonest, at, ok := c.Earliest(j, c.Now())
	if !ok {
		holdUnlessItCloses(c, j)
		return
	}
	start := soonest
	if late, on, fits := c.Earliest(j, soonest+t.slack(j)); fits {
		start, at = late, on
	}
	c.Reserve(j, start, at)
}

// again plans a job that lost its place at its earliest start.
func (t TextbookSlack) again(c *backfill.Cycle, j *backfill.Job) {
	if start, a, ok := t.earliest(c, j, c.Now()); ok {
		apply(c, a, func() { c.Reserve(j, start, a.At) })
		return
	}
	Textbook{}.Place(c, j)
}

// earliest is earliestInSums where the sums decide; else ok is false.
func (t TextbookSlack) earliest(c *backfill.Cycle, j *backfill.Job, from backfill.Time) (start backfill.Time,
	a backfill.Arrangement, ok bool,
) {
	if t.Stay || !divisible(c) {
		return 0, a, false
	}
	return earliestInSums(c, j, from)
}

// slack returns how long after its earliest start a job is promised to start.
func (t TextbookSlack) slack(j *backfill.Job) backfill.Time {
	factor, _ := new(big.Rat).SetString(t.Factor)
	product := factor.Mul(factor, new(big.Rat).SetInt64(int64(j.Estimate)))
	slack := backfill.Time(new(big.Int).Div(product.Num(), product.Denom()).Int64())
	if !product.IsInt() {
		slack++
	}
	if slack += t.Base; t.Cap > 0 {
		return min(slack, t.Cap)
	}
	return slack
}
