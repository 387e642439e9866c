package gantt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// piece is a number of neighbouring lanes: rows of the chart, one for each cpu. Lanes are numbered
// through all slots, in the order of the slots, or within one slot (see room).
type piece struct{ lane, count int64 }

// pack finds lanes, the chart's rows of one cpu each, for all jobs that ran, and returns them by
// job. A job gets the first gap of its slots with enough free lanes; if no gap is wide enough, it
// is split over the first free lanes. These lanes are only for drawing: a simulation does not know
// which cpus a job has. The error is about a job that ran on a slot which the pool does not have,
// or on more cpus than were free.
//
// Jobs are placed by start time, and their lanes become free when they end. Of jobs that start at
// one instant, those that also end then are placed first, and their lanes become free at once:
// others may have started on the same cpus after them.
func pack(r *condorsim.Result) ([][]piece, error) {
	p := packer{r, map[string]*room{}, make([][]piece, len(r.Outcomes))}
	var offset int64
	for _, s := range r.Workload.Slots {
		p.rooms[s.Name] = &room{offset, s.Capacity[0], lanes{{0, s.Capacity[0]}}}
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

// packer is the state of pack at one instant of the simulation.
type packer struct {
	*condorsim.Result
	rooms  map[string]*room // by slot
	packed [][]piece
}

// room is the free part of a slot. Within it, lanes are numbered from 0; offset is the number of
// the slot's first lane among those of all slots.
type room struct {
	offset, cpus int64
	free         lanes
}

// place finds lanes, rows of one cpu each, for the i-th job. It errs if the pool has no such slot
// or too few cpus are free.
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
				p.packed[i] = append(p.packed[i], piece{room.offset + t.lane, t.count})
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
				room.free.add(piece{rest[0].lane - room.offset, rest[0].count})
				need -= rest[0].count
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

// lanes are the free lanes of a slot (the rows of one cpu each in which jobs are drawn), as pieces
// that do not touch, lowest first.
type lanes []piece

// take takes the first gap of n free lanes, else the first n free lanes; false if fewer are free.
func (l *lanes) take(n int64) ([]piece, bool) {
	if n == 0 {
		return nil, true
	}
	if i := slices.IndexFunc(*l, func(p piece) bool { return p.count >= n }); i >= 0 {
		return []piece{l.cut(i, n)}, true
	}
	var taken []piece
	for n > 0 && len(*l) > 0 {
		p := l.cut(0, min(n, (*l)[0].count))
		taken, n = append(taken, p), n-p.count
	}
	return taken, n == 0
}

// cut takes the first n lanes of the i-th piece.
func (l *lanes) cut(i int, n int64) piece {
	p := &(*l)[i]
	taken := piece{p.lane, n}
	p.lane, p.count = p.lane+n, p.count-n
	if p.count == 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return taken
}

// add marks lanes as free and joins them with neighbouring free ones.
func (l *lanes) add(p piece) {
	i, _ := slices.BinarySearchFunc(*l, p.lane,
		func(free piece, lane int64) int { return cmp.Compare(free.lane, lane) })
	if i < len(*l) && p.lane+p.count == (*l)[i].lane {
		p.count += (*l)[i].count
		*l = slices.Delete(*l, i, i+1)
	}
	if i > 0 && (*l)[i-1].lane+(*l)[i-1].count == p.lane {
		(*l)[i-1].count += p.count
		return
	}
	*l = slices.Insert(*l, i, p)
}

// span returns the first submission and the last end.
func span(r *condorsim.Result) (begin, end backfill.Time) {
	for i, o := range r.Outcomes {
		submit := r.Workload.Jobs[i].Submit
		if i == 0 {
			begin, end = submit, submit
		}
		begin, end = min(begin, submit), max(end, submit, o.End)
	}
	return begin, end
}
