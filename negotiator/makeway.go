package negotiator

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
	"github.com/condor-backfill/condor-backfill/negotiator/scavenge"
)

// Once a cycle is decided, scavengers make way for the jobs that it starts, and others start on what is idle.

// scavengeOn has scavengers make way for what a cycle decided, and starts those that wait on what is idle.
func (n *Negotiator) scavengeOn(r *Report, told *Scavenged) {
	s := &n.scavengers
	s.due = backfill.Forever
	r.Scavengers = told
	if s.book.Len() == 0 {
		return
	}
	others := n.others(r.Delta.Now)
	n.makeWay(r, others)
	first := len(r.Matches)
	for _, run := range s.book.Fill(n.idle(others)) {
		known := s.jobs[run.Job]
		known.displaced = nil
		r.Matches = append(r.Matches, Match{Job: known.job, Placement: n.inventory.fromCore(run.Placement)})
	}
	told.Matches = r.Matches[first:]
	s.due = min(s.book.NextRelease(r.Delta.Now), n.nextOpening(r.Delta.Now))
}

// nextOpening returns the first instant after now at which a candidate of a waiting scavenger opens.
func (n *Negotiator) nextOpening(now backfill.Time) backfill.Time {
	next := backfill.Forever
	for cluster := range n.scavengers.book.Clusters() {
		if c := n.candidatesOf(cluster); c != nil {
			next = min(next, c.NextOpening(now))
		}
	}
	return next
}

// others returns what the jobs of the plan leave at an instant.
func (n *Negotiator) others(now backfill.Time) scavenge.Others {
	state := n.State()
	extra := n.yetToTake()
	var rows backfill.Vector
	return scavenge.Others{
		Now: now,
		Free: func(id backfill.SlotID) backfill.Vector {
			free := slices.Clone(state.Free(id, now))
			if more := extra[id]; more != nil {
				free.AddScaled(more, -1)
			}
			return free
		},
		Rows: func() backfill.Vector {
			if rows == nil {
				rows = n.rowsLeft()
			}
			return rows
		},
	}
}

// makeWay tells scavengers to leave where the cycle started others, or has others take over.
func (n *Negotiator) makeWay(r *Report, others scavenge.Others) {
	book, state := &n.scavengers.book, n.State()
	if !book.Running() {
		return
	}
	later := map[backfill.SlotID]backfill.Vector{} // what jobs take that come after the one that is looked at
	ours := func(id backfill.JobID, at backfill.Placement, sign int64) {
		request := state.Job(id).Request
		for _, on := range at {
			if later[on.Slot] == nil {
				later[on.Slot] = make(backfill.Vector, len(request))
			}
			later[on.Slot].AddScaled(request, sign*int64(on.Count))
		}
	}
	places := make([]backfill.Placement, len(r.Matches))
	for i, m := range r.Matches {
		places[i] = n.inventory.toCore(m.Placement)
		if i < len(r.Decision.Started) {
			ours(m.Job.ID, places[i], 1)
		}
	}
	free := others.Free
	others.Free = func(id backfill.SlotID) backfill.Vector {
		left := free(id)
		if more := later[id]; more != nil {
			left.AddScaled(more, 1)
		}
		return left
	}
	ways := make([]way, 0, len(r.Matches))
	var all []backfill.JobID
	for i := range r.Matches {
		m := &r.Matches[i]
		if i < len(r.Decision.Started) {
			ours(m.Job.ID, places[i], -1)
		}
		w := way{match: m, claim: scavenge.Claim{Takes: state.Job(m.Job.ID).Takes}}
		for _, on := range places[i] {
			w.claim.Slots = append(w.claim.Slots, on.Slot)
		}
		var waits bool
		if w.victims, waits = book.MakeWay(others, w.claim); waits {
			ways = append(ways, w)
			all = append(all, w.victims...)
		}
	}
	leave := book.Spare(others, all)
	for i := range ways {
		w := &ways[i]
		w.victims = slices.DeleteFunc(w.victims, func(id backfill.JobID) bool { return !slices.Contains(leave, id) })
		n.tellToLeave(r, w.match, w.victims)
	}
	for i := range ways { // some wait for victims of jobs that come after them
		n.putOff(r, &ways[i])
	}
}

// way is a job that cannot begin before some scavengers have left, of which it is the victims that were told so for
// its sake.
type way struct {
	match   *Match
	claim   scavenge.Claim
	victims []backfill.JobID
}

// tellToLeave notes that scavengers leave for a job that cannot begin before.
func (n *Negotiator) tellToLeave(r *Report, m *Match, victims []backfill.JobID) {
	s, now := &n.scavengers, r.Delta.Now
	user := m.Job.payer()
	if r.Delta.Claims != nil {
		user = cmp.Or(r.Delta.Claims.Submitter(m.Job.ID), user)
	}
	for _, id := range victims {
		s.jobs[id].leaves = now
		if r.Delta.Claims != nil {
			if c, ok := r.Delta.Claims.Claim(id); ok {
				s.jobs[id].leaves = now + max(c.Vacate, 0)
			}
		}
		run, _ := s.book.Run(id)
		s.jobs[id].displaced = &preempt.Displaced{
			Victim: id, By: m.Job.ID, Name: m.Job.Name, User: user, Slot: n.inventory.slots[run.Placement[0].Slot].Name,
			Decided: now, End: s.jobs[id].leaves, Reason: preempt.Scavenging,
		}
	}
}

// putOff has a job begin once those have left who are in its way.
func (n *Negotiator) putOff(r *Report, w *way) {
	m, at := w.match, r.Delta.Now
	for run := range n.scavengers.book.Leaving(w.claim) {
		at = max(at, n.scavengers.jobs[run].leaves)
	}
	if len(w.victims) > 0 {
		m.Displaces = slices.Concat(m.Displaces, w.victims)
	}
	m.At = max(m.At, at, 1) // 0 would say that it starts at once
	r.Scavengers.MadeWay = append(r.Scavengers.MadeWay, MadeWay{Job: m.Job.ID, Scavengers: w.victims, At: m.At})
}

// idle returns where scavengers may start.
func (n *Negotiator) idle(others scavenge.Others) scavenge.Idle {
	state := n.State()
	in := scavenge.Idle{
		Others: others, Candidates: n.candidatesOf,
		Ends: func(id backfill.SlotID) backfill.Time { return n.inventory.slots[id].End },
	}
	if len(n.inventory.bundles) == 0 {
		for id := range n.inventory.slots {
			if slot := backfill.SlotID(id); state.SlotUp(slot) { //nolint:gosec // there are fewer
				in.Slots = append(in.Slots, slot)
			}
		}
	}
	var from map[backfill.SlotID]backfill.Time
	in.Reserved = func(id backfill.SlotID) backfill.Time {
		if from == nil {
			from = n.reservedFrom()
		}
		if at, known := from[id]; known {
			return at
		}
		return backfill.Forever
	}
	return in
}

// reservedFrom returns from when on waiting jobs are to have some of a slot, for those that are reserved.
func (n *Negotiator) reservedFrom() map[backfill.SlotID]backfill.Time {
	from := map[backfill.SlotID]backfill.Time{}
	for _, j := range n.State().Settled() {
		if j.Running {
			continue
		}
		for _, on := range j.Placement {
			if at, known := from[on.Slot]; !known || j.Start < at {
				from[on.Slot] = j.Start
			}
		}
	}
	return from
}
