package process

import (
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// The match log follows the configuration, and is the log where both have one path.
func TestMatchLog(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	text := func(name string) string {
		all, err := os.ReadFile(path(name))
		require.NoError(t, err)
		return regexp.MustCompile(`(?m)^\d\d/\d\d/\d\d \d\d:\d\d:\d\d `).ReplaceAllString(string(all), "")
	}
	configured := func(knobs string) *condorconfig.Config {
		return condorconfig.Parse("NEGOTIATOR_LOG = "+path("log")+"\n"+knobs, "")
	}
	p := &process{Activator: active.Activator{Logger: hclog.NewNullLogger()}, notes: daemon.NewNotes(time.Now)}
	defer p.closeLogs()
	require.NoError(t, p.openMatchLog(configured("NEGOTIATOR_MATCH_LOG = "+path("a")), true))
	p.note("a line") // the log goes to the terminal
	require.NoFileExists(t, path("a"))

	var err error
	p.file, err = daemon.OpenLog(path("log"), daemon.Rotation{Keep: 1}, false)
	require.NoError(t, err)
	for _, step := range []struct{ knobs, line string }{
		{"", "in none"},
		{"NEGOTIATOR_MATCH_LOG = " + path("a"), "in a"},
		{"NEGOTIATOR_MATCH_LOG = " + path("no/folder"), "still in a"},
		{"NEGOTIATOR_MATCH_LOG = " + path("log"), "in the log"},
		{"NEGOTIATOR_MATCH_LOG = " + path("b") + "\nMAX_NEGOTIATOR_MATCH_LOG = 30", "in b"},
		{"NEGOTIATOR_MATCH_LOG = " + path("b") + "\nMAX_NEGOTIATOR_MATCH_LOG = 30", "in a new b"},
		{"NEGOTIATOR_MATCH_LOG = " + path("a") + "\nNEGOTIATOR_DEBUG = D_MATCH", "in both"},
		{"NEGOTIATOR_MATCH_LOG = " + path("log") + "\nNEGOTIATOR_DEBUG = D_MATCH", "in the log once"},
		{"", "in none again"},
	} {
		p.reopenLogs(configured(step.knobs))
		p.note(step.line)
	}
	require.Equal(t, "in a\nstill in a\nin both\n", text("a"))
	require.Equal(t, "in the log\nin both\nin the log once\n", text("log"))
	require.Equal(t, "in b\n", text("b.old"))
	require.Equal(t, "in a new b\n", text("b"))

	p.site.Settings.Observe = true
	require.NoError(t, p.openMatchLog(configured("NEGOTIATOR_MATCH_LOG = "+path("c")), true))
	require.NoFileExists(t, path("c"))
	p.site.Settings.Observe = false
	require.ErrorContains(t, p.openMatchLog(configured("NEGOTIATOR_MATCH_LOG = "+path("no/folder")), true), "NEGOTIATOR_MATCH_LOG: ")
}

// TestLogsOpenedAnew: what a log had before is dropped at a start where the configuration says so, and
// stays at condor_reconfig. A log may have a file for each day.
func TestLogsOpenedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "MatchLog")
	c := condorconfig.Parse("NEGOTIATOR_LOG = "+path+".other\nNEGOTIATOR_MATCH_LOG = "+path+
		"\nTRUNC_NEGOTIATOR_LOG_ON_OPEN = true\nTRUNC_NEGOTIATOR_MATCH_LOG_ON_OPEN = true\n"+
		"MAX_NEGOTIATOR_LOG = 1 day\nMAX_NEGOTIATOR_MATCH_LOG = 2 h\n", "")
	require.NoError(t, c.Check())
	for _, file := range []string{path, path + ".other"} {
		require.NoError(t, os.WriteFile(file, []byte("before\n"), 0o600))
	}
	p := &process{
		Activator: active.Activator{Logger: hclog.NewNullLogger()}, notes: daemon.NewNotes(time.Now), site: daemon.Site{Config: c},
	}
	defer p.closeLogs()
	require.NoError(t, p.openFiles(hclog.Info))
	require.Equal(t, 24*time.Hour, p.file.Every)
	require.Equal(t, 2*time.Hour, p.matchLog.Load().Every)
	for _, file := range []string{path, path + ".other"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, text)
	}
	p.note("a line")
	p.reopenLogs(c)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "a line")
}

// TestAPipeAsLog: a start does not wait for somebody to read a pipe.
func TestAPipeAsLog(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "log")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := daemon.OpenLog(pipe, daemon.Rotation{Keep: 1}, false)
	require.ErrorContains(t, err, pipe)
}
