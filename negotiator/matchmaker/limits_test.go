package matchmaker

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

// Expressions that take as many steps as they can.
var (
	manyChoices = `regexp("(a*)*(a|aa)*(a*)*b", "` + strings.Repeat("a", 1000) + `") || TARGET.Cpus > 0`
	manySums    = strings.Repeat("TARGET.Cpus + ", 3000) + "0 > 0"
)

// ledger is how many steps each user's jobs have taken.
type ledger map[string]int64

// spend runs a Match and adds what each user spent.
func (p *pool) spend(tb testing.TB, l ledger) (total int64) {
	tb.Helper()
	p.match(tb)
	for user, a := range p.accounts.users {
		spent := a.share - a.left
		l[user] += spent
		total += spent
	}
	return total
}

// bigPool is a limited pool of slots that only their names tell apart.
func bigPool(tb testing.TB, slots int) *pool {
	tb.Helper()
	p := newLimitedPool(StrangersLimits())
	ads := make([]*classad.ClassAd, slots)
	for i := range ads {
		ads[i] = slotAd(tb, fmt.Sprintf("slot%d", i), 4, fmt.Sprintf("Site = %d", i%20))
	}
	p.add(ads...)
	return p
}

// The worst expressions known cost a cycle no more than the limit, and less with each cycle.
func TestTheStepsOfAMatchAreBounded(t *testing.T) {
	limits := Limits{Evaluation: 2000, Cluster: 40_000, User: 400_000}
	for name, worst := range map[string]string{"choices": manyChoices, "sums": manySums} {
		t.Run(name, func(t *testing.T) {
			p, spent := bigPool(t, 50), ledger{}
			p.limits, p.accounts = limits, newAccounts(limits)
			for i := range 200 {
				p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = (%s) && TARGET.Name != \"x\"; RequestMemory = %d", worst, i)))
			}
			// One autocluster may exceed what is left by one evaluation of each kind, and comparing slots.
			const margin = 3000
			for cycle := range 12 {
				share := limits.User
				if cycle > 0 {
					share = limits.User/2 + limits.User/regained*int64(cycle)
				}
				require.LessOrEqual(t, p.spend(t, spent), share+margin, "cycle %d", cycle)
			}
			require.Less(t, spent["eve"], 5*limits.User)
			why, unmatched := p.Unmatched(0)
			require.True(t, unmatched)
			require.Contains(t, why, "its Requirements are too expensive: ")
			require.Equal(t, 200, p.Unplanned())
		})
	}
}

// The first Match with a thousand dear jobs of one user costs a small part of his limit, though none
// was known to be dear before.
func TestTheFirstMatchOfDearJobsIsShort(t *testing.T) {
	for _, slots := range []int{4, 200} {
		p, spent := bigPool(t, slots), ledger{}
		for i := range 1000 {
			p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = (%s) && TARGET.Name != \"x\"; RequestMemory = %d", manyChoices, i)))
		}
		require.Less(t, p.spend(t, spent), p.limits.User/8, "%d slots", slots)
		require.False(t, p.Hurries())
		require.Equal(t, 1000, p.Unplanned())
		why, _ := p.Unmatched(999)
		require.Contains(t, why, "its Requirements are too expensive: ")
	}
}

// Dear jobs of many users together cost no more than those of a few, and all are matched at last.
func TestDearJobsOfManyUsersHaveACommonLimit(t *testing.T) {
	p, spent := bigPool(t, 4), ledger{}
	const users = 50
	for i := range users * 20 {
		p.clusterFor(t, fmt.Sprint("eve", i%users), ad(t, fmt.Sprintf(
			"Requirements = (%s) && TARGET.Name != \"x\"; RequestMemory = %d", manyChoices, i)))
	}
	honest := p.clusterFor(t, "bob", ad(t, "Requirements = ("+manyNames(1000)+`) && TARGET.Name != "x"`))
	require.Less(t, p.spend(t, spent), p.limits.User/2)
	cycles := 0
	for ; p.Unplanned() > 0; cycles++ {
		require.Less(t, p.spend(t, spent), p.limits.User/2)
		require.Less(t, cycles, 20)
		if _, unmatched := p.Unmatched(honest); !unmatched {
			break
		}
	}
	require.Len(t, p.clusters[honest].candidates.Slots, 4)
}

// manyNames is an expression that names so many machines one by one, and is true.
func manyNames(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "TARGET.Name != \"machine%d\" && ", i)
	}
	return text.String() + "true"
}

