package condorsim

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// scavengerBooks are the audit's books of scavengers and of what is really in use: a job that was started in
// the place of scavengers has nothing until they have left.
//
// At every instant all that runs, scavengers too, must have room on the slots. Each other job must begin within
// the vacate time of its start. A scavenger must leave as long after it was told to, and for no other reason
// than that or a slot that is gone; and nobody may be told to leave whose place nobody needs.
type scavengerBooks struct {
	requests []backfill.Vector
	runs     map[backfill.JobID]*scavengerEntry
	saved    map[backfill.JobID]backfill.Time
	done     map[backfill.JobID]bool
	late     map[backfill.JobID]backfill.Time // when jobs were started that have not begun yet
	inUse    map[string]backfill.Vector       // by slot
	touched  map[string]bool                  // since time passed last
}

// scavengerEntry is a scavenger that runs.
type scavengerEntry struct {
	at    negotiator.Placement
	start backfill.Time
	due   backfill.Time // when it has left; [backfill.Forever]: nobody told it to
}

// newScavengerBooks returns those of a workload; nil if no job is a scavenger.
func newScavengerBooks(w *Workload) *scavengerBooks {
	if w.Scavengers == nil {
		return nil
	}
	return &scavengerBooks{
		requests: w.Requests(), runs: map[backfill.JobID]*scavengerEntry{}, saved: map[backfill.JobID]backfill.Time{},
		done: map[backfill.JobID]bool{}, late: map[backfill.JobID]backfill.Time{}, inUse: map[string]backfill.Vector{},
		touched: map[string]bool{},
	}
}

// take adds to what is in use on a slot, or, with a negative number of chunks, takes it off.
func (b *scavengerBooks) take(slot string, chunk backfill.Vector, chunks int) {
	if b.inUse[slot] == nil {
		b.inUse[slot] = make(backfill.Vector, len(chunk))
	}
	b.inUse[slot].AddScaled(chunk, int64(chunks))
	b.touched[slot] = true
}

// chunkOf returns what each chunk of a scavenger takes of a slot.
func (a *audit) chunkOf(id backfill.JobID, slot *negotiator.Slot) backfill.Vector {
	if chunk := a.scavengers.requests[id]; chunk != nil && !a.w.Jobs[id].BySlot {
		return chunk
	}
	return a.w.Schema.RequestOn(a.w.Jobs[id].Ad, slot)
}

// occupies enters what is really in use by a job that is no scavenger, from now on or not any more.
func (a *audit) occupies(h holding, sign int) {
	if a.scavengers == nil {
		return
	}
	for _, chunks := range h.at {
		a.scavengers.take(a.slots[chunks.Slot].Name, a.takes(h.job, chunks.Slot), sign*chunks.Count)
	}
}

// passes checks, before time passes until now, what was so since the last cycle: a violation if more is in use
// than there is, or somebody has not left or begun in time.
func (a *audit) passes(now backfill.Time) error {
	b := a.scavengers
	if b == nil || now == a.now {
		return nil
	}
	for _, slot := range slices.Sorted(maps.Keys(b.touched)) {
		capacity := a.slots[a.slotNamed(slot)].Capacity
		if !b.inUse[slot].Within(capacity) {
			return a.violation(noJob, "%v is in use on slot %s with scavengers, and %v there", b.inUse[slot], slot, capacity)
		}
	}
	clear(b.touched)
	for _, id := range slices.Sorted(maps.Keys(b.runs)) {
		if due := b.runs[id].due; due < now {
			return a.violation(id, "scavenges on, but was to leave by %s", a.w.text(due))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.late)) {
		if latest := b.late[id] + a.w.Scavengers.Vacate; latest < now {
			return a.violation(id, "was started at %s, but has not begun by %s", a.w.text(b.late[id]), a.w.text(latest))
		}
	}
	return nil
}

// begin enters the jobs that have begun where scavengers have left.
func (a *audit) begin(r *negotiator.Report) error {
	for _, began := range r.Delta.Began {
		if a.scavengers == nil {
			return a.violation(began.Job, "began late, and nobody scavenges")
		}
		decided, late := a.scavengers.late[began.Job]
		switch {
		case !late:
			return a.violation(began.Job, "began, but was not started, or had begun before")
		case began.At < decided || began.At > decided+a.w.Scavengers.Vacate || began.At > a.now:
			return a.violation(began.Job, "began at %s, but was started at %s", a.w.text(began.At), a.w.text(decided))
		}
		delete(a.scavengers.late, began.Job)
		h := &a.holding[a.index[began.Job]]
		h.begun = began.At
		a.occupies(*h, 1)
	}
	return nil
}

// scavenge enters what happened to scavengers.
func (a *audit) scavenge(r *negotiator.Report) error {
	b, told := a.scavengers, r.Scavengers
	if told == nil {
		return nil
	}
	if b == nil {
		return a.violation(noJob, "the report tells of scavengers, and no job is one")
	}
	a.slots = r.State.Slots()
	for _, id := range told.Completed {
		run := b.runs[id]
		if run == nil {
			return a.violation(id, "scavenged to its end, but did not run")
		}
		if want := a.w.Jobs[id].runs() - b.saved[id]; a.now-run.start != want {
			return a.violation(id, "ended after %d s, but was to run for %d s", a.now-run.start, want)
		}
		a.scavengerLeaves(id)
		b.done[id] = true
	}
	for _, id := range told.Back {
		run := b.runs[id]
		isDisplaced := slices.Contains(told.Displaced, id)
		switch {
		case run == nil:
			return a.violation(id, "is back among the scavengers that wait, but did not run")
		case isDisplaced && run.due == backfill.Forever:
			return a.violation(id, "made way, but nobody was to have its place")
		case isDisplaced && run.due != a.now:
			return a.violation(id, "made way, but had until %s", a.w.text(run.due))
		case !isDisplaced && !onAny(run.at, r.Delta.SlotsDown):
			return a.violation(id, "lost its place, but its slots are there")
		}
		b.saved[id] += a.w.saves(id, a.now-run.start)
		a.scavengerLeaves(id)
	}
	return nil
}

