package compare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare"
	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

func leftOut(t *testing.T, without []float64) float64 {
	t.Helper()
	half, ok := intervals.OfLeftOut(without)
	require.True(t, ok)
	return half
}

// cell makes up a finished simulation.
func cell(id, scheduler string, seed uint64, wait float64) results.Cell {
	return results.Cell{
		Key:  results.Key{ID: id, Trace: "t", Scheduler: scheduler, Load: 1, EstimateModel: "given", Seed: seed},
		Jobs: 9, Held: 1, Metrics: map[string]float64{"mean_wait": wait, "odd": 1},
	}
}

func TestCells(t *testing.T) {
	var a, b []results.Cell
	for seed, wait := range []float64{10, 20, 30, 40} {
		a = append(a, cell("easy", "easy", uint64(seed), wait))
		b = append(b, cell("easy", "easy", uint64(seed), wait+1+float64(seed)))
	}
	a, b = append(a, cell("fcfs", "fcfs", 1, 7)), append(b, cell("slack", "slack", 1, 7))
	c, err := compare.OfCells(a, b, "a", "b")
	require.NoError(t, err)
	require.Len(t, c.Rows, 1)
	row := c.Rows[0]
	require.Equal(t, []any{"t", "easy", "easy", 8, 8}, []any{row.Cell, row.SchedulerA, row.SchedulerB, row.JobsA, row.JobsB})
	require.Len(t, row.Measures, 1)
	m := row.Measures[0]
	require.InDelta(t, 2.5, m.Difference, 1e-9)
	require.Equal(t, intervals.Seeds, m.Sample)
	require.True(t, m.Sure())
	require.Equal(t, []string{"fcfs"}, c.OnlyA)
	require.Equal(t, []string{"slack"}, c.OnlyB)
	require.False(t, c.Unlike)

	c, err = compare.OfCells(a[4:], b[4:], "a", "b")
	require.NoError(t, err)
	require.True(t, c.Unlike, "one scheduler each")
	require.Equal(t, "slack", c.Rows[0].SchedulerB)
	_, err = compare.OfCells(a, b[4:], "a", "b")
	require.ErrorContains(t, err, "a and b have no finished cell in common")
}

// A table of jobs is compared with every cell.
func TestATableAndCells(t *testing.T) {
	table := compare.CellOf(of("jobs.csv", job("1", 0, 5, 60, 4, "x"), job("2", 1, 10, 60, 4, "x")), 0)
	c, err := compare.OfCells([]results.Cell{table}, []results.Cell{cell("easy", "easy", 3, 9), cell("fcfs", "fcfs", 3, 7)}, "jobs.csv", "b")
	require.NoError(t, err)
	require.Len(t, c.Rows, 2)
	require.Equal(t, []any{"t", "jobs.csv", "fcfs", 2, 8},
		[]any{c.Rows[1].Cell, c.Rows[1].SchedulerA, c.Rows[1].SchedulerB, c.Rows[1].JobsA, c.Rows[1].JobsB})
	require.InDelta(t, -0.5, c.Rows[1].Measures[0].Difference, 1e-12)
	require.Empty(t, compare.CellOf(of("none"), 0).Metrics)
}
