package htcondor

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// bobsMachine is a world with a static slot that prefers bob, and a job of alice on it.
func bobsMachine(t *testing.T, policy string, dynamic ...bool) (w *world, guest *sleeper) {
	t.Helper()
	n := &node{name: "n1", cpus: 4, memory: 4096, static: len(dynamic) == 0, rank: `TARGET.Owner == "bob"`}
	w = newWorld(t, policy, n)
	a, err := accountant.New(accountant.Settings{HalfLife: 86400, DefaultFactor: 1000, NiceFactor: 1e10, RemoteFactor: 1e7})
	require.NoError(t, err)
	w.accounting = track.Accounting{Accountant: a}
	w.order = "fcfs"
	w.settings = func(s *Settings) {
		s.Preemption = config.Preemption{ConsiderPreemption: true}
		s.Notes = func(line string) { w.notes = append(w.notes, line) }
	}
	w.negotiator(policy, nil)
	guest = w.submit(&sleeper{cpus: 4, seconds: 300, estimate: 300})
	w.pass(16)
	require.EqualValues(t, 2, guest.status)
	return w, guest
}

// A machine that prefers a waiting job to its running one gives it the slot: the match names who
// has it, and the other job begins anew afterwards.
func TestARankTakesASlotOver(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "slack", "first-fit"} {
		t.Run(policy, func(t *testing.T) {
			w, guest := bobsMachine(t, policy)
			owners := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 20, owner: "bob"})
			w.pass(16)
			require.Equal(t, 1, owners.runs, w.log)
			require.EqualValues(t, 1, guest.status)
			require.Contains(t, w.notes[len(w.notes)-1], "preempting alice@test")
			w.pass(60)
			require.True(t, owners.done)
			require.EqualValues(t, 2, guest.status)
			require.Equal(t, 2, guest.runs)
			require.Zero(t, w.pool.Last().Unstarted)
			w.pass(320)
			require.True(t, guest.done)
		})
	}
}

// So does a dynamic slot. The job that gets it has all of it, whatever it asks for.
func TestARankTakesADynamicSlotOver(t *testing.T) {
	w, guest := bobsMachine(t, "conservative", true)
	owners := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 20, owner: "bob"})
	w.pass(16)
	require.Equal(t, 1, owners.runs, w.log)
	require.EqualValues(t, 1, guest.status)
	require.Contains(t, w.notes[len(w.notes)-1], "preempting alice@test")
	w.pass(60)
	require.True(t, owners.done)
	require.Equal(t, 2, guest.runs)
	require.Zero(t, w.pool.Last().Unstarted)
}

// Several dynamic slots make way for a job that needs more than one of them has: its match has the
// claims of all.
func TestSeveralMakeWay(t *testing.T) {
	w, first := bobsMachine(t, "conservative", true)
	w.several = true
	w.vacate(first)
	first.done = true
	w.negotiator("conservative", nil)
	guests := []*sleeper{}
	for range 4 {
		guests = append(guests, w.submit(&sleeper{cpus: 1, seconds: 300, estimate: 300}))
	}
	w.pass(40)
	for _, g := range guests {
		require.EqualValues(t, 2, g.status)
	}
	wide := w.submit(&sleeper{cpus: 3, seconds: 20, estimate: 20, owner: "bob"})
	w.pass(16)
	require.Equal(t, 1, wide.runs, w.log)
	require.Contains(t, w.notes[len(w.notes)-1], "preempting 3 dslots")
	w.pass(60)
	require.True(t, wide.done)
	runs := 0
	for _, g := range guests {
		require.EqualValues(t, 2, g.status)
		runs += g.runs
	}
	require.Equal(t, 7, runs, "three of them began anew")
	require.Zero(t, w.pool.Last().Unstarted)
}

