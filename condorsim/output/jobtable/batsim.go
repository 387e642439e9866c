package jobtable

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/lanes"
	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

const batsimEnd = ".batsim.csv"

// IsBatsim reports whether a table of that name is written as Batsim writes its jobs, see [WriteBatsim].
func IsBatsim(path string) bool {
	_, plain := packed.ByName(path)
	return endsWith(plain, batsimEnd)
}

// WriteBatsim writes a row for each job with the columns of the file _jobs.csv of the simulator Batsim, which
// tools such as evalys draw (https://batsim.readthedocs.io, "Output: Jobs"). Names are as they are.
//
// A job that never ran is REJECTED, and what never happened is empty. The processors of all slots are numbered from
// 0, in the order of the slots, and each job gets numbers of its own while it runs.
func WriteBatsim(out io.Writer, r *condorsim.Result) error {
	allocated, err := lanes.Of(r)
	if err != nil {
		return err
	}
	raw := func(text string) string { return text }
	return spreadsheet.WriteCSV(out, batsimColumns(r.Workload.Name, allocated), jobs(r), raw)
}

// batsimColumns returns the columns of Batsim, in its order.
func batsimColumns(workload string, allocated [][]lanes.Piece) []jobColumn {
	ended := func(row jobRow, t backfill.Time) (backfill.Time, bool) { return t, row.Ended }
	seconds := func(name string, value func(jobRow) backfill.Time) jobColumn {
		return when(name, func(row jobRow) (backfill.Time, bool) { return ended(row, value(row)) })
	}
	return []jobColumn{
		label("job_id", func(row jobRow) string { return row.job.Name }),
		label("workload_name", func(jobRow) string { return workload }),
		label("profile", func(row jobRow) string { return "delay" + strconv.FormatInt(int64(row.job.Run), 10) }),
		number("submission_time", func(row jobRow) int64 { return int64(row.job.Submit) }),
		number("requested_number_of_resources", func(row jobRow) int64 { return row.job.Cpus }),
		number("requested_time", func(row jobRow) int64 {
			if row.job.Estimate <= 0 {
				return -1 // unknown
			}
			return int64(row.job.Estimate)
		}),
		number("success", func(row jobRow) int64 {
			if finalState(row) == "COMPLETED_SUCCESSFULLY" {
				return 1
			}
			return 0
		}),
		label("final_state", finalState),
		seconds("starting_time", func(row jobRow) backfill.Time { return row.Start }),
		seconds("execution_time", func(row jobRow) backfill.Time { return row.End - row.Start }),
		seconds("finish_time", func(row jobRow) backfill.Time { return row.End }),
		seconds("waiting_time", func(row jobRow) backfill.Time { return row.Start - row.job.Submit }),
		seconds("turnaround_time", func(row jobRow) backfill.Time { return row.End - row.job.Submit }),
		label("stretch", func(row jobRow) string {
			if !row.Ended || row.End <= row.Start {
				return "" // nothing is some times as long as nothing
			}
			stretch := float64(row.End-row.job.Submit) / float64(row.End-row.Start)
			return strconv.FormatFloat(stretch, 'f', 6, 64)
		}),
		label("allocated_resources", func(row jobRow) string { return intervals(allocated[row.id]) }),
		number("consumed_energy", func(jobRow) int64 { return -1 }), // unknown
		label("metadata", func(jobRow) string { return "" }),
	}
}

// finalState is what became of a job, in the words of Batsim.
func finalState(row jobRow) string {
	switch {
	case !row.Ended:
		return "REJECTED"
	case row.job.Ran > row.End-row.Start:
		return "COMPLETED_WALLTIME_REACHED"
	default:
		return "COMPLETED_SUCCESSFULLY"
	}
}

// intervals lists numbers of processors as Batsim does: "0-3 7".
func intervals(pieces []lanes.Piece) string {
	pieces = slices.Clone(pieces)
	slices.SortFunc(pieces, func(a, b lanes.Piece) int { return cmp.Compare(a.Lane, b.Lane) })
	var text strings.Builder
	for i := 0; i < len(pieces); {
		begin, end := pieces[i].Lane, pieces[i].Lane+pieces[i].Count
		for i++; i < len(pieces) && pieces[i].Lane == end; i++ {
			end += pieces[i].Count
		}
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(strconv.FormatInt(begin, 10))
		if end-begin > 1 {
			text.WriteString("-" + strconv.FormatInt(end-1, 10))
		}
	}
	return text.String()
}
