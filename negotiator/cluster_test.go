package negotiator

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

// clusterOf is the number of an ad's autocluster.
func clusterOf(tb testing.TB, m *matchmaker, a *classad.ClassAd) int {
	tb.Helper()
	c, err := m.cluster(a)
	require.NoError(tb, err)
	return c.id
}

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
		{"through an attribute of the slot", `Start = TARGET.Owner == "eve"; Requirements = Start`, `Owner = "eve"`, `Owner = "bob"`, false},
		{"through an attribute of the job", `Requirements = TARGET.Who == "eve"`, `Who = Owner; Owner = "eve"`, `Who = Owner; Owner = "bob"`, false},
		{"what Rank looks at", `Rank = TARGET.Priority`, "Priority = 1", "Priority = 2", false},
		{"the request", "", "RequestMemory = 1", "RequestMemory = 2", false},
		{"what the request refers to", "", "RequestMemory = 2 * Size; Size = 1", "RequestMemory = 2 * Size; Size = 2", false},
		{"Requirements", "", "Requirements = TARGET.Cpus > 1", "Requirements = TARGET.Cpus > 2", false},
		{"what Requirements refer to", "", "Requirements = TARGET.Cpus > N; N = 1", "Requirements = TARGET.Cpus > N; N = 2", false},
		{"Rank", "", "Rank = TARGET.Cpus", "Rank = -TARGET.Cpus", false},
		{"there or not", `Requirements = TARGET.Owner =?= undefined`, "X = 1", `Owner = "bob"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMatchmaker(twoResources())
			m.addSlots([]*Slot{newSlot(t, "s", 4, c.slot)})
			require.Equal(t, c.same, clusterOf(t, m, ad(t, c.a)) == clusterOf(t, m, ad(t, c.b)))
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
		{"through an attribute of the slot", "Requirements = TARGET.Good", "Good = Site == 1; Site = 1", "Good = Site == 1; Site = 2", false},
		{"Requirements", "X = 1", `Requirements = TARGET.Owner == "eve"`, `Requirements = TARGET.Owner == "bob"`, false},
		{"what Requirements refer to", "X = 1", `Requirements = TARGET.Owner == U; U = "eve"`, `Requirements = TARGET.Owner == U; U = "bob"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMatchmaker(twoResources())
			m.addSlots([]*Slot{newSlot(t, "s1", 4, c.a), newSlot(t, "s2", 4, c.b)})
			clusterOf(t, m, ad(t, c.job))
			require.Equal(t, c.same, m.classOf[0] == m.classOf[1])
		})
	}
}

// A pair is matched once: what is remembered counts, whatever the ads say.
func TestEachPairIsMatchedOnce(t *testing.T) {
	m := newMatchmaker(twoResources())
	for _, name := range []string{"a", "b", "c", "d"} {
		m.addSlots([]*Slot{newSlot(t, name, 4, "")})
	}
	m.addSlots([]*Slot{newSlot(t, "e", 4, "Requirements = true && true")})
	for range 50 {
		clusterOf(t, m, ad(t, "Requirements = true; RequestCpus = 1"))
		clusterOf(t, m, ad(t, "Requirements = true; RequestCpus = 2"))
	}
	require.Len(t, m.clusters, 2)
	require.Len(t, m.verdicts, 4, "2 autoclusters × 2 slot classes")

	m.verdicts[pair{0, m.classOf[0]}] = verdict{} // a lie
	m.addSlots([]*Slot{newSlot(t, "f", 4, "")})
	require.Len(t, m.verdicts, 4)
	require.Equal(t, []backfill.SlotID{0, 1, 2, 3, 4}, m.clusters[0].candidates.Slots, "f is thought to be as the lie has it")
	require.Equal(t, []backfill.SlotID{0, 1, 2, 3, 4, 5}, m.clusters[1].candidates.Slots)
}

