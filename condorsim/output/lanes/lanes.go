// Package lanes gives the jobs of a finished simulation cpus of their own, for those who draw them: the
// simulator only counts cpus. A lane is one cpu of a slot.
package lanes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Piece is a number of neighbouring lanes. Lanes are numbered from 0 through all slots, in the order of the
// slots.
type Piece struct{ Lane, Count int64 }

// Of finds lanes for all jobs that ran, and returns them by job: no two jobs have a lane at the same
// time. A job gets the first gap of its slots with enough free lanes; if no gap is wide enough, it is split over
// the first free lanes. The error is about a job that ran on a slot which the pool does not have, or on more cpus
// than were free.
//
// Jobs are placed by start time, and their lanes become free when they end. Of jobs that start at
// one instant, those that also end then are placed first, and their lanes become free at once:
// others may have started on the same cpus after them.
func Of(r *condorsim.Result) ([][]Piece, error) {
	p := packer{r, map[string]*room{}, make([][]Piece, len(r.Outcomes))}
	var offset int64
	for _, s := range r.Workload.Slots {
		p.rooms[s.Name] = &room{offset, s.Capacity[0], free{{0, s.Capacity[0]}}}
		offset += s.Capacity[0]
	}
	empty := func(i int) bool { return r.Outcomes[i].Start == r.Outcomes[i].End }
	starts := ran(r)
	ends := slices.DeleteFunc(slices.Clone(starts), empty)
	slices.SortStableFunc(starts, func(a, b int) int {
		if difference := cmp.Compare(r.Outcomes[a].Start, r.Outcomes[b].Start); difference != 0 || empty(a) == empty(b) {
			return difference
		}
		if empty(a) {
			return -1
		}
		return 1
	})
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(r.Outcomes[a].End, r.Outcomes[b].End) })
	for _, i := range starts {
		for ; len(ends) > 0 && r.Outcomes[ends[0]].End <= r.Outcomes[i].Start; ends = ends[1:] {
			p.giveBack(ends[0])
		}
		if err := p.place(i); err != nil {
			return nil, err
		}
		if empty(i) {
			p.giveBack(i)
		}
	}
	return p.packed, nil
}

// packer is the state of Of at one instant of the simulation.
type packer struct {
	*condorsim.Result
	rooms  map[string]*room // by slot
	packed [][]Piece
}

// room is the free part of a slot. Within it, lanes are numbered from 0; offset is the number of
// the slot's first lane among those of all slots.
type room struct {
	offset, cpus int64
	free         free
}

// place finds lanes for the i-th job. It errs if the pool has no such slot or too few cpus are free.
func (p *packer) place(i int) error {
	name, o := p.Workload.Jobs[i].Name, &p.Outcomes[i]
	for _, on := range o.Placement {
		for _, slot := range on.Slots() {
			room, known := p.rooms[slot]
			if !known {
				return fmt.Errorf("draw job %s: it ran on %s, which is no slot of the pool", name, slot)
			}
			taken, ok := room.free.take(p.taken(i, on, room))
			if !ok {
				return fmt.Errorf("internal error: draw job %s: %s has not as many free cpus at %d", name,
					slot, o.Start)
			}
			for _, t := range taken {
				p.packed[i] = append(p.packed[i], Piece{room.offset + t.Lane, t.Count})
			}
		}
	}
	return nil
}

// giveBack frees the lanes of the i-th job.
func (p *packer) giveBack(i int) {
	rest := p.packed[i]
	for _, on := range p.Outcomes[i].Placement {
		for _, slot := range on.Slots() {
			room := p.rooms[slot]
			for need := p.taken(i, on, room); need > 0; rest = rest[1:] {
				room.free.add(Piece{rest[0].Lane - room.offset, rest[0].Count})
				need -= rest[0].Count
			}
		}
	}
}

// taken returns how many cpus of a slot the i-th job takes: those of its chunks, or all if it has a
// bundle or nobody else can run beside it.
func (p *packer) taken(i int, on negotiator.Chunks, slot *room) int64 {
	if on.Bundle != nil {
		return slot.cpus
	}
	return p.CpusOn(backfill.JobID(i), on)
}

// ran returns the indices of the jobs that ran to their end, in the order of the workload.
func ran(r *condorsim.Result) []int {
	var all []int
	for i, o := range r.Outcomes {
		if o.Ended {
			all = append(all, i)
		}
	}
	return all
}

// free are the free lanes of a slot, numbered from 0 within it, as pieces that do not touch, lowest first.
type free []Piece

// take takes the first gap of n free lanes, else the first n free lanes; false if fewer are free.
func (l *free) take(n int64) ([]Piece, bool) {
	if n == 0 {
		return nil, true
	}
	if i := slices.IndexFunc(*l, func(p Piece) bool { return p.Count >= n }); i >= 0 {
		return []Piece{l.cut(i, n)}, true
	}
	var taken []Piece
	for n > 0 && len(*l) > 0 {
		p := l.cut(0, min(n, (*l)[0].Count))
		taken, n = append(taken, p), n-p.Count
	}
	return taken, n == 0
}

// cut takes the first n lanes of the i-th piece.
func (l *free) cut(i int, n int64) Piece {
	p := &(*l)[i]
	taken := Piece{p.Lane, n}
	p.Lane, p.Count = p.Lane+n, p.Count-n
	if p.Count == 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return taken
}

// add marks lanes as free and joins them with neighbouring free ones.
func (l *free) add(p Piece) {
	i, _ := slices.BinarySearchFunc(*l, p.Lane,
		func(free Piece, lane int64) int { return cmp.Compare(free.Lane, lane) })
	if i < len(*l) && p.Lane+p.Count == (*l)[i].Lane {
		p.Count += (*l)[i].Count
		*l = slices.Delete(*l, i, i+1)
	}
	if i > 0 && (*l)[i-1].Lane+(*l)[i-1].Count == p.Lane {
		(*l)[i-1].Count += p.Count
		return
	}
	*l = slices.Insert(*l, i, p)
}
