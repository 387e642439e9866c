package auto

import (
	"maps"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// priorities are the effective priorities of users at a moment, lower is better, by whose jobs they are.
// It is never changed, so that plays beside the cycles see the same throughout.
type priorities map[whose]float64

// whose says who a job's user is: by name, and by the accounting group if there is one.
type whose struct{ owner, group string }

func whoseIs(labels map[string]string) whose { return whose{labels["owner"], labels["acctgroup"]} }

// of returns the priority of a job's user. A user of whom nothing is known has used nothing, so has the
// best.
func (p priorities) of(j *backfill.Job) float64 {
	if prio, known := p[whoseIs(j.Labels)]; known {
		return prio
	}
	best := math.Inf(1)
	for _, prio := range p {
		best = min(best, prio)
	}
	if math.IsInf(best, 1) {
		return 1
	}
	return best
}

// refreshed is for how long priorities are taken to stay, in seconds: they change by halves within days.
const refreshed = 60

// Prioritize has users' priorities count. A key of a candidate's order that is a time is multiplied by
// the priority of the job's user, and one that grows below zero while the job waits is divided by it; in
// plays, jobs count in the means by 1/priority. So a user with twice the priority value waits as if the
// jobs were twice as long, and counts half. The callback returns the effective priority of a job's user,
// above zero and lower is better; it is called within [Chooser.See] only. Prioritize must be called before
// TakeCharge.
func (c *Chooser) Prioritize(priority func(backfill.JobID) float64) {
	c.priority = priority
	none := priorities{}
	c.prios.Store(&none)
	live := func(j *backfill.Job) float64 { return c.prios.Load().of(j) }
	for i := range c.candidates {
		c.candidates[i].Order = c.candidates[i].Order.Prioritized(live)
	}
}

// seePriorities brings the priorities up to date: those of all users now and then, else those of users
// who are new.
func (c *Chooser) seePriorities(r *negotiator.Report) {
	if c.priority == nil {
		return
	}
	last, now := *c.prios.Load(), r.Delta.Now
	next := last
	note := func(id backfill.JobID, labels map[string]string) {
		who := whoseIs(labels)
		if _, known := next[who]; known {
			return
		}
		if len(next) == len(last) { // the first that is new
			next = maps.Clone(next)
		}
		next[who] = c.priority(id)
	}
	if now-c.prioritized >= refreshed || len(last) == 0 {
		c.prioritized, last, next = now, priorities{}, priorities{}
		for id, a := range c.record.known {
			note(id, a.Job.Labels)
		}
	}
	for _, j := range r.Delta.Submitted {
		if a := c.record.known[j.ID]; a != nil {
			note(j.ID, a.Job.Labels)
		}
	}
	c.prios.Store(&next)
}
