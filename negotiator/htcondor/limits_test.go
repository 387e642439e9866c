package htcondor

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

const licensed = "\nConcurrencyLimits = \"sw\""

// done counts the jobs that have ended.
func done(jobs []*sleeper) (n int) {
	for _, j := range jobs {
		if j.done {
			n++
		}
	}
	return n
}

// TestHoardedLimit: a job that names all of a limit, and waits for a slot that another job has for
// long, leaves the limit to jobs that can start.
func TestHoardedLimit(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "slack"} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t, policy, small(8), &node{name: "n2", cpus: 1, memory: 1024, policy: true})
			w.account(map[string]string{"SW_LIMIT": "4"})
			w.negotiator(policy, nil)
			const there = "\nRequirements = Machine == \"n2\""
			w.submit(&sleeper{owner: "mallory", cpus: 1, seconds: 100_000, estimate: 100_000, extra: there})
			w.pass(8)
			w.submit(&sleeper{owner: "mallory", cpus: 1, seconds: 10, estimate: 10, extra: "\nConcurrencyLimits = \"sw:4\"" + there})
			w.pass(8)
			before := len(w.jobs)
			for range 40 {
				w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: licensed})
			}
			w.pass(300)
			require.Equal(t, 40, done(w.jobs[before:]))
			w.pass(8)
			_, out := w.pool.Why(w.pool.Find("2.0")[0])
			require.False(t, out, "nobody else wants the limit")
		})
	}
}

// TestAskedAboutALimit: a job that is only asked about shares a limit that binds nobody with those that take
// of it, from their start on.
func TestAskedAboutALimit(t *testing.T) {
	w := newWorld(t, "easy", small(8))
	w.account(map[string]string{"SW_LIMIT": "2"})
	w.negotiator("easy", nil)
	w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000, extra: licensed})
	w.pass(4)
	for range 12 {
		w.pass(1)
		j := &negotiator.Job{Ad: classad.New()}
		j.Ad.SetString("ConcurrencyLimits", "sw:2")
		untold, err := w.pool.Charge(j)
		require.NoError(t, err)
		require.Equal(t, []negotiator.Take{{Limit: "concurrency limit sw", Amount: 2 * negotiator.LimitUnit}}, j.Takes)
		require.Equal(t, []negotiator.Limit{{Name: "concurrency limit sw", Height: 2 * negotiator.LimitUnit}}, untold)
	}
	require.Equal(t, 1, w.n.State().RunningJobs())
}

// TestReservedSlotHoldsNoLimit: jobs that could start on free slots, if these were not kept for
// another job, do not hold a limit for long, however many there are of them.
func TestReservedSlotHoldsNoLimit(t *testing.T) {
	w := newWorld(t, "easy", small(8), &node{name: "n2", cpus: 8, memory: 8192, policy: true})
	a := w.account(map[string]string{"SW_LIMIT": "4"})
	require.NoError(t, a.SetFactor("eve@test", 1))
	require.NoError(t, a.SetFactor("alice@test", 1e6)) // behind mallory
	w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 1000, estimate: 1000, extra: "\nRequirements = Machine == \"n2\""})
	w.pass(8)
	w.submit(&sleeper{owner: "eve", cpus: 8, seconds: 10, estimate: 10, extra: "\nRequirements = Machine == \"n2\""})
	w.pass(8)
	for i := range 20 {
		extra := fmt.Sprintf("\nConcurrencyLimits = \"sw:4\"\nRequirements = Machine == \"n2\"\nNumber = %d", i)
		w.submit(&sleeper{owner: "mallory", cpus: 1, seconds: 10, estimate: 100_000, extra: extra})
	}
	w.pass(8)
	before := len(w.jobs)
	for range 40 {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: licensed})
	}
	w.pass(400)
	require.Equal(t, 40, done(w.jobs[before:]))
}

