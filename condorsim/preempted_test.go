package condorsim_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// onDescribed has jobs of queues run on a pool by its description.
func onDescribed(tb testing.TB, text string, jobs ...workload.Job) *condorsim.Workload {
	tb.Helper()
	pool, err := pools.Read(strings.NewReader(text), "pool.yaml")
	require.NoError(tb, err)
	for i := range jobs {
		jobs[i].ID = int64(i + 1)
		jobs[i].Estimate = max(jobs[i].Estimate, jobs[i].Run)
	}
	w, err := condorsim.OnPool(&workload.Trace{Machine: pool.Bounds(), Jobs: jobs}, pool)
	require.NoError(tb, err)
	return w
}

const one = "classes: [{name: node, cpus: 4}]\npack: {chunk_cpus: 4}\n"

// TestAPoolsRulesOfPreemption: the pool prefers jobs that are not of the queue spare, so the first job makes
// way for the second, and runs again for what it had not saved.
func TestAPoolsRulesOfPreemption(t *testing.T) {
	jobs := []workload.Job{
		{Run: 1000, Procs: 4, User: "ann", Queue: "spare"}, {Submit: 250, Run: 50, Procs: 4, User: "bob", Queue: "main"},
	}
	const rules = "preemption: {rank: 'TARGET.Queue =!= \"spare\"', vacate: 10"
	for _, c := range []struct {
		text              string
		leaves, end, lost backfill.Time
	}{
		{"", 250, 1300, 0}, // the second job waits
		{rules + "}\n", 260, 1310, 260},
		{rules + ", checkpoint: 100}\n", 260, 1110, 60},
		{rules + ", checkpoint: 1000}\n", 260, 1310, 260},
		{rules + ", checkpoint: 1}\n", 260, 1050, 0},
		{rules + ", retirement: 400}\n", 410, 1460, 410},
		{rules + ", retirement: 400, early: true}\n", 410, 1460, 410},
		{strings.Replace(rules, "vacate: 10", "several: false", 1) + "}\n", 850, 1900, 850},
	} {
		for _, policy := range []string{"easy", "conservative", "slack"} {
			w := onDescribed(t, one+c.text, jobs...)
			r, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
			require.NoError(t, err, c.text)
			got := r.Measures()
			if c.text == "" {
				require.EqualValues(t, 1000, r.Outcomes[1].Start)
				require.NotContains(t, got, "displacements")
				require.NotContains(t, got, "queue_main_mean_wait")
				continue
			}
			require.Equal(t, c.leaves, r.Outcomes[1].Start, c.text)
			require.Equal(t, c.leaves+50, r.Outcomes[0].Start, c.text)
			require.Equal(t, c.end, r.Outcomes[0].End, c.text)
			require.Equal(t, c.leaves-c.lost, r.Outcomes[0].Saved, c.text)
			for name, want := range map[string]float64{
				"displacements": 1, "displaced_jobs": 1, "displaced_core_seconds": 4 * float64(c.lost),
				"displaced_share":     float64(c.lost) / float64(1050+c.lost),
				"displaced_mean_wait": float64(c.end - 1000), "displacing_mean_wait": float64(c.leaves - 250),
				"queue_spare_mean_wait": float64(c.end - 1000), "queue_main_mean_wait": float64(c.leaves - 250),
				"queue_spare_mean_bounded_slowdown": float64(c.end) / 1000, "requeues": 1,
				"utilisation": 1050 / float64(c.end),
			} {
				require.InDelta(t, want, got[name], 1e-9, name+" "+c.text)
			}
		}
	}
}