func TestJobsThatShareAnAdAreClusteredByIt(t *testing.T) {
	m := newMatchmaker(twoResources())
	shared := ad(t, "Requirements = true")
	first := clusterOf(t, m, shared)
	m.byText = map[string]*autocluster{} // only the ad itself is left to know it by
	require.Equal(t, first, clusterOf(t, m, shared))
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
		{"equal ones share a class", "Rank = TARGET.X", []string{"X = 30", "X = 10", "X = 30", "X = 10.0"}, []int32{1, 0, 1, 0}},
		{"what is no number counts 0", "Rank = TARGET.X", []string{"X = 1", "Y = 1", "X = -1", `X = "high"`}, []int32{2, 1, 0, 1}},
		{"truth is 1", "Rank = TARGET.X > 2", []string{"X = 3", "X = 1"}, []int32{1, 0}},
		{"infinite", `Rank = TARGET.X`, []string{`X = real("INF")`, "X = 1", `X = real("-INF")`}, []int32{2, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMatchmaker(twoResources())
			for i, s := range c.slots {
				m.addSlots([]*Slot{newSlot(t, string(rune('a'+i)), 4, s)})
			}
			clusterOf(t, m, ad(t, "Requirements = true; "+c.rank))
			require.Len(t, m.clusters[0].candidates.Slots, len(c.slots))
			require.Equal(t, c.want, m.clusters[0].candidates.Rank)
		})
	}
}

func TestRankClassesLeaveOutWhatDoesNotMatch(t *testing.T) {
	m := newMatchmaker(twoResources())
	m.addSlots([]*Slot{newSlot(t, "a", 4, "X = 9; Requirements = false"), newSlot(t, "b", 4, "X = 7"), newSlot(t, "c", 4, "X = 8")})
	clusterOf(t, m, ad(t, "Requirements = TARGET.X < 9; Rank = TARGET.X"))
	require.Equal(t, backfill.Candidates{Slots: []backfill.SlotID{1, 2}, Rank: []int32{0, 1}}, m.clusters[0].candidates)
}

func TestCandidatesAreSentWhenTheyChange(t *testing.T) {
	m := newMatchmaker(twoResources())
	m.addSlots([]*Slot{newSlot(t, "a", 4, "X = 1")})
	require.Empty(t, m.unsent())
	clusterOf(t, m, ad(t, "Requirements = TARGET.X == 1"))
	clusterOf(t, m, ad(t, "Requirements = TARGET.X == 2"))
	require.Len(t, m.unsent(), 2, "new ones, even one without candidates")
	m.sent()
	require.Empty(t, m.unsent())
	m.addSlots([]*Slot{newSlot(t, "b", 4, "X = 2")})
	require.Len(t, m.unsent(), 1)
	require.Equal(t, 1, m.unsent()[0].id)
	m.sent()
	m.addSlots([]*Slot{newSlot(t, "b", 4, "X = 2")})
	require.Empty(t, m.unsent(), "it came back as it was")
}

func TestSlotsThatLookAtMoreVoidTheAutoclusters(t *testing.T) {
	m := newMatchmaker(twoResources())
	require.False(t, m.addSlots([]*Slot{newSlot(t, "a", 4, "")}))
	eve, bob := ad(t, `Requirements = true; Owner = "eve"`), ad(t, `Requirements = true; Owner = "bob"`)
	require.Equal(t, clusterOf(t, m, eve), clusterOf(t, m, bob))
	require.True(t, m.addSlots([]*Slot{newSlot(t, "b", 4, `Requirements = TARGET.Owner == "eve"`)}))
	require.NotEqual(t, clusterOf(t, m, eve), clusterOf(t, m, bob))
	require.False(t, m.addSlots([]*Slot{newSlot(t, "c", 4, `Requirements = TARGET.Owner == "bob"`)}), "it looks at nothing new")
	require.Equal(t, []string{"owner"}, slices.Sorted(maps.Keys(m.seen)))
}

func TestAutoclustersPartByWhatAskedAttributesLookAt(t *testing.T) {
	m := newMatchmaker(twoResources())
	m.addSlots([]*Slot{newSlot(t, "a", 4, `IsMine = TARGET.Owner == "eve"`)})
	eve, bob := ad(t, `Requirements = TARGET.IsMine; Owner = "eve"`), ad(t, `Requirements = TARGET.IsMine; Owner = "bob"`)
	require.True(t, classad.Match(eve, m.slots[0].Ad))
	require.False(t, classad.Match(bob, m.slots[0].Ad))
	require.NotEqual(t, clusterOf(t, m, eve), clusterOf(t, m, bob))
}

