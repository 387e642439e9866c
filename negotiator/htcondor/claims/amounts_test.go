package claims

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// partitioned is a slot of 8 cpus on which nothing runs, with this START, as its startd advertises it.
func partitioned(tb testing.TB, start string) *classad.ClassAd {
	tb.Helper()
	ad, err := classad.ParseOld("Name = \"a\"\nPartitionableSlot = true\nCpus = 8\nMemory = 8192\nNumDynamicSlots = 0\n" +
		"ChildCpus = {}\nRequirements = Start\nStart = " + start)
	require.NoError(tb, err)
	return ad
}

// TestGrantsSeeWhatIsLeft has three jobs of 2 cpus be handed over at once, by the ad of a slot as it was
// before the first. START judges each by what the others leave, as its startd will; and so does the ad that
// schedds get.
func TestGrantsSeeWhatIsLeft(t *testing.T) {
	for start, want := range map[string]int{
		"Cpus - TARGET.RequestCpus >= 4": 2, "Cpus >= 6": 2, "NumDynamicSlots < 1": 1, "sum(ChildCpus) < 3": 2,
		"size(ChildCpus) < 2": 2, "Memory > 8000": 2, "Cpus > 0": 3, "time() < 0": 0,
	} {
		t.Run(start, func(t *testing.T) {
			d := newDesk(t)
			ad := partitioned(t, start)
			d.look(func(s *observe.Snapshot) {
				s.Slots["a"] = &observe.Slot{
					Name: "a", Host: "a", Advertised: true, Free: backfill.Vector{8, 8192, observe.Unlimited},
					Ad: &negotiator.Slot{Name: "a", Capacity: backfill.Vector{8, 8192, observe.Unlimited}, Ad: ad},
				}
			})
			for i := range int64(3) {
				spec := specOf(t, 1, "true")
				spec.Ad.SetInt("RequestCpus", 2)
				spec.Request = backfill.Vector{2, 128, 1}
				d.start(d.submit(1+i, spec), "a")
			}
			o := &Offer{
				Ad: ad, Free: backfill.Vector{8, 8192, observe.Unlimited}, Open: true, Claims: []string{"c1", "c2", "c3"},
			}
			grants := d.Grant(d.now, d.Ready(d.now), map[string]*Offer{"a": o})["s"][""]
			require.Len(t, grants, want)
			for i, g := range grants {
				jobs, _ := g.Ad.Int("NumDynamicSlots")
				cpus, _ := g.Ad.Int("Cpus")
				require.EqualValues(t, i, jobs)
				require.EqualValues(t, 8-2*i, cpus)
			}
			taken, _ := ad.Int("NumDynamicSlots")
			require.Zero(t, taken, "what the startd advertised")

			again := &Offer{ // which is older than the grants
				Ad: ad, Free: backfill.Vector{8, 8192, observe.Unlimited}, Open: true, Claims: []string{"c1", "c2", "c3"},
			}
			d.leaveUsed(again)
			cpus, _ := again.Ad.Int("Cpus")
			require.EqualValues(t, 8-2*want, cpus)
		})
	}
}

// TestFullSlotsAreNoSuspects has a startd refuse a claim as START wants more to be free than others have
// left there: which is not held against it.
func TestFullSlotsAreNoSuspects(t *testing.T) {
	for free, culprit := range map[int64]bool{8: true, 6: true, 4: false} {
		d := newDesk(t)
		look := func(free int64) {
			parts := map[string]bool{}
			if free < 8 {
				parts["a_1"] = true
			}
			d.look(func(s *observe.Snapshot) {
				s.Slots["a"] = &observe.Slot{
					Name: "a", Host: "a", Advertised: true, Free: backfill.Vector{free, 8192, observe.Unlimited}, Parts: parts,
					Ad: &negotiator.Slot{
						Name: "a", Capacity: backfill.Vector{8, 8192, observe.Unlimited}, Ad: partitioned(t, "Cpus >= 6 && NumDynamicSlots < 2"),
					},
				}
			})
		}
		look(8)
		f := d.start(d.submit(1, specOf(t, 1, "true")), "a")
		look(free)
		require.Equal(t, culprit, len(d.culprits(f)) == 1, "%d cpus are free", free)
	}
}
