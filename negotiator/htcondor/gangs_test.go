package htcondor

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// unusedClaims is how many seconds a schedd goes on believing in claims of a gang that has ended.
const unusedClaims = 6

// afterAnother runs a gang, and then another one on the same slots. It calls between while the
// first runs.
func afterAnother(t *testing.T, between func(w *world, first *sleeper)) (w *world, first, second *sleeper) {
	t.Helper()
	w = newWorld(t, "easy", &node{name: "n1", cpus: 4, memory: 4096, policy: true})
	first = w.submit(&sleeper{cpus: 2, nodes: 2, seconds: 10, estimate: 10})
	second = w.submit(&sleeper{cpus: 2, nodes: 2, seconds: 10, estimate: 10})
	w.pass(8)
	require.Equal(t, int64(2), first.status)
	between(w, first)
	w.pass(100)
	require.True(t, second.done)
	require.Equal(t, 1, second.runs)
	return w, first, second
}

// TestGangWhereAnotherHasEnded: the schedd is told that the first gang's claims have ended, so the
// second starts at once.
func TestGangWhereAnotherHasEnded(t *testing.T) {
	w, first, second := afterAnother(t, func(*world, *sleeper) {})
	require.Subset(t, w.schedd.Released(), first.ids[w.nodes[0]])
	require.Less(t, second.began, first.began+first.seconds+unusedClaims)
}

// TestGangWhereAnotherWasOfOld: a negotiator that started after the first gang does not know its
// claims, so the second gang waits until the schedd has forgotten them.
func TestGangWhereAnotherWasOfOld(t *testing.T) {
	_, first, second := afterAnother(t, func(w *world, _ *sleeper) {
		w.negotiator("easy", w.pool.Saved(w.n.Checkpoint()))
	})
	require.GreaterOrEqual(t, second.began, first.began+first.seconds+unusedClaims)
}

// TestClaimsThatAreHeld: a schedd is not told that a claim has ended while a startd still has it.
func TestClaimsThatAreHeld(t *testing.T) {
	w, first, _ := afterAnother(t, func(_ *world, first *sleeper) {
		first.cluster = 3 // they linger
	})
	for _, claim := range first.ids[w.nodes[0]] {
		require.NotContains(t, w.schedd.Released(), claim)
	}
}

func TestGang(t *testing.T) {
	w := newWorld(t, "easy",
		&node{name: "n1", cpus: 4, memory: 4096, policy: true},
		&node{name: "n2", cpus: 4, memory: 4096, policy: true},
	)
	blocker := w.submit(&sleeper{cpus: 3, seconds: 20, estimate: 25})
	w.pass(5)
	gang := w.submit(&sleeper{cpus: 2, nodes: 4, seconds: 10, estimate: 20})
	w.pass(10)
	require.Zero(t, gang.runs, "it does not fit beside the other job")
	require.Empty(t, gang.wants, "a part of it was given away")
	w.pass(30)
	require.True(t, blocker.done)
	require.Equal(t, 1, gang.runs)
}

// TestGangOfAnotherScheduler: a gang whose Scheduler is not its schedd's takes nothing of the pool,
// and comes before no other gang, since no schedd ever starts it.
func TestGangOfAnotherScheduler(t *testing.T) {
	for name, scheduler := range map[string]string{
		"elsewhere": "DedicatedScheduler@elsewhere", "a submitter with idle jobs": "bob@test",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", small(4), small(4))
			w.nodes[1].name = "n2"
			astray := w.submit(&sleeper{
				owner: "eve", cpus: 4, nodes: 2, seconds: 10, estimate: 10,
				extra: "\nJobPrio = 10\nScheduler = \"" + scheduler + "\"",
			})
			job := w.submit(&sleeper{owner: "bob", cpus: 4, seconds: 10, estimate: 10})
			w.pass(8)
			require.Equal(t, 1, job.runs)
			why, out := w.pool.Why(w.pool.Find("1.0")[0])
			require.True(t, out)
			require.Equal(t, "its schedd does not ask for the slots of its Scheduler, "+scheduler, why.Why)
			w.pass(12)
			gang := w.submit(&sleeper{cpus: 4, nodes: 2, seconds: 10, estimate: 10})
			w.pass(12)
			require.Equal(t, 1, gang.runs, "the other is before it in the queue")
			require.Zero(t, astray.runs)
			require.Empty(t, w.pool.claims.Flights())
		})
	}
}

