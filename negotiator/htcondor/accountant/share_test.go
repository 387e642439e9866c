package accountant

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// order returns the IDs of jobs by key, ties in the order of jobs.
func order(t fatal, s *Share, jobs []Waiting) (ids []backfill.JobID) {
	t.Helper()
	for _, j := range jobs {
		_, ok := s.Key(j.ID)
		require.True(t, ok)
		ids = append(ids, j.ID)
	}
	slices.SortStableFunc(ids, func(x, y backfill.JobID) int {
		if s.keys[x] < s.keys[y] {
			return -1
		} else if s.keys[x] > s.keys[y] {
			return 1
		}
		return 0
	})
	return ids
}

func waiting(submitters ...string) (jobs []Waiting) {
	for i, name := range submitters {
		jobs = append(jobs, Waiting{ID: backfill.JobID(i), Submitter: name, Weight: 1})
	}
	return jobs
}

func TestSharesAreInverseToPriority(t *testing.T) {
	a := open(t, "")
	require.NoError(t, a.SetFactor("a@d", 1))
	require.NoError(t, a.SetFactor("b@d", 3))
	require.NoError(t, a.Update(at(0), map[string]Use{"b@d": {1, 1}}))
	jobs := waiting("b@d", "b@d", "a@d", "a@d", "a@d", "a@d", "a@d", "a@d", "a@d")
	// a: 0.5 1 1.5 2 2.5 3 3.5; b uses 1: 3 4.5
	require.Equal(t, []backfill.JobID{2, 3, 4, 5, 6, 0, 7, 8, 1}, order(t, a.Share(jobs), jobs),
		"ties fall to the order of jobs")
	require.NoError(t, a.SetFloor("b@d", 3))
	require.Equal(t, []backfill.JobID{0, 1, 2, 3, 4, 5, 6, 7, 8}, order(t, a.Share(jobs), jobs), "the floor first")
	jobs[8].Prio, jobs[1].Prio = 5, -1
	require.Equal(t, []backfill.JobID{0, 1, 8, 2, 3, 4, 5, 6, 7}, order(t, a.Share(jobs), jobs),
		"JobPrio is within a submitter")
}

func TestJobsThatWeighNothingHaveAnOrder(t *testing.T) {
	a := open(t, "")
	jobs := waiting("a@d", "a@d", "a@d")
	for i := range jobs {
		jobs[i].Weight, jobs[i].Prio = 0, int64(i)
	}
	require.Equal(t, []backfill.JobID{2, 1, 0}, order(t, a.Share(jobs), jobs))
}

func TestGroupsShareByQuota(t *testing.T) {
	a := open(t, "GROUP_NAMES = g, g.h, i, z\nGROUP_QUOTA_g = 4\nGROUP_QUOTA_g.h = 2\nGROUP_QUOTA_i = 4\n"+
		"GROUP_QUOTA_z = 0\nNEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = false")
	require.NoError(t, a.Update(at(0), map[string]Use{"i.u@d": {3, 3}}))
	require.NoError(t, a.Divide(10, nil))
	jobs := waiting("z.u@d", "i.u@d", "i.u@d", "g.u@d", "g.u@d", "g.u@d", "g.h.u@d", "u@d", "u@d", "u@d")
	s := a.Share(jobs)
	// <none> has 2: 0.5 1 1.5; i uses 3 of 4: 1 1.25; within g: own of 2: 0.5 1 1.5,
	// h of 2: 0.5, so of 4: .25 .5(h) .75 1
	require.Equal(t, map[backfill.JobID]float64{
		0: noQuota + 1, 1: 1, 2: 1.25, 3: 0.25, 4: 0.75, 5: 1, 6: 0.5, 7: 0.5,
		8: 1, 9: 1.5,
	}, s.keys)
	require.InDelta(t, 2.0, s.Arrive(Waiting{ID: 100, Submitter: "u@d", Weight: 1}), 1e-9)
	require.InDelta(t, 2.5, s.Arrive(Waiting{ID: 101, Submitter: "u@d", Weight: 1}), 1e-9, "behind the one before")
	require.InDelta(t, 1, s.Arrive(Waiting{ID: 102, Submitter: "g.h.v@d", Weight: 1}), 1e-9,
		"behind h's other submitter: 2 of 2, as the second of g, of whose 4 it is the last")
	require.InDelta(t, noQuota+2, s.Arrive(Waiting{ID: 103, Submitter: "z.u@d", Weight: 1}), 1e-9)
}

