package compare_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page/pagetest"
)

// job is a job that waits and then runs to its end.
func job(name string, submit, wait, run, cpus int64, user string) schedules.Row {
	return schedules.Row{
		Job: name, Submit: submit, Start: submit + wait, End: submit + wait + run, Started: true, Ended: true, Run: run,
		Cpus: cpus, User: user,
	}
}

func of(name string, rows ...schedules.Row) *schedules.Schedule {
	return &schedules.Schedule{Name: name, Rows: rows}
}

func compared(t *testing.T, a, b *schedules.Schedule) *compare.Comparison {
	t.Helper()
	c, err := compare.Jobs(a, b, compare.Options{Cpus: 8})
	require.NoError(t, err)
	return c
}

func measure(c *compare.Comparison, name string) compare.Measure {
	return c.Measures[slices.IndexFunc(c.Measures, func(m compare.Measure) bool { return m.Name == name })]
}

// On 8 cpus B lets the third job pass the second one.
func TestASmallComparison(t *testing.T) {
	held := schedules.Row{Job: "held", Submit: 3, Run: 5, Cpus: 99, User: "z"}
	a := of("a", job("1", 0, 0, 60, 4, "x"), job("2", 5, 55, 40, 8, "y"), job("3", 6, 94, 30, 4, "x"), held, job("4", 7, 200, 9, 1, ""),
		job("gone", 9, 0, 1, 1, "x"), job("moved", 9, 0, 1, 1, "x"))
	b := of("b", job("1", 0, 0, 60, 4, "x"), job("3", 6, 0, 30, 4, "x"), job("2", 5, 58, 40, 8, "y"), held, job("4", 7, 200, 10, 1, ""),
		job("moved", 8, 0, 1, 1, "x"), job("new", 9, 0, 1, 1, "x"))
	c := compared(t, a, b)
	require.Equal(t, compare.Side{Name: "a", Jobs: 7, Ran: 6}, c.A)
	require.Equal(t, 4, c.Compared)
	some := func(names ...string) compare.Some { return compare.Some{Jobs: len(names), Names: names} }
	require.Equal(t, compare.Unmatched{
		OnlyA: some("gone"), OnlyB: some("new"), OtherSubmit: some("moved"), RanInNeither: some("held"), OtherRun: some("4"),
	}, c.Unmatched)
	require.Equal(t, []int{1, 1, 2}, []int{c.Shorter, c.Longer, c.Same})

	wait := measure(c, "mean_wait")
	require.Equal(t, []float64{349.0 / 4, 258.0 / 4, -91.0 / 4}, []float64{wait.A, wait.B, wait.Difference})
	require.Nil(t, wait.HalfWidth, "all of them came in one week")
	require.InDelta(t, 200, measure(c, "longest_wait").A, 0)
	require.InDelta(t, (240+320+120+9.0)/216/8, measure(c, "utilisation").A, 1e-12)
	require.InDelta(t, (240+320+120+9.0)/216, measure(c, "mean_cpus_in_use").A, 1e-12)

	require.Equal(t, 2, c.Users.Of, "an unknown user is none")
	require.Equal(t, compare.Group{
		Name: "x", Jobs: 2, CPUSeconds: 360, A: 47, SlowdownA: (1 + 124.0/30) / 2, SlowdownB: 1, Difference: -47, Total: -94,
	}, c.Users.Rows[0])
	require.Equal(t, "2-4", c.Widths.Rows[0].Name)
	require.Equal(t, "00:00", c.Hours.Rows[0].Name)
	require.Equal(t, []compare.Job{{Name: "3", User: "x", Cpus: 4, Run: 30, Submit: 6, A: 94, Difference: -94}}, c.Gained)
	require.Equal(t, []compare.Job{{Name: "2", User: "y", Cpus: 8, Run: 40, Submit: 5, A: 55, B: 58, Difference: 3}}, c.Lost)

	require.Equal(t, int64(6), c.First.At)
	require.Equal(t, "3", c.First.Job.Name)
	require.Equal(t, compare.State{Running: 1, Cpus: 4, Waiting: 3}, c.First.A)
	require.Equal(t, c.First.A, c.First.B)
	names := func(list []compare.Present) (all []string) {
		for _, p := range list {
			all = append(all, p.Name)
		}
		return all
	}
	require.Equal(t, []string{"1"}, names(c.First.Running))
	require.Equal(t, []string{"3", "held", "2"}, names(c.First.Waiting), "first who starts now, then as they came")
	require.Nil(t, c.First.Waiting[1].StartA)
}