// All of the worst expressions known, as the jobs of one user, cost what the limits say, whatever the
// number of slots.
func TestTheWorstJobsOfOneUserAreBounded(t *testing.T) {
	limits := StrangersLimits()
	for _, slots := range []int{4, 100} {
		t.Run(strconv.Itoa(slots), func(t *testing.T) {
			p, spent := bigPool(t, slots), ledger{}
			for i, worst := range classadtest.Worst() {
				job := ad(t, fmt.Sprintf("RequestMemory = %d", i))
				require.NoError(t, job.SetExpr("Requirements", "("+worst+`) && TARGET.Name != "x"`))
				job.Set("Rank", classad.MustParseExpr("Requirements"))
				p.clusterOf(t, job)
			}
			// A cycle evaluates Requirements and Rank with each slot at most, and not much more than
			// the first part of what an autocluster may take.
			once := min(2*int64(slots*limits.Evaluation), limits.Cluster/firstPart+2*int64(limits.Evaluation))
			most := min(limits.User, int64(len(p.clusters))*once)
			require.LessOrEqual(t, p.spend(t, spent), most)
			for range 11 {
				require.LessOrEqual(t, p.spend(t, spent), limits.User)
			}
			require.Less(t, spent["eve"], 2*limits.User)
		})
	}
}

// A job whose Requirements exceed the limit with a slot is put off, and each time for twice as long.
func TestAnExpensiveAutoclusterIsPutOffForLongerAndLonger(t *testing.T) {
	p := bigPool(t, 300)
	id := p.clusterOf(t, ad(t, "Requirements = ("+manyChoices+`) && TARGET.Name != "x"`))
	var tried []int
	for cycle := range 64 {
		p.match(t)
		if len(p.Expensive()) > 0 {
			require.Equal(t, "eve", p.Expensive()[0].User)
			require.Equal(t, 1, p.Expensive()[0].Jobs)
			tried = append(tried, cycle)
		}
		require.Empty(t, p.clusters[id].candidates.Slots)
	}
	require.Equal(t, []int{0, 2, 6, 14}, tried[:4])
	why, unmatched := p.Unmatched(id)
	require.True(t, unmatched)
	require.Regexp(t, `^its Requirements are too expensive: `, why)
}

// Cheap jobs of a user are matched beside expensive ones, whichever came first.
func TestCheapJobsAreMatchedBesideExpensiveOnes(t *testing.T) {
	p := bigPool(t, 200)
	worst := func(n int) {
		for i := range n {
			p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = (%s) && TARGET.Name != \"x\"; RequestMemory = %d", manyChoices, i)))
		}
	}
	worst(150)
	cheap := p.clusterOf(t, ad(t, "Requirements = TARGET.Site == 1"))
	other := p.clusterFor(t, "bob", ad(t, "Requirements = TARGET.Site == 2"))
	p.match(t)
	require.Len(t, p.clusters[cheap].candidates.Slots, 10)
	require.Len(t, p.clusters[other].candidates.Slots, 10)
}

// Jobs whose users have spent their share are matched under the account of any other user who has a
// job of the same kind.
func TestWhoSharesAnExpensiveUsersJobDoesNotWait(t *testing.T) {
	p := bigPool(t, 200)
	for i := range 1000 {
		p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = (%s) && TARGET.Name != \"x\"; RequestMemory = %d", manyChoices, i)))
	}
	shared := ad(t, "Requirements = TARGET.Site == 2")
	id := p.clusterOf(t, shared)
	p.clusterFor(t, "bob", shared)
	p.match(t)
	require.Len(t, p.clusters[id].candidates.Slots, 10)
}

// Many honest jobs that are more than one Match may cost are matched in the next, at once.
func TestManyHonestJobsAreMatchedInTheNextCycle(t *testing.T) {
	limits := StrangersLimits()
	limits.User = 30_000
	p := newLimitedPool(limits)
	for i := range 100 {
		p.add(slotAd(t, fmt.Sprintf("slot%d", i), 4, fmt.Sprintf("Site = %d", i)))
	}
	for i := range 100 {
		p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = TARGET.Site >= %d && TARGET.Cpus > 2", i)))
	}
	p.match(t)
	require.Positive(t, p.Unplanned())
	require.True(t, p.Hurries())
	require.Empty(t, p.Expensive())
	why, _ := p.Unmatched(99)
	require.Equal(t, "is not matched with all slots yet: the next cycle goes on", why)
	cycles := 0
	for ; p.Hurries(); cycles++ {
		p.match(t)
		require.Less(t, cycles, 60)
	}
	for i := range 100 {
		require.Len(t, p.clusters[i].candidates.Slots, 100-i)
	}
	require.Zero(t, p.Unplanned())
}

