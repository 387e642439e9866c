// Package maui is the backfill of the Maui scheduler: an iteration starts jobs
// in the queue's order until one is blocked, reserves for the first blocked
// ones, and then fills the windows that the reservations leave, the widest
// first, by the site's choice of algorithm and within its throttling limits.
//
//   - maui.go: the iteration
//   - reserve.go: who gets a reservation, and who keeps one
//   - window.go: the backfill windows
//   - fill.go: FIRSTFIT, BESTFIT and GREEDY; greedy.go the search
//   - chunk.go: what was freed of late is kept from small jobs
//   - limits.go: MAXJOB, MAXPROC and MAXPS
//   - amount.go: numbers that hold sums of processor seconds
//   - options.go: how all of it is set
//
// Source: Maui administrator's guide, Backfill, Throttling Policies, Reservation
// Policies and Parameters. Where it says nothing, see backfill/DECISIONS.md, 21
// to 30.
package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:    "maui",
		Doc:     "reserves for the first blocked jobs and fills the windows before them, widest first, within throttling limits",
		Source:  "Maui administrator's guide, Backfill",
		Promise: "with reservations, no backfilled job delays a reserved one; none runs over a hard limit",
		Options: options(),
		New: func(v backfill.Values) (backfill.Policy, error) {
			return newPolicy(v), nil
		},
	}
}

// policy is Maui as a site has set it.
type policy struct {
	fill     fill    // BACKFILLPOLICY; nil: NONE
	depth    int     // BACKFILLDEPTH: how many jobs are looked at; 0: all
	stacks   []stack // RESERVATIONDEPTH by RESERVATIONQOSLIST; none: RESERVATIONPOLICY NEVER
	keep     bool    // RESERVATIONPOLICY HIGHEST
	chunking chunking
	limits   limits
}

// iteration is what the policy knows in the course of one cycle.
type iteration struct {
	*policy
	c       *backfill.Cycle
	use     usage                   // by whom
	room    []int                   // reservations that are left, by stack
	claims  map[backfill.JobID]bool // who keeps a reservation
	blocked bool                    // a job was blocked
	kept    kept
}

// Decide takes the events, goes through the queue, and then fills the windows,
// inside the soft limits and then inside the hard ones.
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
		i.room = append(i.room, s.depth)
	}
	i.schedule(soft)
	if p.fill == nil { // whoever is over a soft limit comes after the others
		i.blocked, i.room, i.claims = false, nil, nil
		i.schedule(hard)
		return
	}
	if jobs := i.candidates(); len(jobs) > 0 {
		for _, l := range p.limits.levels() {
			i.backfill(jobs, l)
		}
	}
}

// schedule goes through the queue in its order: it starts jobs, and reserves for
// those that are blocked, until there are no reservations left to be given.
func (i *iteration) schedule(l level) {
	scan.AllocateOrReserve(i.c, scan.Rules{
		Consider: func(j *backfill.Job) bool { return i.considers(j, l) },
		Started:  i.use.add,
		Blocked: func(j *backfill.Job) (reserve, goOn bool) {
			i.isBlocked(j)
			reserve = i.takesRoom(j) || i.claims[j.ID]
			return reserve, i.hasRoom() || len(i.claims) > 0
		},
	})
}

// considers says whether a job may be started or reserved for, on the way
// through the queue.
func (i *iteration) considers(j *backfill.Job, l level) bool {
	if i.claims[j.ID] {
		return i.considersClaim(j)
	}
	switch {
	case !i.use.allow(j, l):
		return false
	case !i.blocked:
		return true
	case !i.hasRoom(): // the rest is backfill
		return false
	default:
		return i.fill != nil || !i.fits(j) // without backfill nobody overtakes
	}
}

// candidates are the jobs that are looked at for backfill, in the queue's order:
// the first ones inside their hard limits that have no reservation.
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

// backfill fills the windows, the widest first, with jobs inside the limits.
func (i *iteration) backfill(jobs []*backfill.Job, l level) {
	jobs = slices.DeleteFunc(slices.Clone(jobs), i.runs)
	for w := range windows(i.c) {
		i.fill(i, jobs, w, l)
	}
}

// try starts a job if it fits and stays inside the limits.
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

// isBlocked notes that there is no room now for a job.
func (i *iteration) isBlocked(j *backfill.Job) {
	i.blocked = true
	i.kept.isBlocked(j)
}

func (i *iteration) runs(j *backfill.Job) bool { return i.c.State().IsRunning(j.ID) }

func (i *iteration) fits(j *backfill.Job) bool {
	_, fits := i.c.FitsNow(j)
	return fits
}
