package conformance

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// grid is a simple model of a pool, computed from a snapshot alone: what is free on each slot in
// each second from the snapshot's Now on.
type grid struct {
	snap backfill.Snapshot
	free [][]backfill.Vector // by slot, by second
	rows [][]int64           // by row, by second

	leads map[spared][]*backfill.Job // planned jobs by where and when they begin
}

// newGrid returns the grid of the snapshot's pool without its jobs, for the given number of
// seconds.
func newGrid(snap backfill.Snapshot, seconds backfill.Time) *grid {
	g := &grid{
		snap: snap, free: make([][]backfill.Vector, len(snap.Slots)), rows: rowsOf(snap, seconds),
		leads: map[spared][]*backfill.Job{},
	}
	for i, slot := range snap.Slots {
		g.free[i] = make([]backfill.Vector, seconds)
		k := len(slot.Capacity)
		all := slices.Repeat(slot.Capacity, int(seconds))
		for t := range g.free[i] {
			if g.free[i][t] = all[t*k : (t+1)*k]; backfill.Time(t) >= g.until(backfill.SlotID(i)) {
				clear(g.free[i][t])
			}
		}
	}
	return g
}

// take subtracts what a job uses where it runs or is planned (n = 1), or gives it back (n = -1).
func (g *grid) take(j backfill.JobState, n int64) {
	g.takeRows(j, n)
	for _, at := range j.Placement {
		seconds := g.free[at.Slot]
		from, to := max(j.Start-g.snap.Now, 0), min(j.End-g.snap.Now, backfill.Time(len(seconds)))
		for t := from; t < to; t++ {
			seconds[t].AddScaled(chunk(&g.snap, j.Job, at.Slot), -n*int64(at.Count))
		}
	}
	g.takeLead(j, n)
}

// fits reports whether the job could run from start on for its estimate, or until the end of the
// grid; it never does before the job's earliest start, nor where a candidate is closed then.
func (g *grid) fits(j *backfill.Job, start backfill.Time) bool {
	if j.Early(start) || !g.fitsRows(j, start-g.snap.Now) {
		return false
	}
	set := &g.snap.Candidates[j.Candidates].Candidates
	if j.Whole {
		for i, id := range set.Bundles {
			if opens(set, i, start) && !slices.ContainsFunc(g.snap.Bundles[id].Slots, func(slot backfill.SlotID) bool {
				return !g.snap.Slots[slot].Up || g.chunks(slot, j, start-g.snap.Now, g.first(g.snap.Bundles[id].Slots)) == 0
			}) {
				return true
			}
		}
		return false
	}
	chunks := 0
	for i, id := range set.Slots {
		if int(id) < len(g.free) && g.snap.Slots[id].Up && opens(set, i, start) {
			chunks += g.chunks(id, j, start-g.snap.Now, g.until(id))
		}
	}
	return chunks >= j.Nodes
}

// chunks returns how many of the job's chunks fit on a slot from the given second of the grid on: for its
// estimate or, if that is not its own, at most until a slot or bundle ends.
func (g *grid) chunks(id backfill.SlotID, j *backfill.Job, second, until backfill.Time) int {
	n := j.Nodes
	seconds, end := g.free[id], second+j.Estimate
	if j.Unestimated {
		end = min(end, max(until, second+1))
	}
	for _, free := range seconds[second:min(end, backfill.Time(len(seconds)))] {
		for k, need := range chunk(&g.snap, j, id) {
			for n > 0 && need > 0 && int64(n)*need > free[k] {
				n--
			}
		}
	}
	return g.begin(id, j, second, n)
}

// longest is at least as long as any estimate of a [Driver]'s jobs.
const longest = 24

// idle returns what is free on each slot in each second from now on, for as many seconds as any job
// may run, beside the running jobs and, if reservations is true, beside the reservations.
func (r *Run) idle(reservations bool) *grid {
	g := newGrid(r.snap, longest)
	for _, j := range r.snap.Jobs {
		if j.Running || reservations {
			g.take(j, 1)
		}
	}
	return g
}

// queue returns the waiting jobs that may start, in the queue's order.
func (r *Run) queue() []backfill.JobState {
	return slices.DeleteFunc(r.waiting(), func(j backfill.JobState) bool { return j.Job.Early(r.snap.Now) })
}

// waiting returns all waiting jobs in the queue's order.
func (r *Run) waiting() (waiting []backfill.JobState) {
	for _, j := range r.snap.Jobs {
		if !j.Running && j.Held == "" {
			waiting = append(waiting, j)
		}
	}
	slices.SortFunc(waiting, before)
	return waiting
}

// before compares two jobs by the queue's order.
func before(a, b backfill.JobState) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), backfill.Compare(a.Job, b.Job))
}
