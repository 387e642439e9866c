package maui

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// level is which of the limits count.
type level uint8

const (
	soft level = iota
	hard
)

// What is limited, in the order of a bounds.
const (
	maxJob  = iota // jobs
	maxProc        // cpus
	maxPS          // cpus × estimate
)

// limitNames are Maui's.
var limitNames = [...]string{maxJob: "MAXJOB", maxProc: "MAXPROC", maxPS: "MAXPS"}

// total is how much of what is limited is in use.
type total [len(limitNames)]amount

// totalOf is what a job uses.
func totalOf(j *backfill.Job) total {
	return total{maxJob: product(1, 1), maxProc: product(j.Width(), 1), maxPS: product(j.Width(), int64(j.Estimate))}
}

// bound is a limit; the zero value is none.
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

// bounds are the limits of one user, group, account or QOS.
type bounds [len(limitNames)]bound

// everyone stands for those who are not named.
const everyone = "DEFAULT"

// limits are the throttling limits by label of the job and its value.
type limits []limitsBy

type limitsBy struct {
	label string // owner, group, account, qos
	who   map[string]bounds
}

// of are the bounds of one of them: its own, else the ones of everyone.
func (l limitsBy) of(name string) bounds {
	own, all := l.who[name], l.who[everyone]
	for k := range own {
		if !own[k].set {
			own[k] = all[k]
		}
	}
	return own
}

// levels are the limits that a pass of backfill keeps to, one pass after the
// other. Where soft and hard are the same, a second pass would find nothing.
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

// credential is a label of jobs with its value.
type credential struct{ label, name string }

// usage is who uses how much.
type usage struct {
	limits limits
	by     map[credential]total
}

// usage adds up what the running jobs use.
func (ls limits) usage(c *backfill.Cycle) usage {
	u := usage{limits: ls, by: map[credential]total{}}
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
		sum := u.by[who]
		for k := range sum {
			sum[k] = change(sum[k], t[k])
		}
		u.by[who] = sum
	}
}

// allow says whether a job stays inside the limits if it starts.
func (u usage) allow(j *backfill.Job, at level) bool {
	_, over := u.breach(j, at)
	return !over
}

// breach is a limit that a job would be over.
type breach struct {
	credential
	kind int
	most int64
}

// breach finds a limit that a job is over if it starts, if there is one. A job
// without a user, group, account or QOS is not limited by it.
func (u usage) breach(j *backfill.Job, at level) (breach, bool) {
	for _, l := range u.limits {
		who := credential{l.label, j.Labels[l.label]}
		if who.name == "" {
			continue
		}
		sum, t := u.by[who], totalOf(j)
		for k, b := range l.of(who.name) {
			if b.set && sum[k].plus(t[k]).compare(b.at(at)) > 0 {
				return breach{who, k, b.hard}, true
			}
		}
	}
	return breach{}, false
}

// hold takes the jobs out of the queue that are over a hard limit even alone.
func (ls limits) hold(c *backfill.Cycle) {
	if len(ls) == 0 {
		return
	}
	for j := range c.Queue() {
		if b, over := (usage{limits: ls}).breach(j, hard); over {
			c.Hold(j, fmt.Sprintf("needs more by itself than %s %s may use: %s=%d", b.label, b.name, limitNames[b.kind], b.most))
		}
	}
}
