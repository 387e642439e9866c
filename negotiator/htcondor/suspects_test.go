package htcondor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hole is a world in which starts fail on the slot that every job ranks highest.
func hole(t *testing.T, policy string) (w *world, bad, good *node) {
	t.Helper()
	bad, good = &node{name: "bad", cpus: 8, memory: 8192, refuses: true}, &node{name: "good", cpus: 4, memory: 4096}
	return newWorld(t, policy, bad, good), bad, good
}

const liked = "\nRank = TARGET.TotalSlotCpus"

// TestJobLeavesBlackHole: a job whose start failed on one slot is started on another.
func TestJobLeavesBlackHole(t *testing.T) {
	w, _, good := hole(t, "easy")
	j := w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000, extra: liked})
	w.pass(8)
	require.NotZero(t, j.matched, "it was tried where it likes to be")
	require.Zero(t, j.runs)
	w.pass(40)
	require.Equal(t, 1, j.runs)
	require.Contains(t, j.at, good)
	require.Empty(t, w.pool.Last().Paused, "a pause of 5 s is over")
	require.Contains(t, w.log.String(), "a job was not started in time: job=1.0 slots=\"slot1@bad×1\" matched=true")
}

// TestPausesGrow: where starts always fail, the pauses grow, and each try logs one line.
func TestPausesGrow(t *testing.T) {
	w, bad, _ := hole(t, "easy")
	only := "\nRequirements = TARGET.TotalSlotCpus == 8"
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: only})
	var pauses []time.Duration
	for range 1000 {
		w.pass(1)
		for _, p := range w.pool.Last().Paused {
			if len(pauses) < p.Failures {
				require.Equal(t, "slot1@bad", p.Slot)
				require.Equal(t, "alice@test", p.Users, "others may be started there")
				pauses = append(pauses, p.Until.Sub(time.Unix(w.now, 0)))
			}
		}
	}
	const s = time.Second
	require.Equal(t, []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s}, pauses[:7])
	require.LessOrEqual(t, slices.Max(pauses), 5*time.Minute)
	require.Equal(t, len(pauses), strings.Count(w.log.String(), "is left out for a while: starts fail there"))
	bad.refuses = false
	w.pass(400)
	require.True(t, j.done)
	require.Empty(t, w.pool.claims.Suspects())
	require.Equal(t, 1, strings.Count(w.log.String(), "is not doubted any more"))
}

// TestRestartEndsPause: a restarted startd is trusted again.
func TestRestartEndsPause(t *testing.T) {
	w, bad, _ := hole(t, "easy")
	bad.started = 1
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\nRequirements = TARGET.TotalSlotCpus == 8"})
	for range 300 {
		w.pass(1)
		if p := w.pool.Last().Paused; len(p) > 0 && p[0].Failures == 4 {
			break
		}
	}
	require.NotEmpty(t, w.pool.claims.Suspects())
	bad.started, bad.refuses = 2, false
	w.pass(16)
	require.Equal(t, 1, j.runs)
}

// TestStaleClaimsAreNoDoubt: a start that failed because another took the claim first, or because
// the startd restarted, makes no slot a suspect.
func TestStaleClaimsAreNoDoubt(t *testing.T) {
	for _, how := range []string{"restart", "stranger"} {
		w, bad, _ := hole(t, "easy")
		bad.started = 1
		w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000, extra: liked})
		w.pass(8)
		require.Len(t, w.pool.claims.Flights(), 1)
		if how == "restart" {
			bad.started = 2
		} else {
			bad.strangers = []string{"Name = \"slot1_9@bad\"\nMyAddress = \"<bad>\"\nState = \"Claimed\"\nActivity = \"Busy\"\n" +
				"DynamicSlot = true\nCpus = 1\nMemory = 128\nRequirements = true\nJobId = \"7.0\"\n" +
				"GlobalJobId = \"other@test#7.0#1\""}
		}
		for range 40 {
			w.pass(1)
			require.Empty(t, w.pool.claims.Suspects(), how)
		}
		require.Equal(t, 1, w.pool.Last().Unstarted, how)
	}
}

