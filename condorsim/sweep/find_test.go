package sweep

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A file comes before a built-in sweep, and a folder of results after it.
func TestReadFile(t *testing.T) {
	t.Chdir(t.TempDir())
	builtIn := fstest.MapFS{"sweeps/fair.yaml": {Data: []byte("built in")}, "sweeps/wide.yaml": {}}
	require.NoError(t, os.Mkdir("fair", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join("fair", "mine.yaml"), []byte("mine"), 0o600))
	for _, c := range []struct {
		file, text string
		beside     []string
	}{
		{"fair", "built in", []string{"."}},
		{"fair.yaml", "built in", []string{"."}},
		{"fair/mine.yaml", "mine", []string{"fair", "."}},
	} {
		text, beside, err := ReadFile(c.file, builtIn)
		require.NoError(t, err, c.file)
		require.Equal(t, c.text, string(text), c.file)
		require.Equal(t, c.beside, beside, c.file)
	}
	_, _, err := ReadFile("fiar", builtIn)
	require.ErrorContains(t, err, "none of that name is built in, did you mean fair? (there are fair, wide)")
	_, _, err = ReadFile("fair/fair.yaml", builtIn)
	require.ErrorContains(t, err, "read the sweep: ")
	require.NotContains(t, err.Error(), "built in")
}
