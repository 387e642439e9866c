package condorconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// TestWeights says how the knobs about weights are read.
func TestWeights(t *testing.T) {
	for _, tt := range []struct {
		dump string
		want config.Weights
	}{
		{"SLOT_WEIGHT = cpus", config.Weights{}},
		{"", config.Weights{}},
		{
			"SLOT_WEIGHT = Cpus + 8 * GPUs\nFORCE_NEGOTIATOR_SLOT_WEIGHT = True\n",
			config.Weights{SlotWeight: "Cpus + 8 * GPUs", Forced: true},
		},
		{
			"NEGOTIATOR.SLOT_WEIGHT = Memory\nSLOT_WEIGHT = Cpus\nGROUP_DYNAMIC_MACH_CONSTRAINT = Old\n",
			config.Weights{SlotWeight: "Memory", PoolSize: "Old"},
		},
		{
			"GROUP_DYNAMIC_MACH_CONSTRAINT = Old\nNEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT = New\n",
			config.Weights{PoolSize: "New"},
		},
	} {
		settings, err := Parse(tt.dump, "").Settings("")
		require.NoError(t, err)
		require.Equal(t, tt.want, settings.Weights)
	}
	c := Parse("FORCE_NEGOTIATOR_SLOT_WEIGHT = perhaps\nSLOT_WEIGHT = 1 +\n", "")
	_, err := c.Settings("")
	require.ErrorContains(t, err, "FORCE_NEGOTIATOR_SLOT_WEIGHT = perhaps")
	require.ErrorContains(t, c.Check(), "SLOT_WEIGHT = 1 +")
}
