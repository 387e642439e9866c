package htcondor

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// worlds is the number of random worlds of each kind to try.
var worlds = flag.Uint64("worlds", 1, "how many random worlds of each kind to try")

// mixed is a pool with a slot of each kind.
func mixed() []*node {
	return []*node{
		{name: "n1", cpus: 8, memory: 8192, policy: true},
		{name: "n2", cpus: 8, memory: 8192},
		{name: "n3", cpus: 4, memory: 4096, policy: true},
		{name: "n4", cpus: 2, memory: 2048, static: true},
	}
}

// TestCalmWorld: in a world without trouble, no promise is broken and no start fails.
func TestCalmWorld(t *testing.T) {
	for seed := range *worlds {
		w := newWorld(t, "conservative", mixed()...)
		w.calm = true
		r := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // a test
		for range 120 {
			w.arrive(r)
			w.pass(1)
		}
		w.drain(fmt.Sprintf("seed %d", seed))
		require.Zero(t, w.pool.Last().Unstarted, "seed %d\n%s", seed, w.log)
	}
}

func TestAnyWorld(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "ibb"} {
		for seed := range *worlds {
			w := newWorld(t, policy, mixed()...)
			w.random(rand.New(rand.NewPCG(seed, 7)), 150) //nolint:gosec // a test
			w.drain(fmt.Sprintf("%s, seed %d", policy, seed))
		}
	}
}

// drain waits until all jobs are done.
func (w *world) drain(which string) {
	w.t.Helper()
	for range 20 {
		w.pass(40)
		if w.n.State().RunningJobs()+w.n.State().Waiting()+w.n.State().Held() == 0 {
			break
		}
	}
	for _, j := range w.jobs {
		require.True(w.t, j.done, "%s: %+v\n%s", which, j, w.log)
	}
	require.Zero(w.t, w.n.State().RunningJobs(), "%s\n%s", which, w.log)
	require.Zero(w.t, w.n.State().Waiting()+w.n.State().Held(), "%s\n%s", which, w.log)
}

// arrive submits a job now and then, with an estimate that is long enough.
func (w *world) arrive(r *rand.Rand) *sleeper {
	if r.IntN(4) != 0 || len(w.jobs) >= 60 {
		return nil
	}
	j := &sleeper{
		cpus: 1 + r.Int64N(4), seconds: 1 + r.Int64N(40), memory: 100 + r.Int64N(900),
		owner: []string{"alice", "bob"}[r.IntN(2)],
	}
	j.estimate = j.seconds + r.Int64N(60)
	if r.IntN(4) == 0 {
		j.nodes = 2 + r.IntN(2)
	}
	return w.submit(j)
}

// random is a world in which anything may happen.
func (w *world) random(r *rand.Rand, seconds int) {
	w.t.Helper()
	w.fate = func(*sleeper) fate {
		return []fate{works, works, works, works, works, works, works, fails, slow, crawls, dropped}[r.IntN(11)]
	}
	for range seconds {
		if j := w.arrive(r); j != nil && r.IntN(5) == 0 {
			j.estimate = 1 + j.seconds/2
		}
		if n := w.nodes[r.IntN(len(w.nodes))]; true {
			w.upset(r, n)
		}
		if len(w.jobs) > 0 {
			w.meddle(r, w.jobs[r.IntN(len(w.jobs))])
		}
		if r.IntN(50) == 0 {
			w.restart()
		}
		w.pass(1)
	}
	w.fate = func(*sleeper) fate { return works }
	for _, n := range w.nodes {
		n.down, n.closed, n.hidden = false, false, false
	}
	for _, j := range w.jobs {
		if j.status == 5 {
			j.status = 1
		}
	}
}

// upset brings trouble to a node now and then.
func (w *world) upset(r *rand.Rand, n *node) {
	switch {
	case r.IntN(60) == 0 && !n.down:
		w.kill(n)
	case r.IntN(20) == 0 && n.down:
		n.down, n.ids = false, nil
	case r.IntN(60) == 0:
		n.closed = !n.closed
	case r.IntN(60) == 0, n.hidden && r.IntN(5) == 0:
		n.hidden = !n.hidden
	case r.IntN(150) == 0: // the collector has forgotten all
		for _, n := range w.nodes {
			n.hidden = true
		}
	}
}

// meddle does to a job what users do, now and then.
func (w *world) meddle(r *rand.Rand, j *sleeper) {
	if j.done {
		return
	}
	leave := func(status int64) {
		w.vacate(j)
		j.status, j.begins, j.wants, j.matched = status, 0, nil, 0
	}
	switch r.IntN(120) {
	case 0:
		leave(1) // evicted
	case 1:
		leave(3) // removed
		j.done = true
	case 2:
		leave(5) // held
	case 3:
		if j.status == 1 {
			j.cpus = 1 + r.Int64N(4) // edited
		}
	case 4:
		j.estimate += 20
	}
	if j.status == 5 && r.IntN(3) == 0 {
		leave(1)
	}
}

// restart replaces the negotiator by another one, which goes on from its saved state.
func (w *world) restart() {
	w.t.Helper()
	data, err := json.Marshal(w.pool.Saved(w.n.Checkpoint()))
	require.NoError(w.t, err)
	require.NotContains(w.t, string(data), "topsecret")
	left := &track.SavedState{}
	require.NoError(w.t, json.Unmarshal(data, left))
	w.step() // what was handed over has arrived
	for _, j := range w.jobs {
		j.matched = 0 // if it was edited meanwhile, nobody knows of the match any more
	}
	w.negotiator(w.policy, left)
}