// With a GROUP_SORT_EXPR of one's own, groups take turns: their quotas first, then surplus.
func TestGroupsTakeTurns(t *testing.T) {
	a := open(t, "GROUP_NAMES = a, b, c\nGROUP_QUOTA_a = 2\nGROUP_QUOTA_b = 2\nGROUP_QUOTA_c = 2\n"+
		`GROUP_SORT_EXPR = ifThenElse(AccountingGroup == "b", GroupResourcesInUse - GroupQuota, `+
		`ifThenElse(AccountingGroup == "a", 1, AccountingGroup))`)
	require.NoError(t, a.Update(at(0), map[string]Use{"b.u@d": {1, 1}}))
	require.NoError(t, a.Divide(10, nil))
	jobs := waiting("u@d", "c.u@d", "a.u@d", "a.u@d", "a.u@d", "b.u@d", "b.u@d")
	// b has one more within its quota; the keys of the others are no numbers
	require.Equal(t, []backfill.JobID{5, 2, 3, 0, 1, 6, 4}, order(t, a.Share(jobs), jobs))
	require.InDelta(t, -1, a.tree.sortKey(a.tree.byName["b"], 0), 0)
	require.InDelta(t, math.MaxFloat32, a.tree.sortKey(a.tree.byName["c"], 0), 0)
}

// TestGroupsTakeTurnsByTheClock says that GROUP_SORT_EXPR sees when the use was counted.
func TestGroupsTakeTurnsByTheClock(t *testing.T) {
	a := open(t, "GROUP_NAMES = a, b\nGROUP_QUOTA_a = 2\nGROUP_QUOTA_b = 2\n"+fmt.Sprintf(
		`GROUP_SORT_EXPR = (AccountingGroup == "a") == (time() < %d) ? 1 : 2`, at(100).Unix()))
	jobs := waiting("a.u@d", "b.u@d")
	for seconds, want := range map[int64][]backfill.JobID{99: {0, 1}, 100: {1, 0}} {
		require.NoError(t, a.Update(at(seconds), nil))
		require.NoError(t, a.Divide(10, nil))
		require.Equal(t, want, order(t, a.Share(jobs), jobs), seconds)
	}
}

// TestTheSharesAreThoseOfThePie fills an empty pool with one-core jobs.
func TestTheSharesAreThoseOfThePie(t *testing.T) {
	db := database(t)
	rapid.Check(t, func(t *rapid.T) {
		empty(t, db)
		a, err := Open(db, DefaultSettings())
		require.NoError(t, err)
		total := rapid.IntRange(0, 60).Draw(t, "slots")
		var jobs []Waiting
		pie := map[string]float64{}
		sum := 0.0
		for n := range rapid.IntRange(1, 6).Draw(t, "submitters") {
			name := fmt.Sprintf("u%d@d", n)
			require.NoError(t, a.SetFactor(name, float64(rapid.IntRange(1, 20).Draw(t, "factor"))))
			require.NoError(t, a.SetPriority(name, rapid.Float64Range(0.5, 10).Draw(t, "priority")))
			pie[name] = 1 / a.Priority(name)
			sum += pie[name]
			for range total + 1 {
				jobs = append(jobs, Waiting{ID: backfill.JobID(len(jobs)), Submitter: name, Weight: 1})
			}
		}
		got := map[string]int{}
		for _, id := range order(t, a.Share(jobs), jobs)[:total] {
			got[jobs[id].Submitter]++
		}
		// Filling by (n + 1) × priority is d'Hondt's method: everybody gets at least the whole part
		// of the due share, and no submitter's product of weight and priority exceeds the next
		// product of another.
		for name, due := range pie {
			require.Greater(t, float64(got[name]), due/sum*float64(total)-1-1e-9, name)
			for other, theirs := range pie {
				require.LessOrEqual(t, float64(got[name])/due, float64(got[other]+1)/theirs*(1+1e-9),
					"%s before %s", name, other)
			}
		}
	})
}

