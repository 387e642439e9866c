package observe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// A slot whose consumption policy asks for more than the slot has, or is too expensive, changes no job.
func TestASlotThatConsumesTooMuch(t *testing.T) {
	for name, policy := range map[string]string{
		"more than there is":       `1000000`,
		"too expensive":            tooMuch,
		"too expensive with a job": fmt.Sprintf("ifThenElse(TARGET.JobStatus =?= undefined && TARGET.User =?= undefined, 1, %s)", tooMuch),
	} {
		t.Run(name, func(t *testing.T) {
			o := quiet()
			_, err := o.readSlot(cedar.Lines(partitionable("ConsumptionCpus = "+policy+"\n")), lookOf(1))
			require.NoError(t, err)
			o.countWays()
			ad, err := classad.ParseOld(job("RequestCpus = 2\n"))
			require.NoError(t, err)
			spec, _ := o.specOf(ad, "schedd")
			require.NoError(t, spec.Wrong)
			require.Equal(t, backfill.Vector{2, 10, 1}, spec.Request)
		})
	}
}

// A policy counts for as large jobs as the largest slot with it can have.
func TestAPolicyCountsForItsLargestSlot(t *testing.T) {
	o := quiet()
	for i, cpus := range []int{1, 8, 2} {
		_, err := o.readSlot(cedar.Lines(fmt.Sprintf("MyType = \"Machine\"\nName = \"slot1@n%d\"\nState = \"Unclaimed\"\n"+
			"PartitionableSlot = true\nCpus = %d\nMemory = 4096\nTotalSlotCpus = %d\nTotalSlotMemory = 4096\nRequirements = true\n"+
			"ConsumptionCpus = TARGET.RequestCpus + 1\n", i, cpus, cpus)), lookOf(1))
		require.NoError(t, err)
	}
	o.countWays()
	ad, err := classad.ParseOld(job("RequestCpus = 6\n"))
	require.NoError(t, err)
	spec, _ := o.specOf(ad, "schedd")
	require.Equal(t, backfill.Vector{7, 10, 1}, spec.Request)
}
