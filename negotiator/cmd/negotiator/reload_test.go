package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// stays begins the message about a reload that failed.
const stays = "policy, order, estimates and log level stay as they are"

// launchedDaemon is the running command, with its log read line by line.
type launchedDaemon struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bytes.Buffer
	lines  *bufio.Reader
	log    strings.Builder // what was read of it
}

// start starts the command and waits until a job runs.
func start(t *testing.T, args ...string) *launchedDaemon {
	t.Helper()
	d := &launchedDaemon{t: t}
	d.cmd, d.stdout, _ = launched(t, args...)
	d.cmd.Stderr = nil
	stderr, err := d.cmd.StderrPipe()
	require.NoError(t, err)
	d.lines = bufio.NewReader(stderr)
	require.NoError(t, d.cmd.Start())
	d.await("started: ")
	return d
}

// await reads the log up to a line that contains the text.
func (d *launchedDaemon) await(text string) string {
	d.t.Helper()
	for {
		line, err := d.lines.ReadString('\n')
		d.log.WriteString(line)
		require.NoError(d.t, err, "waiting for %q in\n%s", text, &d.log)
		if strings.Contains(line, text) {
			return line
		}
	}
}

// reload sends the signal to reload and waits for a line of the log.
func (d *launchedDaemon) reload(text string) {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.await(text)
}

// end reads the rest of the log and returns the exit code.
func (d *launchedDaemon) end() int {
	d.t.Helper()
	for {
		line, err := d.lines.ReadString('\n')
		d.log.WriteString(line)
		if err != nil {
			break
		}
	}
	return code(d.t, d.cmd.Wait())
}

// onlyChild waits until the daemon has exactly one child process, and returns it.
func (d *launchedDaemon) onlyChild() int {
	d.t.Helper()
	if _, err := os.Stat("/proc/self/task"); err != nil {
		d.t.Skip("skipped: there is no /proc to find the plugin's process in")
	}
	return poll.Until(d.t, "one process of a policy", func() (found []int, so bool) {
		found = plugins(d.t, d.cmd.Process.Pid)
		return found, len(found) == 1
	})[0]
}

// stand writes a plugin that serves a linked-in policy.
func stand(t *testing.T, path, policy string) {
	t.Helper()
	self, err := host.Self(policy)
	require.NoError(t, err)
	text := "#!/bin/sh\nexec '" + program(t, self, path) + "' " + strings.Join(self.Args, " ") + "\n"
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o755)) //nolint:gosec // it is executed
	require.NoError(t, os.Rename(path+".new", path))
}

// program puts a plugin's program where its script may execute it, and returns its path.
func program(t *testing.T, self host.Command, script string) string {
	t.Helper()
	path := script + ".program"
	if _, err := os.Stat(path); err != nil {
		require.NoError(t, os.Link(self.Path, path))
	}
	return path
}

// TestSwapWhileJobsRun changes the policy several times: each job still runs once.
func TestSwapWhileJobsRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "negotiator.yaml")
	require.NoError(t, os.WriteFile(file, []byte("policy: easy\n"), 0o600))
	d := start(t, "--config", file, "--speed", "60", "--json")
	easy := d.onlyChild()
	require.NoError(t, os.WriteFile(file,
		[]byte("policy: conservative\norder: sjf\nspeed: max\nplacement: pack\n"), 0o600))
	d.reload("only a new start changes these settings, they stay: settings=placement")
	require.Contains(t, d.await("reloaded: "),
		`policy=conservative changed="policy: easy → conservative, order: fcfs → sjf"`)
	conservative := d.onlyChild()
	require.NotEqual(t, easy, conservative)
	require.Zero(t, d.end(), &d.log)
	for _, process := range []int{easy, conservative} {
		require.ErrorIs(t, syscall.Kill(process, 0), syscall.ESRCH, "no process is left")
	}
	var printed struct {
		Jobs    int
		Policy  string
		Refused []any
		Changes []struct{ Policy, Order string }
	}
	require.NoError(t, json.Unmarshal(d.stdout.Bytes(), &printed))
	require.Equal(t, 54, printed.Jobs)
	require.Equal(t, "easy", printed.Policy)
	require.Empty(t, printed.Refused)
	require.Equal(t, []struct{ Policy, Order string }{{"conservative", "sjf"}}, printed.Changes)
	for proc := range 54 {
		for _, what := range []string{"started", "ended"} {
			count := 0
			for line := range strings.Lines(d.log.String()) {
				if strings.Contains(line, what+": ") && strings.Contains(line, fmt.Sprintf(" job=1.%d ", proc)) {
					count++
				}
			}
			require.Equal(t, 1, count, "job 1.%d %s", proc, what)
		}
	}
}

