package report

import (
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// row is a row of the table: what it is about, its value, and the value in hours if it is a time, else
// "".
type row [3]string

// rowOf returns the row of a measure. Seconds and cpu seconds have hours beside them.
func rowOf(m metrics.Measure) row {
	switch m.Unit {
	case metrics.Seconds:
		return row{m.Label, inwords.Grouped(m.Value, 1) + " s", inwords.Hours(m.Value)}
	case metrics.WholeSeconds:
		return row{m.Label, inwords.Grouped(m.Value, 0) + " s", inwords.Hours(m.Value)}
	case metrics.CPUSeconds:
		return row{m.Label, inwords.Grouped(m.Value, 0) + " cpu s", inwords.Hours(m.Value)}
	case metrics.Share:
		return row{m.Label, inwords.Grouped(100*m.Value, 1) + " %"}
	case metrics.Count:
		return row{m.Label, inwords.Grouped(m.Value, 0)}
	default:
		return row{m.Label, inwords.Grouped(m.Value, 2)}
	}
}

// rows returns the table's rows about how long the run and its decisions took.
func (t *Timing) rows() []row {
	rows := []row{{"wall time", strconv.FormatFloat(t.WallSeconds, 'f', 2, 64) + " s"}}
	if t.Decisions > 0 {
		micro := func(seconds float64) string { return strconv.FormatFloat(seconds*1e6, 'f', 1, 64) + " µs" }
		rows = append(rows,
			row{"decisions of the policy", inwords.Whole(t.Decisions)},
			row{"time of a decision, median", micro(t.MedianSeconds)},
			row{"time of a decision, 99th percentile", micro(t.P99Seconds)})
	}
	return rows
}

// leftRows are the table's rows about what reading the jobs did to them.
func leftRows(w *condorsim.Workload) (rows []row) {
	for _, r := range w.Cleaning.Remarks() {
		rows = append(rows, row{r.What, workload.Part(r.Jobs, r.Of)})
	}
	return rows
}
