package backfill

import (
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Bundle is a set of slots that one job takes together, each of them entirely, such as a partition
// of a Blue Gene machine with its wires. Two bundles that share a slot are in conflict. A bundle
// and the capacity of its slots never change, but its slots may disappear and return.
type Bundle struct {
	ID    BundleID
	Name  string
	Slots []SlotID // ascending; no two bundles have the same list
}

// Bundles returns all bundles that the pool ever had, by BundleID.
func (s *View) Bundles() []Bundle { return s.bundles }

// Chunk returns what one chunk of the job uses of a slot: its request, or the slot's whole capacity
// if the job takes bundles. The result must not be changed.
func (s *View) Chunk(j *Job, on SlotID) Vector {
	if j.Whole {
		return s.slots[on].Capacity
	}
	return j.Request
}

// Holds returns what the job uses at the placement, summed over the slots.
func (s *View) Holds(j *Job, at Placement) Vector {
	sum := make(Vector, len(s.resources))
	for _, on := range at {
		sum.AddScaled(s.Chunk(j, on.Slot), int64(on.Count))
	}
	return sum
}

// at reports whether a placement is exactly this bundle: one chunk on each of its slots.
func (b *Bundle) at(at Placement) bool {
	return slices.EqualFunc(at, b.Slots, func(c Chunks, id SlotID) bool { return c == Chunks{Slot: id, Count: 1} })
}

// addBundle adds a bundle to the state and to the profile; dropLastBundle undoes it.
func (s *State) addBundle(b Bundle) {
	s.bundles = append(s.bundles, b)
	s.profile.AddBundle(b.Name, b.Slots)
}

func (s *State) dropLastBundle() {
	s.bundles = s.bundles[:len(s.bundles)-1]
	s.profile.DropLastBundle()
}

// validate returns an error if the bundle's ID is not the next one, if it has no name or no slots,
// if a slot is unknown, without capacity or not in ascending order, or if another bundle has the
// same slots.
func (b Bundle) validate(before []Bundle, known []Slot, slots int) error {
	switch {
	case int(b.ID) != len(before):
		return fmt.Errorf("bundle %d: the next free ID is %d", b.ID, len(before))
	case b.Name == "":
		return fmt.Errorf("bundle %d has no name", b.ID)
	case len(b.Slots) == 0:
		return fmt.Errorf("bundle %s has no slots", b.Name)
	}
	for i, id := range b.Slots {
		switch {
		case id < 0 || int(id) >= slots:
			return fmt.Errorf("bundle %s: unknown slot %d", b.Name, id)
		case i > 0 && id <= b.Slots[i-1]:
			return fmt.Errorf("bundle %s: slot %d is not in ascending order", b.Name, id)
		case int(id) < len(known):
			if err := known[id].validateWhole(); err != nil {
				return fmt.Errorf("bundle %s: %w", b.Name, err)
			}
		}
	}
	if i := slices.IndexFunc(before, func(o Bundle) bool { return slices.Equal(o.Slots, b.Slots) }); i >= 0 {
		return fmt.Errorf("bundle %s has the same slots as bundle %s", b.Name, before[i].Name)
	}
	return nil
}

// validateWhole returns an error if the slot's capacity is zero: two jobs could then take the slot
// whole at once.
func (s Slot) validateWhole() error {
	if s.Capacity.Zero() {
		return fmt.Errorf("slot %s has nothing that a job could take: some amount must be at least 1", s.Name)
	}
	return nil
}

// bundled checks that a round's slot events do not change the capacity of slots in bundles. It
// stores the capacities that the events have given so far.
type bundled struct {
	s     *State
	fresh map[SlotID]bool // slots of the bundles that the round adds
	told  map[SlotID]Vector
}

// bundled validates the bundles that a round adds. It returns the value whose follow method checks
// the round's slot events one by one, and all bundles: the state's and the added ones. The
// parameter slots is the number of slots, those that the round adds included.
func (s *State) bundled(r *Round, slots int) (b bundled, all []Bundle, err error) {
	b, all = bundled{s: s}, s.bundles
	if len(r.Bundles) == 0 {
		return b, all, nil
	}
	b.fresh, all = map[SlotID]bool{}, slices.Clip(all)
	for _, bundle := range r.Bundles {
		if err = bundle.validate(all, s.slots, slots); err != nil {
			return b, nil, err
		}
		for _, id := range bundle.Slots {
			b.fresh[id] = true
		}
		all = append(all, bundle)
	}
	return b, all, nil
}

// follow checks one event and stores its capacity. It returns an error if the event changes the
// capacity of a slot in a bundle, because a job that holds the whole slot would then hold another
// amount, or if the event gives such a slot no capacity.
func (b *bundled) follow(e *Event) error {
	id := e.Slot.ID
	if e.Kind != SlotAdded && e.Kind != SlotChanged || !b.fresh[id] && !b.s.profile.InBundle(id) {
		return nil
	}
	if err := e.Slot.validateWhole(); err != nil {
		return err
	}
	capacity, known := b.told[id]
	if !known && int(id) < len(b.s.slots) {
		capacity, known = b.s.slots[id].Capacity, true
	}
	if known && !slices.Equal(capacity, e.Slot.Capacity) {
		return fmt.Errorf("slot %s belongs to a bundle and has %v, which cannot change to %v", e.Slot.Name, capacity,
			e.Slot.Capacity)
	}
	if b.told == nil {
		b.told = map[SlotID]Vector{}
	}
	b.told[id] = e.Slot.Capacity
	return nil
}

// errKind is the error for a bundle job whose candidates are slots, or for any other job whose
// candidates are bundles.
var errKind = errors.New("a job that takes a bundle whole has bundles as candidates, and any other job has slots")

// suits returns an error if a bundle job has slots as candidates, or any other job has bundles.
func (j *Job) suits(c *Candidates) error {
	if j.Whole && len(c.Slots) > 0 || !j.Whole && len(c.Bundles) > 0 {
		return fmt.Errorf("job %d with its candidates: %w", j.ID, errKind)
	}
	return nil
}

// keepsKind returns an error if the new content of a candidate set does not suit the jobs that use
// it: bundles for bundle jobs, slots for all others.
func (s *State) keepsKind(set *CandidateSet) (err error) {
	old, now := s.candidates[set.ID], &set.Candidates
	if (len(now.Slots) == 0 || len(old.Slots) > 0) && (len(now.Bundles) == 0 || len(old.Bundles) > 0) {
		return nil
	}
	s.jobs.Scan(func(_ JobID, r *record) bool {
		if r.job.Candidates == set.ID {
			err = r.job.suits(now)
		}
		return err == nil
	})
	return err
}

// profileWith returns the state's profile, or a copy that also has the bundles and the rows of the
// round.
func (s *State) profileWith(r *Round) *profile.Profile {
	if len(r.Bundles) == 0 && len(r.Rows) == 0 {
		return s.profile
	}
	p := s.profile.Clone()
	for _, b := range r.Bundles {
		p.AddBundle(b.Name, b.Slots)
	}
	for _, row := range r.Rows {
		p.SetRow(row.ID, row.Name, row.Height)
	}
	return p
}
