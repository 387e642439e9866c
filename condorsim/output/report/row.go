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

// leftRows are the table's rows about the estimates of the jobs and about what their submissions wait for.
func leftRows(w *condorsim.Workload) (rows []row) {
	if n := w.Cleaning.RunAssumed; n > 0 {
		rows = append(rows, row{"run time unknown: the estimate stands in", workload.Part(n, w.Cleaning.JobsRead)})
	}
	for _, count := range []struct {
		what string
		jobs int
	}{
		{"estimate unknown: the run time stands in", w.Cleaning.EstimateUnknown},
		{"estimate unknown: default_estimate stands in", w.Cleaning.EstimateDefault},
		{"ran beyond the estimate", w.Cleaning.Overrunning},
		{"estimate scaled", w.Cleaning.EstimateScaled},
		{"estimate raised to the run time", w.Cleaning.EstimateRaised},
		{"submitted after a preceding job", w.Cleaning.Dependent},
		{"preceding job left out", w.Cleaning.PrecedingAbsent},
		{"preceding job ignored: in no line before", w.Cleaning.PrecedingWrong},
	} {
		if count.jobs > 0 {
			rows = append(rows, row{count.what, workload.Part(count.jobs, len(w.Jobs))})
		}
	}
	return rows
}