// TestAPolicysOrderComesWithIt: where no order is chosen, a reload takes that of the new policy.
func TestAPolicysOrderComesWithIt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "negotiator.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("policy: easy\n")
	d := start(t, "--config", file, "--speed", "20", "--json")
	for _, next := range [][2]string{
		{"policy: slack", "policy: easy → slack, order: fcfs → wfp-wide, estimates_order: as estimates → learned"},
		{"policy: slack\norder: sjf", "order: wfp-wide → sjf"},
		{"policy: slack", "order: sjf → wfp-wide"},
		{"policy: pc", "policy: slack → pc, order: wfp-wide → fcfs, estimates_order: learned → as estimates"},
		{"policy: easy", "policy: pc → easy"},
	} {
		write(next[0] + "\n")
		require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
		require.Contains(t, d.await("reloaded: "), `changed="`+next[1]+`"`)
	}
	d.await("promises lifted: ")
	require.Zero(t, d.end(), &d.log)
	require.Equal(t, 1, strings.Count(d.log.String(), "promises lifted: "), "slack's were carried over to pc")
	var printed struct {
		Policy, Order string
		Refused       []any
		Changes       []struct{ Policy, Order string }
	}
	require.NoError(t, json.Unmarshal(d.stdout.Bytes(), &printed))
	require.Equal(t, []string{"easy", "fcfs"}, []string{printed.Policy, printed.Order})
	require.Empty(t, printed.Refused)
	require.Equal(t, []struct{ Policy, Order string }{
		{"slack", "wfp-wide"}, {"slack", "sjf"}, {"slack", "wfp-wide"}, {"pc", "fcfs"}, {"easy", "fcfs"},
	}, printed.Changes)
}

// TestWhatCannotTakeOver: a policy that cannot become active leaves the plugin active.
func TestWhatCannotTakeOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, mine := filepath.Join(dir, "negotiator.yaml"), filepath.Join(dir, "backfill-x")
	stand(t, mine, "first-fit")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("policy: easy\n")
	d := start(t, "--config", file, "--speed", "5")
	write("policy: " + mine + "\norder: expr:JobPrio\n")
	d.reload("policy=first-fit")
	stranger := d.onlyChild()

	for text, says := range map[string]string{
		"policy: nonsense\n": "unknown policy \"nonsense\"",
		"policy: /bin/false\n": "negotiator.yaml: [1:9] policy: /bin/false: " +
			"is not a policy plugin",
		"policy: pc\nfallback: easy\n": "negotiator.yaml: [2:11] fallback: pc " +
			"gives guarantees",
		"policy: [\n":      "negotiator.yaml: [1:",
		"order: tallest\n": "negotiator.yaml: [1:8] order: unknown order",
		"policy: " + mine + "\nplugins: {allow: [ibb]}\n": "negotiator.yaml: [2:18] plugins.allow: " + mine +
			" may not be started",
		"policy: " + mine + "\nplugins:\n  checksums: {x: y}\n": "y is no SHA-256 sum",
	} {
		write(text)
		d.reload(stays + ": ")
		d.await(says)
		require.Equal(t, stranger, d.onlyChild(), "it goes on")
	}
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, d.end(), &d.log)
	require.ErrorIs(t, syscall.Kill(stranger, 0), syscall.ESRCH, "no process is left")
}

