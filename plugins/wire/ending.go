package wire

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// CutOff returns a state and a round on it for a plugin that does not know all that candidates and slots
// may have: without windows it is told of the candidates that are open at the instant of the round; without
// ends, that no slot has one, and for each job of the candidates on which it would end in time if it began
// then; without limits, as [WithoutLimits] says; and without what must be free when a job begins
// ([backfill.Candidates].Least), of the candidates on which that much is free beside what runs. Jobs of one
// candidate set may have others then, which come behind those of the state.
func CutOff(knows Features, state backfill.Snapshot, round backfill.Round) (backfill.Snapshot, backfill.Round) {
	if knows&Windows == 0 {
		state.Candidates, round.Candidates = OpenNow(state.Candidates, round.Now), OpenNow(round.Candidates, round.Now)
	}
	if knows&Ends == 0 {
		state, round = endless(state, round)
	}
	if knows&Limits == 0 && len(state.Rows) > 0 {
		state, round = WithoutLimits(state, round)
	}
	if knows&Least == 0 {
		state, round = EnoughNow(state, round)
	}
	return state, round
}

// HasEnds reports whether some slot that a round brings has an end.
func HasEnds(round backfill.Round) bool {
	return slices.ContainsFunc(round.Events, func(e backfill.Event) bool { return e.Slot.End != 0 })
}

// cut makes the candidate sets of jobs that are told of no ends.
type cut struct {
	now     backfill.Time
	ends    []backfill.Time // by slot
	bundles []backfill.Bundle
	sets    []backfill.CandidateSet
	sorted  map[int][]backfill.Time // by set: the ends of its candidates, ascending
	made    map[madeOf]int
}

// madeOf says of which set another was made, and how many of its candidates that has.
type madeOf struct{ set, left int }

func endless(state backfill.Snapshot, round backfill.Round) (backfill.Snapshot, backfill.Round) {
	c := cut{
		now: round.Now, bundles: slices.Concat(state.Bundles, round.Bundles), sets: slices.Clone(state.Candidates),
		sorted: map[int][]backfill.Time{}, made: map[madeOf]int{},
	}
	state.Slots, state.Jobs = slices.Clone(state.Slots), slices.Clone(state.Jobs)
	for i := range state.Slots {
		c.setEnd(state.Slots[i].Slot)
		state.Slots[i].End = 0
	}
	round.Events = slices.Clone(round.Events)
	for i := range round.Events {
		if e := &round.Events[i]; e.Kind == backfill.SlotAdded || e.Kind == backfill.SlotChanged {
			c.setEnd(e.Slot)
			e.Slot.End = 0
		}
	}
	for i := range state.Jobs {
		state.Jobs[i].Job = c.job(state.Jobs[i].Job)
	}
	for i := range round.Events {
		if e := &round.Events[i]; e.Job != nil {
			e.Job = c.job(e.Job)
		}
	}
	state.Candidates = c.sets
	return state, round
}

// setEnd notes when a slot ends.
func (c *cut) setEnd(s backfill.Slot) {
	for int(s.ID) >= len(c.ends) {
		c.ends = append(c.ends, backfill.Forever)
	}
	if c.ends[s.ID] = s.End; s.End == 0 {
		c.ends[s.ID] = backfill.Forever
	}
}

// job returns a job with the candidates on which it would end in time if it began now: the job itself if
// these are all.
func (c *cut) job(j *backfill.Job) *backfill.Job {
	lasts := j.Estimate
	if j.Unestimated { // it may run to the slot's end
		lasts = 1
	}
	all := &c.sets[j.Candidates].Candidates
	sorted, known := c.sorted[j.Candidates]
	if !known {
		for i := range len(all.Slots) + len(all.Bundles) {
			sorted = append(sorted, c.end(all, i))
		}
		slices.Sort(sorted)
		c.sorted[j.Candidates] = sorted
	}
	short, _ := slices.BinarySearch(sorted, c.now+lasts)
	if short == 0 {
		return j
	}
	key := madeOf{j.Candidates, len(sorted) - short}
	set, known := c.made[key]
	if !known {
		set = len(c.sets)
		c.made[key], c.sets = set, append(c.sets, backfill.CandidateSet{ID: set, Candidates: c.lasting(all, c.now+lasts)})
	}
	other := *j
	other.Candidates = set
	return &other
}

// end returns when the i-th of the candidates ends.
func (c *cut) end(all *backfill.Candidates, i int) backfill.Time {
	endOf := func(id backfill.SlotID) backfill.Time {
		if int(id) < len(c.ends) {
			return c.ends[id]
		}
		return backfill.Forever // it is yet to come
	}
	if len(all.Slots) > 0 {
		return endOf(all.Slots[i])
	}
	end := backfill.Forever
	if id := all.Bundles[i]; int(id) < len(c.bundles) {
		for _, slot := range c.bundles[id].Slots {
			end = min(end, endOf(slot))
		}
	}
	return end
}

// lasting returns those of the candidates that do not end before an instant.
func (c *cut) lasting(all *backfill.Candidates, until backfill.Time) (left backfill.Candidates) {
	for i := range len(all.Slots) + len(all.Bundles) {
		if c.end(all, i) < until {
			continue
		}
		if len(all.Slots) > 0 {
			left.Slots = append(left.Slots, all.Slots[i])
		} else {
			left.Bundles = append(left.Bundles, all.Bundles[i])
		}
		if all.Rank != nil {
			left.Rank = append(left.Rank, all.Rank[i])
		}
		if all.Windows != nil {
			left.Windows = append(left.Windows, all.Windows[i])
		}
		if all.Least != nil {
			left.Least = append(left.Least, all.Least[i])
		}
	}
	return left
}
