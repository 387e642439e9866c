package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/console"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// The table has a column for what differs, and the gain over the baseline of the same trace.
func TestResults(t *testing.T) {
	cell := func(trace, scheduler string, load, wait float64) results.Cell {
		return results.Cell{
			Key:  results.Key{Trace: trace, Scheduler: scheduler, Load: load},
			Jobs: 10, Held: 1, Metrics: map[string]float64{
				"mean_wait": wait, "mean_bounded_slowdown": 2, "p999_wait": 7200, "longest_wait": 36000,
				"area_weighted_response": 9000, "processor_bounded_slowdown": 1.5,
			},
		}
	}
	f := &results.Folder{Manifest: results.Manifest{Baseline: "easy"}, Cells: []results.Cell{
		cell("a", "easy", 1, 200), cell("a", "dc", 1, 150), cell("b", "dc", 1, 150), cell("b", "fcfs", 1.5, 100),
	}}
	delete(f.Cells[3].Metrics, "mean_wait")
	var out strings.Builder
	require.NoError(t, console.Results(&out, f))
	var rows [][]string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "│") {
			row := strings.Split(strings.Trim(line, "│\n"), "│")
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			rows = append(rows, row)
		}
	}
	require.Equal(t, [][]string{
		{
			"trace", "load", "scheduler", "jobs", "mean wait, s", "in hours", "gain over easy", "99.9 % of waits, h", "longest wait, h",
			"response by area, h", "bounded slowdown", "gain over easy", "slowdown by processor",
		},
		{"a", "1", "easy", "9", "200.0", "0.06", "", "2.00", "10.00", "2.50", "2.00", "", "1.50"},
		{"a", "1", "dc", "9", "150.0", "0.04", "+25.0 %", "2.00", "10.00", "2.50", "2.00", "+0.0 %", "1.50"},
		{"b", "1", "dc", "9", "150.0", "0.04", "", "2.00", "10.00", "2.50", "2.00", "", "1.50"},
		{"b", "1.5", "fcfs", "9", "–", "–", "", "2.00", "10.00", "2.50", "2.00", "", "1.50"},
	}, rows)
	require.Equal(t, 2, strings.Count(out.String(), "┤\n"), "lines below the header and between the traces")
	out.Reset()
	require.NoError(t, console.Results(&out, &results.Folder{}))
	require.Empty(t, out.String())
}
