package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
)

// asCommand is the environment variable that makes the test binary run as the command.
const asCommand = "TEST_AS_NEGOTIATOR"

// TestMain lets the test binary run as the command, and as the command's plugin.
func TestMain(m *testing.M) {
	serve.IfChild(os.Args[1:], append(policies.All(), greedy()))
	if os.Getenv(asCommand) != "" {
		main()
	}
	if os.Getenv(asAttacker) != "" {
		if err := attackAfar(os.Args[1]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// launched is the command with these arguments, not started yet.
func launched(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// code is a command's exit code.
func code(t *testing.T, err error) int {
	t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--speed", "max"}, 0, "started: t=0 job=1.0"},
		{[]string{"run", "--speed", "max", "--log-level", "off"}, 0, ""},
		{[]string{"--policy", "nonesuch"}, 2, `unknown policy "nonesuch"`},
		{[]string{"--policy", ""}, 2, `policy: "": must be a policy's name`},
		{[]string{"--order", "tallest"}, 2, `unknown order "tallest"`},
		{[]string{"--order", "", "--policy", "slack", "--speed", "max"}, 0, "policy=slack order=wfp"},
		{[]string{"--cpuprofile", "nowhere/file"}, 2, "--cpuprofile: open nowhere/file"},
		{[]string{"--memprofile", "nowhere/file"}, 2, "--memprofile: open nowhere/file"},
		{[]string{"--pool", "htcondor://:"}, 2, "must be htcondor://HOST:PORT of a collector"},
		{[]string{"--pool", "htcondor://127.0.0.1:1", "--token", "nowhere"}, 2, "token: stat nowhere: no such file"},
		{
			[]string{"start-times", "--pool", "htcondor://127.0.0.1:1", "--token", "nowhere"},
			2, "token: stat nowhere: no such file",
		},
		{[]string{"--speed", "nan"}, 2, `speed: "nan": must be max or a number of at least 0.001`},
		{[]string{"--log-level", "loud"}, 2, "log_level: loud: must be"},
		{[]string{"--placement", "anywhere"}, 2, `unknown placement rule "anywhere"`},
		{[]string{"--policy-opt", "x"}, 2, "policy-opt"},
		{[]string{"--pool", "/dev/null"}, 2, "read the pool: /dev/null: there is no slot in it"},
		{[]string{"--workload", "/dev/null"}, 2, "read the workload: /dev/null: has no job line"},
		{[]string{"explain", "1.0"}, 2, "with its --pool, --workload and policy: --at T"},
		{[]string{"explain", "x", "--at", "1"}, 2, "there is no job x in npb54"},
		{[]string{"more"}, 2, "unexpected argument more"},
	} {
		cmd, stdout, stderr := launched(t, c.args...)
		require.Equal(t, c.code, code(t, cmd.Run()), "%q: %s", c.args, stderr)
		require.Contains(t, stderr.String(), c.says)
		if c.code != 0 {
			require.Empty(t, stdout.String(), "%q", c.args)
		} else {
			require.Contains(t, stdout.String(), "mean wait")
		}
	}
}

// running starts the command, waits until the first job runs, and returns the policy's process and
// the log.
func running(t *testing.T, cmd *exec.Cmd) (child int, log func() string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("skipped: there is no /proc to find the plugin's process in")
	}
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	line := ""
	for !strings.Contains(line, "started: ") {
		line, err = lines.ReadString('\n')
		require.NoError(t, err)
	}
	found := plugins(t, cmd.Process.Pid)
	require.Len(t, found, 1)
	child = found[0]
	return child, func() string {
		rest, readErr := io.ReadAll(lines)
		require.NoError(t, readErr)
		return string(rest)
	}
}

// plugins lists the child processes of a process, except guards.
func plugins(t *testing.T, host int) (pids []int) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", host))
	require.NoError(t, err)
	for _, path := range threads {
		text, _ := os.ReadFile(path) // a thread may be gone by now
		for field := range strings.FieldsSeq(string(text)) {
			command, _ := os.ReadFile("/proc/" + field + "/cmdline") // so may a process
			if bytes.Contains(command, []byte("guard of ")) {
				continue
			}
			pid, err := strconv.Atoi(field)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAnInterruptEndsItAndItsPlugin(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, stdout, _ := launched(t, "--speed", "1")
		child, log := running(t, cmd)
		require.NoError(t, cmd.Process.Signal(signal))
		text := log()
		require.Equal(t, 130, code(t, cmd.Wait()))
		require.Empty(t, stdout.String())
		require.Contains(t, text, "negotiator: interrupted\n")
		require.ErrorIs(t, syscall.Kill(child, 0), syscall.ESRCH, "no process is left")
	}
}

func TestAKilledPluginCostsOneCycle(t *testing.T) {
	cmd, stdout, _ := launched(t, "--speed", "600")
	child, log := running(t, cmd)
	require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
	text := log()
	require.Equal(t, 0, code(t, cmd.Wait()), text)
	require.Regexp(t, `decisions refused: ibb +│ +1 `, stdout.String())
	require.Contains(t, text, "decision refused, the fallback decides: policy=ibb")
}

func TestAFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("skipped: there is no /dev/full")
	}
	defer full.Close() //nolint:errcheck // a device
	for _, args := range [][]string{{"--speed", "max"}, {"--speed", "max", "--json"}, {"policies"}, {
		"start-times",
		"--at", "60",
	}, {"explain", "1.4", "--at", "68"}, {"policies", "--json"}, {"config", "check", "/dev/null"}} {
		cmd, _, stderr := launched(t, args...)
		cmd.Stdout = full
		require.Equal(t, 1, code(t, cmd.Run()), "%q", args)
		require.Contains(t, stderr.String(), "no space left on device")
	}
}

func TestAFileIsNamedOnce(t *testing.T) {
	path := t.TempDir() + "/some.ads"
	for _, text := range []string{"nonsense\n", "Requirements = true\n", ""} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for _, flag := range []string{"--pool", "--workload", "--config"} {
			if flag == "--config" {
				text += "order: tallest\n"
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			cmd, _, stderr := launched(t, flag, path)
			require.Equal(t, 2, code(t, cmd.Run()))
			said, _, _ := strings.Cut(stderr.String(), " ("+path+":1: ") // the place of the first ad that is left out
			require.Equal(t, 1, strings.Count(said, path), stderr)
		}
	}
}
