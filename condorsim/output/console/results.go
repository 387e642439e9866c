package console

import (
	"fmt"
	"io"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// resultsTable prints the main metrics of finished cells, in means over their seeds, and their
// improvement over the baseline. The files of results have the rest.
type resultsTable struct {
	folder   *results.Folder
	rows     []*resultsRow
	baseline map[shared]*resultsRow // by what compared cells have in common
	columns  []resultsColumn
	// intervals says that a value was written with its interval, and seeds that there are several.
	intervals, seeds bool
}

// resultsRow is a scheduler on a workload: the cells of all seeds, and their mean.
type resultsRow struct {
	results.Cell
	seeds []results.Cell
}

type resultsColumn struct {
	heading
	value func(*resultsRow) string
}

// shared is what two rows must have in common to be compared with each other.
type shared struct {
	trace, model string
	load         float64
}

func sharedBy(k results.Key) shared { return shared{k.Trace, k.EstimateModel, k.Load} }

// Results prints the table of a sweep's results, and a sentence for each comparison of means; nothing
// if none of its simulations is finished.
func Results(out io.Writer, f *results.Folder) error { return newResultsTable(f).write(out) }

func newResultsTable(f *results.Folder) *resultsTable {
	t := &resultsTable{folder: f, baseline: map[shared]*resultsRow{}}
	loads, models := map[float64]bool{}, map[string]bool{}
	for _, seeds := range results.BySeed(f.Cells) {
		r := &resultsRow{results.Averaged(seeds), seeds}
		t.rows = append(t.rows, r)
		if r.Scheduler == f.Manifest.Baseline {
			t.baseline[sharedBy(r.Key)] = r
		}
		loads[r.Load], models[r.EstimateModel], t.seeds = true, true, t.seeds || len(seeds) > 1
	}
	t.add("trace", false, func(r *resultsRow) string { return r.Trace })
	if len(loads) > 1 {
		t.add("load", true, func(r *resultsRow) string { return strconv.FormatFloat(r.Load, 'g', -1, 64) })
	}
	if len(models) > 1 {
		t.add("estimate model", false, func(r *resultsRow) string { return r.EstimateModel })
	}
	t.add("scheduler", false, func(r *resultsRow) string { return r.Scheduler })
	if t.seeds {
		t.add("seeds", true, func(r *resultsRow) string { return strconv.Itoa(len(r.seeds)) })
	}
	t.add("jobs", true, func(r *resultsRow) string { return inwords.Whole(r.Jobs - r.Held) })
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

func (t *resultsTable) add(name string, number bool, value func(*resultsRow) string) {
	t.columns = append(t.columns, resultsColumn{heading{name, number}, value})
}

// metric adds a column for a metric, as write writes it.
func (t *resultsTable) metric(name, metric string, write func(float64) string) {
	t.add(name, true, func(r *resultsRow) string {
		v, known := r.Metrics[metric]
		if !known {
			return t.absent(&r.Cell)
		}
		text := write(v)
		if half, ok := results.HalfWidth(r.seeds, metric); ok {
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
		t.add("gain over "+t.folder.Manifest.Baseline, true, func(r *resultsRow) string { return t.gain(r, metric) })
	}
}

// gain returns (baseline − value) / baseline in percent, as in the studies, over the seeds that
// both have; "" for the baseline itself, and where there is none or it is 0.
func (t *resultsTable) gain(r *resultsRow, metric string) string {
	base := t.baseline[sharedBy(r.Key)]
	if base == nil || base == r {
		return ""
	}
	var before, now float64
	for _, one := range base.seeds {
		for _, other := range r.seeds {
			x, known := one.Metrics[metric]
			y, too := other.Metrics[metric]
			if one.Seed == other.Seed && known && too {
				before, now = before+x, now+y
			}
		}
	}
	if before == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(before-now)/before)
}

// notes say what the figures are.
func (t *resultsTable) notes() (text string) {
	switch {
	case t.intervals && t.seeds:
		text = "± is half the 95 % interval, over the seeds or, where these change nothing, from the weeks in which jobs " +
			"were submitted.\n"
	case t.intervals:
		text = "± is half the 95 % interval, from the weeks in which jobs were submitted.\n"
	}
	if jitter := t.folder.Manifest.Cells.JitterText(); jitter != "" {
		text += "With " + jitter + ".\n"
	}
	return text
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
	for i, r := range t.rows {
		if i > 0 && r.Trace != t.rows[i-1].Trace {
			w.AppendSeparator()
		}
		var row table.Row
		for _, column := range t.columns {
			row = append(row, column.value(r))
		}
		w.AppendRow(row)
	}
	rendered := w.Render() + "\n" + t.notes()
	if _, err := io.WriteString(out, rendered); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return printSentences(out, results.Comparisons(t.folder, t.folder.Manifest.Baseline), "results.json", "mean_wait",
		"mean_bounded_slowdown")
}
