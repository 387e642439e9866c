package auto

import (
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func TestPortfolio(t *testing.T) {
	all, err := Portfolio([]string{"slack:sjf:factor=3:base=60", "easy", "dc:fcfs", "slack"}, false, LinkedIn)
	require.NoError(t, err)
	var names []string
	for _, c := range all {
		names = append(names, c.Name+" "+c.OrderName)
	}
	require.Equal(t, []string{"slack:sjf:factor=3:base=60 sjf", "easy fcfs", "dc:fcfs fcfs", "slack wfp-wide"}, names)
	require.Equal(t, map[string]string{"factor": "3", "base": "60"}, all[0].Options)

	all, err = Portfolio([]string{"easy", "dc:fcfs"}, true, LinkedIn)
	require.NoError(t, err)
	require.Len(t, all, 1, "only those that give guarantees")

	usual, err := New(nil, 1, nil)
	require.NoError(t, err)
	require.Len(t, usual.candidates, 4)
	require.True(t, usual.Spec().Guarantees)
	usual, err = New(map[string]string{"guarantees": "true"}, 1, nil)
	require.NoError(t, err)
	require.Len(t, usual.candidates, 4)
	require.True(t, usual.Spec().Guarantees)
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct{ option, value, says string }{
		{"portfolio", "", "there is no candidate"},
		{"portfolio", "esy:sjf", "did you mean easy"},
		{"portfolio", "easy:sfj", "did you mean sjf"},
		{"portfolio", "conservative:sjf", "ignores the order"},
		{"portfolio", "slack:sjf:factor", "NAME=VALUE"},
		{"portfolio", "slack:sjf:fctor=1", "did you mean factor"},
		{"portfolio", "slack:sjf slack:sjf", "is there twice"},
		{"portfolio", "easy:expr:JobPrio", "an order that is an expression cannot be a candidate's"},
		{"portfolio", "slack:sjf:factor=2:factor=3", "option factor is there twice"},
		{"objective", "MeanWait +", "no expression"},
		{"objective", "MeanWiat", "undefined, which is no number"},
		{"objective", "\"MeanWait\"", "which is no number"},
		{"every", "0", "from 1 to"},
		{"gain", "2", "from 0 to 1"},
		{"base", "1", "base: 1 s is less than every=3600"},
		{"gian", "2", "did you mean gain"},
	} {
		_, err := New(map[string]string{tt.option: tt.value}, 1, nil)
		require.ErrorContains(t, err, tt.says, "%s=%s", tt.option, tt.value)
		require.ErrorContains(t, err, "policy auto")
		require.ErrorAs(t, err, new(*backfill.OptionsError))
	}
	_, err := New(map[string]string{"portfolio": "easy", "guarantees": "true"}, 1, nil)
	require.ErrorContains(t, err, "no candidate gives guarantees")
}

// TestSettle says who is in charge after a choice. The base is slack.
func TestSettle(t *testing.T) {
	const never = -backfill.Forever
	for _, tt := range []struct {
		name     string
		options  map[string]string
		inCharge int
		slowdown []float64
		changed  backfill.Time
		chosen   int
		why      string
	}{
		{"better", nil, 0, []float64{10, 9, 8}, never, 2, "8 instead of 10"},
		{"the same", nil, 0, []float64{5, 5, 7}, never, 0, "no other"},
		{"better, but not by the gain", map[string]string{"gain": "0.5"}, 0, []float64{10, 6, 7}, never, 0, "no other"},
		{"stays", nil, 2, []float64{10, 9, 8}, 50, 2, "8 instead of 10"},
		{
			"the base would lift promises",
			map[string]string{"portfolio": "easy slack dc"},
			1,
			[]float64{7, 10, 12},
			never, 1, "would lift",
		},
		{
			"the base would lift promises and is worth it",
			map[string]string{"portfolio": "easy slack dc"},
			1,
			[]float64{5, 10, 12},
			never, 0, "5 instead of 10",
		},
		{
			"the base would lift promises, another not",
			map[string]string{"portfolio": "easy slack dc"},
			1,
			[]float64{7, 10, 6},
			never, 2, "6 instead of 7",
		},
		{
			"the base would have to lift promises later",
			map[string]string{"portfolio": "easy slack dc"},
			0,
			[]float64{10, 6, 7},
			never, 0, "no other",
		},
		{
			"the base would have to, and it is worth it",
			map[string]string{"portfolio": "easy slack dc"},
			0,
			[]float64{10, 6, 5},
			never, 2, "5 instead of 10",
		},
		{"the base again", nil, 2, []float64{10, 12, 9.95}, never, 0, "no other"},
		{
			"the objective is below 0",
			map[string]string{"objective": "-MeanWait"},
			0,
			[]float64{10, 8, 12},
			never, 2, "-12 instead",
		},
		{"it lifts promises, the next does not", nil, 0, []float64{10, 8, 9}, never, 2, "9 instead of 10"},
		{"it lifts promises and is worth it", nil, 0, []float64{10, 4, 9}, never, 1, "4 instead of 10"},
		{"none are left to lift", nil, 1, []float64{10, 8, 9}, never, 1, "8 instead of 10"},
		{"too early", map[string]string{"least": "100"}, 0, []float64{10, 9, 8}, 50, 0, "50 s ago"},
		{"too early to go back", map[string]string{"least": "100"}, 2, []float64{10, 12, 11}, 50, 2, "50 s ago"},
		{"late enough", map[string]string{"least": "50"}, 0, []float64{10, 9, 8}, 50, 2, "8 instead of 10"},
		{
			"infinite",
			map[string]string{"objective": "MeanWait == 9 ? real(\"INF\") : MeanWait"},
			2,
			[]float64{9, 10, 5},
			never, 2, "no number",
		},
		{
			"no value",
			map[string]string{"objective": "MeanWait / (MeanWait == 10 ? 0 : 1)"},
			2,
			[]float64{9, 10, 5},
			never, 2, "easy: ",
		},
	} {
		options := map[string]string{"portfolio": "slack easy dc", "objective": "MeanWait", "gain": "0.01"}
		maps.Copy(options, tt.options)
		c, err := New(options, 1, nil)
		require.NoError(t, err)
		c.inCharge, c.changed = tt.inCharge, tt.changed
		made := Choice{Now: 100, Names: c.names()}
		for _, s := range tt.slowdown {
			made.Expected = append(made.Expected, Measures{Jobs: 1, MeanWait: s})
		}
		change := c.settle(&made)
		require.Contains(t, made.Why, tt.why, tt.name)
		require.Equal(t, tt.chosen, made.Chosen, tt.name)
		require.Equal(t, c.candidates[tt.chosen].Name, c.InCharge().Name, tt.name)
		require.Equal(t, tt.chosen != tt.inCharge, change != nil, tt.name)
		if change != nil {
			require.Equal(t, c.candidates[tt.chosen].Policy, change.Policy, tt.name)
		}
		require.Same(t, &made, c.Last(), tt.name)
	}
}

// TestAFailedChange: if a change cannot be made, whoever was in charge still is, and that is told.
func TestAFailedChange(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf slack:fcfs"}, 1, nil)
	require.NoError(t, err)
	change := c.settle(&Choice{Names: c.names(), Expected: []Measures{
		{Jobs: 1, MeanBoundedSlowdown: 2}, {Jobs: 1, MeanBoundedSlowdown: 1},
	}})
	require.Equal(t, "slack:fcfs", c.InCharge().Name)
	change.Made(5, nil)
	require.Equal(t, "slack:fcfs", c.InCharge().Name)
	change.Made(5, errors.New("they do not go together"))
	require.Equal(t, "slack:sjf", c.InCharge().Name)
	require.Equal(t, "they do not go together", c.Last().Why)
}

// TestRestart: a chooser that starts, again or for the first time, knows the jobs that its pool had
// before and how long former ones ran, each once. What was chosen before does not stand.
func TestRestart(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf slack:fcfs"}, 1, nil)
	require.NoError(t, err)
	set, err := estimate.New(estimate.Settings{All: "combined"}, estimate.NewHistory(0), true, false, nil)
	require.NoError(t, err)
	r := busyWith(t, c, set, 10, 60)
	ended := set.History().Len()
	require.Positive(t, ended)
	r.Delta = negotiator.Delta{Now: r.Delta.Now}
	f := c.See(r)
	require.True(t, c.Stands(f))
	c.inCharge = 1
	c.Restart()
	require.False(t, c.Stands(f))
	change, err := c.Choose(t.Context(), f)
	require.NoError(t, err)
	require.Nil(t, change)
	require.Nil(t, c.Last())
	require.Equal(t, "slack:sjf", c.InCharge().Name)
	require.Empty(t, c.record.known)
	again := c.See(r)
	require.NotNil(t, again)
	require.Len(t, c.record.known, r.State.Waiting()+r.State.RunningJobs())
	require.True(t, c.Stands(again))
	require.Equal(t, ended, c.record.past.History().Len())
	other, err := New(nil, 1, nil)
	require.NoError(t, err)
	require.NotNil(t, other.See(r))
	require.Len(t, other.record.known, len(c.record.known))
	require.Equal(t, ended, other.record.past.History().Len())
}

// TestDue says when a choice is due.
func TestDue(t *testing.T) {
	c, err := New(map[string]string{"every": "600", "portfolio": "slack:sjf slack:fcfs"}, 1, nil)
	require.NoError(t, err)
	r := busy(t, c, 10, 60)
	at := func(now backfill.Time) bool {
		r.Delta = negotiator.Delta{Now: now}
		return c.See(r) != nil
	}
	now := r.Delta.Now
	require.True(t, at(now), "the first")
	require.False(t, at(now+599))
	require.False(t, at(now+600), "the queue's work is the same")
	c.lastWork /= 2
	require.True(t, at(now+600), "it has changed")
	require.False(t, at(now+1199))
}

// TestMeasures measures three jobs: waits of 0 s, 90 s and 200 s.
func TestMeasures(t *testing.T) {
	var seen tally
	seen.add(&backfill.Job{Submit: 100}, 100, 50, 1)
	seen.add(&backfill.Job{Submit: 100}, 190, 1, 1)
	seen.add(&backfill.Job{Submit: 0}, 200, 100, 1)
	require.Equal(t, Measures{
		Jobs: 3, MeanBoundedSlowdown: (1 + 9.1 + 3) / 3, MeanWait: 290.0 / 3, Top5Wait: 200, Makespan: 200,
	}, seen.measures(100))
	require.Equal(t, Measures{}, new(tally).measures(5))
}

// TestPlay: plays say the same for any number of workers, change nothing, and end with the context.
func TestPlay(t *testing.T) {
	c, err := New(nil, 1, nil)
	require.NoError(t, err)
	r := busy(t, c, 10, 60)
	before := r.State.Snapshot()
	f := c.record.future(r)
	f.Head = 3600
	require.NotEmpty(t, f.Arrivals)
	one, _, err := Play(t.Context(), f, c.candidates, 1)
	require.NoError(t, err)
	require.Len(t, one, len(c.candidates))
	for i, m := range one {
		require.Equal(t, r.State.Waiting()+len(f.Arrivals), m.Jobs, c.candidates[i].Name)
		require.GreaterOrEqual(t, m.MeanBoundedSlowdown, 1.0)
		require.GreaterOrEqual(t, m.Top5Wait, m.MeanWait)
	}
	for _, workers := range []int{2, 7, 40} {
		again := c.record.future(r)
		again.Head = f.Head
		more, _, err := Play(t.Context(), again, c.candidates, workers)
		require.NoError(t, err)
		require.Equal(t, one, more)
	}
	require.Equal(t, before, r.State.Snapshot())
}

// TestScattered: a job's number is its own.
func TestScattered(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := rapid.Uint64().Draw(r, "a"), rapid.Uint64().Draw(r, "b")
		require.Equal(r, a == b, scattered(a) == scattered(b))
	})
}

// BenchmarkChoose is one choice, with 1,000 waiting jobs on 100 slots, two candidates at a time.
func BenchmarkChoose(b *testing.B) {
	for _, portfolio := range []struct{ name, candidates string }{
		{"4 candidates", Usual},
		{"12 candidates", "slack:xfactor slack:sjf slack:wfp slack:fcfs easy:xfactor easy:sjf easy:wfp easy:fcfs " +
			"slack:xfactor:factor=1 slack:sjf:factor=1 slack:wfp:factor=1 slack:fcfs:factor=1"},
		{"dc and pc, too", Usual + " dc:sjf dc:wfp dc:xfactor dc:fcfs pc:sjf pc:wfp pc:xfactor pc:fcfs"},
	} {
		b.Run(portfolio.name, func(b *testing.B) {
			c, err := New(map[string]string{"portfolio": portfolio.candidates}, 2, nil)
			require.NoError(b, err)
			r := busy(b, c, 100, 1000)
			for b.Loop() {
				c.last, c.lastWork = -backfill.Forever, 0
				f := c.See(r)
				_, err = c.Choose(b.Context(), f)
				require.NoError(b, err)
			}
		})
	}
}
