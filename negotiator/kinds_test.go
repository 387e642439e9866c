package negotiator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// gpuSlot reads a slot whose GPUs have the bits of these numbers as properties.
func gpuSlot(t require.TestingT, schema negotiator.Schema, gpus []int) *negotiator.Slot {
	ad, err := classad.Parse("[]")
	require.NoError(t, err)
	ad.SetString("Name", "slot1@n1")
	ad.SetInt("Cpus", 64)
	ad.SetInt("GPUs", int64(len(gpus)))
	names := make([]string, len(gpus))
	for i, bits := range gpus {
		names[i] = fmt.Sprintf("GPUs_%d", i)
		require.NoError(t, ad.SetExpr(names[i], fmt.Sprintf("[ Id = \"GPU-%d\"; Bits = %d ]", i, bits)))
	}
	require.NoError(t, ad.SetExpr("AvailableGPUs", "{"+strings.Join(names, ",")+"}"))
	slot, err := schema.SlotFromAd(ad)
	require.NoError(t, err)
	return slot
}

// gpuJob makes a job that asks for so many GPUs with one of the bits; 0: for any.
func gpuJob(t require.TestingT, bits int, gpus int64) *negotiator.Job {
	ad, err := classad.Parse("[]")
	require.NoError(t, err)
	ad.SetInt("RequestCpus", 1)
	ad.SetInt("RequestGPUs", gpus)
	if bits > 0 {
		require.NoError(t, ad.SetExpr("RequireGPUs", fmt.Sprintf("(Bits & %d) != 0", bits)))
	}
	return &negotiator.Job{Nodes: 1, Ad: ad}
}

// dealt reports whether each of the wants, sets of GPUs, can have a GPU of its own.
func dealt(wants []int, gpus []int, used int) bool {
	if len(wants) == 0 {
		return true
	}
	for i, bits := range gpus {
		if used>>i&1 == 0 && (wants[0] == 0 || bits&wants[0] != 0) && dealt(wants[1:], gpus, used|1<<i) {
			return true
		}
	}
	return false
}

// TestKindsHaveRoomForWhatCanBeDealt checks that jobs fit together on a slot of several kinds of GPUs
// exactly if its GPUs can be dealt out so that each job has as many as it asks for, of those that it
// accepts.
func TestKindsHaveRoomForWhatCanBeDealt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := negotiator.DefaultSchema()
		gpus := rapid.SliceOfN(rapid.IntRange(0, 7), 1, 5).Draw(t, "gpus")
		var jobs []*negotiator.Job
		var wants []int
		for range rapid.IntRange(1, 4).Draw(t, "jobs") {
			bits, n := rapid.IntRange(0, 7).Draw(t, "bits"), rapid.IntRange(1, 2).Draw(t, "n")
			jobs = append(jobs, gpuJob(t, bits, int64(n)))
			for range n {
				wants = append(wants, bits)
			}
		}
		slots, unheeded := negotiator.PlanKinds(&schema, []*negotiator.Slot{gpuSlot(t, schema, gpus)}, jobs)
		require.Empty(t, unheeded)
		sum := make(backfill.Vector, len(schema.Resources))
		for _, j := range jobs {
			r, err := schema.Request(j.Ad, 1)
			require.NoError(t, err)
			sum.AddScaled(r, 1)
		}
		require.Equal(t, dealt(wants, gpus, 0), sum.Within(slots[0].Capacity), "%v: %v of %v", schema.Resources, sum,
			slots[0].Capacity)
	})
}

func TestKindsAreResourcesWhereASlotHasSeveral(t *testing.T) {
	usual := negotiator.DefaultSchema().Resources
	for name, c := range map[string]struct {
		gpus, bits []int
		want       []string
	}{
		"one kind":                    {[]int{1, 1}, []int{1}, nil},
		"two kinds":                   {[]int{1, 2}, []int{1}, []string{"gpus with (Bits & 1) != 0"}},
		"the same ones, said twice":   {[]int{3, 4}, []int{1, 2}, []string{"gpus with (Bits & 1) != 0"}},
		"one in the other":            {[]int{1, 3, 4}, []int{2, 3}, []string{"gpus with (Bits & 2) != 0", "gpus with (Bits & 3) != 0"}},
		"nobody asks":                 {[]int{1, 2}, []int{0}, nil},
		"who accepts none fits never": {[]int{1, 2}, []int{4}, []string{"gpus with (Bits & 4) != 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			schema := negotiator.DefaultSchema()
			slot := gpuSlot(t, schema, c.gpus)
			var jobs []*negotiator.Job
			for _, bits := range c.bits {
				jobs = append(jobs, gpuJob(t, bits, 1))
			}
			_, unheeded := negotiator.PlanKinds(&schema, []*negotiator.Slot{slot}, jobs)
			require.Empty(t, unheeded)
			require.Equal(t, append(usual, c.want...), schema.Resources)
			require.Len(t, slot.Capacity, len(usual), "the slot that was given stays as it is")
			for _, name := range c.want {
				require.True(t, negotiator.IsKind(name))
			}
		})
	}
}