// TestFairShareOfLimits: who comes later has a fair share of what is bounded, as of the pool.
func TestFairShareOfLimits(t *testing.T) {
	surplus := map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "4", "GROUP_ACCEPT_SURPLUS": "true"}
	quota := map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "4"}
	for name, c := range map[string]struct {
		knobs        map[string]string
		extra, group string
		most         int
	}{
		"nothing":           {},
		"concurrency limit": {knobs: map[string]string{"SW_LIMIT": "4"}, extra: licensed},
		"schedd":            {most: 4},
		"quota":             {knobs: quota, group: "g."},
		"quota and surplus": {knobs: surplus, group: "g."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", small(4))
			w.most = c.most
			w.account(c.knobs)
			submit := func(owner string, jobs int) {
				group := ""
				if c.group != "" {
					group = c.group + owner
				}
				for range jobs {
					w.submit(&sleeper{owner: owner, group: group, cpus: 1, seconds: 20, estimate: 20, extra: c.extra})
				}
			}
			submit("mallory", 60)
			w.pass(8)
			submit("alice", 10)
			w.pass(200)
			require.Equal(t, 10, done(w.jobs[60:]))
		})
	}
}

// TestLimitsInTheQueuesOrder: limits admit jobs in the queue's order, whatever it is.
func TestLimitsInTheQueuesOrder(t *testing.T) {
	w := newWorld(t, "easy", small(8))
	w.account(map[string]string{"SW_LIMIT": "1"})
	w.order = "sjf"
	w.negotiator("easy", nil)
	for _, seconds := range []int64{20, 90, 80, 30} {
		w.submit(&sleeper{cpus: 1, seconds: seconds, estimate: seconds, extra: licensed})
		w.pass(4)
	}
	w.pass(240)
	require.Equal(t, 4, done(w.jobs))
	require.Less(t, w.jobs[3].began, w.jobs[2].began)
	require.Less(t, w.jobs[2].began, w.jobs[1].began)
}

// planned returns when a job runs or is to start, by the plan; 0: it has no start.
func (w *world) planned(name string) backfill.Time {
	r, _ := w.n.State().Reason(w.pool.Find(name)[0])
	if r.Why != backfill.Runs && r.Why != backfill.Reserved {
		return 0
	}
	return r.At
}

// TestStartTimesBeyondLimits: jobs that limits have no room for now have start times and promises, as
// if they waited for slots, and are told which limit it is.
func TestStartTimesBeyondLimits(t *testing.T) {
	for name, c := range map[string]struct {
		knobs        map[string]string
		ceiling      int64
		most         int
		extra, group string
		why          string
	}{
		"concurrency limit": {
			knobs: map[string]string{"SW_LIMIT": "2"}, extra: licensed,
			why: "; 2 of 2 in use, 2 jobs wait for it, 1 wanted: concurrency limit sw reached",
		},
		"schedd":  {most: 2, why: "; its schedd runs no more than 2 jobs at once"},
		"quota":   {knobs: map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "2"}, group: "g.alice", why: ": quota of group g reached"},
		"ceiling": {ceiling: 2, why: "; 2 of 2 in use, 2 jobs wait for it, 1 wanted: ceiling of alice@test reached"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "conservative", small(8))
			w.most = c.most
			if a := w.account(c.knobs); c.ceiling > 0 {
				require.NoError(t, a.SetCeiling("alice@test", c.ceiling))
			}
			w.negotiator("conservative", nil)
			for range 4 {
				w.submit(&sleeper{owner: "alice", group: c.group, cpus: 1, seconds: 100, estimate: 100, extra: c.extra})
			}
			w.pass(12)
			now := backfill.Time(w.now)
			require.Greater(t, w.planned("3.0"), now)
			require.LessOrEqual(t, w.planned("3.0"), now+160, "when the first ends, by its estimate and the slack")
			require.Equal(t, w.planned("3.0"), w.planned("4.0"))
			told := w.pool.claims.Reasons(w.pool.now(), w.pool.Find("3.0"),
				func(backfill.JobID) string { return "reserved" }, func(string) bool { return false })
			require.Contains(t, fmt.Sprint(told), "reserved")
			require.Contains(t, fmt.Sprint(told), c.why)
			w.pass(400)
			require.Equal(t, 4, done(w.jobs))
			require.Empty(t, w.lost)
		})
	}
}