// TestGangThatIsNotAskedFor: a user who has jobs look like gangs that their schedd does not know of
// keeps the pool from others for ever shorter parts of the time.
func TestGangThatIsNotAskedFor(t *testing.T) {
	w := newWorld(t, "easy", small(4), small(4))
	w.nodes[1].name = "n2"
	for range 3 {
		w.submit(&sleeper{owner: "eve", cpus: 4, seconds: 10, estimate: 10, extra: "\nJobUniverse = 11\nMaxHosts = 2"})
	}
	held := func(seconds int) (n int) {
		for range seconds {
			w.pass(1)
			n += len(w.pool.claims.Flights())
		}
		return n
	}
	require.Less(t, held(600), 8*70)
	why, out := w.pool.Why(w.pool.Find("1.0")[0])
	require.True(t, out)
	require.Contains(t, why.Why, "its schedd did not ask for the slots of its user's gangs")
	require.Less(t, held(6000), 6*70)
	require.Zero(t, w.jobs[0].runs)
}

// TestGangIsAskedForLate: a gang that waits as its schedd did not ask in time starts once it asks.
func TestGangIsAskedForLate(t *testing.T) {
	w := newWorld(t, "easy", small(4), small(4))
	w.nodes[1].name = "n2"
	gang := w.submit(&sleeper{cpus: 4, nodes: 2, seconds: 10, estimate: 10})
	w.mute = true
	w.pass(400)
	_, out := w.pool.Why(w.pool.Find("1.0")[0])
	require.True(t, out)
	w.mute = false
	w.pass(12)
	require.Equal(t, 1, gang.runs)
}

// firstGang is the idle gang that the schedd starts on the claims of another.
func (w *world) firstGang(j *sleeper) *sleeper {
	for _, o := range w.jobs {
		if o.nodes > 1 && o.status == 1 && !o.done && o.cluster < j.cluster && o.nodes <= j.nodes && o.cpus <= j.cpus {
			return o
		}
	}
	return j
}

// twoNodes is a world of two nodes of 8 cores, where sw:2 is all of the limit sw.
func twoNodes(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "slack", &node{name: "n1", cpus: 8, memory: 8192, policy: true},
		&node{name: "n2", cpus: 8, memory: 8192, policy: true})
	w.account(map[string]string{"SW_LIMIT": "2"})
	w.negotiator("slack", nil)
	return w
}

// allDone tells whether the jobs have run.
func allDone(jobs []*sleeper) bool {
	return !slices.ContainsFunc(jobs, func(j *sleeper) bool { return !j.done })
}

// TestGangsBehindALimit: gangs do not wait for one that is before them in their schedd's queue, and
// that a limit keeps out of the plan, may be for ever. A schedd that would start that one in the
// place of one of them does so once.
func TestGangsBehindALimit(t *testing.T) {
	for name, limit := range map[string]string{"never enough": "sw:5", "in use": "sw"} {
		for _, robs := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", robs ", robs), func(t *testing.T) {
				w := twoNodes(t)
				w.robs = robs
				w.submit(&sleeper{owner: "carl", cpus: 1, seconds: 3600, estimate: 3600, extra: "\nConcurrencyLimits = \"sw:2\""})
				w.pass(8)
				eve := w.submit(&sleeper{
					owner: "eve", cpus: 1, nodes: 2, seconds: 30, estimate: 30, extra: "\nConcurrencyLimits = \"" + limit + "\"",
				})
				w.pass(4)
				var gangs []*sleeper
				for range 3 {
					gangs = append(gangs, w.submit(&sleeper{cpus: 4, nodes: 2, seconds: 20, estimate: 30}))
				}
				w.pass(200)
				require.True(t, allDone(gangs))
				require.Equal(t, robs, eve.runs == 1)
			})
		}
	}
}

// TestGangsThatAreNotStarted: a user whose gangs come first, and which startds refuse, keeps the
// schedd and the slots from others for ever shorter parts of the time.
func TestGangsThatAreNotStarted(t *testing.T) {
	w := twoNodes(t)
	w.fate = func(j *sleeper) fate {
		if j.owner == "eve" {
			return fails
		}
		return works
	}
	for range 3 {
		w.submit(&sleeper{owner: "eve", cpus: 1, nodes: 2, seconds: 10, estimate: 10})
	}
	w.pass(4)
	var gangs []*sleeper
	for range 12 {
		gangs = append(gangs, w.submit(&sleeper{cpus: 8, nodes: 2, seconds: 20, estimate: 30}))
	}
	w.pass(1000)
	require.True(t, allDone(gangs))
	why, out := w.pool.Why(w.pool.Find("1.0")[0])
	require.True(t, out)
	require.Contains(t, why.Why, "its schedd did not start its user's gangs")
}
