package condorsim_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// groupedJobs makes a workload on a pool, whose jobs are given as "USER GROUP SUBMIT RUN CPUS"; the group - is
// none of the trace.
func groupedJobs(t require.TestingT, pool string, jobs ...string) *condorsim.Workload {
	description, err := pools.Read(strings.NewReader(pool), "pool.yaml")
	require.NoError(t, err)
	trace := &workload.Trace{Name: "users", Machine: workload.Machine{Processors: 1000}}
	for i, text := range jobs {
		j := workload.Job{ID: int64(i + 1)}
		_, err = fmt.Sscan(text, &j.User, &j.Group, &j.Submit, &j.Run, &j.Procs)
		require.NoError(t, err)
		j.Group, j.Estimate = strings.TrimPrefix(j.Group, "-"), j.Run
		trace.Jobs = append(trace.Jobs, j)
	}
	w, err := condorsim.OnPool(trace, description)
	require.NoError(t, err)
	w, err = w.WithPriorities(condorsim.Priorities{})
	require.NoError(t, err)
	return w
}

// TestGroups has small schedules that are worked out by hand: of a group that accepts no surplus no more runs
// than its quota, and groups share the rest by use over quota.
func TestGroups(t *testing.T) {
	const one = "classes: [{name: node, cpus: 10}]\npack: {chunk_cpus: 10}\n"
	long := func(n int, jobs string) (all []string) {
		for range n {
			all = append(all, jobs)
		}
		return all
	}
	for name, x := range map[string]struct {
		pool string
		jobs []string
		want string
	}{
		"a group at its quota waits beside idle cpus": {
			one + "groups: [{name: lab, quota: 2, users: [ann]}]\n",
			append(long(4, "ann - 0 100 1"), "bob - 0 100 1"),
			"ann1@0 ann2@0 bob5@0 ann3@100 ann4@100",
		},
		"with surplus it does not": {
			one + "groups: [{name: lab, quota: 2, surplus: true, users: [ann]}]\n",
			append(long(4, "ann - 0 100 1"), "bob - 0 100 1"),
			"ann1@0 ann2@0 ann3@0 ann4@0 bob5@0",
		},
		"a job is of the trace's group of that name, in any case": {
			one + "groups: [{name: Lab, quota: 10%}]\n",
			[]string{"ann lab 0 100 1", "bob LAB 0 100 1", "cid x 0 100 1"},
			"ann1@0 cid3@0 bob2@100",
		},
		"or of a group of the trace that is listed; a user who is comes first": {
			one + "groups: [{name: a, quota: 1, trace_groups: [\"7\"]}, {name: b, quota: 1, users: [\"b*\"]}]\n",
			[]string{"ann 7 0 100 1", "cid 7 0 100 1", "bob 7 0 100 1"},
			"ann1@0 bob3@0 cid2@100",
		},
		"the quota of a group holds for those below it": {
			one + "groups: [{name: a, quota: 3, users: [ann]}, {name: a.b, quota: 2, surplus: true, users: [bob]}]\n",
			append(long(4, "bob - 0 100 1"), "ann - 1 100 1"),
			"bob1@0 bob2@0 bob3@0 bob4@100 ann5@100",
		},
		// 10 cpus: shares are of the 6 that the quota in cpus leaves, that is 4 and 2.
		"shares are of what the quotas in cpus leave": {
			one + "groups: [{name: a, quota: 4, users: [ann]}, {name: b, quota: 70%, users: [bob]}, " +
				"{name: c, quota: 30%, users: [cid]}]\n",
			append(append(long(5, "ann - 0 100 1"), long(5, "bob - 0 100 1")...), long(2, "cid - 0 100 1")...),
			"ann1@0 ann2@0 ann3@0 ann4@0 bob6@0 bob7@0 bob8@0 bob9@0 cid11@0 ann5@100 bob10@100 cid12@100",
		},
		// Both want all: 6 and 3 cpus, as 60 % and 30 %, and the last cpu to the one that has less of its quota.
		"use over quota decides who has the surplus": {
			"classes: [{name: node, cpus: 9}]\n" +
				"groups: [{name: a, quota: 60%, surplus: true, users: [ann]}, " +
				"{name: b, quota: 30%, surplus: true, users: [bob]}]\n",
			append(long(8, "ann - 0 100 1"), long(8, "bob - 0 100 1")...),
			"ann1@0 ann2@0 ann3@0 ann4@0 ann5@0 ann6@0 bob9@0 bob10@0 bob11@0 " +
				"ann7@100 ann8@100 bob12@100 bob13@100 bob14@100 bob15@100 bob16@100",
		},
		"a user has no more than his ceiling": {
			one + "ceilings: {bob: 2}\n",
			append(long(3, "bob - 0 100 1"), "ann - 0 100 1"),
			"bob1@0 bob2@0 ann4@0 bob3@100",
		},
		"a job that takes more than its group may have is held": {
			one + "groups: [{name: lab, quota: 2, users: [ann]}]\n",
			[]string{"ann - 0 100 3", "ann - 0 100 2"},
			"ann2@0 ann1: takes more of a limit than there is: 3 of quota of group lab, which is 2",
		},
		"on a static slot a job counts with all of it": {
			"classes: [{name: node, count: 4, type: static, cpus: 4}]\npack: {chunk_cpus: 4}\n" +
				"groups: [{name: lab, quota: 8, users: [ann]}]\n",
			long(3, "ann - 0 100 1"),
			"ann1@0 ann2@0 ann3@100",
		},
		"who regroups has of the surplus": {
			one + "groups: [{name: lab, quota: 2, autoregroup: true, users: [ann]}]\n",
			long(4, "ann - 0 100 1"),
			"ann1@0 ann2@0 ann3@0 ann4@0",
		},
		"a job of no user is of its trace's group": {
			one + "groups: [{name: lab, quota: 1}]\n",
			[]string{"a lab 0 100 1", "a lab 0 100 1"},
			"a1@0 a2@100",
		},
	} {
		for _, policy := range []string{"fcfs", "easy", "conservative"} {
			t.Run(name+" under "+policy, func(t *testing.T) {
				if policy == "fcfs" && strings.Contains(name, "beside idle") {
					t.Skip("skipped: under fcfs nobody passes the job that waits for its group")
				}
				w := groupedJobs(t, x.pool, x.jobs...)
				c := link(t, policy, nil)
				c.Order, c.Planning.Reorder = w.FairShare(), true
				r, err := condorsim.Run(t.Context(), w, c, nil)
				require.NoError(t, err)
				require.Equal(t, x.want, startsOf(w, r))
			})
		}
	}
}

