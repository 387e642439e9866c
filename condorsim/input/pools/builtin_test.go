package pools_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// A built-in pool is known by its name and by its path, which say the same.
func TestBuiltInPools(t *testing.T) {
	files := fstest.MapFS{"pools/two.yaml": {Data: []byte("classes: [{name: n, count: 2, cpus: 4}]\n")}}
	for name, want := range map[string]string{
		"two": "pools/two.yaml", "pools/two.yaml": "pools/two.yaml", "two.yaml": "", "pools/two": "", "pools": "", "": "",
	} {
		require.Equal(t, want, pools.BuiltIn(files, name), name)
		p, err := pools.Find(name, files, negotiator.DefaultSchema())
		if want == "" {
			require.ErrorIs(t, err, fs.ErrNotExist, name)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "two", p.Name)
	}
	_, err := pools.Find("three", files, negotiator.DefaultSchema())
	require.ErrorContains(t, err, "built in are two")
}