// anyPool draws groups, use and waiting jobs.
func anyPool(t *rapid.T, a *Accountant) []Waiting {
	names := []string{"a@d", "b@d", "g.a@d", "g.b@d", "g.h.a@d", "g.h.b@d", "i.a@d"}
	use := map[string]Use{}
	for _, name := range names {
		if w := rapid.IntRange(0, 5).Draw(t, "use"); w > 0 {
			use[name] = Use{1, float64(w)}
		}
		require.NoError(t, a.SetFactor(name, float64(rapid.IntRange(1, 4).Draw(t, "factor"))))
		require.NoError(t, a.SetFloor(name, int64(rapid.IntRange(0, 3).Draw(t, "floor"))))
	}
	require.NoError(t, a.Update(at(0), use))
	require.NoError(t, a.Divide(float64(rapid.IntRange(0, 40).Draw(t, "total")), nil))
	var jobs []Waiting
	for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
		jobs = append(jobs, Waiting{
			ID: backfill.JobID(i), Submitter: rapid.SampledFrom(names).Draw(t, "name"),
			Weight: float64(rapid.IntRange(1, 4).Draw(t, "weight")), Prio: int64(rapid.IntRange(0, 2).Draw(t, "prio")),
			User: rapid.SampledFrom(names[:2]).Draw(t, "user"), Passed: rapid.IntRange(0, 3).Draw(t, "passed") == 0,
			Vain: float64(rapid.IntRange(0, 2).Draw(t, "vain")),
		})
	}
	return jobs
}

const someGroups = "GROUP_NAMES = g, g.h, i\nGROUP_QUOTA_g = 9\nGROUP_QUOTA_DYNAMIC_g.h = 0.5\n" +
	"GROUP_QUOTA_DYNAMIC_i = 0.3\nGROUP_ACCEPT_SURPLUS_g.h = true\n"

const someTurns = "GROUP_SORT_EXPR = GroupResourcesInUse\n"

func TestAnArrivalGetsTheKeyItWouldHaveHad(t *testing.T) {
	db := database(t)
	rapid.Check(t, func(t *rapid.T) {
		empty(t, db)
		a, err := Open(db, settings(t, rapid.SampledFrom([]string{"", someGroups, someGroups + someTurns}).Draw(t, "groups")))
		require.NoError(t, err)
		jobs := anyPool(t, a)
		last := len(jobs) - 1
		jobs[last].Passed = false
		all := a.Share(jobs)
		want, _ := all.Key(jobs[last].ID)
		some := a.Share(jobs[:last])
		require.InEpsilon(t, want, some.Arrive(jobs[last]), 1e-9)
		require.Equal(t, all.keys, a.Share(jobs).keys, "deterministic")

		// Within a submitter: JobPrio, then the order of jobs.
		own := map[string]Waiting{}
		for _, id := range order(t, all, jobs) {
			j := jobs[id]
			if before, ok := own[j.Submitter]; ok && !j.Passed {
				require.True(t, before.Prio > j.Prio || before.Prio == j.Prio && before.ID < j.ID)
			}
			if !j.Passed {
				own[j.Submitter] = j
			}
		}
	})
}

// TestJobsPassedOverPushNoOthers: jobs that cannot start change the key of no job, whatever names
// their users invent, and those of one user do not all come first once they can start.
func TestJobsPassedOverPushNoOthers(t *testing.T) {
	db := database(t)
	rapid.Check(t, func(t *rapid.T) {
		empty(t, db)
		a, err := Open(db, settings(t, rapid.SampledFrom([]string{someGroups, someGroups + someTurns}).Draw(t, "groups")))
		require.NoError(t, err)
		jobs := anyPool(t, a)
		var counted []Waiting
		for i := range jobs {
			if jobs[i].Passed {
				jobs[i].Submitter = fmt.Sprintf("g.h.n%d@d", i)
			} else {
				counted = append(counted, jobs[i])
			}
		}
		all, few, h := a.Share(jobs), a.Share(counted), a.tree.byName["g.h"]
		weights := map[string]float64{}
		for _, j := range jobs {
			if !j.Passed {
				require.InDelta(t, few.keys[j.ID], all.keys[j.ID], 0)
			}
		}
		for _, id := range order(t, all, jobs) {
			if j := jobs[id]; j.Passed && all.turns == nil {
				require.GreaterOrEqual(t, all.keys[id], groupKey(weights[j.User], h.parent.subtreeQuota))
				weights[j.User] += j.Weight
			}
		}
	})
}

// TestJobsInVainPushNoOthersOfTheirUser: jobs that are passed over count as little for the user's others,
// passed over or not, as these have a better chance to start.
func TestJobsInVainPushNoOthersOfTheirUser(t *testing.T) {
	for _, groups := range []string{"GROUP_NAMES = g, h\nGROUP_QUOTA_g = 4\nGROUP_QUOTA_h = 4", ""} {
		a := open(t, groups)
		require.NoError(t, a.Update(at(0), map[string]Use{"h.b@d": {3, 3}}))
		require.NoError(t, a.Divide(8, nil))
		jobs := waiting("g.a@d", "g.a@d", "g.a@d", "g.a@d", "h.b@d")
		for i := range 3 {
			jobs[i].Passed, jobs[i].Vain = true, float64(3-i)
		}
		require.Equal(t, []backfill.JobID{2, 3, 1, 0, 4}, order(t, a.Share(jobs), jobs))
	}
}

