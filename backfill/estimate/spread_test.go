package estimate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// parts are numbers for the spread that are evenly apart.
func parts(n uint64) (numbers []uint64) {
	for i := range n {
		numbers = append(numbers, i*(math.MaxUint64/n)+math.MaxUint64/n/2)
	}
	return numbers
}

// drawnOf returns how often each run time is drawn.
func drawnOf(s *estimate.Spread, n uint64, requested, so backfill.Time) map[backfill.Time]int {
	drawn := map[backfill.Time]int{}
	for _, number := range parts(n) {
		drawn[s.Draw(number, requested, so)]++
	}
	return drawn
}

// TestSpread draws run times for jobs of which more or less is known.
func TestSpread(t *testing.T) {
	set, err := estimate.New(estimate.Settings{}, nil, false, false, nil)
	require.NoError(t, err)
	require.True(t, set.Requested())
	job := func(user string, requested backfill.Time) estimate.Job {
		return estimate.Job{Requested: requested, Labels: map[string]string{"owner": user}}
	}
	draw := func(user string, requested, so backfill.Time) map[backfill.Time]int {
		j := job(user, requested)
		return drawnOf(set.Records().Spread(&j), 100, requested, so)
	}
	none := job("ann", 100)
	empty := set.Records()
	require.True(t, empty.Spread(&none).Empty())
	for _, ran := range []backfill.Time{10, 20} {
		set.Learn(estimate.Ended{Job: job("ann", 100), Ran: ran})
	}
	require.True(t, empty.Spread(&none).Empty(), "records never change")
	require.Equal(t, map[backfill.Time]int{10: 50, 20: 50}, draw("ann", 100, 0))
	require.Equal(t, map[backfill.Time]int{5: 50, 10: 50}, draw("bob", 50, 0), "of all jobs")
	require.Equal(t, map[backfill.Time]int{20: 100}, draw("ann", 100, 10), "it has run for 10 s")
	require.Equal(t, map[backfill.Time]int{100: 100}, draw("ann", 100, 20), "none has run for longer")
	require.Equal(t, map[backfill.Time]int{1: 100}, draw("ann", 1, 0), "no job runs for 0 s")
	set.Learn(estimate.Ended{Job: job("bob", 100), Ran: 70})
	require.Greater(t, draw("bob", 50, 0)[35], 33, "the user's own jobs count most")
	require.Less(t, draw("ann", 100, 0)[70], draw("bob", 50, 0)[35])
	set.Learn(estimate.Ended{Job: job("bob", 50), Ran: 50})
	require.Greater(t, draw("bob", 50, 0)[50], draw("bob", 60, 0)[60], "and those that request the same even more")
	for _, ran := range []backfill.Time{32, 33} {
		set.Learn(estimate.Ended{Job: job("eve", 30), Ran: ran})
	}
	require.Greater(t, draw("eve", 30, 0)[32], 15, "they run longer than they request")
	require.Equal(t, map[backfill.Time]int{33: 100}, draw("eve", 30, 32))
	require.Greater(t, draw("eve", 600, 0)[603], 5, "by as much, whatever they request")
}

// TestSpreadOfLikeJobs: of a user's jobs that request the same, those with as many cpus count most,
// and of these those with the same executable. Without cpus all of them are alike.
func TestSpreadOfLikeJobs(t *testing.T) {
	set, err := estimate.New(estimate.Settings{}, nil, false, false, nil)
	require.NoError(t, err)
	job := func(program string, cpus int64) estimate.Job {
		labels := map[string]string{"owner": "ann"}
		if program != "" {
			labels["executable"] = program
		}
		return estimate.Job{Requested: 1000, Cpus: cpus, Labels: labels}
	}
	draw := func(program string, cpus int64) map[backfill.Time]int {
		j := job(program, cpus)
		return drawnOf(set.Records().Spread(&j), 1000, 1000, 0)
	}
	for i := range backfill.Time(8) {
		set.Learn(estimate.Ended{Job: job("sort", 4), Ran: 100, At: i})
		set.Learn(estimate.Ended{Job: job("merge", 4), Ran: 200, At: i})
		set.Learn(estimate.Ended{Job: job("sort", 8), Ran: 300, At: i})
	}
	all := draw("", 0)
	require.InDelta(t, all[100], all[200], 3)
	require.InDelta(t, all[100], all[300], 25, "the last 16 that request the same have one more of some")
	require.Equal(t, all, draw("sort", 0), "which cpus is not known")
	shape := draw("", 4)
	require.Greater(t, shape[100], 400, "half of the last eight, which take half, and a third of the rest")
	require.InDelta(t, shape[100], shape[200], 3)
	program := draw("sort", 4)
	require.Greater(t, program[100], 650, "eight take half, four a quarter")
	require.Greater(t, program[200], program[300])
	require.Greater(t, draw("sort", 8)[300], 800, "both take three quarters")
	require.Equal(t, shape, draw("new", 4), "of a program that is not known")
}

// TestDraws: a run time that is drawn exceeds the request by no more than a past run did, is longer
// than the job has run, and the longer the larger the number. What is known follows from the history.
func TestDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := func(name string) estimate.Job {
			j := estimate.Job{
				Requested:   backfill.Time(rapid.SampledFrom([]int{1, 7, 60, 3600}).Draw(t, name)),
				Unestimated: rapid.Bool().Draw(t, "unestimated"), Labels: map[string]string{},
			}
			for _, label := range []string{"owner", "project", "executable"} {
				if value := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, label); value != "" {
					j.Labels[label] = value
				}
			}
			j.Cpus = rapid.Int64Range(0, 2).Draw(t, "cpus")
			return j
		}
		bound := rapid.IntRange(1, 200).Draw(t, "bound")
		set, err := estimate.New(estimate.Settings{}, estimate.NewHistory(bound), false, false, nil)
		require.NoError(t, err)
		over := backfill.Time(0)
		for range rapid.IntRange(0, 150).Draw(t, "ended") {
			e := estimate.Ended{Job: job("past"), Ran: backfill.Time(rapid.IntRange(0, 4000).Draw(t, "ran"))}
			over = max(over, e.Ran-e.Requested)
			set.Learn(e)
		}
		h := estimate.NewHistory(bound)
		for e := range set.History().All() {
			h.Add(e)
		}
		second, err := estimate.New(estimate.Settings{All: "combined"}, h, false, false, nil)
		require.NoError(t, err)
		j := job("job")
		spread, same := set.Records().Spread(&j), second.Records().Spread(&j)
		so := backfill.Time(rapid.IntRange(0, 4000).Draw(t, "so"))
		last := backfill.Time(1)
		for _, number := range parts(20) {
			run := spread.Draw(number, j.Requested, so)
			require.Equal(t, run, same.Draw(number, j.Requested, so))
			require.LessOrEqual(t, run, j.Requested+over)
			require.GreaterOrEqual(t, run, last)
			if so < j.Requested {
				require.Greater(t, run, so)
			}
			last = run
		}
	})
}
