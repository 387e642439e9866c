package backfill

import (
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Bundle is slots that are taken whole together: a partition of a partitioned machine,
// with its wires. Two bundles that share a slot are in conflict. It never changes, nor
// does the capacity of its slots; they may go and come back.
type Bundle struct {
	ID    BundleID
	Name  string
	Slots []SlotID // ascending; no two bundles have the same
}

// Bundles are all bundles that the pool ever had, by BundleID.
func (s *State) Bundles() []Bundle { return s.bundles }

// Chunk is what one chunk of the job takes of a slot: what it needs, or all that the
// slot has. It must not be changed.
func (s *State) Chunk(j *Job, on SlotID) Vector {
	if j.Whole {
		return s.slots[on].Capacity
	}
	return j.Request
}

// Holds is what the job takes at a placement of it, summed over the slots.
func (s *State) Holds(j *Job, at Placement) Vector {
	sum := make(Vector, len(s.resources))
	for _, on := range at {
		sum.AddScaled(s.Chunk(j, on.Slot), int64(on.Count))
	}
	return sum
}

// at reports whether a placement is the bundle, one chunk on each slot.
func (b *Bundle) at(at Placement) bool {
	return slices.EqualFunc(at, b.Slots, func(c Chunks, id SlotID) bool { return c == Chunks{Slot: id, Count: 1} })
}

// addBundle adds a bundle. It holds from then on; dropLastBundle undoes it.
func (s *State) addBundle(b Bundle) {
	s.bundles = append(s.bundles, b)
	s.profile.AddBundle(b.Name, b.Slots)
}

func (s *State) dropLastBundle() {
	s.bundles = s.bundles[:len(s.bundles)-1]
	s.profile.DropLastBundle()
}

// validate refuses a bundle that would leave a gap behind those there are, that names
// slots which are not, or in which there is nothing to be taken, or the same slots as
// another.
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

// validateWhole refuses a slot that is taken whole and of which there is nothing: two
// jobs could have it at once.
func (s Slot) validateWhole() error {
	if s.Capacity.Zero() {
		return fmt.Errorf("slot %s has nothing that a job could take: some amount must be at least 1", s.Name)
	}
	return nil
}

// bundled is the slots of bundles, and what of them is told in the course of a round.
type bundled struct {
	s     *State
	fresh map[SlotID]bool // of the round's own bundles
	told  map[SlotID]Vector
}

// bundled refuses bundles of the round that cannot be. All is what there are then.
func (s *State) bundled(r Round, slots int) (b bundled, all []Bundle, err error) {
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

// follow takes note of an event, and refuses it if it changes the capacity of a slot of
// a bundle: what a job holds there, which is all of it, would change under the job.
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
		return fmt.Errorf("slot %s belongs to a bundle and has %v, which cannot change to %v", e.Slot.Name, capacity, e.Slot.Capacity)
	}
	if b.told == nil {
		b.told = map[SlotID]Vector{}
	}
	b.told[id] = e.Slot.Capacity
	return nil
}

// errKind says that candidates are not what the job takes.
var errKind = errors.New("a job that takes a bundle whole has bundles as candidates, and any other job has slots")

// suits refuses candidates of the other kind than the job takes.
func (j *Job) suits(c *Candidates) error {
	if j.Whole && len(c.Slots) > 0 || !j.Whole && len(c.Bundles) > 0 {
		return fmt.Errorf("job %d with its candidates: %w", j.ID, errKind)
	}
	return nil
}

// keepsKind refuses another content of a candidate set that does not suit the jobs that
// use it.
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

// profileWith is the profile with the round's own bundles.
func (s *State) profileWith(r Round) *profile.Profile {
	if len(r.Bundles) == 0 {
		return s.profile
	}
	p := s.profile.Clone()
	for _, b := range r.Bundles {
		p.AddBundle(b.Name, b.Slots)
	}
	return p
}
