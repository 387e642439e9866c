package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	require.NoError(t, os.MkdirAll(filepath.Join(a, "backfill-folder"), 0o700))
	require.NoError(t, os.Mkdir(b, 0o700))
	for _, name := range []string{"a/backfill-z", "a/backfill-easy", "a/readme", "b/backfill-easy"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Symlink("nowhere", filepath.Join(b, "backfill-gone")))
	got, err := List([]string{b, a})
	require.NoError(t, err)
	require.Equal(t, []string{
		filepath.Join(b, "backfill-easy"), filepath.Join(b, "backfill-gone"), filepath.Join(a, "backfill-easy"),
		filepath.Join(a, "backfill-z"),
	}, got)
	t.Chdir(dir)
	got, err = List([]string{"b"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(b, "backfill-easy"), got[0], "the paths are absolute")
	_, err = List([]string{a, filepath.Join(dir, "c")})
	require.ErrorContains(t, err, "plugin directory: open "+filepath.Join(dir, "c"))
	got, err = List(nil)
	require.NoError(t, err)
	require.Empty(t, got)
}
