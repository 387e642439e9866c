// Package maui is the backfill of the Maui scheduler. An iteration, which is one cycle, starts jobs
// in the queue's order until one is blocked, and reserves for the first blocked ones. Then it
// starts other jobs in the backfill windows, the idle resources until the next reservation begins.
// It fills the widest window first, with the algorithm that the site chose and within the site's
// throttling limits.
//
//   - maui.go: the iteration
//   - reserve.go: which jobs get a reservation, and which keep one
//   - window.go: the backfill windows
//   - fill.go: the algorithms FIRSTFIT, BESTFIT and GREEDY
//   - greedy.go: GREEDY's search for the best combination of jobs
//   - chunk.go: keeping recently freed room from small jobs
//   - limits.go: MAXJOB, MAXPROC and MAXPS, and 128-bit sums of processor seconds
//   - options.go: the options and their syntax
//
// Source: Maui administrator's guide, Backfill, Throttling Policies, Reservation Policies and
// Parameters. DECISIONS.md says what was decided where the guide leaves a question open.
package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "maui",
		Doc: "reserves for the first blocked jobs and fills the windows before them, widest first, within " +
			"throttling limits",
		Source:  "Maui administrator's guide, Backfill",
		Promise: "with reservations, no backfilled job delays a reserved one; none runs over a hard limit",
		Options: options(),
		New: func(v backfill.Values) (backfill.Policy, error) {
			return newPolicy(v), nil
		},
	}
}

// policy is Maui with a site's options, which are Maui's parameters in capitals.
type policy struct {
	fill     fill    // BACKFILLPOLICY; nil: NONE
	depth    int     // BACKFILLDEPTH: how many jobs backfill considers; 0: all
	stacks   []stack // RESERVATIONDEPTH for each RESERVATIONQOSLIST; empty: RESERVATIONPOLICY NEVER
	keep     bool    // RESERVATIONPOLICY HIGHEST: a job that once got a reservation keeps one
	chunking chunking
	limits   limits
}

// iteration is the policy's working state during one cycle.
type iteration struct {
	*policy
	c       *backfill.Cycle
	use     usage                   // by the running jobs of each user, group, account and QOS
	room    []int                   // by index of stacks: reservations that can still be given
	early   []int                   // the same for jobs that may not start yet
	claims  map[backfill.JobID]bool // jobs that had a reservation before and may have one again
	blocked bool                    // some job did not fit when its turn came
	kept    kept                    // what was freed recently and is kept from small jobs
}

// Decide takes the events, starts and reserves in the queue's order, and then backfills: it fills
// the windows, the idle resources until the next reservation begins, first with jobs within their
// soft limits and then with jobs within their hard limits.
func (p *policy) Decide(c *backfill.Cycle) {
	i := &iteration{policy: p, c: c}
	if p.keep {
		i.claims = keepReservations(c)
	} else {
		scan.Begin(c)
	}
	p.limits.hold(c)
	i.use = p.limits.usage(c)
	i.kept = p.chunking.open(c)
	for _, s := range p.stacks {
		i.room, i.early = append(i.room, s.depth), append(i.early, s.depth)
	}
	i.schedule(soft)
	if p.fill == nil { // without backfill, a second pass starts jobs over a soft limit
		i.blocked, i.room, i.early, i.claims = false, nil, nil, nil
		i.schedule(hard)
		return
	}
	if jobs := i.candidates(); len(jobs) > 0 {
		for _, l := range p.limits.levels() {
			i.backfill(jobs, l)
		}
	}
}

// schedule goes through the queue in its order, without the jobs that would exceed a limit of the
// given level or, if they are in i.claims, a hard limit. It starts jobs, and reserves for blocked
// ones until no reservation is left.
func (i *iteration) schedule(l level) {
	scan.AllocateOrReserve(i.c, scan.Rules{
		Early:    func(j *backfill.Job) bool { return i.plansAhead(j, l) },
		Consider: func(j *backfill.Job) bool { return i.considers(j, l) },
		Started:  i.use.add,
		Blocked: func(j *backfill.Job) (reserve, goOn bool) {
			i.isBlocked(j)
			reserve = i.takes(i.room, j) || i.claims[j.ID]
			return reserve, i.hasRoom() || len(i.claims) > 0
		},
	})
}

// considers reports whether schedule may start the job or reserve for it.
func (i *iteration) considers(j *backfill.Job, l level) bool {
	if i.claims[j.ID] {
		return i.considersClaim(j)
	}
	switch {
	case !i.use.allow(j, l):
		return false
	case !i.blocked:
		return true
	case !i.hasRoom(): // backfill may start the job later
		return false
	default:
		return i.fill != nil || !i.fits(j) // without backfill no job overtakes another
	}
}

// candidates returns the jobs that backfill considers, in the queue's order: the first
// BACKFILLDEPTH jobs within their hard limits that have no reservation.
func (i *iteration) candidates() (jobs []*backfill.Job) {
	for j := range i.c.Queue() {
		if _, _, reserved := i.c.Reservation(j); reserved || !i.use.allow(j, hard) {
			continue
		}
		if jobs = append(jobs, j); len(jobs) == i.depth {
			break
		}
	}
	return jobs
}

// backfill fills the windows, the widest first, with those of the jobs that stay within the limits
// of the given level.
func (i *iteration) backfill(jobs []*backfill.Job, l level) {
	jobs = slices.DeleteFunc(slices.Clone(jobs), i.runs)
	for w := range windows(i.c) {
		i.fill(i, jobs, w, l)
	}
}

// try starts a job if it fits now and stays within the limits of the given level. A job within the
// limits that does not fit counts as blocked.
func (i *iteration) try(j *backfill.Job, l level) {
	if !i.use.allow(j, l) {
		return
	}
	at, fits := i.place(j)
	if !fits {
		i.isBlocked(j)
		return
	}
	i.c.Start(j, at)
	i.use.add(j)
	i.kept.change()
}

// isBlocked notes that the job does not fit now.
func (i *iteration) isBlocked(j *backfill.Job) {
	i.blocked = true
	i.kept.isBlocked(j)
}

func (i *iteration) runs(j *backfill.Job) bool { return i.c.State().IsRunning(j.ID) }

func (i *iteration) fits(j *backfill.Job) bool {
	_, fits := i.c.FitsNow(j)
	return fits
}
