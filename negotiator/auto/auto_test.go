package auto

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestPortfolio(t *testing.T) {
	all, err := Portfolio([]string{"slack:sjf:factor=3:base=60", "easy", "dc:fcfs", "slack"}, false)
	require.NoError(t, err)
	var names []string
	for _, c := range all {
		names = append(names, c.Name+" "+c.OrderName)
	}
	require.Equal(t, []string{"slack:sjf:factor=3:base=60 sjf", "easy fcfs", "dc:fcfs fcfs", "slack wfp"}, names)
	require.Equal(t, map[string]string{"factor": "3", "base": "60"}, all[0].Options)

	all, err = Portfolio([]string{"easy", "dc:fcfs"}, true)
	require.NoError(t, err)
	require.Len(t, all, 1, "only those that give guarantees")

	usual, err := New(nil, 1)
	require.NoError(t, err)
	require.Len(t, usual.candidates, 16)
	usual, err = New(map[string]string{"guarantees": "true"}, 1)
	require.NoError(t, err)
	require.Len(t, usual.candidates, 12)
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
		{"portfolio", "easy:expr:JobPrio", "unknown order"},
		{"objective", "MeanWait +", "no expression"},
		{"objective", "MeanWiat", "undefined, which is no number"},
		{"objective", "\"MeanWait\"", "which is no number"},
		{"every", "0", "from 1 to"},
		{"gain", "2", "from 0 to 1"},
		{"gian", "2", "did you mean gain"},
	} {
		_, err := New(map[string]string{tt.option: tt.value}, 1)
		require.ErrorContains(t, err, tt.says, "%s=%s", tt.option, tt.value)
		require.ErrorContains(t, err, "policy auto")
		require.ErrorAs(t, err, new(*backfill.OptionsError))
	}
	_, err := New(map[string]string{"portfolio": "easy", "guarantees": "true"}, 1)
	require.ErrorContains(t, err, "no candidate gives guarantees")
}

// TestSettle says when the best takes over.
func TestSettle(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options map[string]string
		values  []float64
		now     backfill.Time
		best    int
		chosen  int
	}{
		{"better", nil, []float64{10, 5, 7}, 0, 1, 1},
		{"the same", nil, []float64{5, 5, 7}, 0, 0, 0},
		{"a little better", map[string]string{"gain": "0.5"}, []float64{10, 6, 7}, 0, 1, 0},
		{"better by more than the gain", map[string]string{"gain": "0.5"}, []float64{10, 4, 7}, 0, 1, 1},
		{"of values below 0, the least", map[string]string{"gain": "0.5"}, []float64{-10, -16, -7}, 0, 1, 1},
		{"it lifts promises", map[string]string{"portfolio": "slack easy dc"}, []float64{10, 6, 7}, 0, 1, 0},
		{
			"it lifts promises and is worth it",
			map[string]string{"portfolio": "slack easy dc"},
			[]float64{10, 4, 7},
			0, 1, 1,
		},
		{"too early", map[string]string{"least": "100"}, []float64{10, 4, 7}, 99, 1, 0},
		{"late enough", map[string]string{"least": "100"}, []float64{10, 4, 7}, 100, 1, 1},
	} {
		options := map[string]string{"portfolio": "easy slack dc", "gain": "0.02"}
		maps.Copy(options, tt.options)
		c, err := New(options, 1)
		require.NoError(t, err)
		if tt.now > 0 {
			c.changed = 0
		}
		told := 0
		c.Chosen = func(made *Choice) {
			told++
			require.Equal(t, tt.chosen, made.Chosen, tt.name)
			require.NotEmpty(t, made.Why)
		}
		c.settle(Choice{Now: tt.now, Best: tt.best, Values: tt.values, Names: []string{"easy", "slack", "dc"}}, 3)
		require.Equal(t, 1, told)
		select {
		case change := <-c.changes:
			require.Equal(t, c.candidates[tt.chosen].Policy, change.Policy, tt.name)
			require.NotZero(t, tt.chosen, tt.name)
		default:
			require.Zero(t, tt.chosen, tt.name)
		}
	}
}

// TestMeasures measures three jobs: waits of 0 s, 90 s and 200 s.
func TestMeasures(t *testing.T) {
	var seen tally
	seen.add(&backfill.Job{Submit: 100}, 100, 50)
	seen.add(&backfill.Job{Submit: 100}, 190, 1)
	seen.add(&backfill.Job{Submit: 0}, 200, 100)
	require.Equal(t, Measures{
		Jobs: 3, MeanBoundedSlowdown: (1 + 9.1 + 3) / 3, MeanWait: 290.0 / 3, Top5Wait: 200, Makespan: 200,
	}, seen.measures(100))
	require.Equal(t, Measures{}, new(tally).measures(5))
}

func TestMemory(t *testing.T) {
	none := memory{}
	one := []Measures{{Jobs: 1, MeanWait: 10}}
	require.Equal(t, one, none.remember(5, one))
	m := memory{half: 100}
	require.InDelta(t, 10, m.remember(0, one)[0].MeanWait, 1e-9)
	later := m.remember(100, []Measures{{Jobs: 2, MeanWait: 50}})
	require.InDelta(t, (0.5*10+2*50)/2.5, later[0].MeanWait, 1e-9, "half of what was, and two jobs")
}

// TestPlay: plays say the same for any number of workers, change nothing, and end with the context.
func TestPlay(t *testing.T) {
	c, err := New(nil, 1)
	require.NoError(t, err)
	r := busy(t, c, 10, 60)
	before := r.State.Snapshot()
	f := c.record.future(r)
	require.NotEmpty(t, f.Arrivals)
	one, err := Play(t.Context(), f, c.candidates, 1)
	require.NoError(t, err)
	require.Len(t, one, 16)
	for i, m := range one {
		require.Equal(t, r.State.Waiting()+len(f.Arrivals), m.Jobs, c.candidates[i].Name)
		require.GreaterOrEqual(t, m.MeanBoundedSlowdown, 1.0)
		require.GreaterOrEqual(t, m.Top5Wait, m.MeanWait)
	}
	for _, workers := range []int{2, 7, 40} {
		more, err := Play(t.Context(), c.record.future(r), c.candidates, workers)
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

// BenchmarkChoose is one choice among the candidates that give guarantees, with 1,000 waiting jobs on
// 100 slots, two at a time.
func BenchmarkChoose(b *testing.B) {
	for _, portfolio := range []struct{ name, guarantees string }{{"12 with guarantees", "true"}, {"16", "false"}} {
		b.Run(portfolio.name, func(b *testing.B) {
			c, err := New(map[string]string{"guarantees": portfolio.guarantees}, 2)
			require.NoError(b, err)
			r := busy(b, c, 100, 1000)
			var f Future
			for b.Loop() {
				f = c.record.future(r)
				_, err = c.choose(b.Context(), f)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(len(f.Arrivals)), "arrivals")
		})
	}
}
