package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Sparing is added to a seed to get candidates on which a job may begin only while more is free than it
// takes.
const Sparing uint64 = 1 << 55

// spare says what must be free on candidates.
func (d *Driver) spare(c *backfill.Candidates) {
	if !d.sparing || len(c.Slots) == 0 || d.random.IntN(4) == 0 {
		return
	}
	c.Least = make([]backfill.Vector, len(c.Slots))
	for i, id := range c.Slots {
		if d.random.IntN(3) == 0 {
			continue
		}
		c.Least[i] = make(backfill.Vector, len(d.resources))
		for k := range c.Least[i] {
			if d.random.IntN(2) == 0 {
				c.Least[i][k] = d.random.Int64N(d.slots[id].Capacity[k] + 1)
			}
		}
	}
}

// over returns how much more of a resource must be free on a slot than a chunk of the job takes, when
// one begins there.
func over(snap *backfill.Snapshot, j *backfill.Job, id backfill.SlotID, k int) int64 {
	set := &snap.Candidates[j.Candidates].Candidates
	i := slices.Index(set.Slots, id)
	if j.Whole || i < 0 || set.Least == nil || set.Least[i] == nil {
		return 0
	}
	return max(0, set.Least[i][k]-j.Request[k])
}

// spared is where and when planned jobs begin that need something beside their chunks.
type spared struct {
	slot   backfill.SlotID
	second backfill.Time
}

// takeLead subtracts what a planned job needs in its first second beside its chunks (n = 1), or gives
// it back (n = -1). Jobs that begin in one second on a slot need the greatest of it together: they
// begin one after another.
func (g *grid) takeLead(j backfill.JobState, n int64) {
	second := j.Start - g.snap.Now
	if j.Running || second < 0 {
		return
	}
	for _, at := range j.Placement {
		seconds, on := g.free[at.Slot], spared{at.Slot, second}
		if int(second) >= len(seconds) {
			continue
		}
		for k := range seconds[second] {
			seconds[second][k] += g.most(on, k)
		}
		if n > 0 {
			g.leads[on] = append(g.leads[on], j.Job)
		} else {
			g.leads[on] = slices.DeleteFunc(g.leads[on], func(o *backfill.Job) bool { return o.ID == j.Job.ID })
		}
		for k := range seconds[second] {
			seconds[second][k] -= g.most(on, k)
		}
	}
}

// most returns how much of a resource one of the jobs that begin on a slot in a second needs beside its
// chunks, at most.
func (g *grid) most(on spared, k int) (most int64) {
	for _, j := range g.leads[on] {
		most = max(most, over(&g.snap, j, on.slot, k))
	}
	return most
}

// begin returns how many of n chunks of a job can begin on a slot in a second of the grid, one after
// another, before or after the others of that second.
func (g *grid) begin(id backfill.SlotID, j *backfill.Job, second backfill.Time, n int) int {
	for k, free := range g.free[id][second] {
		if more := over(&g.snap, j, id, k); more > 0 {
			shared := min(more, g.most(spared{id, second}, k))
			for n > 0 && free+shared < more+int64(n)*j.Request[k] {
				n--
			}
		}
	}
	return n
}

// begun reports whether a job may use slots on which others that needed more free than they take began
// at this instant: until they had begun, there may have been no room for it, and then it was too late.
func (r *Run) begun(j *backfill.Job) bool {
	set := &r.snap.Candidates[j.Candidates].Candidates
	return slices.ContainsFunc(r.snap.Jobs, func(o backfill.JobState) bool {
		needed := o.Running && o.Start == r.snap.Now && r.snap.Candidates[o.Job.Candidates].Candidates.Least != nil
		return needed && slices.ContainsFunc(o.Placement, func(at backfill.Chunks) bool {
			return slices.Contains(set.Slots, at.Slot) || j.Whole
		})
	})
}
