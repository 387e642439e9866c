package negotiator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// mostResources bounds how many resources a pool's ads may add, and longestResource the name of one.
const (
	mostResources   = 32
	longestResource = 40
)

// MachineResources returns the resources that a slot lists in MachineResources, in lower case: 32 at most, with names
// that may stand in those of attributes. Swap is none: it is room for programs, and no job requests it.
func MachineResources(slot *classad.ClassAd) (names []string) {
	list, _ := slot.Literal("MachineResources").Text()
	apart := func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }
	for name := range strings.FieldsFuncSeq(strings.ToLower(list), apart) {
		isOdd := strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
		if isOdd || len(name) > longestResource || name == "swap" || slices.Contains(names, name) {
			continue
		}
		if names = append(names, name); len(names) == mostResources {
			break
		}
	}
	return names
}

// AddMachineResources adds to a schema, and to slots that were read by it, the further resources that
// slots list in MachineResources, such as Licenses, and that some of them have. A schema with other
// resources than the usual ones was chosen, and stays. It returns an error if a slot's amount is none.
func AddMachineResources(schema *Schema, slots []*Slot) error {
	if !slices.Equal(schema.Resources, DefaultSchema().Resources) {
		return nil
	}
	listed, known := map[string]bool{}, map[string]bool{}
	for _, slot := range slots {
		list, _ := slot.Ad.Literal("MachineResources").Text()
		if known[list] {
			continue
		}
		known[list] = true
		for _, name := range MachineResources(slot.Ad) {
			isKnown := listed[name] || slices.Contains(schema.Resources, name) || name == Claims
			if isKnown || len(listed) == mostResources {
				continue
			}
			listed[name] = true
			if err := schema.add(name, slots); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a resource to a schema and the slots, if one of them has any of it.
func (s *Schema) add(resource string, slots []*Slot) error {
	amounts, most := make([]int64, len(slots)), int64(0)
	for i, slot := range slots {
		attr := Attribute(resource)
		total, partitionable, err := whole(slot.Ad, "TotalSlot"+attr, 0, backfill.MaxAmount)
		if err == nil && !partitionable {
			total, _, err = whole(slot.Ad, attr, 0, backfill.MaxAmount)
		}
		if err != nil {
			return fmt.Errorf("slot %s: %w", slot.Name, err)
		}
		amounts[i], most = total, max(most, total)
	}
	if most == 0 {
		return nil
	}
	s.Resources = append(slices.Clone(s.Resources), resource)
	for i, slot := range slots {
		slot.give(resource, amounts[i])
	}
	return nil
}

// give adds an amount of a further resource to the slot, and has its ad say so.
func (s *Slot) give(resource string, amount int64) {
	s.Capacity = append(slices.Clone(s.Capacity), amount)
	attr := Attribute(resource)
	if _, has := s.Ad.Lookup(attr); has || amount > 0 {
		s.Ad = s.Ad.Clone()
		s.Ad.SetInt(attr, amount)
	}
}
