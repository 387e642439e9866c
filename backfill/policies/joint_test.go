package policies_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// piece is a job that runs or is planned: equal chunks, which stay where they are from start until end.
type piece struct {
	job        *backfill.Job
	start, end backfill.Time
	at         backfill.Placement // nil: anywhere on its candidates
}

// joint is a search for a place for each of several pieces on a small pool, by trying all. It shares no code
// with the profile.
type joint struct {
	snap   *backfill.Snapshot
	placed []spread
	steps  int // so many more chunks may be tried
}

// spread is a piece with its number of chunks on each slot.
type spread struct {
	piece
	counts []int64
}

// mostSteps bounds a search; none of the tests' needs as many.
const mostSteps = 20_000_000

// jointly returns a search on the pool of a snapshot in which all that runs is where it is, until it is
// expected to end.
func jointly(snap *backfill.Snapshot) *joint {
	s := &joint{snap: snap, steps: mostSteps}
	for _, j := range snap.Jobs {
		if j.Running {
			s.placed = append(s.placed, s.at(piece{j.Job, snap.Now, j.End, j.Placement}))
		}
	}
	return s
}

// at is a piece where it is.
func (s *joint) at(p piece) spread {
	counts := make([]int64, len(s.snap.Slots))
	for _, on := range p.at {
		counts[on.Slot] += int64(on.Count)
	}
	return spread{p, counts}
}

// reservations lists the pieces that are planned, where they are, without one job's.
func reservations(snap *backfill.Snapshot, but *backfill.Job) (all []piece) {
	for _, j := range snap.Jobs {
		if !j.Running && j.Placement != nil && j.Job != but {
			all = append(all, piece{j.Job, j.Start, j.Start + j.Job.Estimate, j.Placement})
		}
	}
	return all
}

// anywhere returns the pieces without their places.
func anywhere(pieces []piece) []piece {
	free := slices.Clone(pieces)
	for i := range free {
		free[i].at = nil
	}
	return free
}

// fit reports whether each piece has a place beside the others and all that runs.
func (s *joint) fit(pieces []piece) bool {
	sorted := slices.SortedFunc(slices.Values(pieces), func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.start, b.start), -cmp.Compare(a.job.Width(), b.job.Width()))
	})
	return s.sums(sorted) && s.search(sorted)
}

// sums reports whether all slots together have room for all pieces, which is needed whatever their places are.
func (s *joint) sums(pieces []piece) bool {
	all := slices.Clone(pieces)
	for _, p := range s.placed {
		all = append(all, p.piece)
	}
	for _, p := range all {
		for k := range p.job.Request {
			left := int64(0)
			for _, slot := range s.snap.Slots {
				if slot.Up {
					left += slot.Capacity[k]
				}
			}
			for _, o := range all {
				if o.start <= p.start && p.start < o.end {
					left -= int64(o.job.Nodes) * o.job.Request[k]
				}
			}
			if left < 0 {
				return false
			}
		}
	}
	return true
}

// search places the first piece in all possible ways, and for each of them the others.
func (s *joint) search(pieces []piece) bool {
	if len(pieces) == 0 {
		return true
	}
	p := pieces[0]
	if p.at != nil {
		now := s.at(p)
		for slot, count := range now.counts {
			if count > 0 && !s.room(p, slot, count) {
				return false
			}
		}
		return s.with(now, pieces[1:])
	}
	return s.chunks(spread{p, make([]int64, len(s.snap.Slots))}, 0, int64(p.job.Nodes), pieces[1:])
}

// chunks has so many chunks of a piece on slots from the given one on, in all possible ways.
func (s *joint) chunks(p spread, slot int, left int64, others []piece) bool {
	if left == 0 {
		return s.with(spread{p.piece, slices.Clone(p.counts)}, others)
	}
	if slot == len(p.counts) {
		return false
	}
	most := left
	if !slices.Contains(s.snap.Candidates[p.job.Candidates].Candidates.Slots, backfill.SlotID(slot)) {
		most = 0
	}
	for count := most; count >= 0; count-- {
		if s.steps--; s.steps < 0 {
			return false
		}
		if count > 0 && !s.room(p.piece, slot, count) {
			continue
		}
		p.counts[slot] = count
		if s.chunks(p, slot+1, left-count, others) {
			return true
		}
		p.counts[slot] = 0
	}
	return false
}