// What a slot's own Requirements take is not the job's fault, and a slot that takes too much of it
// gets no job and is named.
func TestExpensiveSlotsAreNotTheJobsFault(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	p.add(
		slotAd(t, "good", 4, ""),
		slotAd(t, "slow", 4, `Requirements = `+strings.Repeat("MY.Cpus + ", 2_500)+"0 > 0"),
		slotAd(t, "bad", 4, "x0 = 1; "+doubling(20)+"Requirements = x20 > 0"))
	id := p.clusterOf(t, ad(t, "Requirements = TARGET.Cpus > 0"))
	p.match(t)
	require.Equal(t, []backfill.SlotID{0, 1}, p.clusters[id].candidates.Slots)
	require.Equal(t, []backfill.SlotID{2}, p.Unbearable())
	require.Less(t, p.accounts.users["eve"].share-p.accounts.users["eve"].left, int64(100))
	p.add(slotAd(t, "bad", 4, ""))
	p.match(t)
	require.Equal(t, []backfill.SlotID{0, 1, 2}, p.clusters[id].candidates.Slots)
	require.Empty(t, p.Unbearable())
}

// Slots with the worst expressions known delay nobody's jobs on the other slots, whether they are
// expensive in themselves or only with a job that has attributes.
func TestTheWorstSlotsDelayNoJobs(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	p.add(slotAd(t, "good", 4, ""))
	for i, text := range classadtest.Worst() {
		slot := slotAd(t, fmt.Sprint("bad", i), 4, "Requirements = START")
		require.NoError(t, slot.SetExpr("START", text))
		p.add(slot)
	}
	const jobs = 100
	for i := range jobs {
		p.clusterFor(t, "bob", jobAd(t, fmt.Sprintf(`Owner = "bob"; User = "bob@test"; JobUniverse = 5; ClusterId = 1; `+
			`RequestCpus = 1; RequestMemory = %d; Environment = %q`, i, strings.Repeat("x", 200))))
	}
	spent := ledger{}
	require.Less(t, p.spend(t, spent), int64(jobs*len(p.slots)*100), "steps that users pay for")
	require.Empty(t, p.Expensive())
	require.Zero(t, p.Unplanned())
	for i := range jobs {
		require.Contains(t, p.clusters[i].candidates.Slots, backfill.SlotID(0))
	}
	require.Greater(t, len(p.Unbearable()), 10)
}

// doubling is attributes x1, x2 and so on, each of which takes twice the steps of the last.
func doubling(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "x%d = x%d + x%d; ", i+1, i, i)
	}
	return text.String()
}

// A job with expensive attributes that slots refer to pays for them.
func TestAJobPaysForWhatSlotsAskOfIt(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	p.add(slotAd(t, "a", 4, "Requirements = TARGET.x20 > 0"))
	id := p.clusterOf(t, ad(t, "Requirements = true; x0 = 1; "+doubling(20)))
	p.match(t)
	why, unmatched := p.Unmatched(id)
	require.True(t, unmatched)
	require.Contains(t, why, "too expensive: more than 10,000 steps")
	require.Empty(t, p.Unbearable())
}

// Rank is limited as Requirements are.
func TestAnExpensiveRankIsLimited(t *testing.T) {
	p := bigPool(t, 100)
	p.clusterOf(t, ad(t, "Requirements = true; x0 = TARGET.Cpus; "+doubling(20)+"Rank = x20"))
	spent := ledger{}
	require.LessOrEqual(t, p.spend(t, spent), int64(100_000+20_000))
}

// Explaining is limited.
func TestFitIsLimited(t *testing.T) {
	p := bigPool(t, 500)
	id := p.clusterOf(t, ad(t, "Requirements = ("+manyChoices+`) && TARGET.Name != "x"`))
	p.match(t)
	fit := p.Fit(id, func(backfill.SlotID) bool { return true })
	require.Equal(t, 500, fit.Slots+fit.Untried)
	require.Less(t, fit.Slots, 210)
	require.Contains(t, fit.WhyNone(), "too expensive")
}

// The end of the context ends a Match, and the next one goes on.
func TestTheContextEndsAMatch(t *testing.T) {
	p := bigPool(t, 10)
	id := p.clusterOf(t, ad(t, "Requirements = TARGET.Site == 1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Match(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	p.match(t)
	require.Len(t, p.clusters[id].candidates.Slots, 1)
}

// Nobody matches the jobs that were removed, and of what was found for very many nothing is kept.
func TestRemovedJobsAreNotMatched(t *testing.T) {
	p, spent := bigPool(t, 50), ledger{}
	for i := range 100 {
		p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = (%s) && TARGET.Name != \"x\"; RequestMemory = %d", manyChoices, i)))
	}
	for i := range 100 {
		p.Leave(i, "eve")
	}
	require.Zero(t, p.spend(t, spent))
	require.Zero(t, p.Unplanned())
	for i := range maxUnused + 10 {
		p.Leave(p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = true; RequestMemory = %d", 1000+i))), "eve")
	}
	p.match(t)
	require.Empty(t, p.byText)
	id := p.clusterOf(t, ad(t, "Requirements = TARGET.Site == 1"))
	require.Zero(t, id, "the number of one that was forgotten")
	require.Equal(t, []backfill.CandidateSet{{ID: 0, Candidates: p.candidates(id)}},
		[]backfill.CandidateSet{{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{1, 21, 41}}}})
}

