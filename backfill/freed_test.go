package backfill_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// keepFreed returns a policy that asks for a record of freed room, kept for a time, and starts each
// waiting job that fits now.
func keepFreed(keep backfill.Time) func(*backfill.Cycle) {
	return func(c *backfill.Cycle) {
		c.Fast().KeepFreed(keep)
		startAll(c)
	}
}

func startAll(c *backfill.Cycle) {
	for j := range c.Queue() {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		}
	}
}

// freedAt returns the freed room that a policy sees at a time.
func freedAt(t *testing.T, s *backfill.State, now backfill.Time) []backfill.Freed {
	t.Helper()
	c, err := s.Open(backfill.Round{Now: now})
	require.NoError(t, err)
	defer c.Rollback()
	return append([]backfill.Freed{}, c.Fast().Freed()...)
}

// TestFreed checks that room is recorded as freed for five seconds after each event by which a job
// gives it back, and that copies and restored states have the same record.
func TestFreed(t *testing.T) {
	lost := backfill.Event{Kind: backfill.SlotLost, Slot: slot(1, cpus(4))}
	for _, tt := range []struct {
		name  string
		event backfill.Event
		want  []backfill.Freed
	}{
		{
			"completed", jobEvent(backfill.Completed, 1),
			[]backfill.Freed{{At: 3, Slot: 0, Amount: cpus(4)}, {At: 3, Slot: 1, Amount: cpus(2)}},
		},
		{"removed", jobEvent(backfill.Removed, 2), []backfill.Freed{{At: 3, Slot: 1, Amount: cpus(1)}}},
		{"start failed", jobEvent(backfill.StartFailed, 2), []backfill.Freed{{At: 3, Slot: 1, Amount: cpus(1)}}},
		{"slot lost", lost, []backfill.Freed{
			{At: 3, Slot: 0, Amount: cpus(4)},
			{At: 3, Slot: 1, Amount: cpus(2)},
			{At: 3, Slot: 1, Amount: cpus(1)},
		}},
		{"removed while it waited", jobEvent(backfill.Removed, 3), []backfill.Freed{}},
		{
			"expected to end later",
			backfill.Event{Kind: backfill.EstimateChanged, JobID: 2, End: 30},
			[]backfill.Freed{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4), cpus(4))
			accept(t, s, backfill.Round{Now: 0, Events: submitted(gang(1, 0, 10, 3, 2), job(2, 0, 20, 1),
				job(3, 0, 20, 4))}, keepFreed(5))
			require.Equal(t, 2, s.RunningJobs())
			require.Empty(t, freedAt(t, s, 3))

			before := factsOf(s, 0)
			refused := func(c *backfill.Cycle) { c.Wake(c.Now()) }
			_, err := attempt(t, s, backfill.Round{Now: 3, Events: []backfill.Event{tt.event}}, refused)
			require.Error(t, err)
			require.Equal(t, before, factsOf(s, 0), "a refused round leaves nothing")

			clone := s.Clone()
			accept(t, s, backfill.Round{Now: 3, Events: []backfill.Event{tt.event}}, nil)
			require.Equal(t, before, factsOf(clone, 0))
			require.Equal(t, tt.want, freedAt(t, s, 3))
			require.Equal(t, tt.want, freedAt(t, s, 7))
			require.Empty(t, freedAt(t, s, 8), "five seconds have passed")

			again, err := backfill.Restore(s.Snapshot())
			require.NoError(t, err)
			require.Equal(t, tt.want, freedAt(t, again, 7))
			require.Equal(t, factsOf(s, 3), factsOf(again, 3))

			accept(t, s, backfill.Round{Now: 8}, nil)
			require.Empty(t, s.Snapshot().Freed, "the record is dropped")
		})
	}
}

