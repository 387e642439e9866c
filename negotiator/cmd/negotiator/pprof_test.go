package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An interrupt is how a daemon that is measured ends: the files of --cpuprofile and --memprofile must be
// whole then. One that is cut off has no gzip checksum.
func TestPprofFilesAfterAnInterrupt(t *testing.T) {
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "cpu"), filepath.Join(dir, "memory")}
	cmd, _, _ := launched(t, "--speed", "1", "--cpuprofile", files[0], "--memprofile", files[1])
	_, log := running(t, cmd)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	text := log()
	require.Equal(t, 130, code(t, cmd.Wait()), text)
	for _, file := range files {
		packed, err := os.Open(file)
		require.NoError(t, err)
		defer packed.Close() //nolint:errcheck // a test's
		content, err := gzip.NewReader(packed)
		require.NoError(t, err, file)
		_, err = io.Copy(io.Discard, content)
		require.NoError(t, err, file)
	}
}
