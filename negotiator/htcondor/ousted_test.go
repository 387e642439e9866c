package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// retiringFor has the job on bob's machine retire for a minute. The machine prefers carol still more.
func retiringFor(t *testing.T, policy string, dynamic ...bool) (w *world, guest *sleeper) {
	t.Helper()
	w, guest = bobsMachine(t, policy, dynamic...)
	w.nodes[0].retires, w.nodes[0].rank = 60, `(TARGET.Owner == "bob") + 2 * (TARGET.Owner == "carol")`
	early := w.settings
	w.settings = func(s *Settings) { early(s); s.EarlyPreemption = true }
	w.early = true
	w.negotiator(policy, w.pool.Saved(w.n.Checkpoint()))
	return w, guest
}

// TestABetterJobWaitsInstead: while alice's job retires for bob's, carol's comes: its claim waits then, and bob's
// job waits in the queue, also after a restart. It has not failed to start, and runs later.
func TestABetterJobWaitsInstead(t *testing.T) {
	for name, dynamic := range map[string][]bool{"static": nil, "dynamic": {true}} {
		for _, restarts := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w, guest := retiringFor(t, "conservative", dynamic...)
				bobs := w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 20, owner: "bob"})
				w.pass(16)
				require.Same(t, bobs, w.nodes[0].heir, w.log)
				carols := w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 20, owner: "carol"})
				w.pass(16)
				require.Same(t, carols, w.nodes[0].heir, w.log)
				require.EqualValues(t, 2, guest.status)
				require.Equal(t, 1, guest.runs)
				if restarts {
					w.negotiator("conservative", w.pool.Saved(w.n.Checkpoint()))
					w.pass(1)
				}
				for j := range w.pool.belief.Jobs() {
					switch j.Key.Cluster {
					case bobs.cluster:
						require.Equal(t, track.Waiting, j.Phase)
						require.Nil(t, track.TakeoverOf(w.pool.belief, j.ID))
						if !restarts { // that is not saved
							require.Contains(t, w.n.WhyPreemption(j.ID, nil), "of carol@test: the machine prefers it")
						}
					case carols.cluster:
						require.Len(t, track.TakeoverOf(w.pool.belief, j.ID).Victims, 1)
					}
				}
				w.pass(25)
				require.Equal(t, 1, carols.runs, w.log)
				require.Zero(t, bobs.runs)
				require.EqualValues(t, 1, guest.status)
				w.pass(60)
				require.True(t, carols.done)
				require.True(t, bobs.done)
				require.Equal(t, 1, bobs.runs)
				require.Zero(t, w.pool.Last().Unstarted)
				w.pass(360)
				require.True(t, guest.done)
				require.Equal(t, 2, guest.runs)
				require.Zero(t, w.pool.Last().Unstarted)
			})
		}
	}
}

// TestForeignClaimsThatWait: a place for which another negotiator's claim waits is left alone, whatever the
// machine prefers; so is that of a job
// which has to leave.
func TestForeignClaimsThatWait(t *testing.T) {
	for name, change := range map[string]func(n *node){
		"another user's": func(n *node) { n.heir = &sleeper{owner: "mallory"} },
		"it leaves":      func(n *node) { n.retires = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := retiringFor(t, "conservative")
			bobs := w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 20, owner: "bob"})
			w.pass(16)
			require.Same(t, bobs, w.nodes[0].heir, w.log)
			change(w.nodes[0])
			w.pass(1)
			matches := len(w.notes)
			w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 20, owner: "carol"})
			w.pass(16)
			require.Len(t, w.notes, matches)
		})
	}
}
