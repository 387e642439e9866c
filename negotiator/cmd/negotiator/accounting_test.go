package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// TestExportOfWhatHasNotAged: an accounting that no negotiator has worked with yet is not empty if
// it has records, and its numbers are those of now: HTCondor would age them from 1970 otherwise.
func TestExportOfWhatHasNotAged(t *testing.T) {
	folder := t.TempDir()
	m := &move{
		state: filepath.Join(folder, "state"), log: filepath.Join(folder, "log"), settings: accountant.DefaultSettings(),
		owner: func() error { return nil }, now: time.Unix(1796020000, 0),
	}
	adopt := func(s accountant.Statement) {
		a, err := daemon.OpenAccounting(m.state, m.settings, true)
		require.NoError(t, err)
		leftOut, err := a.Adopt(s)
		require.NoError(t, leftOut)
		require.NoError(t, err)
		require.NoError(t, a.Close())
	}
	adopt(accountant.Statement{})
	_, err := m.toStock(t.Context())
	require.ErrorContains(t, err, "is empty")
	require.NoFileExists(t, m.log)

	adopt(accountant.Statement{Records: []accountant.Record{{Name: "alice@d", Real: 9, Used: 7, Weighted: 7}}})
	report, err := m.toStock(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{1796020000, 1}, []int64{report.Updated, int64(report.Submitters)})
	text, err := os.ReadFile(m.log)
	require.NoError(t, err)
	require.Contains(t, string(text), "\n103 Accountant. LastUpdateTime 1796020000\n")
	require.Contains(t, string(text), "\n103 Customer.alice@d AccumulatedUsage 7.0\n")
}