// scavengerLeaves ends a scavenger's run in the books.
func (a *audit) scavengerLeaves(id backfill.JobID) {
	for _, on := range a.scavengers.runs[id].at {
		a.scavengers.take(on.Slot.Name, a.chunkOf(id, on.Slot), -on.Count)
	}
	delete(a.scavengers.runs, id)
}

// onAny reports whether a placement has any of the slots.
func onAny(at negotiator.Placement, slots []string) bool {
	return slices.ContainsFunc(at, func(on negotiator.Chunks) bool { return slices.Contains(slots, on.Slot.Name) })
}

// startLate notes which of the started jobs are yet to begin, and enters what the others have from now on.
func (a *audit) startLate(r *negotiator.Report) error {
	if a.scavengers == nil {
		return nil
	}
	for i := range r.Decision.Started {
		id, m := r.Decision.Started[i].Job.ID, &r.Matches[i]
		if m.At > max(a.now+a.w.Scavengers.Vacate, 1) { // 0 would say that it starts at once
			return a.violation(id, "is to begin at %s, which is later than scavengers need to leave", a.w.text(m.At))
		}
		h := &a.holding[a.index[id]]
		if m.At > a.now && a.w.Scavengers.Vacate > 0 {
			a.scavengers.late[id] = a.now
			h.begun = backfill.Forever
		} else {
			a.occupies(*h, 1)
		}
	}
	return nil
}

// tellScavengers enters who is told to leave, and which scavengers start.
func (a *audit) tellScavengers(r *negotiator.Report) error {
	b, told := a.scavengers, r.Scavengers
	if b == nil || told == nil {
		return nil
	}
	due := a.now + a.w.Scavengers.Vacate
	var leaving []backfill.JobID
	for _, way := range told.MadeWay {
		for _, id := range way.Scavengers {
			switch run := b.runs[id]; {
			case run == nil:
				return a.violation(id, "is told to leave, but does not scavenge")
			case run.due != backfill.Forever:
				return a.violation(id, "is told to leave a second time")
			default:
				run.due = due
				leaving = append(leaving, id)
			}
		}
	}
	for _, id := range leaving {
		if !a.isNeeded(id) {
			return a.violation(id, "is told to leave, and nobody needs its place")
		}
	}
	for _, m := range told.Matches {
		id := m.Job.ID
		switch {
		case !a.w.scavenges(id):
			return a.violation(id, "scavenges, and is no scavenger")
		case b.runs[id] != nil || b.done[id]:
			return a.violation(id, "scavenges a second time")
		case a.w.Jobs[id].Submit > a.now:
			return a.violation(id, "scavenges before it was submitted, at %s", a.w.text(a.w.Jobs[id].Submit))
		}
		b.runs[id] = &scavengerEntry{at: m.Placement, start: a.now, due: backfill.Forever}
		for _, on := range m.Placement {
			b.take(on.Slot.Name, a.chunkOf(id, on.Slot), on.Count)
		}
	}
	return nil
}

// isNeeded reports whether a scavenger that is told to leave could not have stayed beside the jobs of the plan and
// the scavengers that stay: on one of its slots, or for a limit. Where others are to take over, that is
// not known here.
func (a *audit) isNeeded(id backfill.JobID) bool {
	if len(a.pinned) > 0 {
		return true
	}
	for _, on := range a.scavengers.runs[id].at {
		slot := a.slotNamed(on.Slot.Name)
		if int(slot) >= len(a.used) { // nobody else ever ran there
			continue
		}
		use := slices.Clone(a.used[slot])
		use.AddScaled(a.chunkOf(id, on.Slot), int64(on.Count))
		for other, run := range a.scavengers.runs {
			for _, there := range run.at {
				if run.due == backfill.Forever && there.Slot.Name == on.Slot.Name {
					use.AddScaled(a.chunkOf(other, there.Slot), int64(there.Count))
				}
			}
		}
		if !use.Within(a.slots[slot].Capacity) {
			return true
		}
	}
	return a.isNeededForLimit(id)
}

// isNeededForLimit reports whether a scavenger that is told to leave takes of a limit that has no room for it.
func (a *audit) isNeededForLimit(id backfill.JobID) bool {
	for _, t := range a.w.Jobs[id].Takes {
		use := a.taken[t.Limit] + t.Amount
		for other, run := range a.scavengers.runs {
			if run.due == backfill.Forever {
				use += taken(a.w.Jobs[other].Job, t.Limit)
			}
		}
		for _, l := range a.w.Limits {
			if l.Name == t.Limit && use > l.Height {
				return true
			}
		}
	}
	return false
}

// closeScavengers checks, after the last cycle, that no scavenger was lost.
func (a *audit) closeScavengers() error {
	for i := range a.outcomes {
		id := backfill.JobID(i)
		if !a.w.scavenges(id) {
			continue
		}
		switch o := &a.outcomes[i]; {
		case o.Ended != a.scavengers.done[id], a.scavengers.runs[id] != nil:
			return a.violation(id, "scavenges without an end")
		case !o.Ended && o.Held == "":
			return a.violation(id, "neither scavenged to its end nor was held")
		}
	}
	return nil
}