// TestARebuiltPluginIsTakenUp: a reload without a configuration file starts the executable anew,
// whatever it is now. If it is missing, the active policy stays.
func TestARebuiltPluginIsTakenUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "backfill-mine")
	stand(t, path, "easy")
	d := start(t, "--policy", path, "--speed", "10", "--log-level", "info")
	before := d.onlyChild()
	d.reload(`policy=easy changed="nothing, but the policy was started anew"`)
	again := d.onlyChild()
	require.NotEqual(t, before, again)
	stand(t, path, "conservative")
	d.reload("policy=conservative")
	rebuilt := d.onlyChild()
	require.NoError(t, os.Remove(path))
	d.reload(stays + ": ")
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, d.end(), &d.log)
	for _, process := range []int{before, again, rebuilt} {
		require.ErrorIs(t, syscall.Kill(process, 0), syscall.ESRCH)
	}
}

// TestAnEndWhileReloading: no process is left if the negotiator ends at any point of a reload.
func TestAnEndWhileReloading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "backfill-mine")
	self, err := host.Self("easy")
	require.NoError(t, err)
	own := program(t, self, path)
	text := "#!/bin/sh\nexec '" + own + "' " + strings.Join(self.Args, " ") + "\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755)) //nolint:gosec // it is executed
	for _, pause := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		d := start(t, "--policy", path, "--speed", "0.01")
		require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
		time.Sleep(pause)
		require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
		require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
		require.Equal(t, 130, d.end(), &d.log)
	}
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, process := range paths {
		if line, err := os.ReadFile(process); err == nil {
			require.NotContains(t, string(line), path, process)
		}
	}
}

// TestTheLogLevelReachesThePlugin, by a flag and when it changes.
func TestTheLogLevelReachesThePlugin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "negotiator.yaml")
	require.NoError(t, os.WriteFile(file, []byte("policy: easy\n"), 0o600))
	d := start(t, "--config", file, "--speed", "10")
	require.NotContains(t, d.log.String(), "plugin address")
	require.NoError(t, os.WriteFile(file, []byte("policy: easy\nlog_level: debug\n"), 0o600))
	d.reload("log_level: by default → debug")
	d.reload("plugin address") // the plugin's own word, at level debug
	d.await("reloaded: ")
	require.NoError(t, os.WriteFile(file, []byte("policy: easy\nlog_level: warn\n"), 0o600))
	d.reload("log_level: debug → warn")
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	before := d.log.Len()
	require.Equal(t, 130, d.end())
	require.NotContains(t, d.log.String()[before:], "started: ")
}

// TestGivenUp: the log says once that a plugin was given up, and the summary says it again.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, path := filepath.Join(dir, "negotiator.yaml"), filepath.Join(dir, "backfill-mine")
	stand(t, path, "easy")
	require.NoError(t, os.WriteFile(file, []byte("policy: "+path+"\nplugins: {restarts: 0}\n"), 0o600))
	d := start(t, "--config", file, "--speed", "300")
	require.NoError(t, syscall.Kill(d.onlyChild(), syscall.SIGKILL))
	require.Contains(t, []int{0, 1}, d.end(), "1 if it was killed before half of the rounds")
	require.Equal(t, 1, strings.Count(d.log.String(),
		"the policy is given up for good, the fallback decides from now on: policy=easy"))
	require.Equal(t, 1, strings.Count(d.log.String(), "decision refused, the fallback decides: policy=easy"))
	require.Regexp(t, `decisions refused: easy +│ +\d+ `, d.stdout.String())
	require.Regexp(t, `(?m)^refused: easy \d+, first at .*: policy plugin easy: the session broke: `,
		d.stdout.String())
	require.Regexp(t, `\nGIVEN UP: easy; its fallback, easy, decided the rest, [\d,]+ rounds, so these are not its results\n`,
		d.stdout.String())
}

// TestAReloadDoesNotWaitForAnother: a signal interrupts a reload whose plugin hangs, and jobs start
// meanwhile.
func TestAReloadDoesNotWaitForAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, hangs := filepath.Join(dir, "negotiator.yaml"), filepath.Join(dir, "backfill-hangs")
	//nolint:gosec // it is executed
	require.NoError(t, os.WriteFile(hangs, []byte("#!/bin/sh\necho hanging >&2\nexec sleep 1000\n"), 0o755))
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("policy: easy\n")
	d := start(t, "--config", file, "--speed", "20")
	write("policy: " + hangs + "\nplugins: {start_timeout: 1h}\n")
	d.reload("hanging")
	d.await("started: ")
	write("policy: conservative\n")
	d.reload(`policy=conservative changed="policy: easy → conservative"`)
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, d.end())
	require.NotContains(t, d.log.String(), stays)
}

