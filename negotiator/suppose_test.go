package negotiator

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// TestSupposeChangesNothing: a job that is only supposed gets what the plan takes of it, with
// predictions, and leaves nothing behind.
func TestSupposeChangesNothing(t *testing.T) {
	n := predicting(t, "easy", "fcfs", estimate.Settings{All: "accurate"}, map[backfill.JobID]backfill.Time{supposed: 4})
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 1, "")}})
	before, known, apart := n.Checkpoint(), n.predictions.known.Len(), n.predictions.apart
	job := newJob(t, 7, 1, "")
	asked, err := n.Suppose(job, nil)
	require.NoError(t, err)
	c, err := asked.Match(t.Context())
	require.NoError(t, err)
	require.Equal(t, supposed, c.Job.ID)
	require.EqualValues(t, 7, job.ID, "the caller's job stays as it is")
	require.EqualValues(t, 4, c.Job.Estimate)
	require.EqualValues(t, 10, c.Requested)
	require.Equal(t, []backfill.SlotID{0}, c.Candidates.Slots)
	require.Equal(t, before, n.Checkpoint())
	require.Equal(t, known, n.predictions.known.Len())
	require.Equal(t, apart, n.predictions.apart)
}

// TestEnlarge: further slots have the ad of the one that they are like, with other amounts.
func TestEnlarge(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 1, "Colour = \"red\"")},
		Submitted: []*Job{newJob(t, 1, 4, "Requirements = TARGET.Cpus >= 4 && TARGET.Colour == \"red\"")},
	})
	require.Equal(t, "held", why(t, n, 1))
	more, err := n.Enlarge("a")
	require.NoError(t, err)
	further, err := more.Match(t.Context(), map[string]int64{"cpus": 4}, 2, math.MaxInt64)
	require.NoError(t, err)
	require.Len(t, further.Events, 2)
	require.Equal(t, backfill.Vector{4, 1000}, further.Events[1].Slot.Capacity)
	require.Equal(t, []backfill.SlotID{1, 2}, further.Sets[0].Candidates.Slots)
	require.Empty(t, n.State().CandidateSets()[0].Slots)
	_, err = n.Enlarge("b")
	require.ErrorContains(t, err, "there is no slot b")
	_, err = more.Match(t.Context(), map[string]int64{"lots": 1}, 1, math.MaxInt64)
	require.ErrorContains(t, err, "there is no resource lots")
	_, err = more.Match(t.Context(), map[string]int64{"cpus": 4}, 1, 10)
	require.ErrorIs(t, err, matchmaker.ErrMemory)
}
