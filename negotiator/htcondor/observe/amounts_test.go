package observe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestRoundUp says what startds without a consumption policy make of an amount.
func TestRoundUp(t *testing.T) {
	for _, c := range []struct {
		resource      string
		amount, total int64
		want          int64
	}{
		{"cpus", 3, 8, 3},
		{"gpus", 0, 8, 0},
		{"memory", 0, 4096, 0},
		{"memory", 1, 4096, 128},
		{"memory", 128, 4096, 128},
		{"Memory", 129, 4096, 256},
		{"memory", 4090, 4090, 4096}, // more than there is
		{"disk", 0, 1_000_000, 0},
		{"disk", 1, 0, 1024},
		{"disk", 1025, 999, 2048},               // no thousandth of so little
		{"disk", 1, 1_000_000, 2000},            // 1024, in steps of 1000
		{"disk", 1, 1_000_001, 2002},            // 1024, in steps of 1001
		{"Disk", 5000, 10_240_000, 10_240},      // 5120, in steps of 10,240
		{"disk", 999_999, 1_000_000, 1_000_448}, // no more than all of it, but for whole steps of 1024
	} {
		t.Run(fmt.Sprint(c.resource, " ", c.amount, " of ", c.total), func(t *testing.T) {
			require.Equal(t, c.want, roundUp(c.resource, c.amount, c.total))
		})
	}
}

// TestAmounts says what a slot's ad says that there is: whole numbers, and nothing where it is
// unclear.
func TestAmounts(t *testing.T) {
	ad, err := classad.ParseOld("Cpus = 3.9\nMemory = -1\nDisk = undefined\nGpus = \"two\"\nFans = 2")
	require.NoError(t, err)
	resources := []string{"cpus", "memory", "disk", "gpus", "fans", "x"}
	require.Equal(t, backfill.Vector{3, 0, 0, 0, 2, 0}, Amounts(ad, resources))
}

// TestRoundingsAreBounded says that a bounded number of ways of rounding is remembered, however
// often startds change theirs, and that the last counts.
func TestRoundingsAreBounded(t *testing.T) {
	o := quiet()
	for i := range 3 * fewRoundings {
		o.number++
		_, err := o.readSlot(cedar.Lines(partitionable(fmt.Sprintf("TotalSlotCpus = 1000\nConsumptionCpus = %d\n", i+1))), lookOf(o.number))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(o.rounding.ways), fewRoundings+1)
	taken, err := o.rounding.taken(classad.New(), backfill.Vector{1, 0, 1})
	require.NoError(t, err)
	require.EqualValues(t, 3*fewRoundings, taken[0])
}

// TestTaken says how much a job can be given at most: by the slots' consumption policies, and as
// startds without one round.
func TestTaken(t *testing.T) {
	asked := backfill.Vector{1, 100, 1}
	for name, c := range map[string]struct {
		policies []string // of slots
		want     backfill.Vector
	}{
		"no slot":   {want: asked},
		"no policy": {policies: []string{""}, want: backfill.Vector{1, 128, 1}},
		"exactly":   {policies: []string{"ConsumptionMemory = TARGET.RequestMemory\n"}, want: asked},
		"the larger counts": {
			policies: []string{"ConsumptionCpus = 2\n", "ConsumptionMemory = 150.5\n", ""},
			want:     backfill.Vector{2, 151, 1},
		},
		"nonsense": {policies: []string{"ConsumptionCpus = -2\nConsumptionMemory = \"x\"\n"}, want: asked},
	} {
		t.Run(name, func(t *testing.T) {
			o := quiet()
			for _, policy := range c.policies {
				o.number++
				_, err := o.readSlot(cedar.Lines(partitionable(policy)), lookOf(o.number))
				require.NoError(t, err)
			}
			job := classad.New()
			job.SetInt("RequestMemory", 100)
			taken, err := o.rounding.taken(job, asked)
			require.NoError(t, err)
			require.Equal(t, c.want, taken)
			require.Equal(t, backfill.Vector{1, 100, 1}, asked)
		})
	}
}
