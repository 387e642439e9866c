package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// otherSlots are the slots of a pool as a question has them.
type otherSlots struct {
	events []backfill.Event // at once
	sets   []*backfill.Candidates
	closed closings
	first  []*backfill.Candidates // the sets without what is closed at once
	notes  []string
}

// enlarging is what a question that adds slots takes of the negotiator, between two cycles.
type enlarging struct {
	like  string
	slots *negotiator.Enlargement
}

// enlarging readies further slots, if the question has some.
func (a *asking) enlarging(n *negotiator.Negotiator) (e enlarging, err error) {
	if len(a.q.With) == 0 {
		return e, nil
	}
	e.like = cmp.Or(a.q.With[0].Like, firstUp(n.State()))
	if e.slots, err = n.Enlarge(e.like); err != nil {
		return e, badly("further slots: %w", err)
	}
	return e, nil
}

// otherSlots finds which slots a question has the pool with, beside the cycles.
func (a *asking) otherSlots(ctx context.Context, more enlarging, state *backfill.State) (*otherSlots, error) {
	s := &otherSlots{sets: slices.Clone(state.CandidateSets())}
	closed, err := a.closed(state)
	if err != nil {
		return nil, err
	}
	if len(closed) > 0 {
		s.notes = append(s.notes, "no job is killed: what runs on a slot finishes, and no other job starts there")
	}
	left, err := a.enlarge(ctx, s, more)
	if err != nil {
		return nil, err
	}
	if s.closed, err = closeSlots(ctx, closed, s.sets, state.Bundles()); err != nil {
		return nil, err
	}
	if a.Memory > 0 && s.closed.bytes() > left {
		return nil, badly("%d kinds of jobs may use a slot that is closed, and their other slots fill up to %d MiB: "+
			"at most %d MiB are allowed; close slots that fewer kinds may use, or ask when fewer kinds are there",
			len(s.closed.ids), s.closed.bytes()>>20+1, left>>20)
	}
	s.first, err = s.closed.open(ctx, s.sets, state.Now())
	return s, err
}

// closed are the slots that the question closes, and when.
func (a *asking) closed(state *backfill.State) (all []closing, err error) {
	named, now := a.named(state), state.Now()
	for _, name := range a.q.Without {
		slots, unknown := named.find(state, name)
		if unknown != nil {
			return nil, unknown
		}
		all = append(all, closing{slots, now, backfill.Forever})
	}
	for _, d := range a.q.Drain {
		slots, unknown := named.find(state, d.Slot)
		if unknown != nil {
			return nil, unknown
		}
		from := max(now, backfill.Time(d.From))
		until := backfill.Time(d.From + d.For)
		if until <= now {
			return nil, badly("slot %s: what is to be drained then is over", backfill.Printable(d.Slot, 100))
		}
		all = append(all, closing{slots, from, until})
	}
	return all, nil
}

// enlarge adds further slots. It returns how many bytes of sets the question may still make.
func (a *asking) enlarge(ctx context.Context, s *otherSlots, more enlarging) (left int64, err error) {
	left = a.memory()
	if more.slots == nil {
		return left, nil
	}
	with := a.q.With[0]
	further, err := more.slots.Match(ctx, with.Amounts, with.Count, left)
	switch {
	case errors.Is(err, negotiator.ErrMemory):
		return 0, badly("further slots: %w; ask for fewer slots, or when fewer kinds of jobs are there", err)
	case ctx.Err() != nil:
		return 0, tookTooLong(ctx)
	case err != nil:
		return 0, badly("further slots: %w", err)
	}
	s.events = further.Events
	shared := map[backfill.CandidatesMemory]bool{}
	for _, set := range further.Sets {
		s.sets[set.ID] = new(set.Candidates)
		left -= backfill.CandidateSetBytes
		if at := set.Candidates.Memory(); !shared[at] {
			shared[at] = true
			left -= set.Candidates.Bytes()
		}
	}
	s.notes = append(s.notes, fmt.Sprintf("the further slots are like %s, but for the amounts", more.like))
	if further.Untried > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%d kinds of jobs get none of them: to match them takes too long",
			further.Untried))
	}
	return left, nil
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

// named are the slots of names, ascending: a slot's own, such as slot1@node7.site, or the
// machine's, such as node7 or node7.site.
type named map[string][]backfill.SlotID

// named returns the slots that the question names.
func (a *asking) named(s *backfill.State) named {
	all := named{}
	for _, name := range a.q.Without {
		all[name] = nil
	}
	for _, d := range a.q.Drain {
		all[d.Slot] = nil
	}
	delete(all, "")
	if len(all) == 0 {
		return all
	}
	for _, slot := range s.Slots() {
		if !s.SlotUp(slot.ID) {
			continue
		}
		for _, name := range negotiator.NamesOfSlot(slot.Name) {
			all.add(name, slot.ID)
		}
	}
	return all
}

func (n named) add(name string, slot backfill.SlotID) {
	if found, asked := n[name]; asked {
		n[name] = append(found, slot)
	}
}

// find returns the slots of a name.
func (n named) find(s *backfill.State, name string) ([]backfill.SlotID, error) {
	if found := n[name]; len(found) > 0 {
		return found, nil
	}
	return nil, badly("there is no slot or machine %s in the pool; one of its slots is %s",
		backfill.Printable(name, 100), cmp.Or(firstUp(s), "not there: it has none"))
}
