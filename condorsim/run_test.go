package condorsim_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func TestOutcomes(t *testing.T) {
	w := newWorkload(t,
		workload.Job{Submit: 0, Run: 5, Estimate: 10, Procs: 6, Memory: 100},
		workload.Job{Submit: 1, Run: 4, Procs: 8},
		workload.Job{Submit: 2, Run: 3, Procs: 2},
		workload.Job{Submit: 3, Run: 3, Procs: 9},
		workload.Job{Submit: 4, Run: 0, Procs: 8, Memory: 1000},
	)
	result, err := condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
	require.NoError(t, err)
	at := negotiator.Placement{{Slot: w.Slots[0], Count: 1}}
	require.Equal(t, []condorsim.Outcome{
		{
			Started: true, Ended: true, Start: 0, End: 5, How: backfill.AtHead, Placement: at, Estimate: 10,
			Promised: true, Guarantee: 0,
		},
		{
			Started: true, Ended: true, Start: 5, End: 9, How: backfill.AtHead, Placement: at, Estimate: 4,
			Promised:  true,
			Guarantee: 10,
		},
		{
			Started: true, Ended: true, Start: 2, End: 5, How: backfill.ByBackfill, Backfilled: true, Placement: at,
			Estimate: 3, Promised: true, Guarantee: 2,
		},
		{Held: "matches no slot: true on none of 1: TARGET.Cpus >= RequestCpus"},
		{
			Started: true, Ended: true, Start: 9, End: 9, How: backfill.ByQueue, Placement: at, Estimate: 1,
			Promised: true, Guarantee: 14,
		},
	}, result.Outcomes)
	require.Zero(t, result.Broken)
	require.Zero(t, result.Refusals)
	require.Len(t, result.Ran(), 4, "what is held is left out")
	m := result.Metrics()
	require.InDelta(t, 9, m.Makespan, 0)
	require.InDelta(t, (0+4+0+5)/4.0, m.MeanWait, 1e-9)
	require.InDelta(t, float64(6*5+8*4+2*3)/(8*9), m.Utilisation, 1e-9)
	require.InDelta(t, 500.0/(1000*9), m.UtilisationMemory, 1e-9)
}

func TestRefusalsAreCountedAndPassedOn(t *testing.T) {
	c := link(t, "easy", nil)
	c.Policy = refusing{c.Policy}
	told := 0
	c.Refused = func(backfill.Refusal) { told++ }
	result, err := condorsim.Run(t.Context(),
		newWorkload(t, workload.Job{Run: 5}, workload.Job{Submit: 1, Run: 5, Procs: 8}), c, nil)
	require.NoError(t, err)
	require.Positive(t, told)
	require.Len(t, result.Refusals, 1)
	refusal := result.Refusals[0]
	require.Equal(t, []any{"easy", told, false}, []any{refusal.Policy, refusal.Count, refusal.GivenUp})
	require.EqualError(t, refusal.First.Err, "no")
	require.Zero(t, refusal.First.Now)
	require.True(t, result.Outcomes[1].Ended)
}

// A result counts each kind of failure, whatever the numbers in their texts, and which came first; it
// counts 20 kinds at most, and no failure of a policy that was given up, as it is asked no more.
func TestKindsOfFailuresAreCounted(t *testing.T) {
	run := func(fails func(asked int) error) condorsim.Refusals {
		c := link(t, "easy", nil)
		c.Refused, c.Policy = nil, &failing{Decider: c.Policy, fails: fails}
		jobs := []workload.Job{{Run: 5000, Procs: 8}}
		for i := range 500 {
			jobs = append(jobs, workload.Job{Submit: int64(i + 1), Run: 5, Procs: 8})
		}
		result, err := condorsim.Run(t.Context(), newWorkload(t, jobs...), c, nil)
		require.NoError(t, err)
		require.Len(t, result.Refusals, 1)
		return result.Refusals[0]
	}
	told := func(r condorsim.Refusals) (all []string) {
		for _, f := range r.Failures {
			all = append(all, fmt.Sprintf("%d, first at %d: %v", f.Count, f.First.Now, f.First.Failure()))
		}
		return all
	}
	both := run(func(asked int) error { return []error{errors.New("no"), fmt.Errorf("late by %d", asked)}[asked%2] })
	require.True(t, both.GivenUp)
	require.Greater(t, both.Count, 500)
	require.Equal(t, []string{"50, first at 0: late by 1", "50, first at 1: no"}, told(both))
	many := run(func(asked int) error { return errors.New(strings.Repeat("x", asked)) })
	require.Len(t, many.Failures, 20)
	require.Equal(t, 81, many.Failures[19].Count)
}

