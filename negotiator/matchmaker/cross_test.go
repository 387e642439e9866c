package matchmaker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// State that is reached through attributes of the other ad is seen, for each pair by itself.
func TestStateThroughTheOtherAd(t *testing.T) {
	const open = "Requirements = true; RequestCpus = 2; "
	for _, c := range []struct {
		name, slot, job string
		want            backfill.Vector
	}{
		{"the slot's", "Roomy = Cpus >= 6", open + "Requirements = TARGET.Roomy", backfill.Vector{6, 0}},
		{"without a scope", "Roomy = Cpus >= 6", open + "Requirements = Roomy", backfill.Vector{6, 0}},
		{"the job's", "Requirements = TARGET.Wants", open + "Wants = TARGET.Cpus >= 6", backfill.Vector{6, 0}},
		{"there and back", "Requirements = TARGET.Wants; Roomy = Cpus >= 6", open + "Wants = TARGET.Roomy", backfill.Vector{6, 0}},
		{"counts", "Few = NumDynamicSlots < 2", open + "Requirements = TARGET.Few", backfill.Vector{0, 9}},
		{"no state", "Fast = Mips > 5; Mips = 6", open + "Requirements = TARGET.Fast", nil},
		{"a circle", "Requirements = true || TARGET.A; B = TARGET.A", open + "A = TARGET.B", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newCountingPool()
			p.add(slotAd(t, "a", 8, "Claims = 10; NumDynamicSlots = 0; "+c.slot))
			id, other := p.clusterOf(t, ad(t, c.job)), p.clusterOf(t, ad(t, open+"Wants = true"))
			p.match(t)
			require.Equal(t, []backfill.SlotID{0}, p.clusters[id].candidates.Slots)
			require.Equal(t, c.want, p.least(id))
			require.Nil(t, p.least(other))
		})
	}
}

// It is found out which counts of jobs are asked for, of what the ads do not have as well.
func TestWhichCountsAreAskedFor(t *testing.T) {
	const yes = "Requirements = true; "
	for _, c := range []struct {
		slot, job string
		want      []string
	}{
		{yes, yes, nil},
		{yes + "Few = NumDynamicSlots < 2", yes, nil},
		{"Requirements = START; START = NumDynamicSlots < 2 && size(ChildCpus) < 2", yes, []string{"childcpus", numDynamicSlots}},
		{yes + "Few = NumDynamicSlots < 2", "Requirements = TARGET.Few", []string{numDynamicSlots}},
		{"Requirements = TARGET.Wants", yes + "Wants = TARGET.NumDynamicSlots < 2", []string{numDynamicSlots}},
		{yes, "Requirements = member(1, TARGET.ChildCpus)", []string{"childcpus"}},
		{"Requirements = TARGET.ChildFriendly", yes + "ChildFriendly = true", nil},
	} {
		one := func(text string) []*classad.ClassAd { return []*classad.ClassAd{ad(t, yes), ad(t, text)} }
		require.Equal(t, c.want, Counted(slices.Values(one(c.slot)), slices.Values(one(c.job))), "%s: %s", c.slot, c.job)
	}
}
