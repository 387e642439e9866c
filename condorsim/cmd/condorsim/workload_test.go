package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// command returns the command with arguments, ready to start in an empty folder.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), asCommand+"=1")
	return cmd
}

// unpacked returns the decompressed text of a file.
func unpacked(t *testing.T, files fs.FS, name string) string {
	t.Helper()
	file, err := files.Open(name)
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // only read
	r, err := packed.NewReader(file)
	require.NoError(t, err)
	var text bytes.Buffer
	_, err = text.ReadFrom(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return text.String()
}

// TestBuiltInTraces runs the commands of the README that make the built-in traces, and compares the
// texts; the compressed bytes depend on the library.
func TestBuiltInTraces(t *testing.T) {
	readme, err := os.Open("../../../configs/workloads/README.md")
	require.NoError(t, err)
	defer readme.Close() //nolint:errcheck // only read
	made := map[string]bool{}
	for lines := bufio.NewScanner(readme); lines.Scan(); {
		args := strings.Fields(lines.Text())
		if len(args) < 3 || args[0] != "condorsim" || args[1] != "workload" || args[2] != "generate" {
			continue
		}
		cmd := command(t, args[1:]...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		name := args[len(args)-1]
		require.Equal(t, unpacked(t, configs.Files(), "workloads/"+name),
			unpacked(t, os.DirFS(cmd.Dir), name), lines.Text())
		made[strings.TrimSuffix(name, ".swf.gz")] = true
	}
	for _, name := range configs.Traces() {
		require.True(t, made[name], "the README says how %s is made", name)
		trace, err := rewriteFlags{}.rewritten(own(t), name, change{}, &outFile{format: formats.SWF})
		require.NoError(t, err)
		require.Equal(t, name, trace.Name)
		require.Len(t, trace.Jobs, trace.Cleaning.JobsRead, "nothing of it is dropped")
	}
	require.Len(t, configs.Traces(), len(made))
}

// own returns a process without standard input.
func own(t *testing.T) *process {
	t.Helper()
	files := &formats.Files{BuiltIn: configs.Files(), TracePath: configs.TracePath}
	return &process{files: files, out: t.Output(), errs: t.Output()}
}

func TestAFileComesBeforeABuiltInTrace(t *testing.T) {
	cmd := command(t, "workload", "info", "lublin-128", "--json")
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "lublin-128"),
		[]byte("; MaxProcs: 4\n1 0 -1 10 2 -1 -1 2 20 -1 1 1 -1 -1 -1 -1 -1 -1\n"), 0o600))
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), `"jobs_left": 1`)
}

func TestAFullDeviceForTraces(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("skipped: there is no /dev/full")
	}
	for _, name := range []string{"/dev/full", "-"} {
		cmd := command(t, "workload", "scale", "lublin-128", "--load", "2", "--out", name)
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		require.Equal(t, 1, code(t, cmd.Run()))
		require.Contains(t, stderr.String(), "no space left on device")
		require.NoError(t, full.Close())
	}
}