// TestUserPriorityInAPool: ann has used the machine for long when bob comes, so PREEMPTION_REQUIREMENTS by
// their priorities has her job make way; who has used nothing does not displace another such one at once.
func TestUserPriorityInAPool(t *testing.T) {
	const rules = "preemption: {requirements: RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2, vacate: 5}\n"
	jobs := []workload.Job{
		{Run: 90_000, Procs: 4, User: "ann"},
		{Submit: 40_000, Run: 100, Procs: 4, User: "bob"},
		{Submit: 40_001, Run: 100, Procs: 4, User: "ann"},
	}
	for _, order := range []string{"fcfs", negotiator.FairShare} {
		w := onDescribed(t, one+rules, jobs...)
		c := link(t, "easy", nil)
		if order == negotiator.FairShare {
			var err error
			w, err = w.WithPriorities(condorsim.Priorities{HalfLife: 3600})
			require.NoError(t, err)
			c.Order = w.FairShare()
		}
		r, err := condorsim.Run(t.Context(), w, c, nil)
		require.NoError(t, err)
		require.EqualValues(t, 40_005, r.Outcomes[1].Start, order)
		require.Equal(t, 1, r.Displacements, "ann's own job displaces none, and hers do not displace bob's")
		require.Equal(t, 1, r.Outcomes[0].Displacements)
	}
	jobs[1].Submit, jobs[2].Submit = 1, 2
	r, err := condorsim.Run(t.Context(), onDescribed(t, one+rules, jobs...), link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.Zero(t, r.Outcomes[2].Displacements)
}

// TestWorkIsDone: whoever makes way for whom, and whatever is saved, each job does all of its work, and what
// was lost is what its runs took beyond that.
func TestWorkIsDone(t *testing.T) {
	displaced := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := preempting(t, rt)
		w.Preemption.Checkpoint = backfill.Time(rapid.SampledFrom([]int{0, 1, 7, 30}).Draw(rt, "checkpoint"))
		c := link(t, rapid.SampledFrom([]string{"easy", "conservative", "slack"}).Draw(rt, "policy"), nil)
		c.Preemption = rulesToTry(rt)
		ran := make([]backfill.Time, len(w.Jobs)) // of runs that came to nothing
		starts := make([]backfill.Time, len(w.Jobs))
		r, err := condorsim.Run(t.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
			for _, id := range r.Delta.Displaced {
				ran[id] += r.Delta.Now - starts[id]
			}
			for i := range r.Delta.Found {
				starts[r.Delta.Found[i].Job.ID] = r.Delta.Now
			}
			for _, s := range r.Decision.Started {
				starts[s.Job.ID] = r.Delta.Now
			}
			return nil
		}))
		require.NoError(rt, err)
		displaced += r.Displacements
		work := 0.0
		for i, o := range r.Outcomes {
			cpus := float64(w.Jobs[i].Cpus)
			require.Equal(rt, w.Jobs[i].Run, o.Saved+o.End-o.Start, "job %d does its work", i)
			require.InDelta(rt, cpus*float64(ran[i]-o.Saved), o.Lost, 1e-6)
			work += cpus * float64(w.Jobs[i].Run)
		}
		require.InDelta(rt, work, r.Work[0], 1e-6)
		require.InDelta(rt, r.LostCoreSeconds, r.DisplacedCoreSeconds, 1e-6)
		require.False(rt, math.IsNaN(r.Measures()["mean_wait"]))
	})
	require.Positive(t, displaced)
}

// TestCheckpointsAlsoHelpWhereSlotsFail: a job that loses its slot has what it saved, too, and the audit agrees.
func TestCheckpointsAlsoHelpWhereSlotsFail(t *testing.T) {
	w := onDescribed(t, one+"failures: [{at: 250, for: 50}]\n"+
		"preemption: {rank: 'TARGET.Queue == \"main\"', checkpoint: 100}\n",
		workload.Job{Run: 1000, Procs: 4, Queue: "spare"})
	r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.EqualValues(t, 300+800, r.Outcomes[0].End)
	require.InDelta(t, 4*50, r.LostCoreSeconds, 0)
	require.Zero(t, r.Displacements)
}

// displacedMeasures are the measures of a run in which a job makes way, with those of queues under one name.
func displacedMeasures(tb testing.TB) (list metrics.Measures) {
	tb.Helper()
	w := onDescribed(tb, one+"preemption: {rank: 'TARGET.Queue =!= \"spare\"'}\n", workload.Job{Run: 1000, Procs: 4, Queue: "spare"},
		workload.Job{Submit: 250, Run: 50, Procs: 4, Queue: "main"})
	r, err := condorsim.Run(tb.Context(), w, link(tb, "easy", nil), nil)
	require.NoError(tb, err)
	for _, m := range r.Measured() {
		m.Name = strings.NewReplacer("queue_spare", "queue_NAME", "queue_main", "queue_NAME").Replace(m.Name)
		list = append(list, m)
	}
	return list
}

// TestJobsOfSeveralChunksTakeNoPart: preemption that no job can take part in is an error, and if some cannot,
// their share is told.
func TestJobsOfSeveralChunksTakeNoPart(t *testing.T) {
	const rules = "classes: [{name: node, cpus: 8}]\npreemption: {rank: 'TARGET.Queue =!= \"spare\"'}\n"
	pool := describe(t, rules)
	wide := workload.Job{Run: 10, Estimate: 10, Procs: 8}
	_, err := condorsim.OnPool(trace(wide, wide), pool)
	require.ErrorContains(t, err, "no job could ever make way for another: only jobs of one chunk do, and all 2 jobs have several")
	require.ErrorContains(t, err, "pack: {chunk_cpus: N}")
	warnings := func(text string, jobs ...workload.Job) (list []string) {
		w, err := condorsim.OnPool(trace(jobs...), describe(t, text))
		require.NoError(t, err)
		w.Warn(func(text string, details ...any) { list = append(list, fmt.Sprint(text, details)) })
		return list
	}
	narrow := workload.Job{Run: 10, Estimate: 10, Procs: 1}
	told := warnings(rules, wide, narrow, narrow)
	require.Len(t, told, 1)
	require.Contains(t, told[0], "jobs of several chunks neither displace others nor are displaced")
	require.Contains(t, told[0], "[jobs 1 share 33.3%]")
	require.Empty(t, warnings(rules, narrow, narrow))
	require.Empty(t, warnings(rules))
	require.Empty(t, warnings(rules+"pack: {chunk_cpus: 8}\n", wide, wide))
	require.Empty(t, warnings("classes: [{name: node, cpus: 8}]\n", wide, wide))
}