// TestALimitThatIsTooLowForNow: jobs for which a limit is too low stay in the plan, and told of it. Once it
// is higher, they start in the order in which they waited.
func TestALimitThatIsTooLowForNow(t *testing.T) {
	w := newWorld(t, "conservative", small(8))
	a := w.account(nil)
	require.NoError(t, a.SetCeiling("alice@test", 1))
	w.negotiator("conservative", nil)
	for range 3 {
		w.submit(&sleeper{owner: "alice", cpus: 1, seconds: 100, estimate: 100})
	}
	w.pass(12)
	require.Equal(t, 1, w.running())
	require.NoError(t, a.SetCeiling("alice@test", 0))
	w.pass(8)
	for _, name := range []string{"2.0", "3.0"} {
		id := w.pool.Find(name)[0]
		require.NotNil(t, w.n.Job(id), "it stays in the plan")
		r, _ := w.n.State().Reason(id)
		require.Equal(t, backfill.HeldBack, r.Why)
		require.Contains(t, w.pool.Lacking(id), "ceiling of alice@test reached")
	}
	w.pass(150)
	require.Zero(t, w.running())
	require.NoError(t, a.SetCeiling("alice@test", 1))
	w.pass(12)
	require.Equal(t, 1, w.jobs[1].runs)
	w.pass(300)
	require.Equal(t, 3, done(w.jobs))
	require.Empty(t, w.pool.Last().Problems)
}

// TestACurbMovesNoStartTimes: while a schedd wants no matches for some minutes, the start times of its jobs
// stay, and those that may start now wait with their slots; when it wants some, they start at once.
func TestACurbMovesNoStartTimes(t *testing.T) {
	w := newWorld(t, "conservative", small(2))
	w.account(nil)
	submit := func() *sleeper { return w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000}) }
	submit()
	w.pass(12)
	w.curbs = true
	w.pass(8)
	next := submit()
	submit()
	w.pass(12)
	before := w.planned("3.0")
	require.Greater(t, before, backfill.Time(w.now))
	w.pass(240)
	require.InDelta(t, int64(before), int64(w.planned("3.0")), 120)
	require.Zero(t, next.runs)
	require.Contains(t, w.pool.claims.Flights()[w.pool.Find("2.0")[0]].Why, "CURB_MATCHMAKING")
	w.curbs = false
	w.pass(12)
	require.Equal(t, 1, next.runs)
	require.Zero(t, w.pool.Last().Unstarted)
}

// TestWideJobAtTheQuota: a wide job in a group at its quota has a start time, and others pass it only
// where they do not delay it; jobs that wait for a rare slot keep nothing of the quota.
func TestWideJobAtTheQuota(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "slack"} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t, policy, small(8), &node{name: "n2", cpus: 1, memory: 1024, policy: true})
			w.account(map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "4"})
			w.order = "fcfs"
			w.negotiator(policy, nil)
			submit := func(cpus, seconds int64, extra string) *sleeper {
				return w.submit(&sleeper{group: "g.alice", cpus: cpus, seconds: seconds, estimate: seconds, extra: extra})
			}
			const rare = "\nRequirements = TARGET.Machine == \"n2\""
			w.submit(&sleeper{owner: "bob", cpus: 1, seconds: 2000, estimate: 2000, extra: rare})
			w.pass(8)
			for n := map[bool]int{true: 4}[policy != "easy"]; n > 0; n-- { // easy reserves for the first job only
				submit(1, 20, rare)
			}
			for range 3 {
				submit(1, 200, "")
			}
			w.pass(12)
			wide := submit(4, 20, "")
			w.pass(8)
			at := w.planned(fmt.Sprintf("%d.0", wide.cluster))
			require.Greater(t, at, backfill.Time(w.now))
			short, long := submit(1, 20, ""), submit(1, 1000, "")
			w.pass(330)
			require.Equal(t, 1, wide.runs)
			require.Equal(t, 1, short.runs)
			require.Less(t, short.began, wide.began)
			require.LessOrEqual(t, wide.began, int64(at)+30)
			require.True(t, long.runs == 0 || long.began > wide.began)
		})
	}
}

// TestPrioritiesWithinAQuota: users in one group at its quota share as their priorities say.
func TestPrioritiesWithinAQuota(t *testing.T) {
	w := newWorld(t, "easy", small(12))
	a := w.account(map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "6"})
	require.NoError(t, a.SetFactor("g.bob@test", 500)) // twice as much for him
	for _, owner := range []string{"alice", "bob"} {
		for range 40 {
			w.submit(&sleeper{owner: owner, group: "g." + owner, cpus: 1, seconds: 1000, estimate: 1000})
		}
	}
	w.pass(20)
	use := w.pool.Use()
	require.InDelta(t, 2, use["g.alice@test"].Weight, 0.1)
	require.InDelta(t, 4, use["g.bob@test"].Weight, 0.1)
}

