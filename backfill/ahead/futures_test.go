package ahead_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// same returns a callback that makes rules for each worker.
func same(t require.TestingT, policy, order string, closed *int) func() (ahead.Rules, func(), error) {
	return func() (ahead.Rules, func(), error) {
		*closed--
		return rules(t, policy, order), func() { *closed++ }, nil
	}
}

// TestRanges plays futures in which the running job runs for i seconds.
func TestRanges(t *testing.T) {
	s := begun(t, one(100, 9, 2), rules(t, "easy", "fcfs"))
	start := func(i int) ahead.Start {
		return ahead.Start{State: s.Clone(), End: func(j *backfill.Job, at backfill.Time) backfill.Time {
			switch {
			case i >= 32:
				return backfill.Forever
			case j.ID == 0:
				return at + backfill.Time(i) + 1
			default:
				return at + j.Estimate
			}
		}}
	}
	all := map[backfill.JobID]ahead.Range{1: {3, 16, 29}, 2: {12, 25, 38}}
	for _, tt := range []struct {
		name    string
		futures ahead.Futures
		bounds  ahead.Bounds
		want    map[backfill.JobID]ahead.Range
	}{
		{"all", ahead.Futures{}, ahead.Bounds{}, all},
		{"on one processor", ahead.Futures{Workers: 1}, ahead.Bounds{}, all},
		{
			"on more than there are futures",
			ahead.Futures{Count: 2, Workers: 4},
			ahead.Bounds{},
			map[backfill.JobID]ahead.Range{1: {1, 1, 2}, 2: {10, 10, 11}},
		},
		{"of one job", ahead.Futures{Of: []backfill.JobID{1}}, ahead.Bounds{}, map[backfill.JobID]ahead.Range{1: all[1]}},
		{"of none", ahead.Futures{Of: []backfill.JobID{}}, ahead.Bounds{}, map[backfill.JobID]ahead.Range{}},
		{"of one that runs", ahead.Futures{Of: []backfill.JobID{0}}, ahead.Bounds{}, map[backfill.JobID]ahead.Range{}},
		{"bounded", ahead.Futures{}, ahead.Bounds{Rounds: 1}, map[backfill.JobID]ahead.Range{1: all[1]}},
		{"without an end in some", ahead.Futures{Count: 40}, ahead.Bounds{}, map[backfill.JobID]ahead.Range{
			1: {4, 20, backfill.Forever}, 2: {13, 29, backfill.Forever},
		}},
	} {
		open := 0
		got, err := tt.futures.Ranges(t.Context(), same(t, "easy", "fcfs", &open), start, tt.bounds)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got, tt.name)
		require.Zero(t, open, tt.name)
	}
}

// TestRangesHold: of starts that are like those of the futures, eight of ten are within the range,
// however many futures there are.
func TestRangesHold(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, futures := range []int{9, 32} {
		const tries, starts = 300, 100
		within := 0
		for range tries {
			draw := func() backfill.Time { return 1 + backfill.Time(random.Int64N(100_000)) }
			runs := make([]backfill.Time, futures)
			for i := range runs {
				runs[i] = draw()
			}
			s := begun(t, one(200_000, 9), rules(t, "easy", "fcfs"))
			found, err := ahead.Futures{Count: futures, Workers: 1}.Ranges(t.Context(),
				func() (ahead.Rules, func(), error) { return rules(t, "easy", "fcfs"), nil, nil },
				func(i int) ahead.Start {
					return ahead.Start{State: s.Clone(), End: func(_ *backfill.Job, at backfill.Time) backfill.Time {
						return at + runs[i]
					}}
				}, ahead.Bounds{})
			require.NoError(t, err)
			for range starts {
				if start := draw(); found[1].Low <= start && start <= found[1].High {
					within++
				}
			}
		}
		require.InDelta(t, 0.8, float64(within)/(tries*starts), 0.03, "%d futures", futures)
	}
}

// TestRangesOfOneFuture: futures that do not differ tell the start of a play, whatever the number
// of workers.
func TestRangesOfOneFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawPool(t), drawRules(t)
		first := p.begin()
		for _, j := range p.jobs {
			if j.Submit == first.Now {
				first.Events = append(first.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
			}
		}
		play, err := r.Play(ahead.Start{State: empty(), End: p.end, First: first})
		require.NoError(t, err)
		_, _, err = play.Next(context.Background())
		require.NoError(t, err)
		from := func(int) ahead.Start { return ahead.Start{State: play.State().Clone(), End: p.end} }
		again, err := r.Play(from(0))
		require.NoError(t, err)
		starts, err := again.Starts(context.Background(), ahead.Bounds{})
		require.NoError(t, err)
		want := map[backfill.JobID]ahead.Range{}
		for id, s := range starts {
			want[id] = ahead.Range{Low: s.At, Mid: s.At, High: s.At}
		}
		got, err := ahead.Futures{Count: 3, Workers: 1}.Ranges(context.Background(),
			func() (ahead.Rules, func(), error) { return r, nil, nil }, from, ahead.Bounds{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// TestRangesEnd: the first error, and the end of the context, end all plays.
func TestRangesEnd(t *testing.T) {
	s := begun(t, one(10, 9), rules(t, "easy", "fcfs"))
	start := func(int) ahead.Start {
		return ahead.Start{State: s.Clone(), End: func(_ *backfill.Job, at backfill.Time) backfill.Time { return at + 1 }}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open := 0
	found, err := ahead.Futures{}.Ranges(ctx, same(t, "easy", "fcfs", &open), start, ahead.Bounds{})
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, found)
	require.Zero(t, open)
	none := errors.New("there is only one")
	made := 0
	_, err = ahead.Futures{Workers: 3}.Ranges(t.Context(), func() (ahead.Rules, func(), error) {
		if made++; made == 2 {
			return ahead.Rules{}, nil, none
		}
		return same(t, "easy", "fcfs", &open)()
	}, start, ahead.Bounds{})
	require.ErrorIs(t, err, none)
	require.Zero(t, open)
}
