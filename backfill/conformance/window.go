package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Windowed is added to a seed to get candidates with windows, outside of which jobs may not begin on
// them.
const Windowed uint64 = 1 << 53

// open gives candidates windows, most of which begin or end soon after now.
func (d *Driver) open(c *backfill.Candidates, now backfill.Time) {
	n := len(c.Slots) + len(c.Bundles)
	if !d.windowed || n == 0 || d.random.IntN(4) == 0 {
		return
	}
	c.Windows = make([][]backfill.Window, n)
	for i := range c.Windows {
		if i > 0 && d.random.IntN(3) == 0 {
			c.Windows[i] = c.Windows[i-1]
		} else {
			c.Windows[i] = d.windows(now)
		}
	}
}

// windows returns windows of one kind or another: always, until an instant, from one on, or now and
// again for some time or for good.
func (d *Driver) windows(now backfill.Time) (all []backfill.Window) {
	soon := func(n int) backfill.Time { return 1 + backfill.Time(d.random.IntN(n)) }
	switch d.random.IntN(5) {
	case 0:
		return nil
	case 1:
		return []backfill.Window{{From: -backfill.Forever, To: now + soon(60)}}
	case 2:
		return []backfill.Window{{From: now + soon(30), To: backfill.Forever}}
	}
	from := now - 10 + soon(30)
	for range 2 + d.random.IntN(20) {
		to := from + soon(15)
		all = append(all, backfill.Window{From: from, To: to})
		from = to + soon(15)
	}
	if d.random.IntN(2) == 0 {
		all[len(all)-1].To = backfill.Forever
	}
	return all
}

// trimmed returns a candidate set without what is over at an instant: windows, and candidates that
// do not open any more.
func trimmed(set backfill.CandidateSet, now backfill.Time) backfill.CandidateSet {
	old := set.Candidates
	set.Candidates = backfill.Candidates{}
	c := &set.Candidates
	for i, all := range old.Windows {
		left := slices.DeleteFunc(slices.Clone(all), func(w backfill.Window) bool { return w.To <= now })
		if all != nil && len(left) == 0 {
			continue
		}
		if c.Windows = append(c.Windows, left); old.Slots != nil {
			c.Slots = append(c.Slots, old.Slots[i])
		} else {
			c.Bundles = append(c.Bundles, old.Bundles[i])
		}
		if old.Rank != nil {
			c.Rank = append(c.Rank, old.Rank[i])
		}
	}
	return set
}

// retold returns a set with windows as a matchmaker tells of it anew; false if it finds none at once.
func (d *Driver) retold(snap backfill.Snapshot, now backfill.Time) (backfill.CandidateSet, bool) {
	if !d.windowed || d.random.IntN(6) > 0 {
		return backfill.CandidateSet{}, false
	}
	set := snap.Candidates[d.random.IntN(len(snap.Candidates))]
	return trimmed(set, now), set.Candidates.Windows != nil
}

// opens reports whether the i-th of the candidates is open at an instant.
func opens(c *backfill.Candidates, i int, at backfill.Time) bool {
	return c.Windows == nil || c.Windows[i] == nil || slices.ContainsFunc(c.Windows[i],
		func(w backfill.Window) bool { return w.From <= at && at < w.To })
}

// windows reports jobs that start, or are planned to start, outside the windows of their candidates.
func (r *Run) windows() {
	misses := func(j *backfill.Job, at backfill.Placement, start backfill.Time) bool {
		set := &r.snap.Candidates[j.Candidates].Candidates
		if j.Whole {
			bundle := slices.IndexFunc(set.Bundles, func(id backfill.BundleID) bool {
				slots := r.snap.Bundles[id].Slots
				return len(slots) == len(at) && slots[0] == at[0].Slot && slots[len(slots)-1] == at[len(at)-1].Slot &&
					slices.EqualFunc(slots, at, func(id backfill.SlotID, on backfill.Chunks) bool { return id == on.Slot })
			})
			return bundle >= 0 && !opens(set, bundle, start)
		}
		return slices.ContainsFunc(at, func(on backfill.Chunks) bool {
			i := slices.Index(set.Slots, on.Slot)
			return i >= 0 && !opens(set, i, start)
		})
	}
	for _, s := range r.decision.Started {
		if misses(s.Job, s.Placement, r.decision.Now) {
			r.find(Opened, s.Job, "job %d starts on %v, where it may not begin now", s.Job.ID, s.Placement)
		}
	}
	for _, j := range r.snap.Jobs {
		if !j.Running && j.Placement != nil && misses(j.Job, j.Placement, j.Start) {
			r.find(Opened, j.Job, "job %d is planned for %d on %v, where it may not begin then", j.Job.ID, j.Start,
				j.Placement)
		}
	}
}

// startless reports whether a job has candidates that may close or end, and no start in the plan as it is: no
// second from now on is one.
func (r *Run) startless(j *backfill.Job) bool {
	if !r.mayClose(j) {
		return false
	}
	set := &r.snap.Candidates[j.Candidates].Candidates
	last := r.snap.Now
	for _, other := range r.snap.Jobs {
		if other.Placement != nil {
			last = max(last, other.End)
		}
	}
	for _, all := range set.Windows {
		for _, w := range all {
			last = max(last, w.From)
			if w.To < backfill.Forever {
				last = max(last, w.To)
			}
		}
	}
	last = max(last, j.Release) + 1
	if r.ahead == nil || r.ahead.snap.Revision != r.snap.Revision || len(r.ahead.free[0]) < int(last-r.snap.Now)+longest {
		r.ahead = newGrid(r.snap, last-r.snap.Now+longest)
		for _, other := range r.snap.Jobs {
			r.ahead.take(other, 1)
		}
	}
	for at := r.snap.Now; at <= last; at++ {
		if r.ahead.fits(j, at) {
			return false
		}
	}
	return true
}

// gaveUp reports whether a job that had a later reservation started in the round, or was planned anew: it
// left room that may give a start to a job that had none before.
func (r *Run) gaveUp() bool {
	later := map[backfill.JobID]bool{}
	for _, j := range r.before.Jobs {
		later[j.Job.ID] = !j.Running && j.Placement != nil && j.Start > r.snap.Now
	}
	for _, a := range r.decision.Actions {
		if a.Kind == backfill.ActReserve {
			if later[a.Job] {
				return true
			}
			later[a.Job] = a.At > r.snap.Now
		}
	}
	return slices.ContainsFunc(r.decision.Started, func(s backfill.Started) bool { return later[s.Job.ID] })
}

// mayWait reports whether a job may be left without a reservation and without a promise although the
// plan has room for it, as it has no start.
func (r *Run) mayWait(j backfill.JobState) bool {
	return r.mayClose(j.Job) && (r.gaveUp() || r.startless(j.Job))
}