// TestALimitMayNameTheSlot: jobs whose limits depend on the slot never exceed one.
func TestALimitMayNameTheSlot(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true})
	w.account(map[string]string{"NET_N1_LIMIT": "2"})
	for range 5 {
		w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 20, extra: "\nConcurrencyLimits = strcat(\"net_\", TARGET.Machine)"})
	}
	for range 40 {
		w.pass(1)
		runs := 0
		for _, j := range w.jobs {
			if j.status == 2 {
				runs++
			}
		}
		require.LessOrEqual(t, runs, 2)
	}
}

// TestVacatedBeyondALimit: a job that comes back to its queue while another waits for what it had of
// a limit leaves the plan or not, and is told of once.
func TestVacatedBeyondALimit(t *testing.T) {
	for name, c := range map[string]struct {
		knobs               map[string]string
		ceiling             int64 // of eve
		most                int
		owner, group, extra string // of the one that waits: bob, unless it says otherwise
	}{
		"concurrency limit": {knobs: map[string]string{"SW_LIMIT": "1"}, extra: licensed},
		"schedd":            {most: 1},
		"quota":             {knobs: map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "1"}, group: "g."},
		"ceiling":           {ceiling: 1, owner: "eve"},
	} {
		for _, policy := range []string{"slack", "easy", "conservative"} {
			t.Run(name+" "+policy, func(t *testing.T) {
				w := newWorld(t, policy, small(4))
				w.most = c.most
				if a := w.account(c.knobs); c.ceiling > 0 {
					require.NoError(t, a.SetCeiling("eve@test", c.ceiling))
				}
				w.negotiator(policy, nil)
				submit := func(owner string, seconds int64, extra string) *sleeper {
					j := &sleeper{owner: owner, cpus: 1, seconds: seconds, estimate: seconds, extra: c.extra + extra}
					if c.group != "" {
						j.group = c.group + owner
					}
					return w.submit(j)
				}
				eve := submit("eve", 10_000, "")
				w.pass(60)
				require.Equal(t, 1, eve.runs)
				other := submit(cmp.Or(c.owner, "bob"), 10, "\nJobPrio = 10")
				w.pass(8)
				w.vacate(eve)
				eve.status = 1
				w.pass(120)
				require.Greater(t, eve.runs+other.runs, 1)
				require.Empty(t, w.lost, "what was promised to who has run was kept")
			})
		}
	}
}

// TestLimitHeldByTurns: jobs that name all of a limit, could start on a slot that the plan keeps for
// another job, and are put on hold or edited by turns, before any has tried for long, do not keep
// the limit from others.
func TestLimitHeldByTurns(t *testing.T) {
	const there = "\nRequirements = Machine == \"n2\""
	const all = "\nConcurrencyLimits = \"sw:4\"" + there
	for name, away := range map[string]func(j *sleeper, out bool){
		"on hold": func(j *sleeper, out bool) { j.status = map[bool]int64{false: 1, true: 5}[out] },
		"wrong":   func(j *sleeper, out bool) { j.extra = all + map[bool]string{true: "\nRequestCpus = error"}[out] },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "slack", small(8), &node{name: "n2", cpus: 8, memory: 8192, policy: true})
			w.account(map[string]string{"SW_LIMIT": "4"})
			w.negotiator("slack", nil)
			w.submit(&sleeper{owner: "eve", cpus: 1, seconds: 4000, estimate: 4000, extra: there})
			w.pass(8)
			w.submit(&sleeper{owner: "eve", cpus: 8, seconds: 10, estimate: 10, extra: there})
			w.pass(8)
			var turns []*sleeper
			for range 2 {
				turns = append(turns, w.submit(&sleeper{owner: "mallory", cpus: 1, seconds: 10, estimate: 100_000, extra: all}))
			}
			w.pass(8)
			before := len(w.jobs)
			for s := range 30 {
				if s < 20 {
					w.submit(&sleeper{owner: "bob", cpus: 1, seconds: 10, estimate: 10, extra: licensed})
				}
				for i, j := range turns {
					away(j, s%2 == i)
				}
				w.pass(20)
			}
			require.Equal(t, 20, done(w.jobs[before:]))
		})
	}
}