// TestPassed: how many jobs started behind each, if there are groups.
func TestPassed(t *testing.T) {
	for groups, want := range map[string][]int{
		"": nil, "GROUP_NAMES = g\nGROUP_QUOTA_g = 4": {2, 1, 0, 0},
	} {
		o := NewOrder(open(t, groups), func(*backfill.Job) Waiting { return Waiting{} })
		require.Nil(t, o.Passed(nil), "no key was asked for")
		o.Open(func() []Waiting { return waiting("u@d", "u@d", "u@d", "u@d") })
		o.Key(&backfill.Job{ID: 3}, backfill.Moment{})
		var got []int
		if passed := o.Passed([]backfill.JobID{2, 1}); passed != nil {
			for id := range backfill.JobID(4) {
				got = append(got, passed(id))
			}
		}
		require.Equal(t, want, got)
	}
}

func TestOrderIsTheOrderOfAQueue(t *testing.T) {
	a := open(t, "")
	require.NoError(t, a.SetFactor("a@d", 1))
	require.NoError(t, a.SetFactor("b@d", 2))
	job := func(id backfill.JobID, submit backfill.Time, owner string) *backfill.Job {
		return &backfill.Job{
			ID: id, Submit: submit, Nodes: 2, Request: backfill.Vector{3},
			Labels: map[string]string{"owner": owner},
		}
	}
	entry := func(j *backfill.Job) Waiting {
		return Waiting{ID: j.ID, Submitter: j.Labels["owner"] + "@d", Weight: float64(j.Width())}
	}
	o := NewOrder(a, entry)
	var asked backfill.Order = o.Key
	late, early := job(1, 20, "a"), job(2, 10, "a")
	o.Open(func() []Waiting { return []Waiting{entry(early), entry(late)} })
	for j, want := range map[*backfill.Job]float64{early: 3, late: 6, job(3, 30, "b"): 6} {
		for range 2 {
			key, moves := asked(j, backfill.Moment{Now: 40})
			require.InDelta(t, want, key, 1e-9)
			require.Equal(t, backfill.Moves{WithTime: true}, moves)
		}
	}
	require.NoError(t, a.Update(at(0), map[string]Use{"a@d": {1, 6}}))
	o.Open(func() []Waiting { return []Waiting{entry(late)} })
	key, _ := asked(late, backfill.Moment{Now: 50})
	require.InDelta(t, 6.0, key, 1e-9, "what started counts as use")
}

// crowd makes 10,000 jobs of 500 submitters in 20 groups.
func crowd(b *testing.B) (*Accountant, []Waiting) {
	b.Helper()
	var names, text strings.Builder
	for g := range 20 {
		fmt.Fprintf(&names, "g%d ", g)
		fmt.Fprintf(&text, "GROUP_QUOTA_g%d = 50\n", g)
	}
	a := open(b, "GROUP_NAMES = "+names.String()+"\n"+text.String())
	jobs, use := make([]Waiting, 10_000), map[string]Use{}
	for i := range jobs {
		name := fmt.Sprintf("g%d.user%d@d", i%20, i*7919%500)
		jobs[i] = Waiting{ID: backfill.JobID(i), Submitter: name, Weight: float64(1 + i%8), Prio: int64(i % 3)}
		use[name] = Use{1, float64(i%5 + 1)}
	}
	require.NoError(b, a.Update(at(0), use))
	require.NoError(b, a.Divide(1000, nil))
	return a, jobs
}

func BenchmarkShare(b *testing.B) {
	a, jobs := crowd(b)
	for b.Loop() {
		a.Share(jobs)
	}
}

// What it costs that every second job is passed over.
func BenchmarkSharePassed(b *testing.B) {
	a, jobs := crowd(b)
	for i := range jobs {
		jobs[i].User, jobs[i].Passed = jobs[i].Submitter, i/500%2 == 0
	}
	for b.Loop() {
		a.Share(jobs)
	}
}

func BenchmarkArrive(b *testing.B) {
	a, jobs := crowd(b)
	s := a.Share(jobs)
	for b.Loop() {
		s.Arrive(jobs[17])
	}
}

func BenchmarkUpdate(b *testing.B) {
	a, jobs := crowd(b)
	use, now := map[string]Use{}, int64(0)
	for _, j := range jobs {
		use[j.Submitter] = Use{1, 1}
	}
	for b.Loop() {
		now += 60
		require.NoError(b, a.Update(at(now), use))
	}
}