func TestSlotClassesPartByWhatSeenAttributesLookAt(t *testing.T) {
	m := newMatchmaker(twoResources())
	m.addSlots([]*Slot{
		newSlot(t, "a", 4, "Requirements = TARGET.LikesYou; Site = 1"),
		newSlot(t, "b", 4, "Requirements = TARGET.LikesYou; Site = 2"),
	})
	clusterOf(t, m, ad(t, "Requirements = true; LikesYou = TARGET.Site == 2"))
	require.Equal(t, []backfill.SlotID{1}, m.clusters[0].candidates.Slots)
}

func TestARankThatIsNotANumberCounts0(t *testing.T) {
	m := newMatchmaker(twoResources())
	m.addSlots([]*Slot{newSlot(t, "a", 4, `X = real("NaN")`), newSlot(t, "b", 4, `X = real("NaN")`), newSlot(t, "c", 4, "X = 1")})
	clusterOf(t, m, ad(t, "Requirements = true; Rank = TARGET.X"))
	require.Equal(t, []int32{0, 0, 1}, m.clusters[0].candidates.Rank, "dense")
}

func TestAdsThatAreKnownAreBounded(t *testing.T) {
	m := newMatchmaker(twoResources())
	m.addSlots([]*Slot{newSlot(t, "a", 4, "")})
	for range maxAds + 100 {
		require.Zero(t, clusterOf(t, m, ad(t, "Requirements = true")))
		require.LessOrEqual(t, len(m.byAd), maxAds)
	}
	require.Len(t, m.clusters, 1)
}

func TestJobsAreMatchedWithTheWholeSlot(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 1, "TotalSlotCpus = 8; Requirements = MY.Cpus >= TARGET.RequestCpus")},
		Submitted: []*Job{newJob(t, 1, 4, "Requirements = TARGET.Cpus >= RequestCpus")},
	})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
}

// Slots that come back, changed or not, leave each autocluster with the candidates
// that matching everything anew would find.
func TestSlotsThatComeBackAreMatchedAsIfAnew(t *testing.T) {
	jobs := []string{"", "Requirements = TARGET.Kind == 1", "Rank = TARGET.Kind", "Requirements = TARGET.Kind > 0; Rank = 5", "Requirements = false"}
	rapid.Check(t, func(rt *rapid.T) {
		newest := map[string]*Slot{}
		m := newMatchmaker(twoResources())
		draw := func() (slots []*Slot) {
			for _, name := range []string{"a", "b", "c", "d"} {
				kind := rapid.IntRange(-1, 3).Draw(rt, "kind")
				switch {
				case kind < 0:
					continue
				case kind == 3 && newest[name] != nil: // as it went
				default:
					refuses := rapid.SampledFrom([]string{"", "Requirements = false"}).Draw(rt, "refuses")
					newest[name] = newSlot(t, name, 4, fmt.Sprintf("Kind = %d; %s", kind, refuses))
				}
				slots = append(slots, newest[name])
			}
			return slots
		}
		m.addSlots(draw())
		for _, job := range jobs {
			clusterOf(t, m, newJob(t, 1, 1, job).Ad)
		}
		for range 5 {
			m.sent()
			before := make([]backfill.Candidates, len(jobs))
			for i, c := range m.clusters {
				before[i] = backfill.Candidates{Slots: slices.Clone(c.candidates.Slots), Rank: slices.Clone(c.candidates.Rank)}
			}
			old := make([]backfill.Candidates, len(jobs))
			for i, c := range m.clusters {
				old[i] = c.candidates
			}
			m.addSlots(draw())
			fresh := newMatchmaker(twoResources())
			fresh.addSlots(m.slots)
			for i, job := range jobs {
				clusterOf(t, fresh, newJob(t, 1, 1, job).Ad)
				want, got := fresh.clusters[i].candidates, m.clusters[i].candidates
				require.True(rt, slices.Equal(want.Slots, got.Slots), "%s: %v, want %v", job, got, want)
				require.True(rt, slices.Equal(want.Rank, got.Rank), "%s: %v, want %v", job, got, want)
				require.True(rt, slices.Equal(before[i].Slots, old[i].Slots) && slices.Equal(before[i].Rank, old[i].Rank), "what was sent stays as it was")
				changed := !slices.Equal(got.Slots, old[i].Slots) || !slices.Equal(got.Rank, old[i].Rank)
				require.Equal(rt, changed, m.news[i], job)
			}
		}
	})
}
