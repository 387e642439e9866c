package sweep

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// TestKeysAreAllShown compares what is printed for people with the types that files are read into, and
// reads it.
func TestKeysAreAllShown(t *testing.T) {
	var shown []string
	for text := range strings.SplitSeq(Keys(), "\n---\n") {
		f, err := Parse("keys.yaml", []byte(text))
		require.NoError(t, err)
		shown = append(shown, strictyaml.KeysIn(f.tree)...)
	}
	for _, key := range strictyaml.Keys(reflect.TypeFor[File]()) {
		require.Contains(t, shown, strings.Replace(key, ".merge[].", ".", 1), "a merged file has the keys of any file")
	}
}
