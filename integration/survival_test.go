package integration_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
)

// bad returns a policy that does wrong of a kind in some cycles. Between them it is EASY. It names an
// order of its own.
func bad(kind string) backfill.PolicySpec {
	spec := easy.Spec()
	build, cycles := spec.New, 0
	spec.Name, spec.Order = "bad", "wfp"
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			policy.Decide(c)
			cycles++
			wrongs()[kind](c, cycles)
		}), err
	}
	return spec
}

// wrongs are the kinds of wrong that a policy may do in a cycle, by name.
func wrongs() map[string]func(c *backfill.Cycle, cycles int) {
	var none *backfill.Job
	return map[string]func(c *backfill.Cycle, cycles int){
		"bad": func(_ *backfill.Cycle, cycles int) {
			if cycles == 10 {
				os.Exit(7)
			}
		},
		"exits":  func(*backfill.Cycle, int) { os.Exit(7) },
		"panics": func(*backfill.Cycle, int) { none.Width() },
		"panics-by-turns": func(_ *backfill.Cycle, cycles int) {
			if cycles%2 == 0 {
				none.Width()
			}
		},
		"invents": func(c *backfill.Cycle, _ int) { c.Start(&backfill.Job{ID: 999_999}, nil) },
		"floods": func(*backfill.Cycle, int) {
			_, _ = os.Stderr.WriteString(strings.Repeat("a flood\n", 20_000))
			none.Width()
		},
		"sleeps": func(_ *backfill.Cycle, cycles int) {
			if cycles == 9 {
				time.Sleep(time.Second) //nolint:forbidigo // a policy that hangs is what is tested
			}
		},
		"panics-late": func(_ *backfill.Cycle, cycles int) {
			if cycles > 1000 {
				none.Width()
			}
		},
		"panics-seldom": func(_ *backfill.Cycle, cycles int) {
			if cycles%500 == 0 {
				none.Width()
			}
		},
	}
}

// TestAPolicyThatKeepsFailingIsGivenUp: whatever a policy does wrong in each round, or in each second
// one, it is given up; the run ends with exit code 1 and says how many rounds were the fallback's. A
// panic's stack is in the log once. One that fails seldom stays, and the summary tells.
func TestAPolicyThatKeepsFailingIsGivenUp(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for kind, givenUp := range map[string]bool{
		"exits": true, "panics": true, "panics-by-turns": true, "panics-late": true, "invents": true, "floods": true,
		"panics-seldom": false,
	} {
		t.Run(kind, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "backfill-"+kind)
			require.NoError(t, os.Symlink(self, bad))
			cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "condorsim"), "run", "--workload", "lublin-128",
				"--policy", bad)
			var log bytes.Buffer
			cmd.Stderr = &log
			printed, err := cmd.Output()
			require.Regexp(t, `under bad, order wfp, [\d,]+ of [\d,]+ rounds decided by the fallback easy`, string(printed))
			if kind != "floods" {
				require.Less(t, strings.Count(log.String(), "\n"), 60)
				require.Less(t, log.Len(), 20_000)
			}
			if strings.HasPrefix(kind, "panics") {
				require.Equal(t, 1, strings.Count(log.String(), "debug.Stack()"))
			}
			if !givenUp {
				require.NoError(t, err)
				return
			}
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%v", err)
			require.Regexp(t, `condorsim: policy bad was given up: its fallback, easy, decided [\d,]+ of [\d,]+ rounds, so these `+
				`are not its results`, log.String())
			require.Contains(t, string(printed), "GIVEN UP: bad; ")
		})
	}
}

// TestAShortRunThatIsTheFallbacks: a policy that fails in most rounds of a run that is too short for
// giving it up leaves exit code 1, too, and a word.
func TestAShortRunThatIsTheFallbacks(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "backfill-panics")
	require.NoError(t, os.Symlink(self, bad))
	for program, args := range map[string][]string{
		"negotiator": {"--speed", "max"}, "condorsim": {"run", "lublin-128", "--jobs", "20"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, program), append(args, "--policy", bad)...)
		var log bytes.Buffer
		cmd.Stderr = &log
		printed, err := cmd.Output()
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s: %v %s", program, err, printed)
		require.Regexp(t, `rounds decided by the fallback easy`, string(printed))
		require.NotContains(t, string(printed), "GIVEN UP")
		require.Regexp(t, `policy bad failed in most rounds: its fallback, easy, decided [\d,]+ of [\d,]+ rounds, so these are `+
			`not its results`, log.String())
	}
}

