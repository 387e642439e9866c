package schedules_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
)

// A record that is still written ends within a frame: its jobs are known up to there, and it says so.
func TestTornRecord(t *testing.T) {
	whole, err := os.ReadFile("../../../input/recorded/testdata/sample.rec")
	require.NoError(t, err)
	s, err := schedules.Read(put(t, "whole.rec", string(whole)))
	require.NoError(t, err)
	require.NotEmpty(t, s.Rows)
	require.NoError(t, s.Torn)

	torn, err := schedules.Read(put(t, "torn.rec", string(whole)+string(whole[:12])))
	require.NoError(t, err)
	require.Equal(t, s.Rows, torn.Rows)
	require.ErrorContains(t, torn.Torn, "torn.rec: ends within a frame")
}
