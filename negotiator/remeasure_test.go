package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// What a job requests of the slot follows the slots while it waits, and stays as it is while it runs.
func TestRequestsFollowTheSlots(t *testing.T) {
	const whole = "RequestCpus = TARGET.Cpus"
	n := newNegotiator(t)
	r := cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 4, "")},
		Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, whole)},
	})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
	require.Equal(t, backfill.Vector{4, 0}, n.State().Job(2).Request)

	r = cycle(t, n, Delta{Now: 5, SlotsUp: []*Slot{newSlot(t, "a", 8, "")}})
	require.Empty(t, started(r), "of 8 cpus 7 are free")
	require.Equal(t, backfill.Vector{8, 0}, n.State().Job(2).Request)

	r = cycle(t, n, Delta{Now: 10, Completed: []backfill.JobID{1}})
	require.Equal(t, []string{"1.2@a×1"}, started(r))

	r = cycle(t, n, Delta{Now: 12, SlotsUp: []*Slot{newSlot(t, "b", 16, "")}, Submitted: []*Job{newJob(t, 3, 1, whole)}})
	require.Equal(t, backfill.Vector{8, 0}, n.State().Job(2).Request)
	require.Len(t, r.Held, 1)
	require.Contains(t, r.Held[0].Reason, "its RequestCpus depends on the slot (8 on 1, 16 on 1)")

	r = cycle(t, n, Delta{Now: 14, SlotsUp: []*Slot{newSlot(t, "b", 8, "")}})
	require.Equal(t, []string{"1.3@b×1"}, started(r), "both slots have 8 cpus now")
}
