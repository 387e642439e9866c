package condorconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// HTCondor's defaults, which condor_config_val prints in this form, count as not set.
func TestJobRanks(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"NEGOTIATOR_PRE_JOB_RANK = (10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory": "",
		"NEGOTIATOR_PRE_JOB_RANK = (10000000*MY.Rank) + (1000000 * (RemoteOwner is undefined)) - (100000 * cpus) -Memory":     "",
		"NEGOTIATOR_PRE_JOB_RANK = (20000000 * My.Rank) - Memory":                                                             "(20000000 * My.Rank) - Memory",
		"NEGOTIATOR.NEGOTIATOR_PRE_JOB_RANK = 2\nNEGOTIATOR_PRE_JOB_RANK = 1":                                                 "2",
		"NEGOTIATOR_PRE_JOB_RANK @=end\n  Memory +\n  Cpus\n@end":                                                             "Memory +\nCpus",
	} {
		require.Equal(t, want, Parse(text, "").JobRank("NEGOTIATOR_PRE_JOB_RANK"), text)
	}
	post := "(RemoteOwner =?= UNDEFINED) * (ifthenElse(isUndefined(KFlops), 1000, Kflops) - SlotID - 1.0e10*(Offline=?=True))"
	require.Empty(t, Parse("NEGOTIATOR_POST_JOB_RANK = "+post, "").JobRank("NEGOTIATOR_POST_JOB_RANK"))
	require.Equal(t, post, Parse("NEGOTIATOR_PRE_JOB_RANK = "+post, "").JobRank("NEGOTIATOR_PRE_JOB_RANK"), "that of the other")

	pack := Parse("BACKFILL_PLACEMENT = pack\nNEGOTIATOR_PRE_JOB_RANK = 1\nNEGOTIATOR_POST_JOB_RANK = "+post, "")
	require.Equal(t, []string{"NEGOTIATOR_PRE_JOB_RANK has no effect under BACKFILL_PLACEMENT = pack"}, pack.Warnings())
	require.Empty(t, Parse("BACKFILL_PLACEMENT = rank\nNEGOTIATOR_PRE_JOB_RANK = 1", "").Warnings())

	const fill = "NEGOTIATOR_DEPTH_FIRST = true\nBACKFILL_PLACEMENT = "
	require.Equal(t, []string{"NEGOTIATOR_DEPTH_FIRST has no effect under BACKFILL_PLACEMENT = spread, which does the contrary"},
		Parse(fill+"spread", "").Warnings())
	require.Empty(t, Parse(fill+"pack", "").Warnings())

	dear := "NEGOTIATOR_POST_JOB_RANK = 0" + strings.Repeat(" + Cpus", 10_000)
	require.ErrorContains(t, Parse(dear, "").Check(), "must be an expression that takes at most 10000 steps")
	require.NoError(t, Parse(strings.Replace(dear, "POST_JOB_RANK", "SLOT_CONSTRAINT", 1), "").Check())
}
