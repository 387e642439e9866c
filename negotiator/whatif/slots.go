package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// otherSlots are the slots of a pool as a question has them.
type otherSlots struct {
	events []backfill.Event // at once
	sets   []*backfill.Candidates
	closed []closing
	notes  []string
}

// closing is slots that take no jobs for a time; until is Forever if it does not end.
type closing struct {
	slots       map[backfill.SlotID]bool
	from, until backfill.Time
}

// openAt returns the candidate sets without the slots that are closed at an instant.
func (s *otherSlots) openAt(t backfill.Time, bundles []backfill.Bundle) []*backfill.Candidates {
	shut := map[backfill.SlotID]bool{}
	for _, c := range s.closed {
		if c.from <= t && t < c.until {
			for slot := range c.slots {
				shut[slot] = true
			}
		}
	}
	open := make([]*backfill.Candidates, len(s.sets))
	for i, set := range s.sets {
		open[i] = without(set, shut, bundles)
	}
	return open
}

// without returns candidates without the slots, and without bundles that have one of them.
func without(set *backfill.Candidates, shut map[backfill.SlotID]bool, bundles []backfill.Bundle) *backfill.Candidates {
	isShut := func(slot backfill.SlotID) bool { return shut[slot] }
	hit := func(b backfill.BundleID) bool { return slices.ContainsFunc(bundles[b].Slots, isShut) }
	if !slices.ContainsFunc(set.Slots, isShut) && !slices.ContainsFunc(set.Bundles, hit) {
		return set
	}
	left := &backfill.Candidates{}
	for i, slot := range set.Slots {
		if !shut[slot] {
			left.Slots = append(left.Slots, slot)
			if set.Rank != nil {
				left.Rank = append(left.Rank, set.Rank[i])
			}
		}
	}
	for i, b := range set.Bundles {
		if !hit(b) {
			left.Bundles = append(left.Bundles, b)
			if set.Rank != nil {
				left.Rank = append(left.Rank, set.Rank[i])
			}
		}
	}
	return left
}

// changed lists the sets that differ from those before.
func changed(before, now []*backfill.Candidates) (sets []backfill.CandidateSet) {
	for id, set := range now {
		if before[id] != set {
			sets = append(sets, backfill.CandidateSet{ID: id, Candidates: *set})
		}
	}
	return sets
}

// begin adds to the first round of a play what the slots change at once, and returns the later rounds.
func (s *otherSlots) begin(first *backfill.Round, state *backfill.State) (later []backfill.Round) {
	now, bundles := first.Now, state.Bundles()
	last := s.openAt(now, bundles)
	first.Events = append(first.Events, s.events...)
	first.Candidates = append(first.Candidates, changed(state.CandidateSets(), last)...)
	var instants []backfill.Time
	for _, c := range s.closed {
		instants = append(instants, c.from, c.until)
	}
	slices.Sort(instants)
	for _, t := range slices.Compact(instants) {
		if t <= now || t >= backfill.Forever {
			continue
		}
		open := s.openAt(t, bundles)
		later = append(later, backfill.Round{Now: t, Candidates: changed(last, open)})
		last = open
	}
	return later
}

// otherSlots reads which slots a question has the pool with. It is called between two cycles.
func (a *asking) otherSlots(n *negotiator.Negotiator, o *outlook.Outlook) (*otherSlots, error) {
	s, state := &otherSlots{sets: slices.Clone(n.State().CandidateSets())}, n.State()
	named := a.named(state)
	for _, name := range a.q.Without {
		slots, err := named.find(state, name)
		if err != nil {
			return nil, err
		}
		s.closed = append(s.closed, closing{slots, o.Now(), backfill.Forever})
	}
	for _, d := range a.q.Drain {
		slots, err := named.find(state, d.Slot)
		if err != nil {
			return nil, err
		}
		from := max(o.Now(), backfill.Time(d.From))
		if until := backfill.Time(d.From + d.For); until > o.Now() {
			s.closed = append(s.closed, closing{slots, from, until})
			continue
		}
		return nil, badly("slot %s: what is to be drained then is over", d.Slot)
	}
	if len(s.closed) > 0 {
		s.notes = append(s.notes, "no job is killed: what runs on a slot finishes, and no other job starts there")
	}
	return s, s.enlarge(a.q.With, n)
}

// enlarge adds further slots.
func (s *otherSlots) enlarge(with []Slots, n *negotiator.Negotiator) error {
	if len(with) > 1 {
		return badly("ask for one kind of further slots at a time")
	}
	for _, more := range with {
		like := cmp.Or(more.Like, firstUp(n.State()))
		further, err := n.Enlarge(like, more.Amounts, more.Count)
		if err != nil {
			return badly("further slots: %w", err)
		}
		s.events = further.Events
		for _, set := range further.Sets {
			s.sets[set.ID] = new(set.Candidates)
		}
		s.notes = append(s.notes, fmt.Sprintf("the further slots are like %s, but for the amounts", like))
		if further.Untried > 0 {
			s.notes = append(s.notes, fmt.Sprintf("%d kinds of jobs get none of them: to match them takes too long",
				further.Untried))
		}
	}
	return nil
}

// firstUp returns the name of the first slot that is up; "": none is.
func firstUp(s *backfill.State) string {
	for _, slot := range s.Slots() {
		if s.SlotUp(slot.ID) {
			return slot.Name
		}
	}
	return ""
}

// named are the slots of names: a slot's own, such as slot1@node7.site, or the machine's, such as node7
// or node7.site.
type named map[string]map[backfill.SlotID]bool

// named returns the slots that the question names.
func (a *asking) named(s *backfill.State) named {
	all := named{}
	for _, name := range a.q.Without {
		all[name] = map[backfill.SlotID]bool{}
	}
	for _, d := range a.q.Drain {
		all[d.Slot] = map[backfill.SlotID]bool{}
	}
	delete(all, "")
	if len(all) == 0 {
		return all
	}
	for _, slot := range s.Slots() {
		if !s.SlotUp(slot.ID) {
			continue
		}
		_, machine, _ := strings.Cut(slot.Name, "@")
		host := machine
		if i := strings.IndexAny(machine, ".@"); i >= 0 { // a startd has a name of its own: slot1@n1@node7.site
			host = machine[:i]
		}
		for _, name := range []string{slot.Name, machine, host} {
			if found := all[name]; found != nil {
				found[slot.ID] = true
			}
		}
	}
	return all
}

// find returns the slots of a name.
func (n named) find(s *backfill.State, name string) (map[backfill.SlotID]bool, error) {
	if found := n[name]; len(found) > 0 {
		return found, nil
	}
	return nil, badly("there is no slot or machine %s in the pool; one of its slots is %s",
		backfill.Printable(name, 100), cmp.Or(firstUp(s), "not there: it has none"))
}
