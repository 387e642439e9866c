// Package slack is slack-based backfilling with late reservations. At its arrival a job is promised
// a start: the earliest that conservative would give it, and a slack on top. Its reservation stands
// there, far from now, so that the near future is open to any order: in each round every job starts
// that fits beside what runs and all reservations but its own, in the queue's order.
//
// The idea of slack is that of D. Talby and D. Feitelson, Supporting priorities and improving
// utilization of the IBM SP scheduler using slack-based backfilling, IPPS 1999. The mechanism is
// ours: a reservation is made late and stays, where theirs weighs slacks whenever it schedules.
//
//   - slack.go: the policy and its options
//   - aging.go: jobs that have waited long move to earlier starts, an option
package slack

import (
	"errors"
	"math"
	"math/bits"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/plan"
)

// Spec describes the policy with the defaults under which nobody pays, not even wide jobs.
func Spec() backfill.PolicySpec {
	return spec("slack", "promises each job at its arrival its earliest start and a slack, and starts any job that "+
		"delays no promise, in the queue's order", "wfp-wide", "2")
}

// SmallSpec describes the policy with the defaults that serve the many small jobs of a pool best.
func SmallSpec() backfill.PolicySpec {
	return spec("slack-small", "slack with the order and the aging that serve small jobs best, at the cost of wide ones",
		"wfp", "1")
}

func spec(name, doc, order, wide string) backfill.PolicySpec {
	return backfill.PolicySpec{
		Name:       name,
		Doc:        doc,
		Promise:    "each job starts by the time it was told at its arrival, which is its earliest start then and a slack",
		Source:     "the idea of slack: Talby and Feitelson, IPPS 1999; the mechanism is this project's",
		Guarantees: true,
		PlanDepth:  true,
		Order:      order,
		Estimates:  "learned",
		Options: []backfill.Option{
			{
				Name: "factor", Default: "8", Type: backfill.Number, Range: backfill.Range{Low: 0, High: maxFactor},
				Doc: "the slack, as a multiple of the estimate", Check: checkFactor,
			},
			{
				Name: "base", Default: "0", Type: backfill.LengthOfTime,
				Doc: "slack that each job has besides",
			},
			{
				Name: "cap", Default: "0", Type: backfill.LengthOfTime,
				Doc: "the longest slack; 0: no limit",
			},
			{
				Name: "aging", Default: "2", Type: backfill.Number, Range: backfill.Range{Low: 0, High: maxFactor},
				Doc: "a job that has waited this share of its longest promised wait (wide jobs less) moves to its " +
					"earliest start; 0: off",
			},
			{
				Name: "wide", Default: wide, Type: backfill.Number, Range: backfill.Range{Low: 0, High: maxFactor},
				Doc: "how often the share of the pool that a job needs counts for aging: a job is aged after aging × " +
					"(1 − wide × share) of its longest promised wait",
			},
			{
				Name: "replace", Default: "true", Type: backfill.Flag,
				Doc: "on many slots, reservations move to other slots at their same starts where a job fits now because of that",
			},
		},
		New: func(v backfill.Values) (backfill.Policy, error) {
			p := policy{
				factor: millionths(v.Number("factor")), base: v.Time("base"), most: v.Time("cap"), aging: v.Number("aging"),
				wide:    v.Number("wide"),
				replace: v.Flag("replace"),
			}
			if p.most == 0 {
				p.most = backfill.MaxTime
			}
			return p, nil
		},
	}
}

// policy is the policy with its options.
type policy struct {
	factor uint64 // in millionths, so that a decimal fraction is exact
	base   backfill.Time
	most   backfill.Time // the cap
	aging  float64       // 0: off
	wide   float64       // how often the share of the pool counts for aging
	// replace says that reservations may move to other slots.
	replace bool
}

// tries is for how many jobs a round tries to move others to other slots.
const tries = 8

const (
	maxFactor = 1_000_000
	million   = 1_000_000
)

// millionths returns a factor in millionths, rounded.
func millionths(factor float64) uint64 { return uint64(math.Round(factor * million)) }

// checkFactor refuses a factor that would have to be rounded.
func checkFactor(value string) error {
	factor, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return err
	}
	if float64(millionths(factor))/million != factor {
		return errors.New("must have at most six decimals")
	}
	return nil
}

// Decide implements [backfill.Policy].
func (p policy) Decide(c *backfill.Cycle) {
	var entered []*backfill.Job
	plan.Enter(c, func(j *backfill.Job) { p.reserve(c, j, 0) }, func(j *backfill.Job) {
		p.reserve(c, j, p.slack(j.Estimate))
		entered = append(entered, j)
	})
	if p.aging > 0 {
		p.moveAged(c, entered)
	}
	if !p.replace {
		for j, at := range c.Fast().Startable() {
			c.Start(j, at)
		}
		return
	}
	for j, a := range c.Fast().StartableBeside(tries) {
		c.Fast().Rearrange(a, func() { c.Start(j, a.At) })
	}
}

// slack returns how long after its earliest start a job is promised to start.
func (p policy) slack(estimate backfill.Time) backfill.Time {
	high, low := bits.Mul64(p.factor, uint64(estimate))
	if high >= million {
		return p.most
	}
	whole, rest := bits.Div64(high, low, million)
	if rest > 0 {
		whole++
	}
	if whole > uint64(p.most) {
		return p.most
	}
	return min(p.most, p.base+backfill.Time(whole))
}

// reserve makes a job's reservation: at its earliest start that is the given time after the earliest,
// or at the earliest if its candidates close before that. A job whose candidates all close before it
// could begin is left without one; another that fits at no time is held.
func (p policy) reserve(c *backfill.Cycle, j *backfill.Job, later backfill.Time) {
	soonest := j.NotBefore(c.Now())
	if p.replace && reserveBeside(c, j, soonest, later) {
		return
	}
	from := soonest
	if later > 0 { // only the start counts, so no slots are chosen
		first, fits := c.State().Profile().EarliestAhead(c.State().Request(j), backfill.Forever, soonest, backfill.Forever)
		if fits {
			soonest, from = first, first+later
		}
	}
	start, at, ok := c.Earliest(j, from)
	if !ok && from > soonest {
		start, at, ok = c.Earliest(j, soonest)
	}
	switch {
	case ok:
		c.Reserve(j, start, at)
	case !c.Fast().NoStart(j):
		c.Hold(j, "fits at no time that can be foreseen")
	}
}

// reserveBeside makes a job's reservation where the sums of the pool say when it may start, and reports
// whether it did.
func reserveBeside(c *backfill.Cycle, j *backfill.Job, soonest, later backfill.Time) bool {
	start, ok := c.Fast().EarliestBeside(j, soonest)
	if ok && later > 0 {
		start, ok = c.Fast().EarliestBeside(j, start+later)
	}
	return ok && placeBeside(c, j, start)
}

// placeBeside makes a job's reservation at a start that the sums of the pool allow, and reports
// whether it did.
func placeBeside(c *backfill.Cycle, j *backfill.Job, start backfill.Time) bool {
	a, ok := c.Fast().Beside(j, start)
	if ok {
		c.Fast().Rearrange(a, func() { c.Reserve(j, start, a.At) })
	}
	return ok
}
