package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
)

// What a trace has no place for is listed by name, of jobs that are kept.
func TestBeyond(t *testing.T) {
	const ad = "ClusterId = 1\nProcId = 0\nQDate = 10\nRemoteWallClockTime = 9\nRequestCpus = 2\nRequestMemory = 7\n"
	for more, want := range map[string][]string{
		"": nil, "Requirements = TRUE\nRank = 0.0\nRequestGPUs = 0\nRequestDisk = undefined\n": nil,
		"RequestGpus = 1\nRequestdisk = DiskUsage\nDiskUsage = 5\n": {"disk", "gpus"},
		"RequestLicenses = 1.5\nRequestedChroot = \"x\"\n":          {"licenses"},
		"RequestedHours = 3\n":                                      nil,
		"Requirements = TARGET.Fast\nRank = Mips\n":                 {"Rank", "Requirements"},
		"ConcurrencyLimits = strcat(\"a\", \"b\")\n":                {"ConcurrencyLimits"},
		"ConcurrencyLimits = \"\"\n":                                nil,
		"JobStatus = 3\nRequestGPUs = 1\n":                          nil,
	} {
		h, err := history.Read(strings.NewReader(ad+more), "a.ads", history.Options{})
		require.NoError(t, err)
		require.Equal(t, want, h.Beyond, more)
	}
}
