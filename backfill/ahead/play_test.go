package ahead_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// TestPlayedStartsCome plays a copy forward in each round, without those who will arrive later. The
// starts that it tells are those that come, as long as nobody else arrives; and with those who will
// arrive, they are those that come anyway.
func TestPlayedStartsCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPool(t), drawRules(t)
		other := r
		from := ahead.Start{State: empty(), End: p.end, First: p.begin(), Arrivals: p.jobs}
		play, err := r.Play(from)
		require.NoError(t, err)
		came := map[backfill.JobID]backfill.Time{}
		var told []map[backfill.JobID]ahead.Beginning
		again, err := r.Play(ahead.Start{})
		require.NoError(t, err)
		for {
			d, more, err := play.Next(t.Context())
			require.NoError(t, err)
			if !more {
				break
			}
			for _, s := range d.Started {
				came[s.Job.ID] = d.Now
			}
			arrived := 0
			for arrived < len(p.jobs) && p.jobs[arrived].Submit <= d.Now {
				arrived++
			}
			next := ahead.Start{State: play.State().Clone(), End: p.end, Arrivals: p.jobs[arrived:]}
			copied, err := other.Play(next)
			require.NoError(t, err)
			starts, err := copied.Starts(t.Context(), ahead.Bounds{})
			require.NoError(t, err)
			told = append(told, starts)
			again.Again(ahead.Start{State: play.State().Clone(), End: p.end, Arrivals: p.jobs[arrived:]})
			starts, err = again.Starts(t.Context(), ahead.Bounds{})
			require.NoError(t, err)
			require.Equal(t, told[len(told)-1], starts, "in a play again")
			if arrived == len(p.jobs) {
				next.State, next.End = play.State().Clone(), ahead.Taken(d.Now, p.run)
				copied, err = other.Play(next)
				require.NoError(t, err)
				starts, err = copied.Starts(t.Context(), ahead.Bounds{})
				require.NoError(t, err)
				told = append(told, starts)
			}
		}
		for _, starts := range told {
			for id, start := range starts {
				require.Equal(t, came[id], start.At, "job %d", id)
			}
		}
	})
}

// one is a pool of a slot with a cpu, on which jobs of these estimates arrive at once.
func one(estimates ...backfill.Time) pool {
	p := pool{slots: []backfill.Event{{
		Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: backfill.Vector{1}},
	}}}
	for id, estimate := range estimates {
		p.jobs = append(p.jobs, &backfill.Job{
			ID: backfill.JobID(id), Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1,
			Request: backfill.Vector{1}, Estimate: estimate,
		})
		p.runs = append(p.runs, estimate)
	}
	return p
}

// begun returns the state of the pool after its first round, in which all jobs arrive.
func begun(tb testing.TB, p pool, r ahead.Rules) *backfill.State {
	tb.Helper()
	first := p.begin()
	for _, j := range p.jobs {
		first.Events = append(first.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
	}
	play, err := r.Play(ahead.Start{State: empty(), End: p.end, First: first})
	require.NoError(tb, err)
	_, _, err = play.Next(tb.Context())
	require.NoError(tb, err)
	return play.State()
}

// starts plays a state and returns when jobs start.
func starts(t *testing.T, r ahead.Rules, from ahead.Start, b ahead.Bounds) map[backfill.JobID]backfill.Time {
	t.Helper()
	play, err := r.Play(from)
	require.NoError(t, err)
	found, err := play.Starts(t.Context(), b)
	require.NoError(t, err)
	at := map[backfill.JobID]backfill.Time{}
	for id, s := range found {
		at[id] = s.At
	}
	return at
}

// TestAnotherOrderTakesOver plays a state under other rules than those that it comes from.
func TestAnotherOrderTakesOver(t *testing.T) {
	p := one(10, 9, 2)
	s := begun(t, p, rules(t, "easy", "fcfs"))
	times := func(policy, order string, first *backfill.Round) map[backfill.JobID]backfill.Time {
		return starts(t, rules(t, policy, order), ahead.Start{State: s.Clone(), End: p.end, First: first}, ahead.Bounds{})
	}
	require.Equal(t, map[backfill.JobID]backfill.Time{1: 10, 2: 19}, times("easy", "fcfs", nil))
	require.Equal(t, map[backfill.JobID]backfill.Time{1: 12, 2: 10}, times("easy", "sjf", nil))
	require.Equal(t, map[backfill.JobID]backfill.Time{1: 10, 2: 19}, times("conservative", "sjf", &backfill.Round{}))
}

// TestTaken: a job that has outlived its run time is taken to run for twice as long.
func TestTaken(t *testing.T) {
	p, r := one(10, 3), rules(t, "easy", "fcfs")
	s := begun(t, p, r)
	for taken, start := range map[backfill.Time]backfill.Time{10: 10, 4: 4, 50: 10, 0: 1} {
		runs := func(*backfill.Job) backfill.Time { return taken }
		from := ahead.Start{State: s.Clone(), End: ahead.Taken(0, runs)}
		require.Equal(t, map[backfill.JobID]backfill.Time{1: start}, starts(t, r, from, ahead.Bounds{}), "taken %d", taken)
		from = ahead.Start{State: s.Clone(), End: ahead.Taken(5, runs)}
		if taken == 4 {
			require.Equal(t, map[backfill.JobID]backfill.Time{1: 8}, starts(t, r, from, ahead.Bounds{}))
		}
	}
}

// TestBounds ends plays early.
func TestBounds(t *testing.T) {
	p, r := one(10, 10, 10, 10), rules(t, "easy", "fcfs")
	s := begun(t, p, r)
	from := func() ahead.Start { return ahead.Start{State: s.Clone(), End: p.end} }
	require.Len(t, starts(t, r, from(), ahead.Bounds{}), 3)
	require.Len(t, starts(t, r, from(), ahead.Bounds{Rounds: 2}), 2)
	require.Len(t, starts(t, r, from(), ahead.Bounds{Until: 10}), 1)
	require.Len(t, starts(t, r, from(), ahead.Bounds{Jobs: 2}), 2)
	require.Len(t, starts(t, r, from(), ahead.Bounds{Until: 19}), 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	play, err := r.Play(from())
	require.NoError(t, err)
	found, err := play.Starts(ctx, ahead.Bounds{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, found)
}
