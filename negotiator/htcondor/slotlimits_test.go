package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// runningOn counts the jobs that run on a machine.
func runningOn(jobs []*sleeper, machine string) (n int) {
	for _, j := range jobs {
		for at := range j.at {
			if j.status == 2 && at.name == machine {
				n++
			}
		}
	}
	return n
}

// TestLimitsOfEachSlot: jobs whose limits depend on the slot start where these have room, never run
// beyond them, and are told which limit they wait for.
func TestLimitsOfEachSlot(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "slack"} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t, policy, &node{name: "n1", cpus: 8, memory: 8192, policy: true},
				&node{name: "n2", cpus: 8, memory: 8192, policy: true})
			w.account(map[string]string{"NET_N1_LIMIT": "2", "NET_N2_LIMIT": "1"})
			w.negotiator(policy, nil)
			var jobs []*sleeper
			for range 9 {
				jobs = append(jobs, w.submit(&sleeper{
					cpus: 1, seconds: 60, estimate: 60, extra: "\nConcurrencyLimits = strcat(\"net_\", TARGET.Machine)",
				}))
			}
			most, told := 0, ""
			for range 100 {
				w.pass(4)
				n1, n2 := runningOn(jobs, "n1"), runningOn(jobs, "n2")
				require.LessOrEqual(t, n1, 2)
				require.LessOrEqual(t, n2, 1)
				if most = max(most, n1+n2); n1+n2 == 3 && told == "" {
					told = w.why("9.0")
					require.Contains(t, told, "concurrency limit net_n1 (2 of 2 in use, 1 wanted)")
					require.Contains(t, told, "concurrency limit net_n2 (1 of 1 in use, 1 wanted)")
				}
			}
			require.Equal(t, 3, most)
			require.NotEmpty(t, told)
			require.Equal(t, 9, done(jobs))
			require.Zero(t, w.broken)
		})
	}
}

// TestFailedStartOfAJobLimitedByItsSlot: a start that the limits let through and that fails is told as a
// broken promise, as that of any other job.
func TestFailedStartOfAJobLimitedByItsSlot(t *testing.T) {
	for limits, extra := range map[string]string{
		"none": "", "of its slot": "\nConcurrencyLimits = strcat(\"net_\", TARGET.Machine)",
	} {
		w := newWorld(t, "conservative", &node{name: "n1", cpus: 8, memory: 8192, policy: true, refuses: true})
		w.account(map[string]string{"NET_N1_LIMIT": "2"})
		w.negotiator("conservative", nil)
		w.submit(&sleeper{cpus: 1, seconds: 60, estimate: 60, extra: extra})
		for range 20 {
			w.pass(4)
		}
		require.NotZero(t, w.broken, limits)
	}
}

// why returns why a job waits, as its user may ask and as its schedd is told.
func (w *world) why(name string) string {
	id := w.pool.Find(name)[0]
	fit, _ := w.n.Fit(id)
	reason, _ := w.n.State().Reason(id)
	return w.n.State().Describe(reason, nil) + "; " + fit.DescribeClosed(nil) + "; " + w.pool.claims.Limits().Lacking(w.pool.belief.Job(id))
}

// TestLimitOfSlotsAndOthers: jobs that name a limit themselves, and jobs that do where they start, share
// it, also after a restart of the negotiator.
func TestLimitOfSlotsAndOthers(t *testing.T) {
	w := newWorld(t, "easy", small(8), &node{name: "n2", cpus: 8, memory: 8192, policy: true})
	w.account(map[string]string{"SW_LIMIT": "3"})
	w.negotiator("easy", nil)
	for i := range 12 {
		limits := `"sw"`
		if i%2 == 0 {
			limits = `ifThenElse(TARGET.Machine == "n2", "sw:2", "sw")`
		}
		w.submit(&sleeper{cpus: 1, seconds: 40, estimate: 40, extra: "\nConcurrencyLimits = " + limits})
	}
	for i := range 150 {
		w.pass(4)
		used := 0
		for _, j := range w.jobs {
			if used += len(j.at); j.cluster%2 == 1 {
				used += runningOn([]*sleeper{j}, "n2")
			}
		}
		require.LessOrEqual(t, used, 3)
		if i == 7 {
			w.restart()
		}
	}
	require.Equal(t, 12, done(w.jobs))
}

// TestLimitsOfWhatIsLeftOfASlot: jobs whose limits depend on how much of a slot is free, or on the clock,
// are charged with what they come to as the slot is handed over, and start for as long as these have room.
func TestLimitsOfWhatIsLeftOfASlot(t *testing.T) {
	for _, c := range []struct {
		limits, big, small string
		run, others        int // how many run, and of others that take one of what is big
	}{
		{`ifThenElse(TARGET.Cpus > 5, "big", "small")`, "5", "5", 4, 3},
		{`ifThenElse(TARGET.Cpus > 5, "big", "small")`, "4", "2", 4, 2},
		{`ifThenElse(TARGET.Cpus > 5, "big", "small")`, "4", "1", 3, 2},
		{`ifThenElse(TARGET.Cpus > 5, "big", "small")`, "4", "0", 2, 2},
		{`ifThenElse(TARGET.Memory > 4000, "big", "small")`, "4", "4", 4, 0},
		{`strcat("small,t", time())`, "3", "3", 3, 3},
	} {
		t.Run(c.limits+" "+c.big+" "+c.small, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true})
			w.account(map[string]string{"BIG_LIMIT": c.big, "SMALL_LIMIT": c.small})
			w.negotiator("easy", nil)
			submit := func(cpus int64, limits string) *sleeper {
				return w.submit(&sleeper{cpus: cpus, seconds: 60, estimate: 60, extra: "\nConcurrencyLimits = " + limits})
			}
			var jobs, others []*sleeper
			for range 4 {
				jobs = append(jobs, submit(2, c.limits))
			}
			w.pass(20)
			require.Equal(t, c.run, runningOn(jobs, "n1"))
			w.nodes = append(w.nodes, &node{name: "n2", cpus: 8, memory: 8192, policy: true, parts: map[*sleeper]int{}})
			for range 3 {
				others = append(others, submit(2, `"big"`))
			}
			w.pass(20)
			require.Equal(t, c.others, runningOn(others, "n1")+runningOn(others, "n2"))
			for range 20 {
				w.pass(10)
			}
			require.Zero(t, w.broken)
		})
	}
}
