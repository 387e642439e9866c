package daemon

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

// TestWhatIsNoState puts other things where the state and its lock should be. They stay as they are,
// and the error comes at once, since waiting is no use.
func TestWhatIsNoState(t *testing.T) {
	away := filepath.Join(t.TempDir(), "not mounted", "state")
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	folder := func(path string) error { return os.Mkdir(path, 0o700) }
	loop := func(path string) error { return os.Symlink(filepath.Base(path), path) }
	link := func(path string) error { return os.Symlink(away, path) }
	for _, test := range []struct {
		name, file string
		put        func(path string) error
		want       string
	}{
		{"a pipe", databaseFile, fifo, "no regular file"},
		{"a folder", databaseFile, folder, "is a directory"},
		{"a link to itself", databaseFile, loop, "too many levels of symbolic links"},
		{"a link to a disk that is not mounted", databaseFile, link, "no such file"},
		{"a folder as the lock", lockFile, folder, "is a directory"},
		{"a link to nowhere as the lock", lockFile, link, "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			require.NoError(t, test.put(path))
			before, err := os.Lstat(path)
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err = OpenState(t.Context(), filepath.Dir(path), hclog.NewNullLogger())
				require.ErrorContains(t, err, test.want)
				require.ErrorContains(t, err, path)
				require.Zero(t, time.Since(began))
			})
			after, err := os.Lstat(path)
			require.NoError(t, err)
			require.Equal(t, before.Mode(), after.Mode())
		})
	}
}

// TestAPipeAsLock: a pipe that nobody writes does not stop the start.
func TestAPipeAsLock(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, lockFile), 0o600))
	s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	_, err = OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, s.Close())
}