// TestFreedOnRequest checks that freed room is recorded only on request, and only until another
// policy becomes active.
func TestFreedOnRequest(t *testing.T) {
	s := newState(t, cpus(4))
	ended := func(now backfill.Time, id backfill.JobID) backfill.Round {
		return backfill.Round{Now: now, Events: append([]backfill.Event{jobEvent(backfill.Completed, id)},
			submitted(job(id+1, now, 10, 1))...)}
	}
	accept(t, s, backfill.Round{Events: submitted(job(1, 0, 10, 1))}, startAll)
	d := accept(t, s, ended(1, 1), keepFreed(0))
	require.Len(t, d.Actions, 1, "a request that changes nothing is no action")
	require.Zero(t, s.Snapshot().Freed)

	d = accept(t, s, ended(2, 2), keepFreed(100))
	require.Equal(t, backfill.Action{After: 2, Kind: backfill.ActKeepFreed, At: 100}, d.Actions[0])
	require.Empty(t, freedAt(t, s, 2), "room that was freed before the request is not recorded")
	accept(t, s, ended(3, 3), startAll)
	require.Len(t, freedAt(t, s, 3), 1)
	accept(t, s, ended(4, 4), keepFreed(200))
	require.Len(t, freedAt(t, s, 4), 2, "a longer time keeps what is recorded")
	accept(t, s, ended(5, 5), keepFreed(1))
	require.Len(t, freedAt(t, s, 5), 1, "a shorter time drops what is older")

	clone := s.Clone()
	accept(t, s, ended(5, 6), keepFreed(0))
	require.Zero(t, s.Snapshot().Freed)
	require.Zero(t, s.Snapshot().KeepFreed)
	accept(t, clone, backfill.Round{Now: 5, Events: []backfill.Event{policyChanged(false)}}, nil)
	require.Zero(t, clone.Snapshot().Freed)
	require.Zero(t, clone.Snapshot().KeepFreed)

	for _, bad := range []backfill.Time{-1, backfill.MaxKeepFreed + 1} {
		_, err := attempt(t, s, backfill.Round{Now: 5}, func(c *backfill.Cycle) { c.Fast().KeepFreed(bad) })
		require.ErrorContains(t, err, "must be from 0 to")
	}
}

// TestFreedIsBounded checks that the record keeps the last 100,000 parts, and that a refused round
// brings those back which it had dropped.
func TestFreedIsBounded(t *testing.T) {
	snap := newState(t, cpus(1)).Snapshot()
	snap.KeepFreed = backfill.MaxKeepFreed
	for i := range 100_000 {
		snap.Freed = append(snap.Freed, backfill.Freed{At: backfill.Time(i - 100_000), Amount: cpus(1)})
	}
	s, err := backfill.Restore(snap)
	require.NoError(t, err)
	accept(t, s, backfill.Round{Events: submitted(job(1, 0, 10, 1))}, startAll)
	before := factsOf(s, 0)
	ends := backfill.Round{Now: 1, Events: []backfill.Event{jobEvent(backfill.Completed, 1)}}
	_, err = attempt(t, s, ends, func(c *backfill.Cycle) { c.Wake(c.Now()) })
	require.Error(t, err)
	require.Equal(t, before, factsOf(s, 0))
	accept(t, s, ends, nil)
	parts := s.Snapshot().Freed
	require.EqualValues(t, 1-100_000, parts[0].At)
	require.EqualValues(t, 1, parts[99_999].At)
}

// TestRestoreRefusesFreedParts checks that a snapshot is refused if its record of freed room is one
// that no state can have.
func TestRestoreRefusesFreedParts(t *testing.T) {
	part := backfill.Freed{At: 1, Amount: cpus(1)}
	for want, change := range map[string]func(*backfill.Snapshot){
		"1 parts that were freed are kept for 0 s": func(s *backfill.Snapshot) { s.KeepFreed = 0 },
		"kept for -1 s":     func(s *backfill.Snapshot) { s.KeepFreed = -1 },
		"kept for 604801 s": func(s *backfill.Snapshot) { s.KeepFreed = backfill.MaxKeepFreed + 1 },
		"100001 parts that were freed": func(s *backfill.Snapshot) {
			s.Freed = slices.Repeat([]backfill.Freed{part}, 100_001)
		},
		"unknown slot 1":  func(s *backfill.Snapshot) { s.Freed[0].Slot = 1 },
		"unknown slot -1": func(s *backfill.Snapshot) { s.Freed[0].Slot = -1 },
		"has 2 resources": func(s *backfill.Snapshot) { s.Freed[0].Amount = backfill.Vector{1, 1} },
		"what was freed at 0 stands behind what was freed at 1": func(s *backfill.Snapshot) {
			s.Freed = append(s.Freed, backfill.Freed{Amount: cpus(1)})
		},
	} {
		snap := newState(t, cpus(4)).Snapshot()
		snap.KeepFreed, snap.Freed = 10, []backfill.Freed{part}
		_, err := backfill.Restore(snap)
		require.NoError(t, err)
		change(&snap)
		_, err = backfill.Restore(snap)
		require.ErrorContains(t, err, want)
	}
}
