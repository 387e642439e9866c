package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// A shape that is not bound to a single slot remembers its last growths one by one. A job that was tried
// before can move only to where one of the later ones has a place for it. Most have none, as what became
// free is short: that is known of each growth from what it offered when a job first asked for it, and of
// a whole block of them at once. It stays an upper bound, since whatever else becomes free is another
// growth.

const (
	// maxLast is how many growths a shape remembers one by one, in whole blocks also once it has forgotten
	// the older half.
	maxLast = 512
	// block is how many growths, one after the other, are looked at together.
	block = 16
)

// offer is what one growth, or the first ones of a block, have for one chunk.
type offer struct {
	profile.Room

	measured int    // how many growths
	slots    uint64 // a bit for some of the slots each: those of the growths
}

// remembered is a growth that is remembered by itself, and what it offers.
type remembered struct {
	growth
	offer offer
}

// slotBit returns the bit of a slot.
func slotBit(id backfill.SlotID) uint64 { return 1 << (id % 64) }

// remember notes a growth as the last one.
func (s *shape) remember(g growth) {
	if len(s.last) == maxLast {
		s.last = slices.Delete(s.last, 0, maxLast/2)
		s.blocks = slices.Delete(s.blocks, 0, min(len(s.blocks), maxLast/2/block))
	}
	s.last = append(s.last, remembered{growth: g})
}

// unseen returns the index of the first growth that is remembered after the first noted ones. It returns
// false if the shape does not remember all of these.
func (s *shape) unseen(noted int) (first int, known bool) {
	first = len(s.last) - (s.noted - noted)
	return first, first >= 0
}

// measured returns what a growth that is remembered offers to a chunk of the shape.
func (p *Plan) measured(s *shape, i int) *offer {
	g := &s.last[i]
	switch {
	case g.offer.measured > 0:
	case g.slot == anyRow: // nobody asks what it offers, other than together with later ones
		g.offer = offer{Room: profile.NoRoom, measured: 1}
	default:
		room := profile.RoomOn(p.c.State().Profile(), g.slot, s.request.Chunk, g.from, g.to)
		g.offer = offer{Room: room, measured: 1, slots: slotBit(g.slot)}
	}
	return &g.offer
}

// together returns what the growths of a block offer, of which one has the index.
func (p *Plan) together(s *shape, i int) *offer {
	for len(s.blocks) <= i/block {
		s.blocks = append(s.blocks, offer{Room: profile.NoRoom})
	}
	all, first := &s.blocks[i/block], i-i%block
	for ; all.measured < min(block, len(s.last)-first); all.measured++ {
		one := p.measured(s, first+all.measured)
		all.Add(one.Room)
		all.slots |= one.slots
	}
	return all
}

// forget lets a growth be measured anew when a job next asks for it.
func (s *shape) forget(i int) {
	s.last[i].offer = offer{}
	s.blocks[i/block] = offer{Room: profile.NoRoom}
}

// holds reports whether a job may start before limit on one of the slots, and have its estimate there, or
// run until its own place begins.
func (o *offer) holds(e *entry, limit backfill.Time) bool {
	if o.Opens >= limit || o.Endless < limit {
		return o.Endless < limit
	}
	return e.lasts() <= o.Lasts || e.start <= o.Shuts && slices.ContainsFunc(e.at, o.has)
}

// has reports whether chunks may be on one of the slots.
func (o *offer) has(own backfill.Chunks) bool { return o.slots&slotBit(own.Slot) != 0 }

// measurable reports whether what a growth has for the shape's jobs is known from how long their chunk is
// free: they need nothing more to begin, and all of their estimate.
func (p *Plan) measurable(s *shape) bool {
	r := &s.request
	return !r.Whole && r.Candidates.Windows == nil && r.Candidates.Least == nil &&
		(!r.ToEnd || p.c.State().Profile().Ends().Count() == 0)
}

// next returns the index of the next growth, from an index on, that holds the job before limit; the number of
// growths if there is none.
func (p *Plan) next(e *entry, i int, limit backfill.Time) int {
	s := e.shape
	for i < len(s.last) {
		end := min(len(s.last), i-i%block+block)
		if !p.together(s, i).holds(e, limit) {
			i = end
		}
		for ; i < end; i++ {
			if p.measured(s, i).holds(e, limit) {
				return i
			}
		}
	}
	return len(s.last)
}

// passed reports whether no growth that the job has not seen has a place for it, so that it cannot move. It
// takes them as seen then. The job's shape must remember growths.
func (p *Plan) passed(e *entry) bool {
	s := e.shape
	if e.tried < s.rowGrown || !p.measurable(s) {
		return false
	}
	first, known := s.unseen(e.tried)
	if !known || p.next(e, first, e.start) < len(s.last) {
		return false
	}
	e.noted, e.tried, e.from, e.to = s.noted, s.noted, e.start, e.start
	return true
}

// earliestOn returns the first start before limit at which a chunk of the job can run on one of the
// slots on which room was given back by a growth, from the one at an index in the shape's last ones; limit
// if there is none.
func (p *Plan) earliestOn(e *entry, first int, limit backfill.Time) backfill.Time {
	s := e.shape
	measurable := p.measurable(s)
	for i := first; i < len(s.last); i++ {
		if measurable {
			if i = p.next(e, i, limit); i == len(s.last) {
				break
			}
		}
		g := &s.last[i]
		from := max(e.from, g.from-e.Estimate+1)
		if from >= limit {
			continue
		}
		if start := p.earliestAt(e, g.slot, from, limit); start < limit {
			limit = start
		} else if measurable { // others have come there since it was measured
			s.forget(i)
		}
	}
	return limit
}

// earliestAt returns the first start in [from, limit) at which a chunk of the job can run on a slot; limit
// if there is none. If the job takes a bundle, the chunk is the whole slot, and neither the bundle's
// other slots nor its windows are looked at. Rows are not looked at either: the job's own place takes of
// them.
func (p *Plan) earliestAt(e *entry, on backfill.SlotID, from, limit backfill.Time) backfill.Time {
	request, all := e.shape.request, e.shape.request.Candidates
	request.Chunk = p.c.State().Chunk(e.Job, on)
	request.Nodes, request.Whole, request.Duration, request.Takes = 1, false, e.Estimate, nil
	if e.Whole && e.Unestimated {
		request.Duration = 1 // the bundle may end before the slot
	}
	p.one = backfill.Candidates{Slots: append(p.one.Slots[:0], on)}
	request.Candidates = &p.one
	if all.Windows != nil && !e.Whole {
		request.Candidates.Windows = [][]backfill.Window{all.Of(on)}
	}
	if all.Least != nil {
		request.Candidates.Least = []backfill.Vector{all.LeastOn(on)}
	}
	until := backfill.Forever
	if slices.ContainsFunc(e.at, func(own backfill.Chunks) bool { return own.Slot == on }) {
		until = e.start // from then on a chunk uses the job's own place
	}
	if start, ok := p.c.State().Profile().EarliestAhead(request, until, from, limit); ok {
		return start
	}
	return limit
}
