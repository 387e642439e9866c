package preempt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// TestThePauseKeepsPairsApart: who changed places does not do so again within the pause, in neither
// direction; a job displaced for user priority is left to itself by all.
func TestThePauseKeepsPairsApart(t *testing.T) {
	var m preempt.Memory
	require.False(t, m.Pauses(1, 2, 0, 600))
	require.Empty(t, m.Save())
	m.Note(&preempt.Preemption{Job: 1, Victims: []preempt.Victim{{Job: 2}}, Reason: preempt.StartdRank}, 100)
	m.Note(&preempt.Preemption{Job: 3, Victims: []preempt.Victim{{Job: 4}}, Reason: preempt.UserPriority}, 200)
	for range 2 {
		require.True(t, m.Pauses(2, 1, 699, 600), "the other way round")
		require.True(t, m.Pauses(1, 2, 699, 600))
		require.False(t, m.Pauses(1, 2, 700, 600))
		require.False(t, m.Pauses(9, 2, 100, 600), "startd rank is not limited")
		require.True(t, m.Pauses(9, 4, 799, 600))
		require.False(t, m.Pauses(9, 4, 800, 600))
		require.False(t, m.Pauses(9, 3, 201, 600), "who displaced another may be displaced by a third")
		m = preempt.Restored(m.Save())
	}
	m.Forget(700, 600)
	require.Equal(t, []preempt.Exchange{{Job: 3, By: 4, At: 200}, {Job: 4, By: 4, At: 200}}, m.Save())
	m.Forget(800, 600)
	require.Empty(t, m.Save())
}
