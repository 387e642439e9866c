package pools

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Change says which slots a pool has besides its own, and which it does not have.
type Change struct {
	// With are slots as [negotiator.ReadMoreSlots] reads them. They never fail and are never drained.
	With []string
	// Without are names of slots or of machines (see [negotiator.NamesOfSlot]); an asterisk stands for any
	// text, a question mark for a letter.
	Without []string
}

// IsZero reports whether nothing changes.
func (c Change) IsZero() bool { return len(c.With)+len(c.Without) == 0 }

// Changed returns the pool with and without the slots of a change; the pool itself stays as it is. It is
// an error to leave no slot, or to name one that is not there.
func (p *Description) Changed(c Change) (*Description, error) {
	if c.IsZero() {
		return p, nil
	}
	if len(p.Bundles) > 0 {
		return nil, errors.New("with, without: the pool is partitioned, and its partitions cannot change")
	}
	changed := *p
	changed.asked = nil
	var err error
	if changed.Slots, changed.Outages, err = p.without(c.Without); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, s := range p.Slots {
		taken[s.Name] = true
	}
	for _, text := range c.With {
		more, err := p.more(text, taken)
		if err != nil {
			return nil, fmt.Errorf("with %s: %w", text, err)
		}
		changed.Slots = append(changed.Slots, more...)
	}
	switch n := len(changed.Slots); {
	case n == 0:
		return nil, fmt.Errorf("without %s: the pool has no slot then", strings.Join(c.Without, ", "))
	case n > MaxSlots:
		return nil, fmt.Errorf("with %s: the pool has more than %d slots then", strings.Join(c.With, ", "), MaxSlots)
	}
	return &changed, nil
}

// more returns further slots, and takes their names.
func (p *Description) more(text string, taken map[string]bool) ([]*negotiator.Slot, error) {
	more, err := negotiator.ReadMoreSlots(text)
	if err != nil {
		return nil, err
	}
	if more.Count < 1 || more.Count > MaxSlots {
		return nil, fmt.Errorf("count %d: must be from 1 to %d", more.Count, MaxSlots)
	}
	like, err := p.like(more.Like)
	if err != nil {
		return nil, err
	}
	all, err := like.More(p.Schema.Resources, more, func(name string) bool { return taken[name] })
	for _, s := range all {
		taken[s.Name] = true
	}
	return all, err
}

// like returns the slot of a name, of several of a machine the first; of no name the pool's first.
func (p *Description) like(name string) (*negotiator.Slot, error) {
	if name == "" {
		return p.Slots[0], nil
	}
	if strings.ContainsAny(name, "*?") {
		return nil, fmt.Errorf("like=%s: name one slot or machine, without * and ?", backfill.Printable(name, 100))
	}
	i := slices.IndexFunc(p.Slots, func(s *negotiator.Slot) bool { return means(name, s.Name) })
	if i < 0 {
		return nil, p.absent(name)
	}
	return p.Slots[i], nil
}

// Added returns one of the slots that a text of [Change.With] adds to the pool, and the slot that it is like.
func (p *Description) Added(text string) (added, like *negotiator.Slot, err error) {
	more, err := negotiator.ReadMoreSlots(text)
	if err != nil {
		return nil, nil, err
	}
	all, err := p.more(text, map[string]bool{})
	if err != nil {
		return nil, nil, err
	}
	like, err = p.like(more.Like)
	return all[0], like, err
}

// without returns the slots and the outages without the slots of some names.
func (p *Description) without(names []string) ([]*negotiator.Slot, []Outage, error) {
	gone := make([]bool, len(p.Slots))
	for _, name := range names {
		found := false
		if name == "" {
			return nil, nil, errors.New("without: it is empty; name slots or machines of the pool")
		}
		for i, s := range p.Slots {
			if means(name, s.Name) {
				gone[i], found = true, true
			}
		}
		if !found {
			return nil, nil, fmt.Errorf("without %s: %w", name, p.absent(name))
		}
	}
	slots, now := []*negotiator.Slot{}, make([]int, len(p.Slots)) // now has the indices of those that are left
	for i, s := range p.Slots {
		now[i] = len(slots)
		if !gone[i] {
			slots = append(slots, s)
		}
	}
	var outages []Outage
	for _, o := range p.Outages {
		var left []int
		for _, i := range o.Slots {
			if !gone[i] {
				left = append(left, now[i])
			}
		}
		if o.Slots = left; len(left) > 0 {
			outages = append(outages, o)
		}
	}
	return slots, outages, nil
}

// means reports whether a slot has a name, or one that a pattern matches.
func means(pattern, slot string) bool {
	return slices.ContainsFunc(negotiator.NamesOfSlot(slot), func(name string) bool {
		if !strings.ContainsAny(pattern, "*?[") {
			return name == pattern
		}
		fits, err := path.Match(pattern, name)
		return fits && err == nil
	})
}

// absent is the error that there is no slot of a name.
func (p *Description) absent(name string) error {
	return fmt.Errorf("there is no slot or machine %s in the pool; one of its slots is %s",
		backfill.Printable(name, 100), p.Slots[0].Name)
}
