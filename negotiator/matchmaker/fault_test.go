package matchmaker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// rogues adds slots with Requirements, in which %d is a number that tells them apart.
func (p *pool) rogues(tb testing.TB, n int, requirements string) {
	tb.Helper()
	for i := range n {
		slot := slotAd(tb, fmt.Sprint("rogue", i), 4, "")
		require.NoError(tb, slot.SetExpr("Requirements", fmt.Sprintf(requirements, i)))
		p.add(slot)
	}
}

// Slots whose Requirements are cheap for a usual job, but not for those that are there, cost the users
// nothing, and a Match no more than a user may. Jobs are matched with all other slots at once.
func TestSlotsThatAreDearWithRealJobsOnly(t *testing.T) {
	dear := "(" + manyChoices + ")"
	for name, requirements := range map[string]string{
		"more than the limit": "ifThenElse(TARGET.Notes =?= undefined, true, " + dear + " || %d > 0)",
		"less than the limit": "ifThenElse(TARGET.Notes =?= undefined, true, " + strings.Repeat("MY.Cpus + ", 2000) + "%d > 0)",
		"for anybody":         strings.Repeat("MY.Cpus + ", 2400) + "%d > 0",
	} {
		t.Run(name, func(t *testing.T) {
			p, limits := bigPool(t, 20), StrangersLimits()
			p.rogues(t, 40, requirements)
			for i := range 200 {
				p.clusterFor(t, "bob", ad(t, fmt.Sprintf("Requirements = TARGET.Site >= 0 || TARGET.Cpus > 3; Notes = \"n\"; RequestMemory = %d", i)))
			}
			p.match(t)
			require.Greater(t, p.fault, -limits.User/10, "what dear slots took")
			bob := p.accounts.users["bob"]
			require.Less(t, bob.share-bob.left, int64(1_000_000), "what bob pays")
			require.False(t, bob.suspect)
			require.Empty(t, p.Expensive())
			for i := range 200 {
				for slot := range 20 {
					require.Contains(t, p.clusters[i].candidates.Slots, backfill.SlotID(slot))
				}
			}
			for cycles := 0; p.open; cycles++ {
				p.match(t)
				require.Less(t, cycles, 100)
			}
			if name != "more than the limit" {
				require.Len(t, p.clusters[199].candidates.Slots, 60, "dear slots get jobs, later")
			}
		})
	}
}

// A job of which it is not known yet whether a dear slot takes it does not count as one that matches
// nothing.
func TestAJobThatOnlyDearSlotsTake(t *testing.T) {
	p := newLimitedPool(Limits{Evaluation: 10_000, Cluster: 200_000, User: 200_000, All: 400_000})
	p.rogues(t, 10, strings.Repeat("MY.Cpus + ", 2000)+"%d > 0")
	ids := make([]int, 20)
	for i := range ids {
		ids[i] = p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = true; RequestMemory = %d", i)))
	}
	p.match(t)
	why, unmatched := p.Unmatched(ids[19])
	require.True(t, unmatched)
	require.Equal(t, "is not matched with all slots yet: the next cycle goes on", why)
	require.False(t, p.MatchesNone(ids[19]))
	for cycles := 0; p.open; cycles++ {
		p.match(t)
		require.Less(t, cycles, 50)
	}
	require.Len(t, p.clusters[ids[19]].candidates.Slots, 10)
}

// Text that a job brings is its own fault where a slot searches it.
func TestAJobPaysForWhatSlotsSearch(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	p.add(slotAd(t, "a", 4, `Requirements = !regexp("(a*)*(a|aa)*(a*)*b", TARGET.Notes)`))
	p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = true; Notes = %q", strings.Repeat("a", 1000))))
	p.match(t)
	require.True(t, p.accounts.users["eve"].suspect)
	var plain trial
	require.Equal(t, "[ N = 3 ]", plain.plainly(ad(t, "N = 3; X = TARGET.Cpus; Y = MY.N + 1")).String())
}

// A slot with expressions whose references take seconds to follow gets no jobs, and is named.
func TestASlotThatRefersToTooMuch(t *testing.T) {
	var chain strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&chain, "c%d = c%d + TARGET.z%d; ", i, i+1, i)
	}
	p := newLimitedPool(StrangersLimits())
	p.add(slotAd(t, "good", 4, ""), slotAd(t, "bad", 4, chain.String()))
	id := p.clusterOf(t, ad(t, "Requirements = true"))
	p.match(t)
	require.Equal(t, []backfill.SlotID{1}, p.Unbearable())
	require.Equal(t, []backfill.SlotID{0}, p.clusters[id].candidates.Slots)
	require.Less(t, len(p.seen), 700, "names were looked for no further")
}

// Slots that refer to ever more attributes which no job has leave what is known of the jobs as it is.
func TestNamesThatNoJobHasChangeNothing(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	p.add(slotAd(t, "a", 4, ""))
	id := p.clusterOf(t, ad(t, `Requirements = true; Notes = "n"`))
	p.match(t)
	require.False(t, p.add(slotAd(t, "b", 4, "Requirements = TARGET.Extra is undefined")))
	p.match(t)
	require.Len(t, p.clusters[id].candidates.Slots, 2)
	other := p.clusterOf(t, ad(t, `Requirements = true; Notes = "n"; Extra = 1`))
	require.NotEqual(t, id, other)
	require.True(t, p.add(slotAd(t, "c", 4, "Requirements = TARGET.NOTES is undefined")))
}
