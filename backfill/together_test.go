package backfill_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestReserveTogether: jobs that are moved together get what each gets that is moved by itself,
// whether or not they are alike and all fit; and a refused decision takes back the moves.
func TestReserveTogether(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(draw *rapid.T) {
		cores := rapid.Int64Range(1, 12).Draw(draw, "cores")
		lasts := rapid.SampledFrom([]backfill.Time{5, 40}).Draw(draw, "lasts")
		var jobs []*backfill.Job
		for id := range rapid.IntRange(1, 5).Draw(draw, "jobs") {
			j := job(backfill.JobID(id), 0, lasts, 2)
			if rapid.IntRange(0, 15).Draw(draw, "other") == 0 {
				j = job(backfill.JobID(id), 0, lasts+rapid.SampledFrom([]backfill.Time{0, 3}).Draw(draw, "longer"), 3)
			}
			if rapid.IntRange(0, 15).Draw(draw, "released later") == 0 {
				j.Release = 15
			}
			jobs = append(jobs, j)
		}
		moved := jobs
		if rapid.IntRange(0, 2).Draw(draw, "twice") == 0 {
			moved = append(slices.Clip(jobs), jobs[0])
		}
		start := backfill.Time(rapid.IntRange(0, 25).Draw(draw, "start"))
		play := func(move func(*backfill.Cycle)) (d backfill.Decision, first, last facts, err error) {
			s := newState(t, cpus(16))
			accept(t, s, backfill.Round{
				Events: submitted(append([]*backfill.Job{job(99, 0, 30, 16-cores)}, jobs...)...),
			}, func(c *backfill.Cycle) {
				c.Start(job(99, 0, 30, 16-cores), on(0, 1))
				for i, j := range jobs {
					c.Reserve(j, backfill.Time(30+i/8), on(0, 1))
				}
			})
			first = factsOf(s, 0)
			tx, err := s.Open(backfill.Round{Now: 0})
			require.NoError(t, err)
			move(tx.Cycle)
			d, err = tx.Close()
			return d, first, factsOf(s, 0), err
		}
		want, _, then, one := play(func(c *backfill.Cycle) {
			for _, j := range moved {
				c.Reserve(j, start, on(0, 1))
			}
		})
		got, first, last, all := play(func(c *backfill.Cycle) { c.Fast().ReserveTogether(moved, start, on(0, 1)) })
		require.Equal(t, want, got)
		require.Equal(t, then, last)
		if one == nil {
			accepted++
			require.NoError(t, all)
			return
		}
		refused++
		require.EqualError(t, all, one.Error())
		require.Equal(t, first, last)
	})
	require.Positive(t, accepted)
	require.Positive(t, refused)
}
