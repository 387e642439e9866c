package track

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// charge is what jobs take of limits: what their Spec says, if it is known, their weight, and of
// their schedd's rooms, if these count.
type charge struct {
	spec   *observe.Spec
	weight float64
	schedd string // whose rooms count; "": none
	user   *observe.Spec
	free   bool // it is a scavenger, which takes of concurrency limits and rooms alone
}

// chargeOf returns what a job takes of limits.
func (b *Belief) chargeOf(j *Job) charge {
	spec := j.charged()
	switch {
	case !spec.BySlot || j.Phase == Waiting:
	case j.Phase == Running && spec == j.Spec: // once for its run
		j.Spec = b.settled(spec, j.Places, nil)
		spec = j.Spec
	case j.Group.Runs():
		spec = b.settled(spec, b.places(j.Group), nil)
	}
	if b.isFree(j) {
		return charge{spec: spec, schedd: j.Key.Schedd, user: j.Group.Spec, free: true}
	}
	return charge{spec: spec, weight: b.weight(j), schedd: j.Key.Schedd, user: j.Group.Spec}
}

// isFree tells whether nobody is charged for a job, as it is a scavenger: one that the negotiator was told
// of stays what it was then.
func (b *Belief) isFree(j *Job) bool {
	if j.Phase == Unknown {
		return scavenges(j.Group.Spec)
	}
	return j.scavenges
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

// runsUnfit tells whether a job runs in the pool and is in no plan, since it cannot be planned
// with: its claims are planned around, and it is charged like any other. One that ran as it was
// planned before is, wherever its queue says that it runs now.
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

// candidate returns a job that takes this as the accountant sees it.
func (b *Belief) candidate(g charge) accountant.Candidate {
	one := accountant.Candidate{Schedd: g.schedd}
	if s := b.Schedd(g.schedd); s != nil {
		one.Rooms, one.User, one.Project = s.RoomsOf(g.user), g.user.User(), g.user.Project() // as the schedd counts
	}
	if g.spec != nil {
		one.Submitter, one.Weight, one.Limits = g.spec.Submitter(), g.weight, g.spec.Limited
		one.User = g.spec.User()
	}
	if g.free {
		one.Submitter = "" // it has neither a ceiling nor a quota
	}
	return one
}

// running adds up what the jobs that run take of limits: there may be very many that take the same.
func (b *Belief) running() (running tally[charge]) {
	for _, j := range b.all {
		switch {
		case j.Phase == Running:
			running.add(b.chargeOf(j))
		case j.Phase == Waiting:
		case b.runsUnfit(j):
			running.add(b.chargeOf(j))
		case j.leader == nil && j.Group.Runs():
			running.add(charge{schedd: j.Key.Schedd, user: j.Group.Spec})
		}
	}
	for past := range b.gone {
		running.add(charge{spec: past.charged(), weight: b.weight(past)})
	}
	for h := range b.vacated {
		running.add(charge{spec: h.spec, weight: b.weightOf(h)})
	}
	return running
}

// tally counts equal things, which mostly come one after the other.
type tally[T comparable] struct {
	things []T
	counts []int
	at     map[T]int
	last   int
}

// add counts a thing, and returns its index in things.
func (t *tally[T]) add(thing T) int {
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
	return t.last
}

// find returns the index in things of one that was added; false if it was not.
func (t *tally[T]) find(thing T) (at int, known bool) {
	if len(t.things) > 0 && t.things[t.last] == thing {
		return t.last, true
	}
	at, known = t.at[thing]
	return at, known
}

// all iterates over the things and their counts, in the order in which they first came.
func (t *tally[T]) all(yield func(T, int) bool) {
	for i, thing := range t.things {
		if !yield(thing, t.counts[i]) {
			return
		}
	}
}