// TestTheSummaryNamesEstimators: both the first ones and those that became active later.
func TestTheSummaryNamesEstimators(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "negotiator.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("policy: easy\nestimates: learned\n")
	d := start(t, "--config", file, "--speed", "60", "--json")
	write("policy: easy\nestimates: tsafrir\nestimates_options: {max-age: 2}\n")
	d.reload("estimates: learned → tsafrir")
	write("policy: conservative\nestimates: tsafrir\nestimates_options: {max-age: 2}\n")
	d.reload("policy: easy → conservative")
	write("policy: conservative\n")
	d.reload("estimates: tsafrir → by default")
	write("policy: conservative\nspeed: max\n")
	require.Zero(t, d.end(), &d.log)
	var printed struct {
		Estimates *report.Estimates
		Changes   []report.Change
	}
	require.NoError(t, json.Unmarshal(d.stdout.Bytes(), &printed))
	require.Equal(t, &report.Estimates{Order: "learned", Backfill: "learned", Running: "learned"},
		printed.Estimates)
	var then []*report.Estimates
	for _, c := range printed.Changes {
		then = append(then, c.Estimates)
	}
	require.Equal(t, []*report.Estimates{
		{Order: "tsafrir", Backfill: "tsafrir", Running: "tsafrir", Options: map[string]string{"max-age": "2"}},
		{Order: "tsafrir", Backfill: "requested", Running: "requested", Options: map[string]string{"max-age": "2"}},
		nil,
	}, then)
}

// TestEstimatorsAreSwitched changes estimators while jobs run, with and without a policy that gives
// guarantees. Wrong settings change nothing.
func TestEstimatorsAreSwitched(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "negotiator.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("policy: easy\nestimates: user\nestimates_options: {user-key: Cmd}\n")
	d := start(t, "--config", file, "--speed", "10")
	write("policy: easy\nestimates: accurate\nestimates_running: mix:0.5\n")
	d.reload(`policy=easy changed="estimates: user → accurate, estimates_running: as estimates → mix:0.5, ` +
		`estimates_options: user-key=Cmd → none" estimates="order accurate, backfill accurate, running mix:0.5"`)
	write("policy: conservative\nestimates: tsafrir\nestimates_options: {user-key: Cmd}\n")
	d.reload(`changed="policy: easy → conservative, estimates: accurate → tsafrir, estimates_running: mix:0.5 ` +
		`→ as estimates, estimates_options: none → user-key=Cmd" estimates="order tsafrir, backfill requested, ` +
		`running requested"`)
	for text, says := range map[string]string{
		"policy: pc\nestimates_running: tsafrir\n": "negotiator.yaml: [2:20] " +
			"estimates_running: tsafrir: the policy gives guarantees",
		"policy: pc\nestimates: none\n": "negotiator.yaml: [2:12] " +
			"estimates: unknown estimator",
		"policy: pc\nestimates: user\n" +
			"estimates_options: {user-key: JobBatchName}\n": "of jobs, JobBatchName is not read: only a new start",
		"policy: pc\nestimates: file:nonesuch.csv\n": "negotiator.yaml: [2:12] " +
			"estimates: ",
		"policy: pc\nestimates: user\nestimates_options: {window: x}": "window",
	} {
		write(text)
		d.reload(stays + ": ")
		d.await(says)
	}
	write("policy: pc\norder: sjf\nestimates: user\nestimates_options: {user-key: Cmd, threshold: 2}\n")
	d.reload("estimates: tsafrir → user")
	write("policy: easy\nspeed: max\nhistory: other.swf\nestimates: user\n")
	d.reload("policy=easy")
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, d.end(), &d.log)
	require.NotContains(t, d.log.String(), "refused", &d.log)
	require.Contains(t, d.log.String(), "only a new start changes these settings, they stay: settings=history", &d.log)
}
