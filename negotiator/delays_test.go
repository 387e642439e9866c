package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestDelaysAreLearned: of a job that begins to run, and of one whose start is tried again at once; not
// of one that waited in between, or that somebody else started.
func TestDelaysAreLearned(t *testing.T) {
	n := newNegotiator(t)
	slots := []*Slot{newSlot(t, "a", 1, ""), newSlot(t, "b", 1, "")}
	cycle(t, n, Delta{Now: 10, SlotsUp: slots, Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")}})
	require.Zero(t, n.Began(1))
	cycle(t, n, Delta{Now: 15, Began: []Began{{Job: 1, At: 13}, {Job: 9, At: 13}}, StartFailed: []backfill.JobID{2}})
	require.EqualValues(t, 13, n.Began(1))
	require.Zero(t, n.Began(9), "there is no such job")
	require.Equal(t, []backfill.Time{3}, n.Delays().All())
	require.True(t, n.State().IsRunning(2), "it is tried again")
	cycle(t, n, Delta{Now: 18, Began: []Began{{Job: 2, At: 17}}})
	require.Equal(t, []backfill.Time{3, 7}, n.Delays().All())

	cycle(t, n, Delta{Now: 20, StartFailed: []backfill.JobID{1}, SlotsDown: []string{"a"}})
	require.True(t, n.State().IsWaiting(1))
	cycle(t, n, Delta{Now: 30, SlotsUp: slots[:1]})
	require.Zero(t, n.Began(1))
	cycle(t, n, Delta{Now: 32, Began: []Began{{Job: 1, At: 31}}})
	require.Equal(t, []backfill.Time{3, 7, 1}, n.Delays().All())

	cycle(t, n, Delta{Now: 40, Completed: []backfill.JobID{1, 2}, Found: []Running{
		{Job: newJob(t, 3, 1, ""), Placement: Placement{{Slot: slots[0], Count: 1}}, Start: 35},
	}})
	require.EqualValues(t, 35, n.Began(3))
	require.Equal(t, []backfill.Time{3, 7, 1}, n.Delays().All())
	require.Zero(t, n.Began(1), "it has ended")
	require.Equal(t, estimate.DelaysOf([]backfill.Time{3, 7, 1}), n.Copy().Delays)
}
