package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
)

// asCommand is the variable that makes the tests' executable the command.
const asCommand = "TEST_AS_CONDORSIM"

// The tests' executable is the command, and its own plugin.
func TestMain(m *testing.M) {
	serve.IfChild(os.Args[1:], policies.All())
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// launched returns the command, ready to start in a folder with files: a trace, the same without a
// header and gzipped, and a pool.
func launched(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	const header = "; MaxProcs: 4\n"
	const lines = "1 0 -1 10 2 -1 -1 2 20 -1 1 1 -1 -1 -1 -1 -1 -1\n2 1 -1 10 4 -1 -1 4 20 -1 1 1 -1 -1 -1 -1 -1 -1\n" +
		"3 2 -1 10 9 -1 -1 9 20 -1 1 1 -1 -1 -1 -1 -1 -1\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(header + lines))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	dir := t.TempDir()
	for name, text := range map[string]string{
		"small.swf": header + lines, "nohead.swf": lines, "small.swf.gz": packed.String(),
		"cut.swf.gz": packed.String()[:packed.Len()-9],
		"pool.ads":   "Name = \"a\"\nCpus = 12\nMemory = 100\nRequirements = true\n",
		"instance.json": `{"name":"one","processors":4,"memory":0,` +
			`"jobs":[{"id":1,"submit":0,"run":5,"estimate":5,"procs":2,"memory":0}]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd = exec.CommandContext(t.Context(), os.Args[0], append([]string{"run"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// code returns a command's exit code.
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
		args string
		code int
		says string
	}{
		{"--workload small.swf", 0, "dropped jobs that are wider than the machine: count=1 jobs=3"},
		{"--workload small.swf.gz", 0, ""},
		{"--workload nohead.swf --cpus 4", 0, ""},
		{"--workload small.swf --policy conservative --plugin", 0, ""},
		{"--instance instance.json", 0, ""},
		{"--workload cut.swf.gz", 2, "cut.swf.gz:5: the gzip file is truncated"},
		{"--workload nohead.swf", 2, "nohead.swf: the header has neither MaxProcs nor MaxNodes"},
		{"--workload small.swf --cpus=-1", 2, "cpus: -1"},
		{"--workload small.swf --cpus 99999999999999999999", 2, "--cpus"},
		{"--workload small.swf --load nan", 2, "load: "},
		{"--workload small.swf --jobs=-1", 2, "jobs: "},
		{"--workload small.swf --order tallest", 2, "tallest"},
		{"--workload small.swf --placement anywhere", 2, "--placement"},
		{"--workload small.swf --instance instance.json", 2, "can't be used together"},
		{"--workload small.swf --pool none.ads", 2, "none.ads"},
		{"--workload small.swf --jobs-out .", 2, "write the table of jobs"},
		{"--workload small.swf --cpuprofile nowhere/file", 2, "--cpuprofile: open nowhere/file"},
		{"--workload small.swf --memprofile nowhere/file", 2, "--memprofile: open nowhere/file"},
		{"--workload small.swf --bound 0", 2, "--bound=0: must be at least 1 s"},
		{"--workload small.swf --bound nan", 2, "--bound"},
		{"--workload small.swf --per-user", 2, "--per-user is a part of the JSON object; add --json"},
		{"--workload small.swf --policy maui --count-events", 2, "--count-events: policy maui keeps no profile"},
		{"--workload small.swf --policy dc --count-events --jobs 2", 0, ""},
		{"", 2, "name what to run: FILE, --workload FILE or --instance FILE; condorsim workload formats describes"},
		{"small.swf --workload small.swf", 2, "small.swf and small.swf: name what to run once"},
		{"small.swf", 0, ""},
		{"instance.json", 0, ""},
		{"--workload instance.json", 0, ""},
		{"instance.json --deadline=-1s", 2, "--deadline=-1s: must be positive, or 0 for none"},
		{"instance.json --dump-refused instance.json", 2, "--dump-refused: mkdir instance.json: not a directory"},
		{"instance.json --jobs 2", 2, "an instance is taken as it is"},
	} {
		cmd, stdout, stderr := launched(t, strings.Fields(c.args)...)
		require.Equal(t, c.code, code(t, cmd.Run()), "%s: %s", c.args, stderr)
		require.Contains(t, stderr.String(), c.says, c.args)
		require.Equal(t, c.code == 0, stdout.Len() > 0, "%s: %s", c.args, stdout)
	}
}

func TestTheSameBytesTwice(t *testing.T) {
	var first string
	for range 3 {
		cmd, stdout, _ := launched(t, "--workload", "small.swf", "--json", "--jobs-out", "jobs.csv")
		require.NoError(t, cmd.Run())
		rows, err := os.ReadFile(filepath.Join(cmd.Dir, "jobs.csv"))
		require.NoError(t, err)
		both := stdout.String() + string(rows)
		if first == "" {
			first = both
		}
		require.Equal(t, first, both)
	}
}

func TestAbridge(t *testing.T) {
	require.Empty(t, abridge(nil))
	require.Equal(t, "1 2", abridge([]int64{1, 2}))
	require.Equal(t, strings.Repeat("7 ", 19)+"7 and 3 more",
		abridge([]int64{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}))
}

func TestAFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("skipped: there is no /dev/full")
	}
	defer full.Close() //nolint:errcheck // a device
	for _, args := range [][]string{{"--workload", "small.swf"}, {"--workload", "small.swf", "--json"}} {
		cmd, _, stderr := launched(t, args...)
		cmd.Stdout = full
		require.Equal(t, 1, code(t, cmd.Run()))
		require.Contains(t, stderr.String(), "no space left on device")
	}
}

func TestTheTableOfJobsTakesNoInputsPlace(t *testing.T) {
	for _, c := range []struct{ args, out string }{
		{"--workload small.swf", "small.swf"},
		{"--workload small.swf", "./small.swf"},
		{"--workload small.swf", "link"},
		{"--workload small.swf --pool pool.ads", "pool.ads"},
		{"--instance instance.json", "instance.json"},
	} {
		cmd, stdout, stderr := launched(t, append(strings.Fields(c.args), "--jobs-out", c.out)...)
		require.NoError(t, os.Symlink("small.swf", filepath.Join(cmd.Dir, "link")))
		before, err := os.ReadFile(filepath.Join(cmd.Dir, c.out))
		require.NoError(t, err)
		require.Equal(t, 2, code(t, cmd.Run()))
		require.Contains(t, stderr.String(), "--jobs-out "+c.out+": that is where ")
		require.Empty(t, stdout.String())
		after, err := os.ReadFile(filepath.Join(cmd.Dir, c.out))
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

func TestATraceOnAPoolNeedsNoHeader(t *testing.T) {
	cmd, _, stderr := launched(t, "--workload", "nohead.swf", "--pool", "pool.ads")
	require.Equal(t, 0, code(t, cmd.Run()), stderr)
	cmd, stdout, _ := launched(t, "--workload", "small.swf", "--pool", "pool.ads", "--json")
	require.NoError(t, cmd.Run())
	require.Contains(t, stdout.String(), `"too_wide": 0`, "9 processors fit a pool of 12")
}

func TestFlagsOfTracesGoWithNoInstance(t *testing.T) {
	for _, flag := range []string{
		"--load=2", "--cpus=1", "--memory=5", "--jobs=1", "--overrun=kill", "--clean=none",
		"--procs-field=requested",
	} {
		cmd, _, stderr := launched(t, "--instance", "instance.json", flag)
		require.Equal(t, 2, code(t, cmd.Run()), flag)
		require.Contains(t, stderr.String(), "an instance is taken as it is")
	}
}

func TestTheTableListsWhatWasLeftOut(t *testing.T) {
	cmd, stdout, stderr := launched(t, "--workload", "dirty.swf")
	const dirty = "; MaxProcs: 4\n1 0 -1 10 2 -1 -1 2 20 -1 1 1 -1 -1 -1 -1 -1 -1\n" +
		"2 1 -1 10 4 -1 -1 4 20 -1 3 1 -1 -1 -1 -1 -1 -1\n"
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "dirty.swf"), []byte(dirty), 0o600))
	require.NoError(t, cmd.Run())
	require.Regexp(t, `job lines left out: partial executions +│ +1 `, stdout.String(), stderr)
}
