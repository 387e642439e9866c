//go:build linux

package examples

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == killedHost {
		beKilled(os.Args[2], os.Args[3])
	}
	goleak.VerifyTestMain(m)
}

// killedHost is the argument that makes the tests' executable a host that starts the plugin named
// by the next argument, which may read the folder that is the last, prints its process, and asks it for a decision.
const killedHost = "be-a-killed-host"

func beKilled(path, reads string) {
	ctx := context.Background()
	remote, err := host.Start(ctx, host.Command{Path: path},
		host.Options{Deadline: time.Hour, Reads: []string{reads}, Logger: hclog.NewNullLogger()})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, remote.Stats().PID)
	c, err := backfill.NewState([]string{"cpus"}, profile.ByRank).Open(backfill.Round{})
	if err == nil {
		_ = remote.Decide(ctx, c)
	}
	select {}
}

// busy writes a policy in each language that never decides.
func busy(t *testing.T, path string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Dir(path))
	require.NoError(t, err)
	text := fmt.Sprintf("#!/usr/bin/env node\n"+
		"require('%s/plugin.js').serve({ name: 'busy', decide() { console.error('busy'); for (;;); } });\n", dir)
	if strings.HasPrefix(path, "python/") {
		text = fmt.Sprintf("#!/usr/bin/python3\nimport sys\nsys.path.insert(0, %q)\n"+
			"from plugin import Policy, serve\ndef decide(cycle, options):\n    while True: pass\n"+
			"serve(Policy(name='busy', doc='', decide=decide))\n", dir)
	}
	path = filepath.Join(t.TempDir(), "backfill-busy")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

func TestExamplesEndWithAKilledHost(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		t.Helper()
		for name, path := range map[string]string{"idle": e.path, "busy": busy(t, e.path)} {
			t.Run(name, func(t *testing.T) {
				executable, err := os.Executable()
				require.NoError(t, err)
				t.Setenv("TMPDIR", t.TempDir()) // a killed host cannot clean up
				modules, err := filepath.Abs(filepath.Dir(e.path))
				require.NoError(t, err)
				h := exec.CommandContext(t.Context(), executable, killedHost, path, modules)
				out, err := h.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, h.Start())
				var pid int
				_, err = fmt.Fscan(out, &pid)
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(pid, 0))
				require.NoError(t, h.Process.Kill())
				require.Error(t, h.Wait())
				awaitEnd(t, pid)
			})
		}
	})
}

// awaitEnd waits until a process has ended; its new parent may not have reaped it yet.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	poll.Until(t, "its end", func() (stat string, so bool) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		stat = string(text)
		return stat, err != nil || strings.Contains(stat, ") Z ")
	})
}

// A plugin that was killed comes back, gets the whole state, and decides again.
func TestExamplesComeBack(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		t.Helper()
		remote := e.start(t, host.Options{})
		driver := conformance.NewDriver(3)
		refused := 0
		h := newHost(t, backfill.NewState(driver.Resources(), driver.Rule()), remote,
			func(backfill.Refusal) { refused++ })
		for round := range 60 {
			if round == 30 {
				pid := remote.Stats().PID
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				awaitEnd(t, pid)
			}
			_, err := h.Decide(t.Context(), driver.Round(h.State))
			require.NoError(t, err)
		}
		require.Equal(t, 1, refused)
		stats := remote.Stats()
		require.Equal(t, []int{2, 2, 1}, []int{stats.Starts, stats.Syncs, stats.Failures})
	})
}

// A branch decides on a copy, and the trunk goes on undisturbed.
func TestExamplesFork(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		t.Helper()
		twin, err := backfill.Link(e.twin, nil)
		require.NoError(t, err)
		remote := e.start(t, host.Options{Policy: e.options})
		driver := conformance.NewDriver(5)
		rule := driver.Rule()
		want := newHost(t, backfill.NewState(driver.Resources(), rule), twin, nil)
		got := newHost(t, backfill.NewState(driver.Resources(), rule), remote, nil)
		for range 40 {
			same(t, want, got, driver.Round(want.State))
			whatIf := backfill.Round{Now: got.State.Now() + 1} // everything that runs ends
			for _, j := range got.State.Snapshot().Jobs {
				if j.Running {
					whatIf.Events = append(whatIf.Events, backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID})
				}
			}
			copied := got.State.Clone()
			branch := remote.Fork(copied)
			same(t, newHost(t, want.State.Clone(), twin, nil), newHost(t, copied, branch, nil), whatIf)
			branch.Drop()
		}
		require.Equal(t, 1, remote.Stats().Syncs, "a branch costs no transfer")
	})
}
