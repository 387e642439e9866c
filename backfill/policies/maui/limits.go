package maui

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// level says whether the soft or the hard limits apply. Soft limits are the lower ones.
type level uint8

const (
	soft level = iota
	hard
)

// The kinds of limits: the indexes of bounds and total.
const (
	maxJob  = iota // jobs
	maxProc        // cpus
	maxPS          // cpus × estimate
)

// limitNames lists Maui's names of the limits.
var limitNames = [...]string{maxJob: "MAXJOB", maxProc: "MAXPROC", maxPS: "MAXPS"}

// total is the amount in use of each kind that is limited.
type total [len(limitNames)]amount

// totalOf returns what one job uses of each kind that is limited.
func totalOf(j *backfill.Job) total {
	return total{maxJob: product(1, 1), maxProc: product(j.Width(), 1), maxPS: product(j.Width(), int64(j.Estimate))}
}

// bound is one limit. The zero value limits nothing.
type bound struct {
	set        bool
	soft, hard int64
}

func (b bound) at(l level) amount {
	if l == soft {
		return product(b.soft, 1)
	}
	return product(b.hard, 1)
}

// bounds holds the limits of one user, group, account or QOS.
type bounds [len(limitNames)]bound

// everyone is the name for the limits of all users, groups, accounts or QOS's without limits of
// their own.
const everyone = "DEFAULT"

// limits holds the throttling limits, with an entry for each label of jobs that is limited.
type limits []limitsBy

type limitsBy struct {
	label string            // owner, group, account, qos
	who   map[string]bounds // by value of the label
}

// of returns the bounds for one value of the label. For a kind without a bound of its own, it is
// that of everyone.
func (l limitsBy) of(name string) bounds {
	own, all := l.who[name], l.who[everyone]
	for k := range own {
		if !own[k].set {
			own[k] = all[k]
		}
	}
	return own
}

// levels returns the levels of the backfill passes, in order. If all soft and hard limits are
// equal, one pass is enough.
func (ls limits) levels() []level {
	for _, l := range ls {
		for _, own := range l.who {
			for _, b := range own {
				if b.soft < b.hard {
					return []level{soft, hard}
				}
			}
		}
	}
	return []level{soft}
}

// credential is a label of a job with its value, such as an owner and the name.
type credential struct{ label, name string }

// usage is how much the running jobs of each credential use.
type usage struct {
	limits limits
	totals map[credential]total
}

// usage adds up what the running jobs use, by credential.
func (ls limits) usage(c *backfill.Cycle) usage {
	u := usage{limits: ls, totals: map[credential]total{}}
	if len(ls) > 0 {
		for r := range c.Running() {
			u.add(r.Job)
		}
	}
	return u
}

func (u usage) add(j *backfill.Job) { u.change(j, amount.plus) }

func (u usage) remove(j *backfill.Job) { u.change(j, amount.minus) }

func (u usage) change(j *backfill.Job, change func(a, b amount) amount) {
	for _, l := range u.limits {
		who, t := credential{l.label, j.Labels[l.label]}, totalOf(j)
		sum := u.totals[who]
		for k := range sum {
			sum[k] = change(sum[k], t[k])
		}
		u.totals[who] = sum
	}
}

// allow reports whether a job would stay within the limits of a level if it started now.
func (u usage) allow(j *backfill.Job, at level) bool {
	_, over := u.breach(j, at)
	return !over
}

// breach is a limit that a job would exceed.
type breach struct {
	credential
	kind int   // maxJob, maxProc or maxPS
	most int64 // the hard limit
}

// breach returns a limit of the level that a job would exceed if it started now; false if there is
// none. A job without a user, group, account or QOS is not limited by that label.
func (u usage) breach(j *backfill.Job, at level) (breach, bool) {
	for _, l := range u.limits {
		who := credential{l.label, j.Labels[l.label]}
		if who.name == "" {
			continue
		}
		sum, t := u.totals[who], totalOf(j)
		for k, b := range l.of(who.name) {
			if b.set && sum[k].plus(t[k]).compare(b.at(at)) > 0 {
				return breach{who, k, b.hard}, true
			}
		}
	}
	return breach{}, false
}

// hold puts the jobs on hold that would exceed a hard limit even if they ran alone.
func (ls limits) hold(c *backfill.Cycle) {
	if len(ls) == 0 {
		return
	}
	for j := range c.Waiting() {
		if b, over := (usage{limits: ls}).breach(j, hard); over {
			c.Hold(j, fmt.Sprintf("needs more by itself than %s %s may use: %s=%d", b.label, b.name, limitNames[b.kind],
				b.most))
		}
	}
}

// amount is a non-negative 128-bit number, so that sums of processor seconds cannot overflow.
type amount struct{ high, low uint64 }

// product multiplies two non-negative numbers.
func product(a, b int64) amount {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return amount{high, low}
}

func (a amount) plus(b amount) amount {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, _ := bits.Add64(a.high, b.high, carry)
	return amount{high, low}
}

// minus returns a - b; b must not be larger than a.
func (a amount) minus(b amount) amount {
	low, borrow := bits.Sub64(a.low, b.low, 0)
	high, _ := bits.Sub64(a.high, b.high, borrow)
	return amount{high, low}
}

func (a amount) compare(b amount) int {
	return cmp.Or(cmp.Compare(a.high, b.high), cmp.Compare(a.low, b.low))
}
