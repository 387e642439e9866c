package backfilltest

import (
	"math/big"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TextbookSlack is slack without any shortcuts: it asks every waiting job in each round. It follows
// [backfill.Planning].
type TextbookSlack struct {
	Factor string        // of the estimate, as a decimal number
	Base   backfill.Time // slack besides
	Cap    backfill.Time // the longest slack; 0: no limit
}

// Decide reacts to each event in turn, lets jobs enter the plan up to its depth, and goes once
// through the queue.
func (t TextbookSlack) Decide(c *backfill.Cycle) {
	for e, more := c.Next(); more; e, more = c.Next() {
		atOnce := allWithin(c, &e)
		for _, j := range e.Displaced {
			if _, promised := c.Guaranteed(j); promised {
				Textbook{}.Place(c, j)
			} else if atOnce {
				t.enter(c, j)
			}
		}
		if e.Kind == backfill.Submitted && atOnce {
			t.enter(c, e.Job)
		}
	}
	for _, j := range beyond(c) {
		if depth := c.State().Planning().Depth; depth == 0 || len(c.Planned()) < depth {
			t.enter(c, j)
		}
	}
	for j := range c.Queue() {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		}
	}
}

// enter plans a job that enters the plan for its earliest start after its slack, and promises that.
func (t TextbookSlack) enter(c *backfill.Cycle, j *backfill.Job) {
	soonest, _, ok := c.Earliest(j, c.Now())
	if !ok {
		c.Hold(j, "fits at no time that can be foreseen")
		return
	}
	start, at, _ := c.Earliest(j, soonest+t.slack(j))
	c.Reserve(j, start, at)
	c.Guarantee(j, start)
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
