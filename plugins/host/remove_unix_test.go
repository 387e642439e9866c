//go:build unix

package host

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestDeepFoldersAreRemovedWithFewFiles: a plugin makes folders as deep as it likes.
func TestDeepFoldersAreRemovedWithFewFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.Mkdir(dir, 0o700))
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "link")))
	at, err := openFolder(unix.AT_FDCWD, dir)
	require.NoError(t, err)
	for range 5000 {
		fd := int(at.Fd())
		require.NoError(t, unix.Mkdirat(fd, "d", 0o700))
		require.NoError(t, unix.Symlinkat("..", fd, "up"))
		next, wrong := openFolder(fd, "d")
		require.NoError(t, wrong)
		require.NoError(t, at.Close())
		at = next
	}
	require.NoError(t, at.Close())
	limited(t, func() { err = removeAll(dir) })
	require.NoError(t, err)
	require.NoDirExists(t, dir)
	require.FileExists(t, outside)
	require.NoError(t, removeAll(dir), "it is gone already")
}

// limited calls f while this process may open few more files.
func limited(t *testing.T, f func()) {
	t.Helper()
	next, err := os.Open(os.DevNull) // the lowest number that is free
	require.NoError(t, err)
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	const more = 20 // and those of the tests beside
	lower := before
	lower.Cur = uint64(next.Fd()) + more
	require.NoError(t, next.Close())
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &lower))
	f()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
}

// TestAnyFolderIsRemoved removes trees of all shapes.
func TestAnyFolderIsRemoved(t *testing.T) {
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir := filepath.Join(parent, "tree")
		require.NoError(t, os.Mkdir(dir, 0o700))
		folders := []string{dir}
		for i := range rapid.IntRange(0, 60).Draw(t, "files") {
			name := rapid.SampledFrom([]string{"", ".moved-"}).Draw(t, "prefix") + strconv.Itoa(i)
			path := filepath.Join(rapid.SampledFrom(folders).Draw(t, "folder"), name)
			if rapid.Bool().Draw(t, "is a folder") {
				require.NoError(t, os.Mkdir(path, 0o700))
				folders = append(folders, path)
			} else {
				require.NoError(t, os.WriteFile(path, nil, 0o600))
			}
		}
		require.NoError(t, removeAll(dir))
		require.NoDirExists(t, dir)
	})
}

// TestLeftFoldersAreSweptAtTheNextStart: a program may end while it removes a plugin's folder.
func TestLeftFoldersAreSweptAtTheNextStart(t *testing.T) {
	parent := t.TempDir()
	folder := func(name string, mode os.FileMode) string {
		dir := filepath.Join(parent, name)
		require.NoError(t, os.Mkdir(dir, mode))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		return dir
	}
	left, used := folder("backfill-plugin-123", 0o700), folder("backfill-plugin-456", 0o700)
	others := []string{
		used, folder("backfill-plugin-notes", 0o700), folder("backfill-plugin-789", 0o755), folder("backfill-12", 0o700),
	}
	held := hold(used)
	sweep(parent, time.Now())
	require.DirExists(t, left, "it may be new")
	later := time.Now().Add(time.Hour)
	sweep(parent, later)
	require.NoDirExists(t, left)
	for _, dir := range others {
		require.FileExists(t, filepath.Join(dir, "file"))
	}
	require.NoError(t, held.Close())
	sweep(parent, later)
	require.NoDirExists(t, used)
}
