package matchmaker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Where a START holds in more than one way, a job begins with any that is free now, and is promised one
// that lasts.
func TestMoreThanOneWay(t *testing.T) {
	now := []backfill.Window{{From: 0, To: 1}}
	type with struct {
		free, least backfill.Vector
		windows     []backfill.Window
	}
	for _, c := range []struct {
		start, guards string
		with          []with
	}{
		{
			"NumDynamicSlots < 2 || Cpus >= 6", "at most 1 job runs there, or at least 6 cpus are free",
			[]with{
				{backfill.Vector{8, 10}, backfill.Vector{0, 9}, nil},
				{backfill.Vector{4, 9}, backfill.Vector{0, 9}, nil},
				{backfill.Vector{6, 8}, backfill.Vector{6, 0}, nil},
				{backfill.Vector{4, 8}, backfill.Vector{0, 9}, nil},
			},
		},
		{
			"NumDynamicSlots != 1", "at most 0 jobs run there, or while certain amounts below that are",
			[]with{
				{backfill.Vector{8, 10}, backfill.Vector{0, 10}, nil},
				{backfill.Vector{6, 9}, backfill.Vector{0, 10}, nil},
				{backfill.Vector{4, 8}, backfill.Vector{0, 8}, now},
			},
		},
		{
			"Cpus >= 7 || Cpus <= 3", "at least 7 cpus are free, or while certain amounts below that are",
			[]with{
				{backfill.Vector{8, 10}, backfill.Vector{7, 0}, nil},
				{backfill.Vector{6, 9}, backfill.Vector{7, 0}, nil},
				{backfill.Vector{3, 9}, backfill.Vector{3, 0}, now},
			},
		},
	} {
		p := newCountingPool()
		var free backfill.Vector
		p.Free = func(backfill.SlotID) backfill.Vector { return free }
		p.add(busyAd(t, c.start))
		id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
		for _, w := range c.with {
			free = w.free
			_, err := p.Match(context.Background(), 0)
			require.NoError(t, err)
			found := p.clusters[id].candidates
			require.Equal(t, []backfill.SlotID{0}, found.Slots)
			require.Equal(t, []backfill.Vector{w.least}, found.Least, "%s: %v", c.start, w.free)
			if w.windows == nil {
				require.Nil(t, found.Windows, "%s: %v", c.start, w.free)
			} else {
				require.Equal(t, w.windows, found.Windows[0], "%s: %v", c.start, w.free)
			}
		}
		fit := p.Fit(id, func(backfill.SlotID) bool { return true })
		require.Equal(t, "1 of 1 slots accepts it only while "+c.guards, fit.WhyGuarded())
		require.True(t, p.WantsLittle())
	}
}

// Nothing is tried where the text shows that more is never worse.
func TestTextShowsThatMoreIsNeverWorse(t *testing.T) {
	p := newCountingPool()
	job := ad(t, "Requirements = TARGET.Memory >= RequestMemory; RequestMemory = 10")
	for start, rises := range map[string]bool{
		"true": true, "Cpus >= 6": true, "!(Cpus < 6)": true, "NumDynamicSlots < 2 || Cpus >= 6": true,
		"Cpus - TARGET.RequestCpus >= 4": true, "Enough; Enough = MY.Claims > 7": true,
		"size(ChildCpus) < 3": true, "sum(ChildCpus) < 3 && Own =!= 7": true,
		"ifThenElse(TARGET.RequestCpus > 2, Cpus > 3, Cpus > 5)": true,
		"Cpus <= 4": false, "NumDynamicSlots != 1": false, "NumDynamicSlots >= 1": false, "Cpus >= 7 || Cpus <= 3": false,
		"Cpus >= Claims / 2": false, "Loop; Loop = Loop && Cpus > 3": false, "size(ChildCpus) > 3": false,
	} {
		s := search{trial: trial{m: p.Matchmaker}, c: &autocluster{ad: job}}
		slot := slotAd(t, "a", 8, "Claims = 10; NumDynamicSlots = 0; ChildCpus = {}; Own = 6; Requirements = START; START = "+start)
		require.Equal(t, rises, s.rises(slot), start)
	}
}