// failing is a policy that fails in every round, each time with another error.
type failing struct {
	backfill.Decider
	asked int
	fails func(asked int) error
}

func (f *failing) Decide(context.Context, *backfill.Transaction) error {
	f.asked++
	return f.fails(f.asked)
}

// refusing is a policy that never decides.
type refusing struct{ backfill.Decider }

func (refusing) Decide(context.Context, *backfill.Transaction) error { return errors.New("no") }

// A job does not end at the run time that its ad estimates: it overruns, and the others wait for
// it.
func TestAJobThatOutlivesItsEstimate(t *testing.T) {
	for _, policy := range policies.All() {
		w := fromAds(t, slots(t),
			`ClusterId = 1; ProcId = 0; QDate = 0; RemoteWallClockTime = 100; EstimatedRunTime = 10; `+
				`RequestCpus = 3; Requirements = TARGET.Name == "b";;`+
				`ClusterId = 1; ProcId = 1; QDate = 1; RemoteWallClockTime = 5; EstimatedRunTime = 10; `+
				`RequestCpus = 3; Requirements = TARGET.Name == "b"`)
		result, err := condorsim.Run(t.Context(), w, link(t, policy.Name, nil), nil)
		require.NoError(t, err)
		require.EqualValues(t, 100, result.Outcomes[0].End, policy.Name)
		require.EqualValues(t, 100, result.Outcomes[1].Start, policy.Name)
		if policy.Guarantees {
			require.Positive(t, result.Broken, "a promise that an overrun broke is counted")
		} else {
			require.Zero(t, result.Broken, policy.Name)
		}
	}
}

// The pool ends a job at its limit, and the measures use the time that it ran.
func TestAJobEndsAtItsLimit(t *testing.T) {
	for limit, end := range map[backfill.Time]backfill.Time{0: 100, 20: 20, 100: 100, 200: 100} {
		w := newWorkload(t, workload.Job{Run: 100})
		w.Jobs[0].Estimate, w.Jobs[0].Limit = 10, limit
		result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
		require.NoError(t, err)
		require.Equal(t, end, result.Outcomes[0].End, "limit %d", limit)
		require.Equal(t, int64(end), result.Ran()[0].Run)
		require.EqualValues(t, 10, result.Ran()[0].Estimate)
	}
}

func TestJobsWithoutEstimateInTheMetrics(t *testing.T) {
	w := newWorkload(t, workload.Job{Run: 100, Procs: 8}, workload.Job{Run: 100, Procs: 8})
	for _, j := range w.Jobs {
		j.Estimate = 0
	}
	result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.InDelta(t, 100.0/float64(negotiator.DefaultEstimate)/2, result.Metrics().MeanUwait, 1e-9)
}

// drawTrace draws a small trace, dense enough to make jobs wait.
func drawTrace(t *rapid.T) *workload.Trace {
	n := rapid.IntRange(0, 25).Draw(t, "jobs")
	jobs := make([]workload.Job, n)
	submit := int64(0)
	for i := range jobs {
		submit += rapid.Int64Range(0, 6).Draw(t, "gap")
		run := rapid.Int64Range(0, 20).Draw(t, "run")
		jobs[i] = workload.Job{
			Submit: submit, Run: run, Estimate: run + rapid.Int64Range(0, 20).Draw(t, "slack"),
			Procs: rapid.Int64Range(1, 9).Draw(t, "procs"), Memory: rapid.Int64Range(0, 1100).Draw(t, "memory"),
			User: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "user"),
		}
	}
	return trace(jobs...)
}