// TestGuaranteeOnBlackHole: a guarantee on a slot that is left out is broken with a cause, as on a
// slot that starts to refuse the job.
func TestGuaranteeOnBlackHole(t *testing.T) {
	w, bad, good := hole(t, "conservative")
	bad.refuses, good.cpus = false, 8
	long := w.submit(&sleeper{cpus: 8, seconds: 400, estimate: 400})
	short := w.submit(&sleeper{cpus: 8, seconds: 30, estimate: 30})
	w.pass(8)
	require.Equal(t, 2, long.runs+short.runs)
	for n := range short.at { // whichever it is
		n.refuses = true
	}
	second := w.submit(&sleeper{cpus: 8, seconds: 20, estimate: 20})
	third := w.submit(&sleeper{cpus: 8, seconds: 20, estimate: 20})
	w.pass(700)
	require.True(t, second.done)
	require.True(t, third.done)
	require.NotZero(t, w.broken, "no cause is not a cause: the world looks at that")
}

// TestMostOfThePoolIsNotLeftOut: when starts fail on most of the pool, the slots are not to blame.
func TestMostOfThePoolIsNotLeftOut(t *testing.T) {
	w, _, good := hole(t, "easy")
	good.refuses = true
	w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: liked})
	for range 300 {
		w.pass(1)
		require.LessOrEqual(t, len(w.pool.Last().Paused), 1)
	}
	require.Contains(t, w.log.String(), "a job waits for a while: its schedd does not start it")
}

// TestJobClosesNoPool: a job that fails everywhere closes the slots to its user alone, and is to blame
// once no other slot is left: while one of its claims hangs it cannot start elsewhere, and the job
// itself may be broken.
func TestJobClosesNoPool(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 4, memory: 4096}, &node{name: "n2", cpus: 4, memory: 4096},
		&node{name: "n3", cpus: 4, memory: 4096}, &node{name: "n4", cpus: 4, memory: 4096})
	ill := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.fate = func(j *sleeper) fate {
		if j == ill {
			return fails
		}
		return works
	}
	for range 300 {
		w.pass(1)
		for _, p := range w.pool.Last().Paused {
			require.Equal(t, "alice@test", p.Users)
		}
	}
}

// eight is a world of eight slots.
func eight(t *testing.T, policy string) *world {
	t.Helper()
	nodes := make([]*node, 8)
	for i := range nodes {
		nodes[i] = small(4)
		nodes[i].name = fmt.Sprint("n", i)
	}
	return newWorld(t, policy, nodes...)
}

// TestJobsThatComeBackBlameNobody: jobs that run and come back at once, as users can make them do,
// do not make slots suspects.
func TestJobsThatComeBackBlameNobody(t *testing.T) {
	w := eight(t, "conservative")
	var back []*sleeper
	for range w.nodes {
		back = append(back, w.submit(&sleeper{cpus: 2, seconds: 1000, estimate: 1000}))
		w.submit(&sleeper{cpus: 2, seconds: 100, estimate: 100})
	}
	for range w.nodes {
		w.submit(&sleeper{cpus: 4, seconds: 50, estimate: 50})
	}
	times := 0
	for now := range 400 {
		w.pass(1)
		if now%8 == 7 {
			for _, j := range back {
				if len(j.at) > 0 && !j.done {
					w.vacate(j)
					j.status = 1
					times++
				}
			}
		}
		require.Empty(t, w.pool.claims.Suspects())
	}
	require.Greater(t, times, 100)
}

// TestOneUserClosesNoPool: however many jobs of one user fail to start, on however many slots, these
// are left out for him alone.
func TestOneUserClosesNoPool(t *testing.T) {
	w := eight(t, "easy")
	var ill []*sleeper
	w.fate = func(j *sleeper) fate {
		if slices.Contains(ill, j) {
			return fails
		}
		return works
	}
	for range w.nodes {
		ill = append(ill, w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10}))
	}
	for range 300 {
		w.pass(1)
		for _, p := range w.pool.Last().Paused {
			require.Equal(t, "alice@test", p.Users)
		}
	}
	w.fate = func(*sleeper) fate { return works }
	w.pass(300)
	for _, j := range ill {
		require.True(t, j.done, "those of his that are well run")
	}
}
