package condorsim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestAScavengerMakesWay: ann's job scavenges the whole machine when bob's comes, which begins once it has left;
// then it runs again, for what it had not saved.
func TestAScavengerMakesWay(t *testing.T) {
	jobs := []workload.Job{
		{Run: 1000, Procs: 4, User: "ann", Queue: "spare"}, {Submit: 250, Run: 50, Procs: 4, User: "bob", Queue: "main"},
	}
	const rules = "scavengers: {queues: [spare]"
	for _, c := range []struct {
		text              string
		begins, end, lost backfill.Time
	}{
		{rules + "}\n", 260, 1310, 260},
		{"scavengers: {users: [ann]}\n", 260, 1310, 260},
		{rules + ", vacate: 0}\n", 250, 1300, 250},
		{rules + ", vacate: 0, checkpoint: 100}\n", 250, 1100, 50},
		{rules + ", vacate: 1m, checkpoint: 100}\n", 310, 1060, 10},
	} {
		for _, policy := range []string{"easy", "conservative", "slack", "fcfs"} {
			w := onDescribed(t, one+c.text, jobs...)
			r := simulate(t, w, link(t, policy, nil), func(*negotiator.Report) {})
			require.Equal(t, c.begins, r.Outcomes[1].Start, c.text)
			require.Equal(t, c.begins-250, r.Outcomes[1].Delay, c.text)
			require.Equal(t, c.begins+50, r.Outcomes[1].End, c.text)
			require.Equal(t, c.begins+50, r.Outcomes[0].Start, c.text)
			require.Equal(t, c.end, r.Outcomes[0].End, c.text)
			require.Equal(t, c.begins-c.lost, r.Outcomes[0].Saved, c.text)
			require.Equal(t, 1, r.Outcomes[0].Displacements, c.text)
			got := r.Measures()
			for name, want := range map[string]float64{
				"mean_wait": float64(c.begins - 250), "makespan": float64(c.begins - 250 + 50),
				"scavengers_completed": 0, "scavengers_left": 1, "scavengers_displaced": 1,
				"scavenged_core_seconds":       4 * float64(c.begins-c.lost),
				"scavengers_lost_core_seconds": 4 * float64(c.lost),
				"scavengers_lost_share":        float64(c.lost) / float64(c.begins),
				"scavenged_idle_share":         1, "scavengers_mean_wait": float64(c.end - 1000),
			} {
				require.InDelta(t, want, got[name], 1e-9, name+" "+c.text)
			}
			require.Zero(t, r.Requeues)
			require.Zero(t, r.Broken)
		}
	}
}

// TestNoFairStartsWithScavengers: copies of a simulation have none, so their starts would compare with nothing.
func TestNoFairStartsWithScavengers(t *testing.T) {
	w := onDescribed(t, one+"scavengers: {users: [ann]}\n", workload.Job{Run: 10, Procs: 1, User: "ann"}, workload.Job{Run: 10, Procs: 1, User: "bob"})
	_, err := condorsim.RunFair(t.Context(), w, link(t, "easy", nil), condorsim.Fair{Strict: true})
	require.ErrorIs(t, err, condorsim.ErrFairPreempted)
}

// scavengedResult is a run in which a job makes another one leave that scavenges what is reserved for a third.
func scavengedResult(tb testing.TB) *condorsim.Result {
	tb.Helper()
	w := onDescribed(
		tb, one+"scavengers: {queues: [spare], vacate: 10, checkpoint: 100}\n",
		workload.Job{Run: 100, Procs: 1, Queue: "main"}, workload.Job{Run: 1000, Procs: 3, Queue: "spare"},
		workload.Job{Submit: 10, Run: 50, Procs: 4, Queue: "main"}, workload.Job{Submit: 20, Run: 60, Procs: 2, Queue: "main"},
	)
	r, err := condorsim.Run(tb.Context(), w, link(tb, "easy", nil), nil)
	require.NoError(tb, err)
	return r
}

// TestWhatScavengersUse: the third job is reserved the machine from 110 on, with the vacate time. A scavenger has the
// 3 cpus that are idle until 20, when the fourth job comes, which is over at 90, and again until 100, when the
// first job is over and the third starts.
func TestWhatScavengersUse(t *testing.T) {
	r := scavengedResult(t)
	got := r.Measures()
	for job, want := range map[int][3]backfill.Time{3: {30, 90, 10}, 2: {110, 160, 10}, 1: {160, 1160, 0}} {
		o := r.Outcomes[job]
		require.Equal(t, want, [3]backfill.Time{o.Start, o.End, o.Delay}, "job %d: begins, ends, later by", job)
	}
	for name, want := range map[string]float64{
		"scavengers_completed": 0, "scavengers_left": 1, "scavengers_displaced": 2,
		"scavenged_core_seconds": 0, "scavengers_lost_core_seconds": 3 * (30 + 20), "scavengers_lost_share": 1,
		// 3 cpus are idle until 20, 1 until 90, and 3 until 100; all are reserved from 10 on
		"scavenged_idle_share": 3.0 * 30 / (3*20 + 70 + 3*10), "scavenged_reserved_share": 3.0 * 20 / (3*10 + 70 + 3*10),
		"reserved_idle": 3*10 + 70 + 3*10, "delayed_starts": 2, "delayed_starts_mean": 10, "delayed_starts_max": 10,
		"mean_wait": (0 + 100 + 10) / 3.0, "scavengers_mean_wait": 160, "utilisation": (100 + 200 + 120) / (4 * 160.0),
	} {
		require.InDelta(t, want, got[name], 1e-9, name)
	}
}

