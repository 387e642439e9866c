package matchmaker

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// What the pool's first rank prefers comes first, then what the job prefers, then what the pool's
// second rank prefers.
func TestRanksOfThePool(t *testing.T) {
	const pre, post = "NegotiatorPreJobRank = ", "NegotiatorPostJobRank = "
	for _, c := range []struct {
		name, job string
		slots     []string
		want      []int32
	}{
		{
			"the first overrides the job's", "Rank = TARGET.X",
			[]string{pre + "1; X = 1", pre + "1; X = 2", pre + "2; X = 0"},
			[]int32{0, 1, 2},
		},
		{
			"the second decides among what the job ranks alike", "Rank = TARGET.X",
			[]string{post + "1; X = 1", post + "2; X = 1", post + "0; X = 2"},
			[]int32{0, 1, 2},
		},
		{
			"all three", "Rank = TARGET.X",
			[]string{pre + "1; X = 5; " + post + "9", pre + "2; X = 1; " + post + "8", pre + "2; X = 1; " + post + "7", pre + "2; X = 3"},
			[]int32{0, 2, 1, 3},
		},
		{"without a Rank of the job", "", []string{pre + "-1", pre + "0.5", pre + "-1"}, []int32{0, 1, 0}},
		{
			"MY is the slot, TARGET the job", "X = 3",
			[]string{pre + "MY.X * TARGET.X; X = 1", pre + "MY.X * TARGET.X; X = -1", pre + "X + RequestCpus; X = 1"},
			[]int32{2, 0, 1},
		},
		{
			"what is no number counts less than any number", "",
			[]string{pre + "-1.0e300", pre + "MY.Gone", pre + `"high"`, pre + "1 / 0", pre + `real("NaN")`},
			[]int32{1, 0, 0, 0, 0},
		},
		{"truth is 1", "", []string{pre + "true", pre + "0.5", pre + "false", pre + "0"}, []int32{2, 1, 0, 0}},
		{"by what the job refers to", "Y = TARGET.X", []string{pre + "TARGET.Y; X = 2", pre + "TARGET.Y; X = 1"}, []int32{1, 0}},
		{"all alike", "", []string{pre + "7; " + post + "1", pre + "7; " + post + "1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newLimitedPool(StrangersLimits())
			for i, s := range c.slots {
				m.add(slotAd(t, string(rune('a'+i)), 4, s))
			}
			job := m.clusterOf(t, jobAd(t, "RequestCpus = 1; "+c.job))
			require.Len(t, m.candidates(job).Slots, len(c.slots))
			require.Equal(t, c.want, m.candidates(job).Rank)
		})
	}
}

func TestRanksOfThePoolDivideJobsAndSlots(t *testing.T) {
	m := newLimitedPool(StrangersLimits())
	m.add(slotAd(t, "a", 4, "Site = 1"), slotAd(t, "b", 4, "Site = 2"))
	far, near := jobAd(t, "Home = 1"), jobAd(t, "Home = 2")
	require.Equal(t, m.clusterOf(t, far), m.clusterOf(t, near))
	require.Nil(t, m.candidates(0).Rank)
	const byHome = "; NegotiatorPreJobRank = MY.Site == TARGET.Home"
	require.True(t, m.add(slotAd(t, "a", 4, "Site = 1"+byHome), slotAd(t, "b", 4, "Site = 2"+byHome)))
	one, two := m.clusterOf(t, far), m.clusterOf(t, near)
	require.NotEqual(t, one, two)
	require.Equal(t, []int32{1, 0}, m.candidates(one).Rank)
	require.Equal(t, []int32{0, 1}, m.candidates(two).Rank)
	require.False(t, m.add(slotAd(t, "b", 4, "Site = 1"+byHome)))
	require.Nil(t, m.candidates(one).Rank)
	m.add(slotAd(t, "a", 4, "Site = 1"), slotAd(t, "b", 4, "Site = 2"))
	require.Nil(t, m.candidates(two).Rank, "they have none any more")
}

// The first ranks count for jobs that were matched before, even if they refer to nothing new.
func TestTheFirstRanksOfThePool(t *testing.T) {
	m := newLimitedPool(StrangersLimits())
	m.add(slotAd(t, "a", 4, ""), slotAd(t, "b", 4, ""))
	require.Equal(t, backfill.Candidates{Slots: []backfill.SlotID{0, 1}}, m.candidates(m.clusterOf(t, jobAd(t, ""))))
	require.True(t, m.add(slotAd(t, "b", 4, "NegotiatorPostJobRank = 1")))
	require.Equal(t, []int32{0, 1}, m.candidates(m.clusterOf(t, jobAd(t, ""))).Rank)
}

// What a rank of the pool costs is not the users' affair, and bounded.
func TestDearRanksOfThePool(t *testing.T) {
	sum := strings.Repeat("MY.Cpus + ", 600)
	for name, c := range map[string]struct {
		rank string
		want []int32
	}{
		"cheap":               {"MY.Cpus", []int32{0, 1, 2}},
		"dear":                {sum + "0", []int32{0, 1, 2}},
		"more than the limit": {strings.Repeat(sum, 12) + "0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newLimitedPool(StrangersLimits())
			for i := range 3 {
				m.add(slotAd(t, strconv.Itoa(i), 1+i, "NegotiatorPreJobRank = "+c.rank))
			}
			job := m.clusterFor(t, "bob", jobAd(t, "RequestCpus = 1"))
			m.match(t)
			bob := m.accounts.users["bob"]
			require.Less(t, bob.share-bob.left, int64(2*dearPair), "what bob pays")
			require.False(t, bob.suspect)
			require.Empty(t, m.Expensive())
			require.Len(t, m.candidates(job).Slots, 3)
			require.Equal(t, c.want, m.candidates(job).Rank)
			_, unmatched := m.Unmatched(job)
			require.False(t, unmatched)
		})
	}
	m := newLimitedPool(StrangersLimits())
	m.add(slotAd(t, "a", 4, "NegotiatorPreJobRank = TARGET.Notes"))
	m.clusterFor(t, "bob", jobAd(t, "RequestCpus = 1; Notes = "+strings.Repeat(sum, 10)+"0"))
	m.match(t)
	require.True(t, m.accounts.users["bob"].suspect, "what the job's own attributes cost is the user's affair")
}
