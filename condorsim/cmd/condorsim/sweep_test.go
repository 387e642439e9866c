package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

const sweepFile = `name: matrix
baseline: conservative
traces:
  - {name: a, file: a.swf}
  - {name: b, file: a.swf, memory: 900}
schedulers:
  - {policies: [easy, conservative, ibb]}
  - {policies: [pc, dc], orders: [sjf, widest]}
loads: [0.9, 1]
`

// sweepFolder makes a folder with a sweep and its trace.
func sweepFolder(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("; MaxProcs: 32\n")
	submit := 0
	for id := range 1500 {
		submit += random.IntN(60)
		run, procs := random.IntN(200), 1+random.IntN(1+random.IntN(16))
		fmt.Fprintf(&text, "%d %d -1 %d %d -1 %d %d %d -1 1 %d 1 1 1 -1 -1 -1\n", id+1, submit, run, procs,
			1024*(1+random.IntN(64)), procs, run+random.IntN(200), random.IntN(5))
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.swf"), []byte(text.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "matrix.yaml"), []byte(sweepFile), 0o600))
	return dir
}

// sweeping returns the command, ready to start in a folder.
func sweeping(ctx context.Context, dir string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	cmd = exec.CommandContext(ctx, os.Args[0], append([]string{"sweep"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1")
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// contents returns the files of a folder by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, relErr := filepath.Rel(dir, path)
		require.NoError(t, relErr)
		files[name] = string(text)
		return err
	}))
	return files
}

// However often a sweep is killed, and however many cores run it, it ends with the same files, byte
// by byte, and runs no finished cell again.
func TestKilledSweeps(t *testing.T) {
	dir := sweepFolder(t)
	whole, stderr := sweeping(t.Context(), dir, "matrix.yaml", "--out", "whole", "--parallel", "1")
	require.NoError(t, whole.Run(), "%s", stderr)
	want := contents(t, filepath.Join(dir, "whole"))
	require.Contains(t, want, "results.parquet")
	require.Len(t, want, 28+4+1, "the cells, the manifest, three tables and the lock")

	random := rand.New(rand.NewPCG(3, 4))
	finished := 0
	longest := 60 * time.Millisecond
	for kill := 0; ; kill++ {
		longest += longest / 4 // in the end it has enough time on any machine
		patience := longest/2 + time.Duration(random.Int64N(int64(longest/2)))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd, killed := sweeping(ctx, dir, "matrix.yaml", "--out", "killed", "--parallel", "2")
		err := cmd.Run() // the end of the context kills it
		ended := ctx.Err()
		cancel()
		cells, globErr := filepath.Glob(filepath.Join(dir, "killed", "cells", "*.json"))
		require.NoError(t, globErr)
		require.GreaterOrEqual(t, len(cells), finished)
		if text := killed.String(); finished > 0 && strings.Contains(text, "cells,") {
			require.Contains(t, text, fmt.Sprintf("%d finished before", finished))
		}
		require.NotContains(t, killed.String(), "damaged")
		finished = len(cells)
		if err == nil {
			t.Logf("killed %d times", kill)
			break
		}
		require.Error(t, ended, "%s", killed)
	}
	require.Equal(t, want, contents(t, filepath.Join(dir, "killed")))
}

// An interrupted sweep ends with exit code 130 and writes no tables.
func TestInterruptedSweep(t *testing.T) {
	dir := sweepFolder(t)
	cmd, stderr := sweeping(t.Context(), dir, "matrix.yaml", "--parallel", "1")
	require.NoError(t, cmd.Start())
	poll.Until(t, "a cell", func() (cells []string, so bool) {
		cells, err := filepath.Glob(filepath.Join(dir, "matrix", "cells", "*.json"))
		return cells, err == nil && len(cells) > 0
	})
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, code(t, cmd.Wait()), "%s", stderr)
	require.Contains(t, stderr.String(), "are finished and kept in matrix; the same command goes on from there")
	require.NoFileExists(t, filepath.Join(dir, "matrix", "results.csv"))
	require.NoFileExists(t, filepath.Join(dir, "matrix", "results-incomplete.csv"))
}

func TestETA(t *testing.T) {
	require.Equal(t, 30*time.Second, eta(10*time.Second, 0.25))
	require.Zero(t, eta(time.Second, 0))
	require.Zero(t, eta(time.Second, 1))
}
