package htcondor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// half is one of two negotiators of a world, each of which has a part of the slots. To a schedd they are
// like those of two pools.
type half struct {
	pool *Pool
	n    *negotiator.Negotiator
	// promised are the jobs that it has promised a start.
	promised map[*sleeper]bool
}

// halve starts two negotiators, each with the slots of one node.
func (w *world) halve(policy string) (both [2]*half) {
	w.t.Helper()
	for i := range both {
		w.settings = func(s *Settings) { s.SlotConstraint = fmt.Sprintf(`regexp("@%s$", Name)`, w.nodes[i].name) }
		w.negotiator(policy, nil)
		both[i] = &half{w.pool, w.n, map[*sleeper]bool{}}
	}
	return both
}

// turn has another negotiator be the one whose cycles are run.
func (w *world) turn(to *half) {
	w.granted += w.pool.claims.Counts().Granted - to.pool.claims.Counts().Granted
	w.pool, w.n = to.pool, to.n
}

// look runs a cycle of one half, and requires that it has let go of what runs on the other's node.
func (w *world) look(h *half, mine *node) {
	w.t.Helper()
	w.turn(h)
	w.cycle()
	for _, j := range w.jobs {
		for _, id := range h.pool.Find(fmt.Sprintf("%d.0", j.cluster)) {
			if j.status == 2 && j.at[mine] == 0 {
				require.False(w.t, w.n.State().IsWaiting(id) || w.n.State().IsRunning(id), "%d.0 runs elsewhere\n%s", j.cluster, w.log)
			}
		}
	}
	for _, p := range h.n.Settled().Jobs {
		for _, j := range w.jobs {
			if p.Promised && !p.Running && p.Job.Name == fmt.Sprintf("%d.0", j.cluster) {
				h.promised[j] = true
			}
		}
	}
}

// TestTwoNegotiators: two negotiators plan the same jobs on slots of their own. Both match the same ones, look
// and hand over whenever it happens, and either may be first. A promise counts once, as kept where the
// job has run; it reserves nothing elsewhere any more, no other promise is broken, and no slot is blamed.
func TestTwoNegotiators(t *testing.T) {
	elsewhere := 0
	for seed := range thorough.Seeds(4, 60) {
		r := rand.New(rand.NewPCG(seed, 52)) //nolint:gosec // a test
		w := newWorld(t, "conservative", small(4), &node{name: "n2", cpus: 4, memory: 4096, static: seed%3 == 1})
		w.calm = true
		both, on := w.halve("conservative"), map[*sleeper]*node{}
		for busy := 120; busy > 0 || !w.allDone(); busy-- {
			if busy > 0 && r.IntN(4) == 0 {
				runs := int64(8 + r.IntN(40))
				w.submit(&sleeper{cpus: int64(1 + r.IntN(4)), seconds: runs, estimate: runs + int64(r.IntN(30))})
			}
			w.step()
			for _, i := range r.Perm(2) {
				switch h := both[i]; {
				case w.now%4 == int64(i) || r.IntN(3) == 0:
					w.look(h, w.nodes[i])
				case r.IntN(2) == 0:
					w.turn(h)
					w.pool.dispatcher.HandOver(context.Background())
				}
			}
			w.check()
			for _, j := range w.jobs {
				for n := range j.at {
					on[j] = n
				}
			}
			require.Greater(t, busy, -1200, "seed %d: jobs never run\n%s", seed, w.log)
		}
		for i, h := range both {
			w.look(h, w.nodes[i]) // what was promised last is seen to be there
			want := track.Promises{Given: len(h.promised)}
			for j := range h.promised {
				require.Equal(t, 1, j.runs, "seed %d: %d.0\n%s", seed, j.cluster, w.log)
				if on[j] == w.nodes[i] {
					want.Kept++
				} else {
					want.Elsewhere++
				}
			}
			require.Equal(t, want, h.pool.Last().Promises, "seed %d\n%s", seed, w.log)
			require.Empty(t, h.pool.claims.Suspects(), "seed %d\n%s", seed, w.log)
			require.Zero(t, h.pool.Last().Unstarted, "seed %d\n%s", seed, w.log)
			elsewhere += want.Elsewhere
		}
	}
	require.Positive(t, elsewhere, "both have promised the same jobs")
}

// allDone tells whether all jobs have ended.
func (w *world) allDone() bool {
	return !slices.ContainsFunc(w.jobs, func(j *sleeper) bool { return !j.done })
}

// TestAMatchIsConfirmed: while jobs of a schedd start elsewhere, a match that has waited for its slot is
// handed over after the next look, which comes soon, and not before: its job may be gone by then.
func TestAMatchIsConfirmed(t *testing.T) {
	far := &node{name: "far", cpus: 1, memory: 4096, parts: map[*sleeper]int{}}
	for name, gone := range map[string]bool{"it waits": false, "it is gone": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "conservative", small(1))
			first := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 20})
			w.pass(8)
			second := w.submit(&sleeper{cpus: 1, seconds: 500, estimate: 500})
			third := w.submit(&sleeper{cpus: 1, seconds: 500, estimate: 500})
			w.pass(4)
			second.status, second.began, second.at = 2, w.now, map[*node]int{far: 1}
			for !first.done {
				require.False(t, w.pool.contested())
				w.step()
			}
			_, r := w.cycle()
			require.Len(t, r.Matches, 1)
			require.True(t, w.pool.claims.Unsent(), "the collector shows the slot as it was")
			w.pool.cycleEnd = w.pool.now()
			require.True(t, w.pool.contested())
			require.Equal(t, w.pool.now().Add(time.Second), w.pool.due(backfill.Forever))

			if gone {
				third.status, third.began, third.at = 2, w.now, map[*node]int{far: 1}
			}
			w.step()
			w.step()
			matches := len(w.schedd.Matches())
			ctx, end := context.WithCancel(t.Context())
			s, err := w.pool.look(ctx)
			require.NoError(t, err)
			d := w.pool.compare(s)
			require.Equal(t, gone, len(d.Elsewhere) == 1)
			w.pool.first = nil // it was reported
			fetched := make(chan error)
			go func() {
				_, err := w.pool.Fetch(ctx, backfill.Forever)
				fetched <- err
			}()
			if !gone {
				poll.Equal(t, matches+1, func() int { return len(w.schedd.Matches()) })
			}
			end()
			require.ErrorIs(t, <-fetched, context.Canceled)
			require.Equal(t, gone, len(w.schedd.Matches()) == matches)
		})
	}
}