func TestNothingToCompare(t *testing.T) {
	a, b := of("a", job("1", 0, 0, 1, 1, "")), of("b", job("2", 0, 0, 1, 1, ""))
	_, err := compare.Jobs(a, b, compare.Options{})
	require.EqualError(t, err, "a and b have no job in common: give tables of the same workload")
	b = of("b", job("1", 5, 2, 1, 1, ""))
	_, err = compare.Jobs(a, b, compare.Options{})
	require.EqualError(t, err, "a and b have no job in common: 1 job (1) were submitted at different times; give tables of the "+
		"same workload, or --any-submit to go by names alone")
	c, err := compare.Jobs(a, b, compare.Options{AnySubmit: true})
	require.NoError(t, err)
	require.InDelta(t, 2, measure(c, "mean_wait").Difference, 0)
	waiting := of("w", schedules.Row{Job: "1", Cpus: 1})
	_, err = compare.Jobs(a, waiting, compare.Options{})
	require.ErrorContains(t, err, "no job of a and w ran to its end in both")
}

// Jobs of the same name are told apart by when they were submitted, and then by their places.
func TestNamesThatAreThereTwice(t *testing.T) {
	a := of("a", job("1", 0, 1, 9, 1, ""), job("1", 5, 2, 9, 1, ""), job("1", 5, 3, 9, 1, ""))
	b := of("b", job("1", 5, 20, 9, 1, ""), job("1", 5, 30, 9, 1, ""), job("1", 0, 10, 9, 1, ""), job("1", 5, 7, 9, 1, ""))
	c := compared(t, a, b)
	require.Equal(t, 3, c.Compared)
	require.Equal(t, 1, c.Unmatched.OnlyB.Jobs)
	require.Equal(t, []int64{27, 18, 9}, []int64{c.Lost[0].Difference, c.Lost[1].Difference, c.Lost[2].Difference})
}

// One name for all jobs is no reason to compare each with each.
func TestOneNameForAllJobs(t *testing.T) {
	var rows, later []schedules.Row
	for i := range int64(200_000) {
		rows, later = append(rows, job("1", i, 0, 1, 1, "")), append(later, job("1", i+1_000_000, 0, 1, 1, ""))
	}
	require.Equal(t, 200_000, compared(t, of("a", rows...), of("b", rows...)).Compared)
	_, err := compare.Jobs(of("a", rows...), of("b", later...), compare.Options{})
	require.ErrorContains(t, err, "200,000 jobs (1, 1, 1, 1, 1, …) were submitted at different times")
}

// drawn makes up what became of jobs, some of which did not run, twice.
func drawn(t *rapid.T) (a, b *schedules.Schedule) {
	a, b = of("a"), of("b")
	n, submit := rapid.IntRange(1, 60).Draw(t, "jobs"), int64(0)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	for i := range n {
		submit += random.Int64N(3 * 24 * 3600)
		name, user := strconv.Itoa(i%50), fmt.Sprint("u", random.IntN(4))
		for _, s := range []*schedules.Schedule{a, b} {
			row := job(name, submit, random.Int64N(4)*random.Int64N(9000), 1+random.Int64N(5000), 1+random.Int64N(9), user)
			switch random.IntN(12) {
			case 0:
				row.Started, row.Ended, row.Start, row.End = false, false, 0, 0
			case 1:
				continue
			case 2:
				row.Run += 500 // of which an earlier run saved some
			}
			s.Rows = append(s.Rows, row)
		}
	}
	return a, b
}

// Whatever the jobs are, a schedule does not differ from itself.
func TestAScheduleEqualsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := drawn(t)
		c, err := compare.Jobs(a, a, compare.Options{Cpus: 64})
		if err != nil { // whatever was drawn, the only reason is that there is nothing
			require.Regexp(t, "there is nothing to compare|have no job in common", err.Error())
			t.Skip("no job ran to its end in both")
		}
		require.Nil(t, c.First)
		require.Empty(t, c.Gained)
		require.Empty(t, c.Lost)
		require.Equal(t, c.Compared, c.Same)
		for _, m := range c.Measures {
			require.Zero(t, m.Difference, m.Name)
			if m.HalfWidth != nil {
				require.Zero(t, *m.HalfWidth)
			}
		}
		for _, groups := range []compare.Groups{c.Users, c.Widths, c.Hours} {
			for _, g := range groups.Rows {
				require.Zero(t, g.Difference)
				require.Zero(t, g.Total)
			}
		}
		require.Zero(t, c.Shapes.Cumulated[len(c.Shapes.Cumulated)-1].Y)
		for _, d := range c.Shapes.Dots {
			require.Equal(t, d.X, d.Y)
		}
	})
}