// startsOf lists jobs with their users and starts, by start, and then those that are held.
func startsOf(w *condorsim.Workload, r *condorsim.Result) string {
	var list, held []string
	starts := map[backfill.Time][]string{}
	last := backfill.Time(0)
	for i, o := range r.Outcomes {
		name := w.Jobs[i].User + w.Jobs[i].Name
		if o.Held != "" {
			held = append(held, name+": "+o.Held)
			continue
		}
		starts[o.Start] = append(starts[o.Start], fmt.Sprintf("%s@%d", name, o.Start))
		last = max(last, o.Start)
	}
	for at := range last + 1 {
		list = append(list, starts[at]...)
	}
	return strings.Join(append(list, held...), " ")
}

// TestGroupsUnderAnyOrder: quotas hold under orders that know no shares, also where nobody asked for accounts.
func TestGroupsUnderAnyOrder(t *testing.T) {
	const pool = "classes: [{name: node, cpus: 10}]\ngroups: [{name: lab, quota: 2, users: [ann]}]\n"
	w := groupedJobs(t, pool, "ann - 0 100 1", "ann - 0 100 1", "ann - 0 100 1", "bob - 0 100 1")
	w, err := condorsim.OnPool(&workload.Trace{}, &pools.Description{Schema: w.Schema, Slots: w.Slots})
	require.NoError(t, err)
	require.False(t, w.Grouped())
	description, err := pools.Read(strings.NewReader(pool), "pool.yaml")
	require.NoError(t, err)
	trace := &workload.Trace{Machine: workload.Machine{Processors: 10}}
	for i := range 3 {
		trace.Jobs = append(trace.Jobs, workload.Job{ID: int64(i), User: "ann", Run: 100, Estimate: 100, Procs: 1})
	}
	w, err = condorsim.OnPool(trace, description)
	require.NoError(t, err)
	c := link(t, "easy", nil)
	r, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	require.Equal(t, []backfill.Time{0, 0, 100}, starts(r))
	use := r.Limits()
	require.Len(t, use, 1)
	require.Equal(t, "quota of group lab", use[0].Name)
	require.InDelta(t, 2, use[0].Most, 0)
	require.Equal(t, 1, use[0].Waited)
	_, err = condorsim.RunFair(t.Context(), w, c, condorsim.Fair{Strict: true})
	require.ErrorIs(t, err, condorsim.ErrFairGroups)
}

// reasons notes why jobs wait after each cycle.
type reasons map[string]string

// Cycle notes the reasons.
func (r reasons) Cycle(report *negotiator.Report) error {
	for _, j := range report.State.FirstWaiting(report.State.Waiting()) {
		reason, _ := report.State.Reason(j.ID)
		nobody := func(*backfill.Job) string { return "" }
		r[fmt.Sprintf("%d@%d", j.ID, report.Delta.Now)] = report.State.Describe(reason, nobody)
	}
	return nil
}

// TestReasonsOfGroups: a job that waits for its group's quota says so.
func TestReasonsOfGroups(t *testing.T) {
	w := groupedJobs(t, "classes: [{name: node, cpus: 10}]\ngroups: [{name: lab, quota: 20%, users: [ann]}]\n",
		"ann - 0 100 1", "ann - 0 100 1", "ann - 0 100 1")
	c, told := link(t, "easy", nil), reasons{}
	c.Order = w.FairShare()
	_, err := condorsim.Run(t.Context(), w, c, nil, told)
	require.NoError(t, err)
	require.Contains(t, told["2@0"], "limit quota of group lab: 2 of 2 in use")
}