// While a job retires for another, nothing is matched twice, whoever negotiates, and its slot is
// nobody's to blame.
func TestARestartWhileAJobRetires(t *testing.T) {
	w, guest := bobsMachine(t, "conservative")
	w.nodes[0].retires = 60
	early := w.settings
	w.settings = func(s *Settings) { early(s); s.EarlyPreemption = true }
	w.early = true
	w.negotiator("conservative", w.pool.Saved(w.n.Checkpoint()))
	owners := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 20, owner: "bob"})
	w.pass(16)
	require.NotNil(t, w.nodes[0].heir, w.log)
	require.EqualValues(t, 2, guest.status)
	w.negotiator("conservative", w.pool.Saved(w.n.Checkpoint()))
	w.pass(16)
	require.EqualValues(t, 2, guest.status)
	w.pass(60)
	require.Equal(t, 1, owners.runs, w.log)
	require.Zero(t, w.pool.Last().Unstarted)
	w.pass(60)
	require.True(t, owners.done)
	require.Equal(t, 2, guest.runs)
}

// Whoever negotiates next knows by whom a job was displaced: one that waits, with a reservation or without,
// and one that has yet to leave. That a job is displaced no more is known, too.
func TestARestartWhileAJobIsDisplaced(t *testing.T) {
	for _, policy := range []string{"conservative", "first-fit"} {
		t.Run(policy, func(t *testing.T) {
			w, guest := bobsMachine(t, policy)
			w.nodes[0].retires = 60
			early := w.settings
			w.settings = func(s *Settings) { early(s); s.EarlyPreemption = true }
			w.early = true
			restart := func() {
				text, err := json.Marshal(w.pool.Saved(w.n.Settled()))
				require.NoError(t, err)
				left := &track.SavedState{}
				require.NoError(t, json.Unmarshal(text, left))
				w.negotiator(policy, left)
			}
			why := func(j *sleeper) string {
				w.cycle()
				known := w.pool.belief.JobOf(observe.JobKey{Schedd: "schedd@test", Cluster: j.cluster})
				return w.n.WhyPreemption(known.ID, func(at backfill.Time) string { return fmt.Sprint(at) })
			}
			restart()
			owners := w.submit(&sleeper{cpus: 1, seconds: 90, estimate: 90, owner: "bob"})
			w.pass(12)
			require.EqualValues(t, 2, guest.status)
			const displaced = "displaced by 2.0 of bob@test: the machine prefers it"
			require.Equal(t, displaced, why(guest))
			restart()
			require.Equal(t, displaced, why(guest), "it retires")
			w.pass(60)
			require.EqualValues(t, 1, guest.status)
			require.EqualValues(t, 2, owners.status)
			require.Equal(t, displaced, why(guest))
			for range 2 {
				restart()
				require.Equal(t, displaced, why(guest), "it waits")
			}
			w.pass(90)
			require.EqualValues(t, 2, guest.status)
			require.Empty(t, why(guest))
			require.Empty(t, w.n.Settled().Displaced)
			require.Empty(t, w.pool.Saved(w.n.Settled()).Displaced)
		})
	}
}

// If the claim that waits is given up, the job that was to make way runs on, and the other one
// waits.
func TestAClaimThatIsGivenUp(t *testing.T) {
	w, guest := bobsMachine(t, "conservative")
	w.nodes[0].retires = 100
	early := w.settings
	w.settings = func(s *Settings) { early(s); s.EarlyPreemption = true }
	w.early = true
	w.negotiator("conservative", w.pool.Saved(w.n.Checkpoint()))
	owners := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 20, owner: "bob"})
	w.pass(16)
	require.NotNil(t, w.nodes[0].heir)
	w.nodes[0].heir, w.nodes[0].victim, w.nodes[0].rank = nil, nil, "0.0"
	owners.wants, owners.begins, owners.matched = nil, 0, 0
	w.pass(40)
	require.EqualValues(t, 1, owners.status)
	require.EqualValues(t, 2, guest.status)
	require.Equal(t, 1, guest.runs)
	require.Equal(t, 1, w.pool.Last().Unstarted)
	w.pass(320)
	require.True(t, guest.done)
	require.Equal(t, 1, guest.runs)
	w.pass(60)
	require.True(t, owners.done)
}
