package formats_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
)

// What is no file can be read again from its beginning; a file comes before what is built in.
func TestFiles(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("file", []byte("file"), 0o600))
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	go func() {
		_, _ = out.WriteString("standard input")
		_ = out.Close()
		pipe, openErr := os.OpenFile("pipe", os.O_WRONLY, 0)
		if openErr == nil {
			_, _ = pipe.WriteString("pipe")
			_ = pipe.Close()
		}
	}()
	files := &formats.Files{
		Stdin:     in,
		BuiltIn:   fstest.MapFS{"traces/file": {Data: []byte("no")}, "traces/model": {Data: []byte("model")}},
		TracePath: func(name string) string { return "traces/" + filepath.Base(name) },
	}
	for range 2 {
		for name, want := range map[string]string{"-": "standard input", "pipe": "pipe", "file": "file", "model": "model"} {
			file, openErr := files.Open(name)
			require.NoError(t, openErr, name)
			text, readErr := io.ReadAll(file)
			require.NoError(t, readErr, name)
			require.NoError(t, file.Close())
			require.Equal(t, want, string(text), name)
		}
	}
	_, err = files.Open("none")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, "standard input", formats.Shown("-"))
	require.Equal(t, "none", formats.Shown("none"))
}
