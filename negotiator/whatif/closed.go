package whatif

import (
	"context"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// closing is slots that take no jobs for a time; until is Forever if it does not end.
type closing struct {
	slots       []backfill.SlotID
	from, until backfill.Time
}

// closings are all that a question closes, and which candidate sets have a slot or a bundle of
// these.
type closings struct {
	all     []closing
	bundles []backfill.Bundle
	ids     []int // of the sets
	lists   int64 // bytes of their candidates; what sets share counts once
}

// closeSlots finds which candidate sets the closings concern.
func closeSlots(ctx context.Context, all []closing, sets []*backfill.Candidates, bundles []backfill.Bundle,
) (c closings, err error) {
	if c = (closings{all: all, bundles: bundles}); len(all) == 0 {
		return c, nil
	}
	ever := c.shut(func(closing) bool { return true })
	concerned := map[backfill.CandidatesMemory]bool{}
	for id, set := range sets {
		if ctx.Err() != nil {
			return c, tookTooLong(ctx)
		}
		concerns, known := concerned[set.Memory()]
		if !known {
			if concerns = ever.concern(set); concerns {
				c.lists += set.Bytes()
			}
			concerned[set.Memory()] = concerns
		}
		if concerns {
			c.ids = append(c.ids, id)
		}
	}
	return c, nil
}

// bytes returns what the sets take at most while they are closed in part: those of two instants, as
// the next ones are made while the last ones are in use.
func (c *closings) bytes() int64 {
	return 2 * (c.lists + int64(len(c.ids))*backfill.CandidateSetBytes)
}

// open returns the sets without what is closed at an instant. Of sets that share their candidates
// it makes one copy.
func (c *closings) open(ctx context.Context, sets []*backfill.Candidates, t backfill.Time,
) ([]*backfill.Candidates, error) {
	if len(c.ids) == 0 {
		return sets, nil
	}
	shut := c.shut(func(one closing) bool { return one.from <= t && t < one.until })
	open, copies := slices.Clone(sets), map[backfill.CandidatesMemory]*backfill.Candidates{}
	for _, id := range c.ids {
		if ctx.Err() != nil {
			return nil, tookTooLong(ctx)
		}
		at := sets[id].Memory()
		if copies[at] == nil {
			copies[at] = shut.without(sets[id])
		}
		open[id] = copies[at]
	}
	return open, nil
}

// begin adds to the first round of a play what the slots change at once, and returns the later
// rounds.
func (s *otherSlots) begin(first *backfill.Round, state *backfill.State) (later []ahead.Later) {
	last := s.first
	first.Events = append(first.Events, s.events...)
	first.Candidates = append(first.Candidates, changed(state.CandidateSets(), last)...)
	var instants []backfill.Time
	for _, c := range s.closed.all {
		instants = append(instants, c.from, c.until)
	}
	slices.Sort(instants)
	for _, t := range slices.Compact(instants) {
		if t <= first.Now || t >= backfill.Forever {
			continue
		}
		later = append(later, ahead.Later{Now: t, Make: func(ctx context.Context) (r backfill.Round, err error) {
			open, err := s.closed.open(ctx, s.sets, t)
			if err != nil {
				return r, err
			}
			r.Candidates, last = changed(last, open), open
			return r, nil
		}})
	}
	s.first = nil
	return later
}

// changed lists the sets that differ from those before.
func changed(before, now []*backfill.Candidates) (sets []backfill.CandidateSet) {
	for id, set := range now {
		if before[id] != set && before[id].Memory() != set.Memory() {
			sets = append(sets, backfill.CandidateSet{ID: id, Candidates: *set})
		}
	}
	return sets
}

// shut are slots and bundles that are closed, by ID; those beyond the end are open.
type shut struct{ slots, bundles []bool }

// shut returns the slots of those closings for which the callback returns true, and the bundles
// that have one of them.
func (c *closings) shut(during func(closing) bool) (s shut) {
	for _, one := range c.all {
		if !during(one) {
			continue
		}
		if last := int(one.slots[len(one.slots)-1]); last >= len(s.slots) {
			s.slots = append(s.slots, make([]bool, last+1-len(s.slots))...)
		}
		for _, id := range one.slots {
			s.slots[id] = true
		}
	}
	s.bundles = make([]bool, len(c.bundles))
	for id, b := range c.bundles {
		s.bundles[id] = slices.ContainsFunc(b.Slots, s.slot)
	}
	return s
}

func (s *shut) slot(id backfill.SlotID) bool     { return int(id) < len(s.slots) && s.slots[id] }
func (s *shut) bundle(id backfill.BundleID) bool { return s.bundles[id] }

// concern reports whether one of the candidates is shut.
func (s *shut) concern(set *backfill.Candidates) bool {
	return slices.ContainsFunc(set.Slots, s.slot) || slices.ContainsFunc(set.Bundles, s.bundle)
}

// without returns the candidates that are not shut.
func (s *shut) without(set *backfill.Candidates) *backfill.Candidates {
	if !s.concern(set) {
		return set
	}
	left := &backfill.Candidates{}
	if set.Rank != nil {
		left.Rank = make([]int32, 0, len(set.Rank))
	}
	if set.Windows != nil {
		left.Windows = make([][]backfill.Window, 0, len(set.Windows))
	}
	if set.Least != nil {
		left.Least = make([]backfill.Vector, 0, len(set.Least))
	}
	left.Slots = keep(set.Slots, s.slot, set, left)
	left.Bundles = keep(set.Bundles, s.bundle, set, left)
	return left
}

// keep returns the candidates that are not shut, and appends their ranks, windows and what must be free to what is left
// of the set.
func keep[ID backfill.SlotID | backfill.BundleID](all []ID, shut func(ID) bool, set, left *backfill.Candidates) []ID {
	if len(all) == 0 {
		return nil
	}
	open := make([]ID, 0, len(all))
	for i, id := range all {
		if shut(id) {
			continue
		}
		open = append(open, id)
		if set.Rank != nil {
			left.Rank = append(left.Rank, set.Rank[i])
		}
		if set.Windows != nil {
			left.Windows = append(left.Windows, set.Windows[i])
		}
		if set.Least != nil {
			left.Least = append(left.Least, set.Least[i])
		}
	}
	return open
}