// What one user's jobs refer to does not divide the classes of others.
func TestAJobThatAsksForNamesDoesNotDivideTheClassesOfOthers(t *testing.T) {
	p := bigPool(t, 100)
	honest := p.clusterOf(t, ad(t, "Requirements = TARGET.Site == 1"))
	p.clusterFor(t, "bob", ad(t, `Requirements = TARGET.Name != "x"`))
	p.match(t)
	require.Len(t, p.clusters[honest].verdicts, 20)
}

// The candidates of honest jobs are the same with expensive ones beside them, and whatever slots do.
// Two runs give the same.
func TestExpensiveJobsChangeNoOthersCandidates(t *testing.T) {
	honest := []string{
		"Requirements = TARGET.Kind == 1", "Requirements = true; Rank = TARGET.Kind", "Requirements = TARGET.Kind > 0",
	}
	worst := []string{
		"Requirements = (" + manyChoices + `) && TARGET.Name != "x"`, "Requirements = (" + manySums + ") && TARGET.Kind > 0",
		`Requirements = TARGET.Name != "x"; Rank = TARGET.Other`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		limits := Limits{Evaluation: 2000, Cluster: 20_000, User: 50_000}
		alone, beside, twin := newLimitedPool(limits), newLimitedPool(limits), newLimitedPool(limits)
		var evil []int
		for cycle := range rapid.IntRange(1, 6).Draw(rt, "cycles") {
			for _, name := range []string{"a", "b", "c", "d"} {
				if kind := rapid.IntRange(-1, 3).Draw(rt, "kind"); kind >= 0 || cycle == 0 {
					slot := slotAd(t, name, 4, fmt.Sprintf("Kind = %d; Other = %d", kind, rapid.IntRange(0, 2).Draw(rt, "other")))
					for _, p := range []*pool{alone, beside, twin} {
						p.add(slot)
					}
				}
			}
			if cycle == 0 {
				for _, text := range honest {
					alone.clusterFor(t, "bob", jobAd(t, text))
				}
			}
			for i := range rapid.IntRange(0, 3).Draw(rt, "expensive") {
				text := rapid.SampledFrom(worst).Draw(rt, "worst") + fmt.Sprintf("; RequestMemory = %d", i+10*cycle)
				for _, p := range []*pool{beside, twin} {
					id := p.clusterOf(t, jobAd(t, text))
					if p == beside {
						evil = append(evil, id)
					}
				}
			}
			ids := make([]int, len(honest))
			for i, text := range honest {
				if cycle > 0 {
					for _, p := range []*pool{beside, twin} {
						p.Leave(p.clusterFor(t, "bob", jobAd(t, text)), "bob")
					}
				}
				ids[i] = beside.clusterFor(t, "bob", jobAd(t, text))
				twin.clusterFor(t, "bob", jobAd(t, text))
			}
			if len(evil) > 2 && rapid.Bool().Draw(rt, "remove") {
				beside.Leave(evil[0], "eve")
				twin.Leave(evil[0], "eve")
				evil = evil[1:]
			}
			alone.match(t)
			require.Equal(rt, beside.match(t), twin.match(t))
			for i, id := range ids {
				want, got := alone.clusters[i].candidates, beside.clusters[id].candidates
				require.True(rt, equal(want, got), "%s: %v, want %v", honest[i], got, want)
			}
		}
	})
}

// TestViewsTakeLittleMemory checks that the memory for the classes of slots does not grow with what
// slots say: one user's jobs may ask for many different sets of attributes.
func TestViewsTakeLittleMemory(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	for i := range 200 {
		long := fmt.Sprintf("%d %s", i, strings.Repeat("x", 10_000))
		p.add(slotAd(t, fmt.Sprint("slot", i), 1, fmt.Sprintf("Long = %q", long)))
	}
	for i := range 20 {
		job := jobAd(t, fmt.Sprintf("Rank = TARGET.Long =?= TARGET.Other%d", i))
		_, err := p.Cluster(job, "mallory")
		require.NoError(t, err)
	}
	before := heapInUse()
	_, err := p.Match(t.Context(), 0)
	require.NoError(t, err)
	require.Less(t, heapInUse()-before, int64(4<<20), "20 views of 200 slots with 10 kB each")
	require.Len(t, p.views, 20)
}

// heapInUse returns the bytes of what is in use.
func heapInUse() int64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc) //nolint:gosec // less than there is
}
