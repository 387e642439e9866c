package main

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/configs"
)

// Every built-in pool can be read by its name.
func TestBuiltInPools(t *testing.T) {
	entries, err := fs.ReadDir(configs.Files(), "pools")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(entries), 3)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		pool, readErr := readPool(name, hclog.NewNullLogger())
		require.NoError(t, readErr)
		require.Equal(t, name, pool.Name)
		require.NotEmpty(t, pool.Slots)
	}
	_, err = readPool("five-nodes", hclog.NewNullLogger())
	require.ErrorContains(t, err, "built in are bgp-1152, bgp-128, bgp-352, ctc-gpus, failing, four-nodes, "+
		"gaia-preempt-10m, gaia-preempt-1h, gaia-preempt, gaia-scavengers-10m, gaia-scavengers-1h, "+
		"gaia-scavengers-at-once, gaia-scavengers, gaia, groups, intrepid, kth-scavengers-10m, kth-scavengers-1h, "+
		"kth-scavengers-at-once, kth-scavengers, mixed, pilots, sdsc-scavengers-10m, sdsc-scavengers-1h, "+
		"sdsc-scavengers-at-once, sdsc-scavengers, tiny-bgp")
	_, err = readPool("./five-nodes", hclog.NewNullLogger())
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotContains(t, err.Error(), "built in")
}