func init() { thorough.Properties(25) }

// No job is lost, none starts early or twice, no slot ever holds more than it has, and the same
// input gives the same bytes.
func TestSchedules(t *testing.T) {
	pool := slots(t)
	for _, policy := range policies.All() {
		t.Run(policy.Name, func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				in := drawTrace(t)
				var on []*negotiator.Slot
				if rapid.Bool().Draw(t, "on slots") {
					on = pool
				}
				var bytesOf [2]bytes.Buffer
				for i := range bytesOf {
					w, err := condorsim.FromTrace(in, on)
					require.NoError(t, err)
					c := link(outer, policy.Name, nil)
					c.Order, err = negotiator.OrderNamed([]string{
						"fcfs", "sjf", "area",
						"wfp", "expr:WaitTime * Width",
					}[len(in.Jobs)%5])
					require.NoError(t, err)
					result, err := condorsim.Run(context.Background(), w, c, nil)
					require.NoError(t, err)
					checkSchedule(t, result)
					require.NoError(t, jobtable.Write(&bytesOf[i], result))
				}
				require.Equal(t, bytesOf[0].String(), bytesOf[1].String())
			})
		})
	}
}

// TestReservedIdle adds up, second by second, what each state says is idle and reserved.
func TestReservedIdle(t *testing.T) {
	pool := slots(t)
	for _, policy := range []string{"fcfs", "first-fit", "easy", "conservative", "dc"} {
		t.Run(policy, func(outer *testing.T) {
			some := false
			rapid.Check(outer, func(t *rapid.T) {
				var on []*negotiator.Slot
				if rapid.Bool().Draw(t, "on slots") {
					on = pool
				}
				w, err := condorsim.FromTrace(drawTrace(t), on)
				require.NoError(t, err)
				var want, now float64
				var since int64
				result, err := condorsim.Run(outer.Context(), w, link(outer, policy, nil),
					nil, sink(func(r *negotiator.Report) error {
						for ; now < float64(r.Delta.Now); now++ {
							want += float64(since)
						}
						since = conformance.ReservedIdle(r.State.Snapshot())
						return nil
					}))
				require.NoError(t, err)
				require.InDelta(t, want, result.ReservedIdle, 0)
				some = some || want > 0
			})
			require.Equal(outer, policy != "first-fit", some)
		})
	}
}

// checkSchedule checks that the outcomes are a possible schedule.
func checkSchedule(t require.TestingT, r *condorsim.Result) {
	type step struct {
		at           backfill.Time
		slot         string
		cpus, memory int64
	}
	var steps []step
	for i, o := range r.Outcomes {
		j := r.Workload.Jobs[i]
		if o.Held != "" {
			require.Equal(t, condorsim.Outcome{Held: o.Held}, o)
			continue
		}
		require.True(t, o.Started && o.Ended, "job %s is lost", j.Name)
		require.GreaterOrEqual(t, o.Start, j.Submit)
		require.Equal(t, o.Start+j.Run, o.End)
		if o.Promised {
			require.LessOrEqual(t, o.Start, o.Guarantee)
		}
		cpus, _ := j.Ad.Int("RequestCpus")
		memory, _ := j.Ad.Int("RequestMemory")
		chunks := 0
		for _, p := range o.Placement {
			chunks += p.Count
			n := int64(p.Count)
			if o.End > o.Start {
				steps = append(steps, step{o.Start, p.Slot.Name, cpus * n, memory * n},
					step{o.End, p.Slot.Name, -cpus * n, -memory * n})
			}
		}
		require.Equal(t, j.Nodes, chunks)
	}
	slices.SortStableFunc(steps, func(a, b step) int { // what ends makes room for what starts
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.cpus, b.cpus))
	})
	memory := slices.Index(r.Workload.Schema.Resources, "memory")
	for _, s := range r.Workload.Slots {
		var cpusUsed, memoryUsed int64
		for _, at := range steps {
			if at.slot == s.Name {
				cpusUsed, memoryUsed = cpusUsed+at.cpus, memoryUsed+at.memory
				require.LessOrEqual(t, cpusUsed, s.Capacity[0], "cpus of %s at %d", s.Name, at.at)
				if memory >= 0 {
					require.LessOrEqual(t, memoryUsed, s.Capacity[memory], "memory of %s at %d", s.Name, at.at)
				}
			}
		}
	}
}

