package pools

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// TestKeysAreAllShown compares what is printed for people with the types that descriptions are read
// into, and reads it.
func TestKeysAreAllShown(t *testing.T) {
	folder := t.TempDir()
	const slot = "MyType = \"Machine\"\nName = \"a\"\nCpus = 4\nMemory = 1024\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "status.long"), []byte(slot), 0o600))
	var shown []string
	for text := range strings.SplitSeq(Keys(), "\n---\n") {
		_, err := parse([]byte(text), folder, negotiator.DefaultSchema(), openRegular)
		require.NoError(t, err, text)
		file, err := strictyaml.Parse([]byte(text))
		require.NoError(t, err)
		shown = append(shown, strictyaml.KeysIn(file)...)
	}
	for _, key := range strictyaml.Keys(reflect.TypeFor[description]()) {
		if !slices.Contains([]string{"failures[].notice", "drains[].mtbf", "drains[].mttr", "drains[].shape"}, key) {
			require.Contains(t, shown, key)
		}
	}
}