// with goes on with a piece placed.
func (s *joint) with(p spread, others []piece) bool {
	s.placed = append(s.placed, p)
	found := s.search(others)
	s.placed = s.placed[:len(s.placed)-1]
	return found
}

// room reports whether a slot has so many chunks of a piece free during all of it, beside what is placed.
func (s *joint) room(p piece, slot int, count int64) bool {
	if !s.snap.Slots[slot].Up {
		return false
	}
	instants := []backfill.Time{p.start}
	for _, o := range s.placed {
		if o.counts[slot] > 0 && o.start > p.start && o.start < p.end {
			instants = append(instants, o.start)
		}
	}
	for _, t := range instants {
		for k, need := range p.job.Request {
			left := s.snap.Slots[slot].Capacity[k]
			for _, o := range s.placed {
				if o.start <= t && t < o.end {
					left -= o.counts[slot] * o.job.Request[k]
				}
			}
			if need > 0 && left < count*need {
				return false
			}
		}
	}
	return true
}

// TestJoint checks the search by hand. On two slots of two cpus, three jobs of one chunk each fit at one
// instant only where each finds its own room. Job 3 needs a whole slot from 5 on, when jobs 1 and 2 still
// take one cpu each: it fits if they share a slot, and not where they are.
func TestJoint(t *testing.T) {
	t.Parallel()
	both := backfill.Candidates{Slots: []backfill.SlotID{0, 1}}
	snap := &backfill.Snapshot{
		Slots: []backfill.SlotState{
			{Slot: backfill.Slot{ID: 0, Capacity: v(2)}, Up: true}, {Slot: backfill.Slot{ID: 1, Capacity: v(2)}, Up: true},
		},
		Candidates: []backfill.CandidateSet{{Candidates: both}, {ID: 1, Candidates: backfill.Candidates{Slots: both.Slots[:1]}}},
	}
	planned := func(id backfill.JobID, start, end backfill.Time, cpus int64, slot backfill.SlotID) piece {
		return piece{submission(id, 0, a{end - start, v(cpus)}).Job, start, end, backfill.Placement{{Slot: slot, Count: 1}}}
	}
	apart := []piece{planned(1, 0, 10, 1, 0), planned(2, 0, 10, 1, 1), planned(3, 5, 15, 2, 1)}
	require.True(t, jointly(snap).fit(apart[:2]))
	require.False(t, jointly(snap).fit(apart))
	require.True(t, jointly(snap).fit(anywhere(apart)))
	require.False(t, jointly(snap).fit(anywhere(append(apart, planned(4, 9, 12, 1, 0)))))
	require.True(t, jointly(snap).fit(anywhere(append(apart, planned(4, 10, 12, 1, 0)))))
	apart[2].job.Nodes, apart[2].job.Request = 2, v(1) // one on each slot
	require.True(t, jointly(snap).fit(anywhere(apart)))
	apart[2].job.Candidates = 1
	apart[0].job.Candidates, apart[1].job.Candidates = 1, 1
	require.False(t, jointly(snap).fit(anywhere(apart)))
	snap.Jobs = []backfill.JobState{
		{Job: apart[0].job, Placement: apart[0].at, Standing: backfill.Standing{Running: true, End: 5}},
		{Job: apart[1].job, Placement: apart[0].at, Standing: backfill.Standing{Running: true, End: 5}},
	}
	require.True(t, jointly(snap).fit(anywhere(apart[2:])))
	require.False(t, jointly(snap).fit([]piece{planned(4, 4, 6, 1, 0)}))
	require.True(t, jointly(snap).fit(anywhere([]piece{planned(4, 4, 6, 2, 0)})))
	snap.Slots[1].Up = false
	require.False(t, jointly(snap).fit(anywhere([]piece{planned(4, 4, 6, 2, 0)})))
}
