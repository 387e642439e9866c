package observe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// TestDevicesOfAWholeSlot: a job that asks for GPUs of a kind matches a slot that has them,
// although all are taken, so that it can be planned.
func TestDevicesOfAWholeSlot(t *testing.T) {
	const alike = "AssignedGPUs = \"GPU-a1,GPU-b2\"\n" +
		"GPUs_GPU_a1 = [ Id = \"GPU-a1\"; DeviceUuid = \"a1\"; Capability = 7.5 ]\n"
	const second = "GPUs_GPU_b2 = [ Id = \"GPU-b2\"; DeviceUuid = \"b2\"; Capability = 7.5 ]\n"
	const other = "GPUs_GPU_b2 = [ Id = \"GPU-b2\"; DeviceUuid = \"b2\"; Capability = 9.0 ]\n"
	for name, c := range map[string]struct {
		slot, requires string
		fits           bool
	}{
		"all are taken":             {alike + second + "AvailableGPUs = {}", "Capability > 7", true},
		"one is free":               {alike + second + "AvailableGPUs = {GPUs_GPU_b2}", "Capability > 7", true},
		"none is of that kind":      {alike + second + "AvailableGPUs = {}", "Capability > 8", false},
		"one is offline":            {alike + second + "AvailableGPUs = {}\nOfflineGPUs = \"GPU-a1\"", "Capability > 7", false},
		"they are of two kinds":     {alike + other + "AvailableGPUs = {GPUs_GPU_b2}", "Capability > 7", false},
		"no properties":             {"AssignedGPUs = \"GPU-a1,GPU-b2\"\nAvailableGPUs = {}", "Capability > 7", false},
		"a slot that lists nothing": {"", "Capability > 7", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			p.s.Schema.Resources = []string{"cpus", "memory", "gpus", Claims}
			p.rounding = rounding{resources: p.s.Schema.Resources}
			p.want()
			p.slots = []string{partitionable("GPUs = 0\nTotalSlotGPUs = 2\n" + c.slot)}
			p.schedds[0].SetJobs(strings.Replace(job("RequestGPUs = 2\nRequireGPUs = "+c.requires), "Requirements = true",
				"Requirements = countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs", 1))
			p.see() // what is asked for grows from round to round
			s := p.see()
			pair := classad.Pair{
				Left: s.Schedds["s@test"].Groups[0].Spec.Ad, Right: s.Slots["slot1@n"].Ad.Ad, MaxSteps: classad.FewSteps,
			}
			require.Equal(t, c.fits, pair.RightMatchesLeft(), s.Slots["slot1@n"].Ad.Ad.String())
		})
	}
}
