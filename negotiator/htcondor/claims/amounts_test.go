package claims

import (
	"slices"
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

// TestDevicesAreDealtOnce has jobs be handed over at once that were planned onto GPUs of one kind, of which the slot
// has fewer than they are: the ad of the slot lists those that are left, as its startd deals them out, and the job
// that finds none waits for the next cycle.
func TestDevicesAreDealtOnce(t *testing.T) {
	const isNew, isAny, tagged = "Capability >= 8.0", "Capability >= 7.0", "stringListMember(\"x\", Tags)"
	for name, test := range map[string]struct {
		requires []string // of each job; "": it asks for any GPU, and not by its Requirements
		started  []int
	}{
		"the same one":           {[]string{isNew, isNew}, []int{0}},
		"another one":            {[]string{isNew, isAny}, []int{0, 1}},
		"the first in the list":  {[]string{isAny, isNew}, []int{0, 1}},
		"who asks for no kind":   {[]string{"", isNew, isAny}, []int{0, 1}},
		"by another property":    {[]string{tagged, tagged, isAny}, []int{0, 2}},
		"who needs none of them": {[]string{isNew, "none", isNew}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.s.Schema.Resources = []string{"cpus", "memory", "gpus", observe.Claims}
			ad, err := classad.ParseOld("Name = \"a\"\nPartitionableSlot = true\nCpus = 8\nMemory = 8192\nGPUs = 2\n" +
				"AvailableGPUs = { GPUs_old,GPUs_new }\nGPUs_old = [ Id = \"old\"; Capability = 7.0; Tags = \"\" ]\n" +
				"GPUs_new = [ Id = \"new\"; Capability = 8.0; Tags = \"x,y\" ]\nRequirements = true")
			require.NoError(t, err)
			all := backfill.Vector{8, 8192, 2, observe.Unlimited}
			d.look(func(s *observe.Snapshot) {
				s.Slots["a"] = &observe.Slot{
					Name: "a", Host: "a", Advertised: true, Free: all,
					Ad: &negotiator.Slot{Name: "a", Capacity: all, Ad: ad},
				}
			})
			offer := func() map[string]*Offer {
				return map[string]*Offer{"a": {
					Ad: ad, Free: slices.Clone(all), Open: true, Claims: []string{"c1", "c2", "c3"},
				}}
			}
			var flights []*flight
			for i, requires := range test.requires {
				spec := specOf(t, 1, "true")
				if spec.Request = (backfill.Vector{1, 128, 1, 1}); requires == "none" {
					spec.Request[2] = 0
				} else if requires != "" {
					require.NoError(t, spec.Ad.SetExpr("RequireGPUs", requires))
					require.NoError(t, spec.Ad.SetExpr("Requirements", "countMatches(MY.RequireGPUs,TARGET.AvailableGPUs) >= 1"))
				}
				flights = append(flights, d.start(d.submit(int64(i), spec), "a"))
			}
			var started []int
			for _, g := range d.Grant(d.now, d.Ready(d.now), offer())["s"][""] {
				started = append(started, int(g.Cluster))
			}
			require.Equal(t, test.started, started)
			for i, f := range flights {
				if !slices.Contains(started, i) && test.requires[i] != isAny {
					require.True(t, f.closed)
					require.Equal(t, "its Requirements are not true of what other starts leave of slot a", f.why)
				}
			}
			again := offer()["a"] // which is older than the grants
			d.leaveUsed(again)
			left, err := classad.ParseExpr("size(AvailableGPUs)")
			require.NoError(t, err)
			n, _ := left.Eval(classad.Scope{My: again.Ad}).Int()
			require.Equal(t, again.Free[2], n)
		})
	}
}

// TestAStartWaitsForWhatIsGivenBack has two jobs be planned onto a slot of which one is to have what another job
// gives back: as long as the ad does not say so, that start waits, and has not failed.
func TestAStartWaitsForWhatIsGivenBack(t *testing.T) {
	d := newDesk(t)
	ad, err := classad.ParseOld("Name = \"a\"\nPartitionableSlot = true\nCpus = 1\nMemory = 8192\nRequirements = true")
	require.NoError(t, err)
	d.look(func(s *observe.Snapshot) {
		s.Slots["a"] = &observe.Slot{
			Name: "a", Host: "a", Advertised: true, Free: backfill.Vector{1, 8192, observe.Unlimited},
			Ad: &negotiator.Slot{Name: "a", Capacity: backfill.Vector{8, 8192, observe.Unlimited}, Ad: ad},
		}
	})
	d.start(d.submit(1, specOf(t, 1, "TARGET.Cpus >= RequestCpus")), "a")
	second := d.start(d.submit(2, specOf(t, 1, "TARGET.Cpus >= RequestCpus")), "a")
	d.Grant(d.now, d.Ready(d.now), map[string]*Offer{"a": {
		Ad: ad, Free: backfill.Vector{1, 8192, observe.Unlimited}, Open: true, Claims: []string{"c1", "c2"},
	}})
	require.Contains(t, second.why, "its Requirements are not true of slot a any more")
	require.False(t, second.closed)
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
