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

// TestDraws: a run time that is drawn exceeds the request by no more than a past run did, is longer
// than the job has run, and the longer the larger the number. What is known follows from the history.
func TestDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := func(name string) estimate.Job {
			j := estimate.Job{
				Requested:   backfill.Time(rapid.SampledFrom([]int{1, 7, 60, 3600}).Draw(t, name)),
				Unestimated: rapid.Bool().Draw(t, "unestimated"), Labels: map[string]string{},
			}
			for _, label := range []string{"owner", "project"} {
				if value := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, label); value != "" {
					j.Labels[label] = value
				}
			}
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
