package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/rehearsal"
	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// TestWhatWasLearnedKeepsItsTime: jobs that earlier negotiators learned keep their end times if a
// history file is read, too. Otherwise they would never reach max-age.
func TestWhatWasLearnedKeepsItsTime(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.swf")
	require.NoError(t, os.WriteFile(trace,
		[]byte("1 0 -1 30 16 -1 -1 16 60 -1 1 1 1 1 1 1 -1 -1\n2 9 -1 30 16 -1 -1 16 60 -1 1 1 1 1 1 1 -1 -1\n"),
		0o600))
	state, err := daemon.OpenState(t.Context(), t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	defer state.Close() //nolint:errcheck // nothing is in it
	require.NoError(t, state.Learn([]estimate.Ended{{Ran: 1, At: 5000}, {Ran: 2, At: 6000}}))
	p := &process{Activator: active.Activator{Source: new(source.Settings), Logger: hclog.NewNullLogger()}, state: state}
	p.options.ReadEnded = rehearsal.ReadEnded
	p.site.Settings.History = trace
	require.NoError(t, p.learnFrom())
	var at []backfill.Time
	for e := range p.History.All() {
		at = append(at, e.At)
	}
	require.Len(t, at, 4)
	require.LessOrEqual(t, at[1], backfill.Time(5000))
	require.Equal(t, []backfill.Time{5000, 6000}, at[2:])
}

// TestAPipeOfHistory: a start does not wait for somebody to write to a pipe.
func TestAPipeOfHistory(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "history")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	a := &active.Activator{Source: new(source.Settings), Logger: hclog.NewNullLogger()}
	var settings config.Config
	settings.History = pipe
	_, err := a.Past(settings, 0, rehearsal.ReadEnded)
	require.ErrorContains(t, err, pipe)
}