// FuzzAds reads text as slots and as jobs, and runs the result.
func FuzzAds(f *testing.F) {
	f.Add("Name = \"a\"\nCpus = 2\nRequirements = true\n",
		"ClusterId = 1\nProcId = 0\nQDate = 1\nRemoteWallClockTime = 3\nRequirements = true\n")
	f.Add("[Name = \"a\"; Cpus = 2; Requirements = TARGET.RequestCpus < 2]",
		"[ClusterId = 1; ProcId = 0; QDate = -7; RemoteWallClockTime = 3; RequestCpus = 2; Rank = TARGET.Cpus]")
	f.Add("Name = \"a\"\nCpus = 1\nTotalSlotCpus = 8\nMemory = -1\n",
		"ClusterId = 1\nProcId = 0\nQDate = 0\nMinHosts = 99\nRemoteWallClockTime = 1\nEstimatedRunTime = 1\n")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, pool, jobs string) {
		slots, err := pools.FromAds("pool.ads", negotiator.DefaultSchema(), ads(pool))
		require.Equal(t, err == nil, slots != nil)
		if err != nil {
			return
		}
		w, err := queued(slots, jobs)
		require.Equal(t, err == nil, w != nil)
		if w == nil || len(w.Slots) > 5 || len(w.Jobs) == 0 || len(w.Jobs) > 20 || huge(w) {
			return
		}
		result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
		require.NoError(t, err)
		require.Len(t, result.Outcomes, len(w.Jobs))
	})
}

// huge reports whether a number of the workload is larger than its readers should allow.
func huge(w *condorsim.Workload) bool {
	const most = 1e15
	for _, s := range w.Slots {
		for _, amount := range s.Capacity {
			if amount > most {
				return true
			}
		}
	}
	for _, j := range w.Jobs {
		for _, n := range []int64{
			int64(j.Submit), -int64(j.Submit), int64(j.Run), int64(j.Estimate), int64(j.Nodes),
			j.Cpus, j.Memory,
		} {
			if n > most {
				return true
			}
		}
	}
	return false
}

// FuzzSWF reads text as a trace and runs it.
func FuzzSWF(f *testing.F) {
	line := func(id, submit, run, procs, estimate int) string {
		return fmt.Sprintf("%d %d -1 %d %d -1 -1 %d %d -1 1 1 -1 -1 -1 -1 -1 -1\n", id, submit, run, procs,
			procs, estimate)
	}
	f.Add("; MaxProcs: 4\n" + line(1, 0, 10, 4, 20) + line(2, 1, 10, 2, 5) + line(3, 1, 0, 9, -1))
	f.Add(line(1, 5, 3, 1, 3) + line(2, -2, 3, 1, 3) + line(3, 999999999999, 999999999999, 64, 1))
	f.Add("; MaxNodes: 0\n\n1 2 3")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "\n") > 50 {
			return
		}
		in, err := workload.ReadSWF(strings.NewReader(text), "fuzz.swf",
			workload.Options{CPUs: 64, Clean: workload.CleanNone})
		if err != nil {
			return
		}
		w, err := condorsim.FromTrace(in, nil)
		require.NoError(t, err)
		result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
		require.NoError(t, err)
		checkSchedule(t, result)
	})
}
