package matchmaker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// newCountingPool is a pool that counts jobs, each of which takes 2 cpus.
func newCountingPool() *pool {
	request := func(*classad.ClassAd) (backfill.Vector, error) { return backfill.Vector{2, 1}, nil }
	return &pool{New([]string{"cpus", Claims}, request, Limits{}, World{}), map[string]backfill.SlotID{}}
}

// busyAd is of a slot of 8 cpus for 10 jobs on which three jobs run, and which accepts a job by START.
func busyAd(tb testing.TB, start string) *classad.ClassAd {
	tb.Helper()
	slot := slotAd(tb, "a", 8, "Claims = 10; NumDynamicSlots = 3; ChildCpus = {1, 2, 3}; ChildGpus = {0, 1, 0}; "+
		`ChildState = {"Claimed", "Claimed", "Claimed"}; Requirements = START; START = `+start)
	Vacant(slot, []string{"cpus"}, func() *classad.ClassAd { return slot })
	return slot
}

// How many jobs run on a slot is a resource, of which each job takes one; what they take together is in
// the plan, too.
func TestHowManyJobsRunThere(t *testing.T) {
	for start, want := range map[string]backfill.Vector{
		"NumDynamicSlots < 2": {0, 9}, "NumDynamicSlots == 0": {0, 10}, "size(ChildCpus) < 3": {0, 8}, "true": nil,
		"NumDynamicSlots == 0 || TARGET.RequestCpus > 2": {0, 10}, "NumDynamicSlots * 2 + TARGET.RequestCpus <= 9": {0, 7},
		"size(ChildState) < 2":                              {0, 9},
		"sum(ChildCpus) < 3":                                {6, 0},
		"sum(MY.ChildCpus) + TARGET.RequestCpus <= 4":       {6, 0},
		"sum(ChildCpus) <= 4 && size(ChildCpus) < 2":        {4, 9},
		"sum(ChildCpus) == 0":                               {8, 0},
		"size(ChildCpus) == 0 || sum(ChildCpus) + 2 <= 8":   nil,
		"size(ChildCpus) < 1000000 && sum(ChildCpus) < 100": nil,
	} {
		p := newCountingPool()
		p.add(busyAd(t, start))
		id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
		p.match(t)
		require.Equal(t, []backfill.SlotID{0}, p.clusters[id].candidates.Slots, start)
		require.Nil(t, p.clusters[id].candidates.Windows, start)
		require.Equal(t, want, p.least(id), start)
	}
}

// Where more is asked of a list than its length, its length is heeded nevertheless.
func TestListsWhoseElementsAreAskedFor(t *testing.T) {
	for start, want := range map[string]backfill.Vector{
		"size(ChildState) < 2 && !member(4, ChildState)":          {0, 9},
		"size(ChildState) < 2 && ChildState[0] != 4":              nil, // not if there is none
		"size(ChildState ?: {}) < 2":                              {0, 9},
		"isUndefined(ChildState) || size(ChildState) < 2":         {0, 9},
		"ifThenElse(isList(ChildState), size(ChildState), 0) < 2": {0, 9},
		"sum(ChildCpus) < 3 && !member(17, ChildCpus)":            {6, 0},
	} {
		p := newCountingPool()
		slot := busyAd(t, start)
		require.NoError(t, slot.SetExpr("ChildState", "{}"))
		require.NoError(t, slot.SetExpr("ChildCpus", "{}"))
		p.add(slot)
		id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
		p.match(t)
		require.Equal(t, want, p.least(id), start)
	}
	p := newCountingPool() // three run there: it is open only now and then, by what is published
	p.add(busyAd(t, `size(ChildState) < 5 && !member("Claimed", ChildState)`))
	id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
	p.match(t)
	require.Equal(t, [][]backfill.Window{unforeseen}, p.clusters[id].candidates.Windows)
}

// What the plan does not know of the jobs there counts as published for now, and may be otherwise later.
func TestWhatOthersAreIsNotForetold(t *testing.T) {
	for start, open := range map[string]bool{
		"max(ChildCpus) <= 3": true, "max(ChildCpus) <= 2": false, "sum(ChildGpus) < 1": false,
		`!member("Claimed", ChildState)`: false, "ChildCpus[0] == 1": true,
	} {
		p := newCountingPool()
		p.add(busyAd(t, start))
		id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
		p.match(t)
		found := p.clusters[id].candidates
		require.Equal(t, []backfill.SlotID{0}, found.Slots, start)
		require.Equal(t, open, found.Windows == nil, start)
		if !open {
			require.Equal(t, unforeseen, found.Windows[0], start)
			fit := p.Fit(id, func(backfill.SlotID) bool { return true })
			require.Contains(t, fit.DescribeClosed(nil), "open only in another state: ", start)
		}
	}
}

// BenchmarkLists matches a job with slots whose START asks for lists of what runs there, which are all
// different.
func BenchmarkLists(b *testing.B) {
	fifteen := make([]string, 15)
	for i := range fifteen {
		fifteen[i] = fmt.Sprintf("size(Child%d) < %d", i, 3+i)
	}
	for _, c := range []struct{ name, start string }{
		{"none", "Cpus >= 4"},
		{"count", "NumDynamicSlots < 3"},
		{"size", "size(Child0) < 3"},
		{"sum", "sum(ChildCpus) < 3"},
		{"long", "size(Child0) < 900"},
		{"fifteen", strings.Join(fifteen, " && ")},
	} {
		b.Run(c.name, func(b *testing.B) {
			const slots = 100
			looks := int64(0)
			for b.Loop() {
				b.StopTimer()
				p := newCountingPool()
				for i := range slots {
					slot := slotAd(b, fmt.Sprint("s", i), 64, fmt.Sprintf("Claims = 1048576; NumDynamicSlots = 0; ChildCpus = {}; "+
						"Requirements = START && Own != 7; Own = %d; START = %s", 10+i, c.start))
					for k := range fifteen {
						require.NoError(b, slot.SetExpr(fmt.Sprint("Child", k), "{}"))
					}
					p.add(slot)
				}
				id := p.clusterOf(b, ad(b, "Requirements = true; RequestCpus = 2"))
				b.StartTimer()
				_, err := p.Match(context.Background(), 0)
				b.StopTimer()
				require.NoError(b, err)
				require.Len(b, p.clusters[id].candidates.Least, slots)
				looks += int64(p.looks)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*slots), "ns/pair")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(looks), "ns/look")
		})
	}
}
