package negotiator

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// mostRousing is how many waiting jobs, from the head of the queue, may have machines woken.
const mostRousing = 10_000

// Rouse says which jobs would start at once on slots of machines that sleep, if these were awake.
// First come the jobs that no other slot can run, which the caller lists, then those that wait, in
// the queue's order. Nothing is changed, and nothing rests on the result. It must be called between
// two cycles.
func (n *Negotiator) Rouse(asleep []*Slot, held []backfill.JobID) (wanted []Match) {
	if len(asleep) == 0 || len(n.inventory.bundles) > 0 {
		return nil
	}
	r := rousing{would: n.matchmaker.Would(), useless: map[pairing]bool{}, nowhere: map[int]bool{}}
	for _, s := range asleep {
		r.slots = append(r.slots, sleeper{s, slices.Clone(s.Capacity)})
	}
	rouse := func(j *backfill.Job) {
		if at := r.place(j); at != nil {
			wanted = append(wanted, Match{Job: n.jobs.get(j.ID), Placement: at})
		}
	}
	for _, id := range held {
		if j := n.State().Job(id); j != nil {
			rouse(j)
		}
	}
	for _, j := range n.State().FirstWaiting(mostRousing) {
		if len(r.slots) == 0 {
			break
		}
		rouse(j)
	}
	return wanted
}

// rousing is what is left of the slots that sleep while jobs are placed on them.
type rousing struct {
	would func(cluster int, ad *classad.ClassAd) bool
	slots []sleeper
	// useless are the slots on which no job of an autocluster can start: it does not match them, or
	// they have too little left.
	useless map[pairing]bool
	nowhere map[int]bool // autoclusters for which all are useless
}

// sleeper is a slot that sleeps, and what is left of it.
type sleeper struct {
	*Slot
	free backfill.Vector
}

// pairing is an autocluster and a slot.
type pairing struct {
	cluster int
	slot    *Slot
}

// place places all chunks of a job, or none.
func (r *rousing) place(j *backfill.Job) (at Placement) {
	if r.nowhere[j.Candidates] {
		return nil
	}
	left := j.Nodes
	for i := 0; i < len(r.slots) && left > 0; i++ {
		if n := r.fits(j, r.slots[i], left); n > 0 {
			at, left = append(at, Chunks{Slot: r.slots[i].Slot, Count: n}), left-n
		}
	}
	r.nowhere[j.Candidates] = left == j.Nodes
	if left > 0 {
		return nil
	}
	for _, c := range at {
		i := slices.IndexFunc(r.slots, func(s sleeper) bool { return s.Slot == c.Slot })
		r.slots[i].free.AddScaled(j.Request, -int64(c.Count))
		if r.slots[i].free[0] <= 0 { // no cpus
			r.slots = slices.Delete(r.slots, i, i+1)
		}
	}
	return at
}

// fits returns how many chunks of a job fit on a slot, up to most.
func (r *rousing) fits(j *backfill.Job, s sleeper, most int) (n int) {
	pair := pairing{j.Candidates, s.Slot}
	if r.useless[pair] {
		return 0
	}
	if r.useless[pair] = !j.Request.Within(s.free) || !r.would(j.Candidates, s.Ad); r.useless[pair] {
		return 0
	}
	for free := slices.Clone(s.free); n < most && j.Request.Within(free); n++ {
		free.AddScaled(j.Request, -1)
	}
	return n
}
