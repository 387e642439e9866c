package condorsim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// ofUsers makes a workload on a machine with so many cpus, whose jobs are given as "USER SUBMIT RUN CPUS".
func ofUsers(t *testing.T, cpus int64, p condorsim.Priorities, jobs ...string) *condorsim.Workload {
	t.Helper()
	trace := &workload.Trace{Name: "users", Machine: workload.Machine{Processors: cpus}}
	for i, text := range jobs {
		j := workload.Job{ID: int64(i + 1)}
		_, err := fmt.Sscan(text, &j.User, &j.Submit, &j.Run, &j.Procs)
		require.NoError(t, err)
		j.User, j.Estimate = strings.TrimPrefix(j.User, "?"), j.Run
		trace.Jobs = append(trace.Jobs, j)
	}
	w, err := condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	w, err = w.WithPriorities(p)
	require.NoError(t, err)
	return w
}

// fairly runs a workload in the order of fair share, and lists its jobs with their starts, by start.
func fairly(t *testing.T, w *condorsim.Workload) (*condorsim.Result, []string) {
	t.Helper()
	c := link(t, "fcfs", nil)
	c.Order = w.FairShare()
	r, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	order := make([]int, len(w.Jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return int(r.Outcomes[x].Start - r.Outcomes[y].Start) })
	var list []string
	for _, i := range order {
		list = append(list, fmt.Sprintf("%s%s@%d", w.Jobs[i].User, w.Jobs[i].Name, r.Outcomes[i].Start))
	}
	return r, list
}

// TestFairShare has small schedules whose keys are worked out by hand: (cpus in use + cpus of the user's
// jobs up to this one) × real priority × factor. The real priority is 0.5 at first, and after s seconds
// with u cpus in use 0.5·β + u·(1 − β), where β = 0.5^(s / half-life).
func TestFairShare(t *testing.T) {
	factors := func(name string, f float64) condorsim.Priorities {
		return condorsim.Priorities{Factors: map[string]float64{name: f}}
	}
	for name, x := range map[string]struct {
		cpus int64
		p    condorsim.Priorities
		jobs []string
		want string
	}{
		// a has used a cpu for 100 s: 0.5004 after a day's half-life, above 0.5.
		"who used less comes first": {
			1,
			condorsim.Priorities{},
			[]string{"a 0 100 1", "a 10 5 1", "b 20 5 1"},
			"a1@0 b3@100 a2@105",
		},
		// 0.5 × 3000 is more than 0.5004 × 1000.
		"a factor makes up for it": {
			1, factors("b", 3000),
			[]string{"a 0 100 1", "a 10 5 1", "b 20 5 1"},
			"a1@0 a2@100 b3@105",
		},
		// At 100 a is at 0.5·0.5 + 1·0.5 = 0.75, at 150 at 0.75 / √2 = 0.53, above b's 0.5.
		"half a half-life later a is still behind": {
			1,
			condorsim.Priorities{HalfLife: 100},
			[]string{"a 0 100 1", "c 1 50 1", "a 110 5 1", "b 120 5 1"},
			"a1@0 c2@100 b4@150 a3@155",
		},
		// At 200 a would be at 0.375, and nobody is below 0.5: the earlier job is first.
		"a half-life later it is forgotten": {
			1,
			condorsim.Priorities{HalfLife: 100},
			[]string{"a 0 100 1", "c 1 100 1", "a 110 5 1", "b 120 5 1"},
			"a1@0 c2@100 a3@200 b4@205",
		},
		// At 190 a is at 0.4 by a half-life of 100 s; by that of a day it has not quite come down to 0.5.
		"soon it is forgotten": {
			1,
			condorsim.Priorities{HalfLife: 100},
			[]string{"a 0 100 1", "c 1 90 1", "a 110 5 1", "b 120 5 1"},
			"a1@0 c2@100 a3@190 b4@195",
		},
		"so it is not by the usual half-life": {
			1,
			condorsim.Priorities{},
			[]string{"a 0 100 1", "c 1 90 1", "a 110 5 1", "b 120 5 1"},
			"a1@0 c2@100 b4@190 a3@195",
		},
		// a at 500, 1000, 1500, 2000 × cpus; b at 1000, 2000: two for one, and the earlier of equals.
		"twice the factor is half the share": {
			3, factors("b", 2000),
			[]string{"a 0 100 1", "a 0 100 1", "a 0 100 1", "a 0 100 1", "b 0 100 1", "b 0 100 1"},
			"a1@0 a2@0 b5@0 a3@100 a4@100 b6@100",
		},
		// At 10 nobody's priority has risen much, but a has two cpus: 3 × 0.5001 against 1 × 0.5.
		"what runs counts at once": {
			3,
			condorsim.Priorities{},
			[]string{"a 0 1000 2", "c 0 10 1", "a 1 5 1", "b 2 5 1"},
			"a1@0 c2@0 b4@10 a3@15",
		},
		// The jobs of no user count as one user's: the second of them comes after b's.
		"nobody's jobs share": {
			1,
			condorsim.Priorities{},
			[]string{"c 0 10 1", "? 1 5 1", "? 2 5 1", "b 3 5 1"},
			"c1@0 2@10 b4@15 3@20",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := ofUsers(t, x.cpus, x.p, x.jobs...)
			_, got := fairly(t, w)
			require.Equal(t, x.want, strings.Join(got, " "))
			_, again := fairly(t, w)
			require.Equal(t, got, again, "a run begins with accounts in which nobody has used anything")
		})
	}
}

