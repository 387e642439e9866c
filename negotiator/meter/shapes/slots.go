package shapes

import (
	"encoding/binary"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// class is slots on which the same is free, for as long.
type class struct {
	free  backfill.Vector // from now until the instant until
	low   backfill.Vector // from now on, at all times
	until backfill.Time
	end   bool // until is the slot's end: there is nothing from then on
	whole bool // the slot is idle as a whole, and reserved at no time
	slots int64
	used  int64 // the most cpus of one slot that a kind of waiting jobs could use
}

// floor is the slots on which cpus are idle, by class.
type floor struct {
	state   *backfill.State
	columns columns
	classes []class
	classOf []int32 // by slot: its class; -1: none of its cpus is idle, or it is not there
	// members are how many slots of each class a set of candidates has that are open now.
	members map[int][]int64
	largest int64 // the most cpus that are idle on one slot
}

// readSlots looks at all slots.
func readSlots(s *backfill.State, c columns) *floor {
	f := &floor{state: s, columns: c, classOf: make([]int32, len(s.Slots())), members: map[int][]int64{}}
	profile, now, n := s.Profile(), s.Now(), len(s.Resources())
	known, key := map[string]int32{}, []byte(nil)
	free, low, high := make(backfill.Vector, n), make(backfill.Vector, n), make(backfill.Vector, n)
	for i, slot := range s.Slots() {
		f.classOf[i] = -1
		if !profile.Up(slot.ID) {
			continue
		}
		profile.Bounds(slot.ID, now, now+1, free, high)
		if free[0] <= 0 {
			continue
		}
		for k := range free {
			free[k] = max(free[k], 0)
		}
		profile.Bounds(slot.ID, now, backfill.Forever, low, high)
		until := profile.FreeUntil(slot.ID, free, now)
		end := until < backfill.Forever && until == profile.Ends().Of(slot.ID)
		whole := until == backfill.Forever && slices.Equal(free, slot.Capacity)
		key = binary.AppendVarint(key[:0], int64(until))
		key = append(key, flag(end)|flag(whole)<<1)
		for k := range free {
			key = binary.AppendVarint(binary.AppendVarint(key, free[k]), low[k])
		}
		at, found := known[string(key)]
		if !found {
			at = int32(len(f.classes))
			known[string(key)] = at
			f.classes = append(f.classes, class{
				free: slices.Clone(free), low: slices.Clone(low), until: until, end: end, whole: whole,
			})
		}
		f.classOf[i] = at
		f.classes[at].slots++
		f.largest = max(f.largest, free[0])
	}
	return f
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// places returns how many more chunks of a kind of jobs fit now, through the shortest run time
// among them, beside what runs and all reservations. The classes note how many cpus that would use.
func (f *floor) places(k *kind) (places int64) {
	j, now := k.one, f.state.Now()
	candidates := f.state.CandidateSets()[j.Candidates]
	if j.Whole {
		request := f.state.Request(j)
		request.Duration, request.ToEnd = k.shortest, k.toEnd
		if !f.state.Profile().HasPlace(request, now) {
			return 0
		}
		f.useAll(candidates)
		return 1
	}
	if candidates.Least != nil {
		return f.placesOnEach(k, candidates)
	}
	for i, slots := range f.membersOf(j.Candidates, candidates) {
		if slots > 0 {
			places += slots * f.use(i, k)
		}
	}
	return places
}

// placesOnEach is places for candidates some of which need more free than a chunk.
func (f *floor) placesOnEach(k *kind, candidates *backfill.Candidates) (places int64) {
	for i, id := range candidates.Slots {
		at := f.classOf[id]
		if at < 0 || !candidates.Open(i, f.state.Now()) {
			continue
		}
		if least := candidates.Least[i]; least == nil || fits(f.classes[at].free, least) > 0 {
			places += f.use(int(at), k)
		}
	}
	return places
}

// use returns how many chunks of a kind fit on each slot of a class, and notes how many cpus that
// is.
func (f *floor) use(at int, k *kind) (chunks int64) {
	c := &f.classes[at]
	if c.end && k.toEnd || k.shortest <= c.until-f.state.Now() {
		chunks = fits(c.free, k.one.Request)
	} else {
		chunks = fits(c.low, k.one.Request)
	}
	c.used = max(c.used, min(chunks*k.one.Request[0], c.free[0]))
	return chunks
}

// useAll notes that all that is idle of the slots of bundles can be used that are not reserved.
func (f *floor) useAll(candidates *backfill.Candidates) {
	for i := range f.classes {
		if c := &f.classes[i]; c.whole && len(candidates.Bundles) > 0 {
			c.used = c.free[0]
		}
	}
}

// fits returns how often a request fits into what is free; 0 if it requests nothing.
func fits(free, request backfill.Vector) (times int64) {
	times = -1
	for k, amount := range request {
		if amount <= 0 {
			continue
		}
		if n := max(free[k], 0) / amount; times < 0 || n < times {
			times = n
		}
	}
	return max(times, 0)
}

// membersOf returns how many of the candidates are of each class and open now.
func (f *floor) membersOf(set int, candidates *backfill.Candidates) []int64 {
	if members, known := f.members[set]; known {
		return members
	}
	members := make([]int64, len(f.classes))
	for i, id := range candidates.Slots {
		if at := f.classOf[id]; at >= 0 && candidates.Open(i, f.state.Now()) {
			members[at]++
		}
	}
	f.members[set] = members
	return members
}

// idle sums up what is idle. The parameter wanted says that some job wants slots.
func (f *floor) idle(wanted bool) Idle {
	idle := Idle{Reserved: f.state.ReservedIdle(), Largest: f.largest}
	for i := range f.classes {
		c := &f.classes[i]
		idle.CPUs += c.slots * c.free[0]
		if c.whole {
			idle.Slots += int(c.slots)
		}
		if wanted {
			idle.Usable += c.slots * c.used
		} else {
			idle.Usable += c.slots * f.forAny(c)
		}
	}
	return idle
}

// forAny returns how many cpus of a slot some job may use for any time.
func (f *floor) forAny(c *class) int64 {
	cpus := max(c.low[0], 0)
	if f.columns.memory > 0 {
		cpus = min(cpus, max(c.low[f.columns.memory], 0)/leastMemory)
	}
	return cpus
}
