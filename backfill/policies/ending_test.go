package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// pilots are two slots of two cpus, a that ends at 100 and b that ends at 200.
func pilots() backfill.Round {
	both := backfill.CandidateSet{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}}}
	return backfill.Round{Candidates: []backfill.CandidateSet{both}, Events: []backfill.Event{
		{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: v(2), End: 100}},
		{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 1, Name: "b", Capacity: v(2), End: 200}},
	}}
}

// TestJobsOnSlotsThatEnd checks what becomes of jobs where slots end: job 1 runs on a until 90, job 2 on
// half of b until 150. Job 3 would end nowhere in time, job 4 on b from 150 on, job 5 at once beside job
// 2, and job 6 on a from 90 on. Job 3 blocks nobody, but under fcfs, and has no reservation; so the next
// is the head, and who plans all has job 6 end with its slot.
func TestJobsOnSlotsThatEnd(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, nil)
			r := pilots()
			for i, j := range []a{{90, v(2)}, {150, v(1)}, {120, v(2)}, {50, v(2)}, {10, v(1)}, {10, v(2)}} {
				r.Events = append(r.Events, submission(backfill.JobID(i+1), 0, j))
			}
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			begin, planned := started(1, 2, 5), map[backfill.JobID]backfill.Time{4: 150}
			switch spec.Name {
			case "fcfs":
				begin, planned = started(1, 2), nil
			case "first-fit", "best-fit":
				planned = nil
			case "conservative", "pc", "dc", "slack", "slack-small":
				planned[6] = 90
			}
			require.Equal(t, begin, ids(d))
			for id := range backfill.JobID(7) {
				start, _, _ := h.State.Planned(id)
				require.Equal(t, planned[id], start, id)
			}
			_, promised := h.State.Guaranteed(3)
			require.False(t, promised)
		})
	}
}

// TestJobsWithoutAnEstimateGoWhereMostTimeIsLeft checks where a job starts whose estimate is not its own,
// and when it is taken to end: where most of its time is left, and there at the latest.
func TestJobsWithoutAnEstimateGoWhereMostTimeIsLeft(t *testing.T) {
	for _, spec := range policies.All() {
		for _, tt := range []struct {
			estimate, end backfill.Time
			slot          backfill.SlotID
		}{{50, 50, 0}, {150, 150, 1}, {300, 200, 1}} {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, nil)
			r := pilots()
			e := submission(1, 0, a{tt.estimate, v(1)})
			e.Job.Unestimated = true
			r.Events = append(r.Events, e)
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, started(1), ids(d), spec.Name)
			job := h.State.Snapshot().Jobs[0]
			require.Equal(t, backfill.Placement{{Slot: tt.slot, Count: 1}}, job.Placement, "%s %d", spec.Name, tt.estimate)
			require.Equal(t, tt.end, job.End, "%s %d", spec.Name, tt.estimate)
		}
	}
}

// TestARowBehindAnEnd: job 3 has no estimate of its own, and is planned on a from 10 until a ends at 20;
// of the row it has all until then. Job 4 is to have that from 21 on. As a is free from 9 on, job 3 does
// not start: for its whole estimate, which rows are asked for, it would be in the way of job 4.
func TestARowBehindAnEnd(t *testing.T) {
	s := backfill.NewState([]string{"cpus"}, profile.ByRank)
	h := host(t, s, "slack", opt("factor", "0"))
	r := backfill.Round{
		Candidates: []backfill.CandidateSet{
			{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}},
			{ID: 1, Candidates: backfill.Candidates{Slots: []backfill.SlotID{1}}},
		},
		Rows: []backfill.Row{{Name: "m", Height: 1}},
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: v(1), End: 20}},
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 1, Name: "b", Capacity: v(1)}},
		},
	}
	for i, lasts := range []backfill.Time{10, 21, 13, 10} {
		e := submission(backfill.JobID(i+1), 0, a{lasts, v(1)})
		if e.Job.Candidates = i % 2; i > 1 {
			e.Job.Takes, e.Job.Unestimated = []backfill.Take{{Amount: 1}}, i == 2
		}
		r.Events = append(r.Events, e)
	}
	d, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, started(1, 2), ids(d))
	for id, want := range map[backfill.JobID]backfill.Time{3: 10, 4: 21} {
		start, _, planned := s.Planned(id)
		require.True(t, planned)
		require.Equal(t, want, start)
	}
	ends := []backfill.Event{{Kind: backfill.Completed, JobID: 1}}
	d, err = h.Decide(t.Context(), backfill.Round{Now: 9, Events: ends})
	require.NoError(t, err)
	require.Empty(t, ids(d))
	d, err = h.Decide(t.Context(), backfill.Round{Now: 10, Events: []backfill.Event{{Kind: backfill.Wake}}})
	require.NoError(t, err)
	require.Equal(t, started(3), ids(d))
}
