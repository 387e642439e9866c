package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/console"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// A sentence for each scheduler says whether it differs from the baseline beyond chance.
func TestSentences(t *testing.T) {
	cell := func(trace, scheduler string, waits ...float64) results.Cell {
		c := results.Cell{
			Key:  results.Key{Trace: trace, Scheduler: scheduler, Load: 1, EstimateModel: "given"},
			Jobs: 4, Metrics: map[string]float64{"mean_wait": 1},
		}
		for i, wait := range waits {
			c.Weeks = append(c.Weeks, metrics.Week{
				Week: int64(i), Jobs: 1, Wait: wait, BoundedSlowdown: 1 + wait/10_000,
			})
		}
		return c
	}
	easy := []float64{100_000, 20_000, 300_000, 40_000}
	off := func(seconds ...float64) []float64 {
		waits := make([]float64, len(seconds))
		for i := range seconds {
			waits[i] = easy[i] + seconds[i]
		}
		return waits
	}
	printed := func(cells ...results.Cell) string {
		for i := range cells {
			cells[i].Metrics["mean_bounded_slowdown"] = 2
		}
		var out strings.Builder
		require.NoError(t, console.Results(&out, &results.Folder{
			Manifest: results.Manifest{Baseline: "easy"}, Cells: cells,
		}))
		_, text, _ := strings.Cut(out.String(), "submitted.\n")
		return text
	}
	// Off their mean of −16,000 s are −4,000, 4,000, −4,000 and 4,000: 3.182446·4,000/√3.
	require.Equal(t, `
slack beats easy by 16,000 ± 7,350 s (mean wait, 95 %, 4 weeks), 4.44 ± 2.04 h
fcfs loses to easy by 16,000 ± 7,350 s (mean wait, 95 %, 4 weeks), 4.44 ± 2.04 h
dc and easy may differ by chance alone, by -2.0 ± 7.3 s (mean wait, 95 %, 4 weeks)
copy equals easy (mean wait, 95 %, 4 weeks)
slack beats easy by 1.60 ± 0.73 (mean bounded slowdown, 95 %, 4 weeks)
fcfs loses to easy by 1.60 ± 0.73 (mean bounded slowdown, 95 %, 4 weeks)
dc and easy may differ by chance alone, by -0.00 ± 0.00 (mean bounded slowdown, 95 %, 4 weeks)
copy equals easy (mean bounded slowdown, 95 %, 4 weeks)
`, printed(cell("a", "easy", easy...), cell("a", "slack", off(-20_000, -12_000, -20_000, -12_000)...),
		cell("a", "fcfs", off(20_000, 12_000, 20_000, 12_000)...), cell("a", "dc", off(-6, 2, -6, 2)...),
		cell("a", "copy", easy...)))
	require.Contains(t, printed(cell("a", "easy", easy...), cell("a", "dc", off(5, 5, 5, 5)...), cell("b", "easy", easy...),
		cell("b", "dc", off(5, 5, 5, 5)...)), "\nb: dc loses to easy by 5.0 ± 0.0 s (mean wait, ")
	require.Empty(t, printed(cell("a", "easy", 1, 2, 3), cell("a", "dc", 1, 2, 3)), "three weeks have no interval")

	var many []results.Cell
	for range 50 {
		trace := strings.Repeat("x", len(many)+1)
		many = append(many, cell(trace, "easy", easy...), cell(trace, "dc", off(5, 5, 5, 5)...))
	}
	require.Contains(t, printed(many...), "\nand 10 comparisons more; results.json has them\n")
}