// A and B exchanged give the same with the other sign.
func TestComparisonsAreAntisymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t)
		c, err := compare.Jobs(a, b, compare.Options{Cpus: 64})
		if err != nil { // whatever was drawn, the only reason is that there is nothing
			require.Regexp(t, "there is nothing to compare|have no job in common", err.Error())
			t.Skip("no job ran to its end in both")
		}
		d, err := compare.Jobs(b, a, compare.Options{Cpus: 64})
		require.NoError(t, err)
		for i, m := range c.Measures {
			n := d.Measures[i]
			require.Equal(t, []float64{m.A, m.B, m.Difference}, []float64{n.B, n.A, -n.Difference}, m.Name)
			require.Equal(t, m.HalfWidth, n.HalfWidth, m.Name)
			require.Equal(t, m.Sure(), n.Sure())
		}
		require.Equal(t, []int{c.Shorter, c.Longer, c.Same, c.Compared}, []int{d.Longer, d.Shorter, d.Same, d.Compared})
		for i, one := range c.Gained {
			two := d.Lost[i]
			require.Equal(t, []any{one.Name, one.Submit, one.A, one.B, -one.Difference},
				[]any{two.Name, two.Submit, two.B, two.A, two.Difference})
		}
		for i, one := range c.Users.Rows {
			two := d.Users.Rows[i]
			require.Equal(t, one.Name, two.Name)
			require.Equal(t, []float64{one.Total, one.A, one.B}, []float64{-two.Total, two.B, two.A})
			require.Equal(t, one.HalfWidth, two.HalfWidth)
		}
		require.Equal(t, c.First == nil, d.First == nil)
		if c.First != nil {
			require.Equal(t, []any{c.First.At, c.First.Job.Name, c.First.A, c.First.B},
				[]any{d.First.At, d.First.Job.Name, d.First.B, d.First.A})
		}
	})
}

// Percentiles without each batch are those of the jobs that are left.
func TestIntervalsOfPercentiles(t *testing.T) {
	const week = 7 * 24 * 3600
	random := rand.New(rand.NewPCG(1, 1))
	var a, b []schedules.Row
	for i := range int64(6 * 60) {
		submit := i / 60 * week
		a = append(a, job(strconv.FormatInt(i, 10), submit, random.Int64N(1000), 60, 1, ""))
		b = append(b, job(strconv.FormatInt(i, 10), submit, random.Int64N(1500), 60, 1, ""))
	}
	c := compared(t, of("a", a...), of("b", b...))
	median := measure(c, "median_wait")
	require.Equal(t, 6, median.Pairs)
	var without []float64
	for left := range 6 {
		rest := func(rows []schedules.Row) float64 {
			var waits []float64
			for i, row := range rows {
				if i/60 != left {
					waits = append(waits, float64(row.Start-row.Submit))
				}
			}
			slices.Sort(waits)
			return metrics.Percentile(waits, 50)
		}
		without = append(without, rest(b)-rest(a))
	}
	require.InDelta(t, leftOut(t, without), *median.HalfWidth, 1e-9)
	require.NotNil(t, measure(c, "p90_wait").HalfWidth, "6 of each week are above")
	require.Nil(t, measure(c, "p99_wait").HalfWidth, "hardly any is above")
	require.Nil(t, measure(c, "longest_wait").HalfWidth)
	require.NotNil(t, measure(c, "mean_bounded_slowdown").HalfWidth)
}

// Measures are those that the simulation itself prints.
func TestMeasuresAreThoseOfTheRun(t *testing.T) {
	trace := pagetest.Trace("made-up", 400, 16, 1)
	var sides []*schedules.Schedule
	var want []metrics.Metrics
	for _, policy := range []string{"fcfs", "easy"} {
		r, err := pagetest.Simulate(trace, policy)
		require.NoError(t, err)
		s := of(policy)
		for i, o := range r.Outcomes {
			j := r.Workload.Jobs[i]
			s.Rows = append(s.Rows, schedules.Row{
				Job: j.Name, Submit: int64(j.Submit), Start: int64(o.Start), End: int64(o.End), Started: o.Started, Ended: o.Ended,
				Run: int64(j.Run), Estimate: int64(o.Estimate), Cpus: j.Cpus, User: j.User,
			})
		}
		sides, want = append(sides, s), append(want, r.Metrics())
	}
	c, err := compare.Jobs(sides[0], sides[1], compare.Options{Cpus: 16})
	require.NoError(t, err)
	for name, v := range want[0].All() {
		for _, m := range c.Measures {
			if m.Name == name {
				require.InDelta(t, v, m.A, 0, name)
			}
		}
	}
	require.InDelta(t, want[1].MeanWait, measure(c, "mean_wait").B, 0)
	require.Negative(t, measure(c, "mean_wait").Difference)
	jobs := 0
	for _, d := range c.Shapes.Dots {
		jobs += d.Jobs
	}
	require.Equal(t, 400, jobs)
	require.InDelta(t, measure(c, "mean_wait").Difference, c.Shapes.Cumulated[len(c.Shapes.Cumulated)-1].Y/400, 1e-6)
}
