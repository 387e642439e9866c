package track

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// charge is what jobs take of limits: what their Spec says, if it is known, their weight, and of
// their schedd's rooms, if these count.
type charge struct {
	spec   *observe.Spec
	weight float64
	rooms  accountant.Rooms
}

// chargeOf returns what a job takes of limits.
func (c *comparison) chargeOf(j *Job) charge {
	if j.Phase == Waiting && c.b.now.Now-j.planned >= backfill.Time(2*c.b.s.Patience/time.Second) {
		return charge{spec: j.Group.Spec, weight: c.b.weight(j)}
	}
	return charge{j.charged(), c.b.weight(j), c.b.rooms(j)}
}

// charged returns the Spec by which a job is charged: while it runs, the one that it was planned
// by, since whatever was edited, it has what it has.
func (j *Job) charged() *observe.Spec {
	if j.Phase == Running && j.Spec != nil {
		return j.Spec
	}
	if j.Group.Runs() && j.run != nil && j.run.spec != nil {
		return j.run.spec
	}
	return j.Group.Spec
}

// rooms returns which of its schedd's limits a job counts for.
func (b *Belief) rooms(j *Job) accountant.Rooms {
	return b.Schedd(j.Key.Schedd).RoomsOf(j.Group.Spec) // as the schedd counts
}

// runsUnfit tells whether a job runs in the pool and is in no plan, since it cannot be planned
// with: its claims are planned around, and it is charged like any other. One that was planned
// before is, wherever its queue says that it runs now.
func (b *Belief) runsUnfit(j *Job) bool {
	switch {
	case j.Phase != Unknown || j.leader != nil || j.Group == nil || !j.Group.Runs():
		return false
	case j.run != nil && j.run.adrift != "":
		return false
	case j.run != nil && j.run.spec != nil:
		return true
	}
	at := b.places(j.Group)
	return len(at) > 0 && !slices.ContainsFunc(at, func(p Place) bool { return !b.isUp(p.Slot) })
}

func (g charge) candidate(jobs int) accountant.Candidate {
	one := accountant.Candidate{Rooms: g.rooms, Count: jobs}
	if g.spec != nil {
		one.Submitter, one.Weight, one.Limits = g.spec.Submitter(), g.weight, g.spec.Limited
		one.User = g.spec.User()
	}
	return one
}

// running returns what the jobs that run take of limits: one entry for all that take the same, as
// there may be very many.
func (c *comparison) running() (all []accountant.Candidate) {
	var running tally[charge]
	for _, j := range c.b.all {
		switch {
		case j.Phase == Running:
			running.add(c.chargeOf(j))
		case j.Phase == Waiting:
		case c.b.runsUnfit(j):
			running.add(c.chargeOf(j))
		case j.leader == nil && j.Group.Runs():
			running.add(charge{rooms: c.b.rooms(j)})
		}
	}
	for past := range c.b.gone {
		running.add(charge{spec: past.charged(), weight: c.b.weight(past)})
	}
	for h := range c.b.vacated {
		running.add(charge{spec: h.spec, weight: c.b.weightOf(h)})
	}
	for what, n := range running.all {
		all = append(all, what.candidate(n))
	}
	return all
}

// tally counts equal things, which mostly come one after the other.
type tally[T comparable] struct {
	things []T
	counts []int
	at     map[T]int
	last   int
}

func (t *tally[T]) add(thing T) {
	if len(t.things) == 0 || t.things[t.last] != thing {
		at, known := t.at[thing]
		if !known {
			if t.at == nil {
				t.at = map[T]int{}
			}
			at = len(t.things)
			t.at[thing], t.things, t.counts = at, append(t.things, thing), append(t.counts, 0)
		}
		t.last = at
	}
	t.counts[t.last]++
}

// find returns the index in things of one that was added.
func (t *tally[T]) find(thing T) int {
	if t.things[t.last] != thing {
		t.last = t.at[thing]
	}
	return t.last
}

// all iterates over the things and their counts, in the order in which they first came.
func (t *tally[T]) all(yield func(T, int) bool) {
	for i, thing := range t.things {
		if !yield(thing, t.counts[i]) {
			return
		}
	}
}