// TestSharesOfASmallerPool: a share is of the slots that are there: of 8 cpus, and of 4 while node2 is lost. What
// runs stays.
func TestSharesOfASmallerPool(t *testing.T) {
	var jobs []string
	for range 8 {
		jobs = append(jobs, "ann - 0 60 1")
	}
	w := groupedJobs(t, "classes: [{name: node, count: 2, cpus: 4}]\ngroups: [{name: lab, quota: 50%, users: [ann]}]\n"+
		"failures: [{slots: [node2], at: 30, for: 50}]\n", jobs...)
	c := link(t, "easy", nil)
	c.Order = w.FairShare()
	r, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	require.Equal(t, []backfill.Time{0, 0, 0, 0, 60, 60, 80, 80}, starts(r))
}

// TestQuotasAreAudited: a pool that tells of more than the quotas is found out.
func TestQuotasAreAudited(t *testing.T) {
	w := groupedJobs(t, "classes: [{name: node, cpus: 10}]\ngroups: [{name: lab, quota: 2, users: [ann]}]\n",
		"ann - 0 100 1", "ann - 0 100 1", "ann - 0 100 1")
	pool := &wrongPool{condorsim.NewPool(w, nil), func(d *negotiator.Delta) {
		for i := range d.Limits {
			d.Limits[i].Height *= 2
		}
	}}
	_, err := condorsim.RunOn(t.Context(), w, link(t, "easy", nil), pool)
	require.ErrorContains(t, err, "job 3: started, and group lab has 3 cpus now, of which its quota is 2")
}

// TestGroupsAreAudited runs any groups, jobs and failures under any policy: the audit, which keeps its own books
// of what groups use, finds nothing, every job runs or is held, and the same input gives the same starts.
func TestGroupsAreAudited(t *testing.T) {
	users := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(rt, name) }
		static := rapid.Bool().Draw(rt, "static")
		var pool strings.Builder
		_, _ = fmt.Fprintf(&pool, "classes:\n  - {name: x, count: 2, cpus: 4%s}\n  - {name: y, count: 1, cpus: 3}\n"+
			"pack: {chunk_cpus: 4}\n", map[bool]string{true: ", type: static"}[static])
		if rapid.Bool().Draw(rt, "fails") {
			pool.WriteString("failures:\n  - {slots: [x1], at: 100, for: 50}\n  - {slots: [y1], at: 130, for: 400}\n")
		}
		if rapid.Bool().Draw(rt, "preempts") {
			pool.WriteString("preemption: {requirements: RemoteUserPrio > 1.1 * TARGET.SubmitterUserPrio, vacate: 5}\n")
		}
		pool.WriteString("groups:\n")
		groups := []string{"g", "h", "g.i", "h.j"}
		for i, name := range groups[:draw("groups", 2, 4)] {
			quota := strconv.Itoa(draw("quota", 0, 8))
			if rapid.Bool().Draw(rt, "share") {
				quota = fmt.Sprint(draw("percent", 0, 100), "%")
			}
			_, _ = fmt.Fprintf(&pool, "  - {name: %s, quota: %s, surplus: %v, autoregroup: %v, users: [%s]}\n", name, quota,
				rapid.Bool().Draw(rt, "surplus"), draw("regroups", 0, 4) == 0, users[i])
		}
		if rapid.Bool().Draw(rt, "ceiling") {
			_, _ = fmt.Fprintf(&pool, "ceilings: {z: %d}\n", draw("ceiling", 0, 4))
		}
		var jobs []string
		for range draw("jobs", 1, 30) {
			jobs = append(jobs, fmt.Sprint(rapid.SampledFrom([]string{"a", "b", "c", "d", "z"}).Draw(rt, "user"), " - ",
				draw("submit", 0, 300), " ", draw("run", 1, 200), " ", draw("cpus", 1, 4)))
		}
		slices.SortStableFunc(jobs, func(x, y string) int {
			var a, b int
			var skip string
			_, _ = fmt.Sscan(x, &skip, &skip, &a)
			_, _ = fmt.Sscan(y, &skip, &skip, &b)
			return a - b
		})
		policy := rapid.SampledFrom([]string{"fcfs", "easy", "slack", "conservative"}).Draw(rt, "policy")
		reorder := rapid.Bool().Draw(rt, "reorder")
		run := func() string {
			w := groupedJobs(rt, pool.String(), jobs...)
			c := link(t, policy, nil)
			c.Order, c.Planning.Reorder = w.FairShare(), reorder
			r, err := condorsim.Run(t.Context(), w, c, nil)
			require.NoError(rt, err)
			for i, o := range r.Outcomes {
				require.True(rt, o.Ended || o.Held != "", "job %d", i)
			}
			return fmt.Sprint(starts(r))
		}
		first := run()
		require.Equal(rt, first, run())
	})
}