// groupedScavenging is a small pool with a group lab of ann's, whose quota is two cpus, and jobs on it, of which those
// of the queue spare scavenge, unless those are left out.
func groupedScavenging(tb testing.TB, more string, scavenge bool, jobs ...workload.Job) *condorsim.Workload {
	tb.Helper()
	if !scavenge {
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j workload.Job) bool { return j.Queue == "spare" })
	}
	w := onDescribed(tb, one+more+"scavengers: {queues: [spare], vacate: 0}\n", jobs...)
	w, err := w.WithPriorities(condorsim.Priorities{HalfLife: 100})
	require.NoError(tb, err)
	return w
}

// TestScavengersTakeNothingOfQuotas: ann's group has a quota of two cpus, which her jobs have. Her scavengers run
// beside, one of them on three cpus, which is more than the quota, and her jobs wait no longer for that.
func TestScavengersTakeNothingOfQuotas(t *testing.T) {
	jobs := []workload.Job{
		{Run: 100, Procs: 1, User: "ann", Queue: "spare"},
		{Run: 200, Procs: 2, User: "ann", Queue: "main"},
		{Run: 50, Procs: 1, User: "ann", Queue: "spare"},
		{Submit: 120, Run: 30, Procs: 3, User: "ann", Queue: "spare"},
		{Submit: 130, Run: 10, Procs: 2, User: "ann", Queue: "main"},
	}
	for _, rules := range []string{"groups: [{name: lab, quota: 2, users: [ann]}]\n", "ceilings: {ann: 2}\n"} {
		for _, policy := range []string{"easy", "conservative", "slack", "fcfs"} {
			for _, fair := range []bool{false, true} {
				w := groupedScavenging(t, rules, true, jobs...)
				c := link(t, policy, nil)
				if fair {
					c.Order = w.FairShare()
				}
				r := simulate(t, w, c, func(*negotiator.Report) {})
				require.Equal(t, []backfill.Time{0, 0, 0, 210, 200}, starts(r), rules+policy)
				use := r.Limits()
				require.Len(t, use, 1)
				require.InDelta(t, 2, use[0].Most, 0)
				require.Equal(t, 2, use[0].Jobs)
			}
		}
	}
}

// TestScavengersCostNoPriority: ann and bob have used the same when both want the machine, so who came first has it;
// what ann's scavengers have used before counts for nobody, nor does how many of them wait.
func TestScavengersCostNoPriority(t *testing.T) {
	jobs := []workload.Job{{Run: 10, Procs: 1, User: "cid", Queue: "main"}}
	for range 20 {
		jobs = append(jobs, workload.Job{Run: 300, Procs: 1, User: "ann", Queue: "spare"})
	}
	jobs = append(jobs, workload.Job{Submit: 100, Run: 500, Procs: 4, User: "cid", Queue: "main"})
	for i := range int64(4) {
		user := []string{"ann", "bob"}[i%2]
		jobs = append(jobs, workload.Job{Submit: 200 + i, Run: 100, Procs: 4, User: user, Queue: "main"})
	}
	var told [2][]condorsim.Outcome
	for i, scavenge := range []bool{false, true} {
		w := groupedScavenging(t, "", scavenge, jobs...)
		c := link(t, "easy", nil)
		c.Order = w.FairShare()
		r := simulate(t, w, c, func(*negotiator.Report) {})
		for j, o := range r.Outcomes {
			if !w.Jobs[j].Scavenger {
				told[i] = append(told[i], o)
			}
		}
	}
	require.Equal(t, []backfill.Time{600, 700, 800, 900}, []backfill.Time{
		told[1][2].Start, told[1][3].Start, told[1][4].Start, told[1][5].Start,
	})
	require.Len(t, told[0], len(told[1]))
	for i := range told[0] {
		require.Equal(t, told[0][i].Start, told[1][i].Start)
	}
}

// TestAScavengerThatLeavesAtTheFirstInstant: the clock of a simulation may begin with 0, at which a job of no run time
// ends at once; the next one has the place of a scavenger that has started meanwhile.
func TestAScavengerThatLeavesAtTheFirstInstant(t *testing.T) {
	w := onDescribed(
		t, one+"scavengers: {queues: [spare], vacate: 0}\n", workload.Job{Procs: 2, Queue: "main"},
		workload.Job{Run: 10, Procs: 4, Queue: "main"}, workload.Job{Run: 20, Procs: 2, Queue: "spare"},
	)
	r := simulate(t, w, link(t, "easy", nil), func(*negotiator.Report) {})
	require.Equal(t, []backfill.Time{0, 0, 10}, starts(r))
	require.Zero(t, r.Outcomes[1].Delay)
	require.Equal(t, 1, r.Outcomes[2].Displacements)
}