// TestACrashingPolicyCostsRoundsAndNoJobs runs a policy that crashes again and again: every job
// runs as under the same policy without crashes, as the fallback decides under the order that the
// crashing one named; and no process is left.
func TestACrashingPolicyCostsRoundsAndNoJobs(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "backfill-bad")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, bad))
	mark := "TEST_MARK=" + bad
	run := func(policy ...string) (map[string]any, string) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "negotiator"),
			append([]string{"--speed", "max", "--json", "--policy"}, policy...)...)
		var log bytes.Buffer
		cmd.Env, cmd.Stderr = append(os.Environ(), mark), &log
		printed, failed := cmd.Output()
		require.NoError(t, failed, log.String())
		var summary map[string]any
		require.NoError(t, json.Unmarshal(printed, &summary))
		return summary, log.String()
	}
	got, log := run(bad)
	want, _ := run("easy", "--order", "wfp")
	fcfs, _ := run("easy")
	require.NotEqual(t, fcfs["metrics"], want["metrics"])
	require.Equal(t, "wfp", got["order"])
	require.Contains(t, log, "exit status 7")
	require.Contains(t, log, "restarting the policy plugin")
	require.GreaterOrEqual(t, strings.Count(log, "decision refused"), 1)
	require.EqualValues(t, 54, got["jobs"])
	for _, metric := range []string{"mean_wait", "makespan", "utilisation", "started_backfill"} {
		require.Equal(t, want["metrics"].(map[string]any)[metric], got["metrics"].(map[string]any)[metric], metric)
	}

	// A simulation either used the requested policy or failed.
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "condorsim"), "run", "--workload", "lublin-128",
		"--policy", bad, "--json")
	var told bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), mark), &told
	printed, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Regexp(t, `condorsim: policy bad was given up: its fallback, easy, decided [\d,]+ of [\d,]+ rounds, so these `+
		`are not its results`, told.String())
	require.Contains(t, string(printed), `"given_up": true`)

	requireNone(t, mark)
}

// requireNone requires that no process has the mark in its environment.
func requireNone(t *testing.T, mark string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		require.False(t, err == nil && bytes.Contains(environ, []byte(mark)), path)
	}
}

// TestADeadlineThatIsAsked: a plugin that is too late by --deadline loses its round, which is written and
// told with a command that runs it alone; with --deadline 0 the plugin takes as long as it likes.
func TestADeadlineThatIsAsked(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "backfill-sleeps")
	require.NoError(t, os.Symlink(self, bad))
	run := func(args ...string) (printed, log string) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "condorsim"), append([]string{"run"}, args...)...)
		var stderr bytes.Buffer
		cmd.Dir, cmd.Stderr = t.TempDir(), &stderr
		out, runErr := cmd.Output()
		require.NoError(t, runErr, "%s", &stderr)
		return string(out), stderr.String()
	}
	printed, _ := run("lublin-128", "--jobs", "50", "--policy", bad, "--deadline", "0")
	require.NotContains(t, printed, "refused")
	dir := t.TempDir()
	printed, log := run("lublin-128", "--jobs", "50", "--policy", bad, "--deadline", "300ms", "--dump-refused", dir)
	require.Regexp(t, `refused: bad \d+, first at [\d :]+: .*no decision within 300ms`, printed)
	files, err := filepath.Glob(filepath.Join(dir, "condorsim-refused-lublin-128-at-*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	told := regexp.MustCompile(`run it alone with="condorsim run ([^\n]*)"\n`).FindStringSubmatch(log)
	require.NotNil(t, told, log)
	require.Contains(t, told[1], "--deadline 300ms")
	printed, _ = run(strings.Fields(told[1])...)
	require.Contains(t, printed, "under bad")
}

// TestARefusedRoundOfTheNegotiatorIsWritten: as under condorsim run, with a command that runs it alone.
func TestARefusedRoundOfTheNegotiatorIsWritten(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	bad, dir := filepath.Join(t.TempDir(), "backfill-panics"), filepath.Join(t.TempDir(), "rounds")
	require.NoError(t, os.Symlink(self, bad))
	run := func(program string, args ...string) (printed, log string, code int) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, program), args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, _ := cmd.Output()
		return string(out), stderr.String(), cmd.ProcessState.ExitCode()
	}
	_, log, code := run("negotiator", "run", "--speed", "max", "--policy", bad, "--dump-refused", dir)
	require.Equal(t, 1, code, log)
	files, err := filepath.Glob(filepath.Join(dir, "condorsim-refused-*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1, "the first of its kind")
	told := regexp.MustCompile(`run it alone with="condorsim ([^\n]*)"\n`).FindStringSubmatch(log)
	require.NotNil(t, told, log)
	printed, log, _ := run("condorsim", strings.Fields(told[1])...)
	require.Contains(t, printed, "under bad", log)
	require.Contains(t, printed, "first at ", "it fails there, too")

	_, log, code = run("negotiator", "run", "--pool", "htcondor://127.0.0.1:1", "--dump-refused", dir)
	require.Equal(t, 2, code)
	require.Contains(t, log, "--dump-refused writes rounds of a simulated pool, and this one is real")
}
