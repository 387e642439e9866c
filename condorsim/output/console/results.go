package console

import (
	"fmt"
	"io"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// resultsTable prints the main metrics of finished cells, and their improvement over the baseline.
// The files of results have the rest.
type resultsTable struct {
	folder   *results.Folder
	baseline map[shared]*results.Cell // by what compared cells have in common
	columns  []resultsColumn
	// intervals says that a value was written with its interval.
	intervals bool
}

type resultsColumn struct {
	heading
	value func(*results.Cell) string
}

// shared is what two cells must have in common to be compared with each other.
type shared struct {
	trace, model string
	load         float64
	seed         uint64
}

func sharedBy(k results.Key) shared { return shared{k.Trace, k.EstimateModel, k.Load, k.Seed} }

// Results prints the table of a sweep's results, and a sentence for each comparison of means; nothing
// if none of its simulations is finished.
func Results(out io.Writer, f *results.Folder) error { return newResultsTable(f).write(out) }

func newResultsTable(f *results.Folder) *resultsTable {
	t := &resultsTable{folder: f, baseline: map[shared]*results.Cell{}}
	loads, models, seeds := map[float64]bool{}, map[string]bool{}, map[uint64]bool{}
	for i := range f.Cells {
		c := &f.Cells[i]
		if c.Scheduler == f.Manifest.Baseline {
			t.baseline[sharedBy(c.Key)] = c
		}
		loads[c.Load], models[c.EstimateModel], seeds[c.Seed] = true, true, true
	}
	t.add("trace", false, func(c *results.Cell) string { return c.Trace })
	if len(loads) > 1 {
		t.add("load", true, func(c *results.Cell) string { return strconv.FormatFloat(c.Load, 'g', -1, 64) })
	}
	if len(models) > 1 {
		t.add("estimate model", false, func(c *results.Cell) string { return c.EstimateModel })
	}
	if len(seeds) > 1 {
		t.add("seed", true, func(c *results.Cell) string { return strconv.FormatUint(c.Seed, 10) })
	}
	t.add("scheduler", false, func(c *results.Cell) string { return c.Scheduler })
	t.add("jobs", true, func(c *results.Cell) string { return inwords.Whole(c.Jobs - c.Held) })
	t.metric("mean wait, s", "mean_wait", func(v float64) string { return inwords.Grouped(v, 1) })
	t.metric("in hours", "mean_wait", inwords.Hours)
	t.gains("mean_wait")
	t.metric("99.9 % of waits, h", "p999_wait", inwords.Hours)
	t.metric("longest wait, h", "longest_wait", inwords.Hours)
	t.metric("response by area, h", "area_weighted_response", inwords.Hours)
	t.metric("bounded slowdown", "mean_bounded_slowdown", func(v float64) string { return inwords.Grouped(v, 2) })
	t.gains("mean_bounded_slowdown")
	t.metric("slowdown by processor", "processor_bounded_slowdown", func(v float64) string { return inwords.Grouped(v, 2) })
	return t
}

func (t *resultsTable) add(name string, number bool, value func(*results.Cell) string) {
	t.columns = append(t.columns, resultsColumn{heading{name, number}, value})
}

// metric adds a column for a metric, as write writes it.
func (t *resultsTable) metric(name, metric string, write func(float64) string) {
	t.add(name, true, func(c *results.Cell) string {
		v, known := c.Metrics[metric]
		if !known {
			return t.absent(c)
		}
		text := write(v)
		if half, ok := intervals.OfMean(c.Weeks, metric); ok {
			t.intervals = true
			text += " ± " + write(half)
		}
		return text
	})
}

// absent is what stands for a metric that a cell does not have.
func (t *resultsTable) absent(c *results.Cell) string {
	if c.Jobs == c.Held || len(c.Metrics) == 0 {
		return "no job ran"
	}
	return "–"
}

// gains adds a column for the gain over the baseline, if there is one.
func (t *resultsTable) gains(metric string) {
	if t.folder.Manifest.Baseline != "" {
		t.add("gain over "+t.folder.Manifest.Baseline, true, func(c *results.Cell) string { return t.gain(c, metric) })
	}
}

// gain returns (baseline − value) / baseline in percent, as in the studies; "" for the baseline
// itself, and where there is none or it is 0.
func (t *resultsTable) gain(c *results.Cell, metric string) string {
	base := t.baseline[sharedBy(c.Key)]
	v, known := c.Metrics[metric]
	if base == nil || base == c || base.Metrics[metric] == 0 || !known {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(base.Metrics[metric]-v)/base.Metrics[metric])
}

func (t *resultsTable) write(out io.Writer) error {
	if len(t.folder.Cells) == 0 {
		return nil
	}
	headings := make([]heading, len(t.columns))
	for i, column := range t.columns {
		headings[i] = column.heading
	}
	w := newTable(headings)
	for i := range t.folder.Cells {
		c := &t.folder.Cells[i]
		if i > 0 && c.Trace != t.folder.Cells[i-1].Trace {
			w.AppendSeparator()
		}
		var row table.Row
		for _, column := range t.columns {
			row = append(row, column.value(c))
		}
		w.AppendRow(row)
	}
	rendered := w.Render() + "\n"
	if t.intervals {
		rendered += "± is half the 95 % interval, from the weeks in which jobs were submitted.\n"
	}
	if _, err := io.WriteString(out, rendered); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return printSentences(out, results.Comparisons(t.folder, t.folder.Manifest.Baseline), "results.json", "mean_wait",
		"mean_bounded_slowdown")
}
