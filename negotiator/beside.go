package negotiator

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// mostRousing is how many waiting jobs, from the head of the queue, may have machines woken, and
// mostTried how many pairs of a slot and jobs of one kind are looked at for that: whoever can advertise
// may invent any number of slots. One user's jobs may have mostOfUser of these, since his may match
// none. The next look goes on with the first job that had no turn.
const (
	mostRousing = 10_000
	mostTried   = 500_000
	mostOfUser  = mostTried / 4
)

// Rouse says which jobs would start at once on slots of machines that sleep, if these were awake.
// First come the jobs that no other slot can run, which the caller lists, then those that wait, in
// the queue's order. Of too many, later calls look at others. No schedule rests on that. It must be called between
// two cycles.
func (n *Negotiator) Rouse(asleep []*Slot, held []backfill.JobID) (wanted []Match) {
	if len(asleep) == 0 || len(n.inventory.bundles) > 0 {
		return nil
	}
	slots := make([]further, len(asleep))
	for i, s := range asleep {
		slots[i] = further{Slot: s, free: slices.Clone(s.Capacity)}
	}
	return n.beside(slots, held, &n.rousedTo)
}

// Overlapping is a slot whose resources are those of its machine's other slots, once more. The plan
// knows it as one that refuses all jobs.
type Overlapping struct {
	*Slot
	// Machine is the same for all slots of a machine. Primary are those whose jobs come first, and
	// Overlapping those like this one, with itself, by name.
	Machine              string
	Primary, Overlapping []string
}

// Fill says which jobs start now on slots that overlap with others: with what the plan leaves idle of
// these now, whoever has it reserved. The jobs come in the order of [Negotiator.Rouse]. The startd ends
// them when the machine's other slots need what they have, so nothing is promised for them. But limits
// hold for them as for others: none takes what is reserved for another job. Nothing is
// changed: that they run is for a further delta to tell. It must be called between two cycles.
func (n *Negotiator) Fill(open []Overlapping, held []backfill.JobID) []Match {
	if len(open) == 0 || len(n.inventory.bundles) > 0 {
		return nil
	}
	s := n.State()
	free := func(name string) backfill.Vector {
		id, known := n.inventory.ids[name]
		if !known || !s.SlotUp(id) {
			return make(backfill.Vector, len(n.schema.Resources))
		}
		return slices.Clone(s.Free(id, s.Now()))
	}
	idle := map[string]backfill.Vector{} // by machine
	var slots []further
	for _, o := range open {
		left := idle[o.Machine]
		if left == nil {
			left = make(backfill.Vector, len(n.schema.Resources))
			for _, name := range o.Primary {
				left.AddScaled(free(name), 1)
			}
			for _, name := range o.Overlapping {
				if id, known := n.inventory.ids[name]; known && s.SlotUp(id) {
					left.AddScaled(n.inventory.slots[id].Capacity, -1)
					left.AddScaled(free(name), 1)
				}
			}
			idle[o.Machine] = left
		}
		if own := free(o.Name); own[0] > 0 && left[0] > 0 {
			slots = append(slots, further{o.Slot, own, left})
		}
	}
	return slices.DeleteFunc(n.beside(slots, held, &n.filledTo), func(m Match) bool { return m.Job.Nodes > 1 })
}

// beside places jobs on slots beside the plan: those that are held, and those that wait. It begins
// with the job that its last call came to, and says to which it comes now.
func (n *Negotiator) beside(slots []further, held []backfill.JobID, to *int) (placed []Match) {
	r := rousing{
		would: n.matchmaker.Would(), left: mostTried, slots: slots,
		useless: map[pairing]bool{}, nowhere: map[int]bool{}, tried: map[string]int{},
	}
	var all []*backfill.Job
	for _, id := range held {
		if j := n.State().Job(id); j != nil {
			all = append(all, j)
		}
	}
	all = append(all, n.State().FirstWaiting(mostRousing)...)
	limits, from := n.State().Beside(), 0
	if *to < len(all) {
		from = *to
	}
	*to = 0
	for i := range all {
		at := (from + i) % len(all)
		job := n.jobs.get(all[at].ID)
		if len(r.slots) == 0 {
			break
		}
		if !limits.Fits(all[at]) {
			continue
		}
		if placement, turn := r.place(all[at], job.User); placement != nil {
			limits.Take(all[at])
			placed = append(placed, Match{Job: job, Placement: placement})
		} else if !turn && *to == 0 {
			*to = at
		}
	}
	return placed
}

// rousing is what is left of slots while jobs are placed on them.
type rousing struct {
	would func(cluster int, ad *classad.ClassAd) bool
	left  int            // pairs that may still be looked at
	tried map[string]int // pairs that were, by user
	slots []further
	// useless are the slots on which no job of an autocluster can start: it does not match them, or
	// they have too little left.
	useless map[pairing]bool
	nowhere map[int]bool // autoclusters for which all are useless
}

// further is a slot beside the plan, and what is left of it; and of its machine, if that is less.
type further struct {
	*Slot
	free, machine backfill.Vector
}

// fits tells whether a chunk fits.
func (s further) fits(request backfill.Vector) bool {
	return request.Within(s.free) && (s.machine == nil || request.Within(s.machine))
}

// take takes chunks of what is left.
func (s further) take(request backfill.Vector, chunks int) {
	s.free.AddScaled(request, -int64(chunks))
	if s.machine != nil {
		s.machine.AddScaled(request, -int64(chunks))
	}
}

// pairing is an autocluster and a slot.
type pairing struct {
	cluster int
	slot    *Slot
}

// place places all chunks of a job of a user, or none. It reports whether the job had a turn: no more
// pairs may be looked at than there are.
func (r *rousing) place(j *backfill.Job, user string) (at Placement, turn bool) {
	if r.nowhere[j.Candidates] {
		return nil, true
	}
	left := j.Nodes
	for i := 0; i < len(r.slots) && left > 0; i++ {
		if r.left--; r.left < 0 || r.tried[user] >= mostOfUser {
			return nil, false
		}
		r.tried[user]++
		if n := r.fits(j, r.slots[i], left); n > 0 {
			at, left = append(at, Chunks{Slot: r.slots[i].Slot, Count: n}), left-n
		}
	}
	r.nowhere[j.Candidates] = left == j.Nodes
	if left > 0 {
		return nil, true
	}
	for _, c := range at {
		i := slices.IndexFunc(r.slots, func(s further) bool { return s.Slot == c.Slot })
		r.slots[i].take(j.Request, c.Count)
		if r.slots[i].free[0] <= 0 { // no cpus
			r.slots = slices.Delete(r.slots, i, i+1)
		}
	}
	return at, true
}

// fits returns how many chunks of a job fit on a slot, up to most.
func (r *rousing) fits(j *backfill.Job, s further, most int) (n int) {
	pair := pairing{j.Candidates, s.Slot}
	if r.useless[pair] {
		return 0
	}
	if r.useless[pair] = !s.fits(j.Request) || !r.would(j.Candidates, s.Ad); r.useless[pair] {
		return 0
	}
	left := further{free: slices.Clone(s.free), machine: slices.Clone(s.machine)}
	for ; n < most && left.fits(j.Request); n++ {
		left.take(j.Request, 1)
	}
	return n
}
