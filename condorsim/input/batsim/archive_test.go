package batsim_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/batsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// Real traces become workloads of Batsim and come back as they were, and so they do by SWF.
func TestRoundTripOfTheArchive(t *testing.T) {
	all := []string{"KTH-SP2-1996-2", "CTC-SP2-1996-3.1-cln", "LANL-CM5-1994-4.1-cln", "SDSC-BLUE-2000-4.2-cln"}
	for _, name := range all[:thorough.Cases(1, len(all))] {
		path := "../../../../shared/traces/" + name + ".swf.gz"
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the round trip of %s is not checked: %v", name, err)
		}
		trace, err := workload.Open(path, workload.Options{Memory: 1 << 20})
		require.NoError(t, err)
		var text bytes.Buffer
		require.NoError(t, batsim.Write(trace, &text))
		again, err := batsim.Read(&text, name+".batsim.json", workload.Options{})
		require.NoError(t, err)
		same(t, trace, again)

		var lines bytes.Buffer
		require.NoError(t, again.WriteSWF(&lines))
		swf, err := workload.ReadSWF(&lines, name+".swf", workload.Options{Clean: workload.CleanNone})
		require.NoError(t, err)
		same(t, trace, swf)
	}
}

// same requires that two traces have the same jobs, machine and clock.
func same(t *testing.T, want, got *workload.Trace) {
	t.Helper()
	require.Equal(t, want.Machine, got.Machine)
	require.Equal(t, want.Header.Start(), got.Header.Start())
	require.Equal(t, want.Name, got.Name)
	require.Equal(t, len(want.Jobs), len(got.Jobs)) //nolint:testifylint // printing them all helps nobody
	for i, j := range want.Jobs {
		require.Equal(t, j, got.Jobs[i], "%s, job %d", want.Name, i)
	}
}
