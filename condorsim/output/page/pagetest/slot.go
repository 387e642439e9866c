package pagetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Slot returns a partitionable slot that accepts every job for which it has enough cpus and memory.
func Slot(tb testing.TB, name string, cpus int) *negotiator.Slot {
	tb.Helper()
	ad := fmt.Sprintf("Name = %q\nPartitionableSlot = true\nCpus = %d\nMemory = 100000\nRequirements = true\n", name, cpus)
	pool, err := pools.FromAds(name, negotiator.DefaultSchema(), classad.ReadAds(strings.NewReader(ad), name))
	require.NoError(tb, err)
	return pool.Slots[0]
}
