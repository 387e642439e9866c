package matchmaker

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

func TestAutoclusters(t *testing.T) {
	for _, c := range []struct {
		name, slot, a, b string
		same             bool
	}{
		{"equal", "", "X = 1", "X = 1", true},
		{"what no slot looks at", "", `Owner = "eve"`, `Owner = "bob"`, true},
		{"a place in the queue", "", "ClusterId = 1; ProcId = 0", "ClusterId = 1; ProcId = 1", true},
		{"what Requirements look at", `Requirements = TARGET.Owner == "eve"`, `Owner = "eve"`, `Owner = "bob"`, false},
		{"without TARGET", `Requirements = Owner == "eve"`, `Owner = "eve"`, `Owner = "bob"`, false},
		{"with other spelling", `Requirements = TARGET.OWNER == "eve"`, `owner = "eve"`, `Owner = "bob"`, false},
		{
			"through an attribute of the slot", `Start = TARGET.Owner == "eve"; Requirements = Start`, `Owner = "eve"`,
			`Owner = "bob"`, false,
		},
		{
			"through an attribute of the job", `Requirements = TARGET.Who == "eve"`, `Who = Owner; Owner = "eve"`,
			`Who = Owner; Owner = "bob"`, false,
		},
		{"what Rank looks at", `Rank = TARGET.Priority`, "Priority = 1", "Priority = 2", false},
		{"the request", "", "RequestMemory = 1", "RequestMemory = 2", false},
		{
			"what the request refers to", "", "RequestMemory = 2 * Size; Size = 1",
			"RequestMemory = 2 * Size; Size = 2", false,
		},
		{"Requirements", "", "Requirements = TARGET.Cpus > 1", "Requirements = TARGET.Cpus > 2", false},
		{
			"what Requirements refer to", "", "Requirements = TARGET.Cpus > N; N = 1",
			"Requirements = TARGET.Cpus > N; N = 2", false,
		},
		{"Rank", "", "Rank = TARGET.Cpus", "Rank = -TARGET.Cpus", false},
		{"there or not", `Requirements = TARGET.Owner =?= undefined`, "X = 1", `Owner = "bob"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newPool()
			m.add(slotAd(t, "s", 4, c.slot))
			require.Equal(t, c.same, m.clusterOf(t, ad(t, c.a)) == m.clusterOf(t, ad(t, c.b)))
		})
	}
}

func TestSlotClasses(t *testing.T) {
	for _, c := range []struct {
		name, job, a, b string
		same            bool
	}{
		{"names", "X = 1", "", "", true},
		{"names that a job asks for", `Requirements = TARGET.Name == "s1"`, "", "", false},
		{"names that a job ranks by", `Rank = TARGET.Name == "s1"`, "", "", false},
		{"what no job asks for", "X = 1", "Site = 1", "Site = 2", true},
		{"what a job asks for", "Requirements = TARGET.Site == 1", "Site = 1", "Site = 2", false},
		{"with other spelling", "Requirements = TARGET.SITE == 1", "site = 1", "Site = 2", false},
		{
			"through an attribute of the slot", "Requirements = TARGET.Good", "Good = Site == 1; Site = 1",
			"Good = Site == 1; Site = 2", false,
		},
		{
			"Requirements", "X = 1", `Requirements = TARGET.Owner == "eve"`,
			`Requirements = TARGET.Owner == "bob"`, false,
		},
		{
			"what Requirements refer to", "X = 1", `Requirements = TARGET.Owner == U; U = "eve"`,
			`Requirements = TARGET.Owner == U; U = "bob"`, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newPool()
			m.add(slotAd(t, "s1", 4, c.a), slotAd(t, "s2", 4, c.b))
			id := m.clusterOf(t, ad(t, c.job))
			m.match(t)
			classes := m.clusters[id].view.ofSlot
			require.Equal(t, c.same, classes[0] == classes[1])
		})
	}
}

// A pair is matched once: afterwards the remembered verdict counts, whatever the ads say.
func TestEachPairIsMatchedOnce(t *testing.T) {
	m := newPool()
	for _, name := range []string{"a", "b", "c", "d"} {
		m.add(slotAd(t, name, 4, ""))
	}
	m.add(slotAd(t, "e", 4, "Requirements = true && true"))
	for range 50 {
		m.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 1"))
		m.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
	}
	require.Len(t, m.match(t), 2)
	require.Equal(t, []verdict{matches, matches}, m.clusters[0].verdicts)
	require.Equal(t, []verdict{matches, matches}, m.clusters[1].verdicts)

	m.clusters[0].verdicts[0] = refused // a lie
	m.add(slotAd(t, "f", 4, ""))
	require.Equal(t, []backfill.SlotID{0, 1, 2, 3, 4}, m.candidates(0).Slots, "the lie counts for f")
	require.Equal(t, []backfill.SlotID{0, 1, 2, 3, 4, 5}, m.candidates(1).Slots)
}

func TestJobsThatShareAnAdAreClusteredByIt(t *testing.T) {
	m := newPool()
	shared := ad(t, "Requirements = true")
	first := m.clusterOf(t, shared)
	m.byText = map[string]*autocluster{} // only its address is known
	require.Equal(t, first, m.clusterOf(t, shared))
	require.Len(t, m.clusters, 1)
}

func TestRankClasses(t *testing.T) {
	for _, c := range []struct {
		name, rank string
		slots      []string
		want       []int32
	}{
		{"none", "", []string{"X = 3", "X = 1"}, nil},
		{"all the same", "Rank = 5", []string{"X = 3", "X = 1"}, nil},
		{"by size", "Rank = TARGET.X", []string{"X = 30", "X = -10", "X = 20"}, []int32{2, 0, 1}},
		{
			"equal ones share a class", "Rank = TARGET.X",
			[]string{"X = 30", "X = 10", "X = 30", "X = 10.0"},
			[]int32{1, 0, 1, 0},
		},
		{
			"what is no number counts 0", "Rank = TARGET.X",
			[]string{"X = 1", "Y = 1", "X = -1", `X = "high"`},
			[]int32{2, 1, 0, 1},
		},
		{"truth is 1", "Rank = TARGET.X > 2", []string{"X = 3", "X = 1"}, []int32{1, 0}},
		{"infinite", `Rank = TARGET.X`, []string{`X = real("INF")`, "X = 1", `X = real("-INF")`}, []int32{2, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newPool()
			for i, s := range c.slots {
				m.add(slotAd(t, string(rune('a'+i)), 4, s))
			}
			m.clusterOf(t, ad(t, "Requirements = true; "+c.rank))
			require.Len(t, m.candidates(0).Slots, len(c.slots))
			require.Equal(t, c.want, m.candidates(0).Rank)
		})
	}
}

func TestRankClassesLeaveOutWhatDoesNotMatch(t *testing.T) {
	m := newPool()
	m.add(slotAd(t, "a", 4, "X = 9; Requirements = false"), slotAd(t, "b", 4, "X = 7"), slotAd(t, "c", 4, "X = 8"))
	m.clusterOf(t, ad(t, "Requirements = TARGET.X < 9; Rank = TARGET.X"))
	require.Equal(t, backfill.Candidates{Slots: []backfill.SlotID{1, 2}, Rank: []int32{0, 1}}, m.candidates(0))
}

func TestMatchReturnsCandidatesThatChanged(t *testing.T) {
	m := newPool()
	m.add(slotAd(t, "a", 4, "X = 1"))
	require.Empty(t, m.match(t))
	one, err := m.Cluster(ad(t, "Requirements = TARGET.X == 1; RequestCpus = 3"), "eve")
	require.NoError(t, err)
	require.Equal(t, Autocluster{ID: 0, Request: backfill.Vector{3, 0}}, one)
	m.clusterOf(t, ad(t, "Requirements = TARGET.X == 2"))
	require.Equal(t, []backfill.CandidateSet{
		{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}},
		{ID: 1},
	},
		m.match(t), "new ones, even one without candidates")
	require.False(t, m.MatchesNone(0))
	require.True(t, m.MatchesNone(1))
	why, closed := m.WhyNone(1)
	require.Equal(t, "matches no slot: true on none of 1: TARGET.X == 2", why)
	require.False(t, closed)
	require.Empty(t, m.match(t))
	m.add(slotAd(t, "b", 4, "X = 2"))
	require.Equal(t, []backfill.CandidateSet{{ID: 1, Candidates: backfill.Candidates{Slots: []backfill.SlotID{1}}}},
		m.match(t))
	m.add(slotAd(t, "b", 4, "X = 2"))
	require.Empty(t, m.match(t), "it came back as it was")
}

func TestSlotsThatLookAtMoreVoidTheAutoclusters(t *testing.T) {
	m := newPool()
	require.False(t, m.add(slotAd(t, "a", 4, "")))
	eve, bob := ad(t, `Requirements = true; Owner = "eve"`), ad(t, `Requirements = true; Owner = "bob"`)
	require.Equal(t, m.clusterOf(t, eve), m.clusterOf(t, bob))
	require.True(t, m.add(slotAd(t, "b", 4, `Requirements = TARGET.Owner == "eve"`)))
	require.NotEqual(t, m.clusterOf(t, eve), m.clusterOf(t, bob))
	require.False(t, m.add(slotAd(t, "c", 4, `Requirements = TARGET.Owner == "bob"`)), "it looks at nothing new")
	require.Equal(t, []string{"owner"}, slices.Sorted(maps.Keys(m.seen)))
}

func TestAutoclustersPartByWhatAskedAttributesLookAt(t *testing.T) {
	m := newPool()
	m.add(slotAd(t, "a", 4, `IsMine = TARGET.Owner == "eve"`))
	eve, bob := ad(t, `Requirements = TARGET.IsMine; Owner = "eve"`),
		ad(t, `Requirements = TARGET.IsMine; Owner = "bob"`)
	require.True(t, classad.Match(eve, m.slots[0].ad))
	require.False(t, classad.Match(bob, m.slots[0].ad))
	require.NotEqual(t, m.clusterOf(t, eve), m.clusterOf(t, bob))
}

func TestSlotClassesPartByWhatSeenAttributesLookAt(t *testing.T) {
	m := newPool()
	m.add(
		slotAd(t, "a", 4, "Requirements = TARGET.LikesYou; Site = 1"),
		slotAd(t, "b", 4, "Requirements = TARGET.LikesYou; Site = 2"))
	m.clusterOf(t, ad(t, "Requirements = true; LikesYou = TARGET.Site == 2"))
	require.Equal(t, []backfill.SlotID{1}, m.candidates(0).Slots)
}

func TestARankThatIsNotANumberCounts0(t *testing.T) {
	m := newPool()
	m.add(slotAd(t, "a", 4, `X = real("NaN")`), slotAd(t, "b", 4, `X = real("NaN")`), slotAd(t, "c", 4, "X = 1"))
	m.clusterOf(t, ad(t, "Requirements = true; Rank = TARGET.X"))
	require.Equal(t, []int32{0, 0, 1}, m.candidates(0).Rank, "dense")
}

func TestAdsThatAreKnownAreBounded(t *testing.T) {
	m := newPool()
	m.add(slotAd(t, "a", 4, ""))
	for range maxAds + 100 {
		require.Zero(t, m.clusterOf(t, ad(t, "Requirements = true")))
		require.LessOrEqual(t, len(m.byAd), maxAds)
	}
	require.Len(t, m.clusters, 1)
}

// Slots that come back, changed or not, leave each autocluster with the candidates
// that matching everything anew would find.
func TestSlotsThatComeBackAreMatchedAsIfAnew(t *testing.T) {
	jobs := []string{
		"", "Requirements = TARGET.Kind == 1", "Rank = TARGET.Kind",
		"Requirements = TARGET.Kind > 0; Rank = 5", "Requirements = false",
	}
	rapid.Check(t, func(rt *rapid.T) {
		newest := map[string]*classad.ClassAd{}
		m := newPool()
		draw := func() (slots []*classad.ClassAd) {
			for _, name := range []string{"a", "b", "c", "d"} {
				kind := rapid.IntRange(-1, 3).Draw(rt, "kind")
				switch {
				case kind < 0:
					continue
				case kind == 3 && newest[name] != nil: // as it went
				default:
					refuses := rapid.SampledFrom([]string{"", "Requirements = false"}).Draw(rt, "refuses")
					newest[name] = slotAd(t, name, 4, fmt.Sprintf("Kind = %d; %s", kind, refuses))
				}
				slots = append(slots, newest[name])
			}
			return slots
		}
		m.add(draw()...)
		for _, job := range jobs {
			m.clusterOf(t, jobAd(t, job))
		}
		m.match(t)
		for range 5 {
			before := make([]backfill.Candidates, len(jobs))
			old := make([]backfill.Candidates, len(jobs))
			for i, c := range m.clusters {
				before[i] = backfill.Candidates{
					Slots: slices.Clone(c.candidates.Slots),
					Rank:  slices.Clone(c.candidates.Rank),
				}
				old[i] = c.candidates
			}
			m.add(draw()...)
			changed := map[int]bool{}
			for _, set := range m.match(t) {
				changed[set.ID] = true
			}
			fresh := newPool()
			for _, s := range m.slots {
				fresh.add(s.ad)
			}
			for i, job := range jobs {
				fresh.clusterOf(t, jobAd(t, job))
				want, got := fresh.candidates(i), m.candidates(i)
				require.True(rt, equal(want, got), "%s: %v, want %v", job, got, want)
				require.True(rt, equal(before[i], old[i]), "what Match returned stays as it was")
				require.Equal(rt, !equal(got, old[i]), changed[i], job)
				for _, other := range m.clusters {
					if !none(got) && equal(got, other.candidates) {
						require.Same(rt, &got.Slots[0], &other.candidates.Slots[0], "equal candidates are there once")
					}
				}
			}
		}
	})
}

// The class of a bundle follows from its ad and its slots, and each pair is matched once.
func TestBundlesAreMatchedByClass(t *testing.T) {
	m := newPool()
	m.add(slotAd(t, "a", 2, ""), slotAd(t, "b", 2, ""), slotAd(t, "c", 2, ""), slotAd(t, "d", 2, ""))
	m.Add(nil, []Bundle{
		m.bundle(t, "bc", "b", "c"), m.bundle(t, "ab", "a", "b"), m.bundle(t, "cd", "c", "d"),
		m.bundle(t, "all", "a", "b", "c", "d"),
	})
	for range 20 {
		m.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 4"))
	}
	require.Equal(t, []backfill.BundleID{0, 1, 2}, m.candidates(0).Bundles)
	require.Empty(t, m.candidates(0).Slots)
	require.Equal(t, []verdict{matches, refused}, m.clusters[0].verdicts[m.clusters[0].view.ofBundle[0]:], "pairs, and all")
	m.add(slotAd(t, "d", 2, "Requirements = false"))
	require.Len(t, m.match(t), 1)
	require.Equal(t, []backfill.BundleID{0, 1}, m.candidates(0).Bundles,
		"a slot that refuses all jobs takes its bundles out of use")
	m.add(slotAd(t, "d", 2, ""))
	m.Add(nil, []Bundle{m.bundle(t, "ac", "a", "c")})
	require.Equal(t, []backfill.BundleID{0, 1, 2, 4}, m.candidates(0).Bundles)
	m.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 4; Rank = TARGET.Name is \"ab\""))
	require.Equal(t, []int32{0, 1, 0, 0}, m.candidates(1).Rank)
}