// TestFairShareIsRepeatable: the same input gives the same schedule, also where slots fail and jobs run
// again, and with chunks on several slots; every job ends.
func TestFairShareIsRepeatable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var jobs []string
		for i := range rapid.IntRange(1, 25).Draw(rt, "jobs") {
			jobs = append(jobs, fmt.Sprint(rapid.SampledFrom([]string{"a", "b", "c", "?"}).Draw(rt, "user"), " ",
				20*i+rapid.IntRange(0, 19).Draw(rt, "submit"), " ", rapid.IntRange(1, 400).Draw(rt, "run"), " ",
				rapid.IntRange(1, 4).Draw(rt, "cpus")))
		}
		p := condorsim.Priorities{HalfLife: backfill.Time(rapid.IntRange(1, 5000).Draw(rt, "half-life"))}
		fails := rapid.Bool().Draw(rt, "fails")
		policy := rapid.SampledFrom([]string{"fcfs", "easy", "slack", "ibb"}).Draw(rt, "policy")
		run := func() string {
			w := ofUsers(t, 4, p, jobs...)
			if fails {
				w.Outages = []pools.Outage{{Slots: []int{0}, At: 100, For: 50}, {Slots: []int{0}, At: 300, For: 10}}
			}
			c := link(t, policy, nil)
			c.Order = w.FairShare()
			r, err := condorsim.Run(t.Context(), w, c, nil)
			require.NoError(t, err)
			for i, o := range r.Outcomes {
				require.True(t, o.Ended || o.Held != "", "job %d", i)
			}
			return fmt.Sprint(starts(r))
		}
		first := run()
		require.Equal(t, first, run())
	})
}

// TestFairShareElsewhere: start times are told under fair share; fair start times are not found.
func TestFairShareElsewhere(t *testing.T) {
	w := ofUsers(t, 1, condorsim.Priorities{}, "a 0 100 1", "a 10 5 1", "b 20 5 1", "a 30 9 1")
	c := link(t, "easy", nil)
	c.Order = w.FairShare()
	_, err := condorsim.RunFair(t.Context(), w, c, condorsim.Fair{Strict: true})
	require.ErrorIs(t, err, condorsim.ErrFairOrder)
	r, err := condorsim.RunEta(t.Context(), w, c, condorsim.Eta{Workers: 2})
	require.NoError(t, err)
	require.Equal(t, []backfill.Time{0, 105, 100, 110}, starts(r))
	require.NotEmpty(t, r.Eta.Arrival)
	bare, err := condorsim.FromTrace(&workload.Trace{Machine: workload.Machine{Processors: 1}}, nil)
	require.NoError(t, err)
	_, err = bare.OrderNamed(negotiator.FairShare)
	require.ErrorContains(t, err, "nobody keeps")
	require.NoError(t, condorsim.CheckOrder(negotiator.FairShare))
	require.ErrorContains(t, condorsim.CheckOrder("fairshar"), "xfactor, fairshare or expr:EXPRESSION")
}

// TestPrioritiesAreChecked: what is impossible, or of nobody, is refused.
func TestPrioritiesAreChecked(t *testing.T) {
	w := ofUsers(t, 1, condorsim.Priorities{}, "alice 0 100 1", "bob 0 100 1", "? 0 1 1")
	w.Jobs[0].Labels = map[string]string{"account": "physics.alice"}
	var warned []string
	w.WarnOfUsers(func(text string, about ...any) { warned = append(warned, fmt.Sprint(text, about)) }, "trace", "x")
	require.Equal(t, []string{
		condorsim.NobodysText + "[trace x count 1 of 3]", condorsim.GroupsText + "[trace x count 1 of 3]",
	}, warned)
	w.Groups = pools.Groups{
		{Group: accountant.Group{Name: "Physics"}}, {Group: accountant.Group{Name: "lab"}, Users: []string{"al*"}},
	}
	warned = nil
	w.WarnOfUsers(func(text string, about ...any) { warned = append(warned, fmt.Sprint(text, about)) })
	require.Equal(t, []string{condorsim.NobodysText + "[count 1 of 3]"}, warned)
	warned = nil
	w.Warn(func(text string, about ...any) { warned = append(warned, fmt.Sprint(text, about)) })
	require.Equal(t, []string{condorsim.EmptyGroupsText + "[groups lab]"}, warned)
	w.Groups, w.Jobs[0].Labels = nil, nil
	for why, p := range map[string]condorsim.Priorities{
		"a half-life of -1 s":                                 {HalfLife: -1},
		"the priority factor 0.5 of bob: must be from 1":      {Factors: map[string]float64{"bob": 0.5}},
		"a priority factor is of a user: the name is missing": {Factors: map[string]float64{"": 5}},
		`"a b" is no name: it must not have blanks`:           {Factors: map[string]float64{"a b": 5}},
	} {
		_, err := w.WithPriorities(p)
		require.ErrorContains(t, err, why)
	}
	p := condorsim.Priorities{Factors: map[string]float64{"bobb": 5}}
	require.EqualError(t, p.CheckUsers(w),
		"the priority factor of bobb: no job of users is of that user, did you mean bob?; there are alice, bob")
}
