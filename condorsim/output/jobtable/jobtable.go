// Package jobtable writes what became of the jobs of a simulation, a row for each: CSV for people and
// spreadsheets, Parquet for programs, and the CSV of Batsim (batsim.go) for tools that draw that.
package jobtable

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// File writes the table of jobs to a file, whole or not at all.
type File struct {
	// Predictions adds columns with the run times that the jobs were planned with.
	Predictions bool
	// RawNames writes names into CSV as they are. Otherwise those that a spreadsheet would take for
	// formulas, or for other numbers, have an apostrophe before them (see [spreadsheet.Quote]): names
	// of jobs, users and slots are other people's texts.
	RawNames bool

	file *wholefile.File
	path string
}

const parquetEnd = ".parquet"

// ends are the ends of file names that say how the table of jobs is written.
func ends() []string { return []string{".csv", ".csv.gz", ".csv.zst", parquetEnd} }

// Create begins the file of the table, in the format that the end of its name says: .csv,
// .csv.gz, .csv.zst or .parquet; before .csv, .batsim asks for the columns of Batsim. Devices and pipes get CSV. It is called before the simulation, so
// that a wrong path is reported early.
func Create(path string) (*File, error) {
	file, err := wholefile.Create("the table of jobs", path)
	if err != nil {
		return nil, err
	}
	ended := func(end string) bool { return endsWith(path, end) }
	if !isStream(path) && !slices.ContainsFunc(ends(), ended) {
		file.Discard()
		return nil, fmt.Errorf("write the table of jobs to %s: its format is not known; end the name with one of %s",
			path, strings.Join(ends(), ", "))
	}
	return &File{file: file, path: path}, nil
}

// endsWith reports whether a name has an end, in capitals or not.
func endsWith(path, end string) bool { return strings.HasSuffix(strings.ToLower(path), end) }

// isStream reports whether there is a device or pipe at a path, whose name says nothing.
func isStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// File returns the file being written; nil if j is nil.
func (j *File) File() *wholefile.File {
	if j == nil {
		return nil
	}
	return j.file
}

// Write writes the table and puts the file in its place.
func (j *File) Write(r *condorsim.Result) error {
	return j.file.Fill(func(out io.Writer) error {
		if endsWith(j.path, parquetEnd) {
			return spreadsheet.WriteParquet(out, j.columns(r), jobs(r))
		}
		text, err := packed.NewWriter(out, j.path)
		if err != nil {
			return err
		}
		if IsBatsim(j.path) {
			return errors.Join(WriteBatsim(text, r), text.Close())
		}
		return errors.Join(j.csv(text, r), text.Close())
	})
}

// Discard removes the unfinished file if the table was not written.
func (j *File) Discard() {
	if j != nil {
		j.file.Discard()
	}
}

// Write writes a row of comma-separated values for each job, in the order of the workload.
// Columns of what never happened, and of unknown users and requested times, are empty.
func Write(out io.Writer, r *condorsim.Result) error { return (&File{}).csv(out, r) }

func (j *File) csv(out io.Writer, r *condorsim.Result) error {
	name := spreadsheet.Quote
	if j.RawNames {
		name = func(text string) string { return text }
	}
	return spreadsheet.WriteCSV(out, j.columns(r), jobs(r), name)
}

// jobRow is a job and what became of it.
type jobRow struct {
	*condorsim.Outcome
	job condorsim.Job
	id  backfill.JobID
}

// jobs returns the rows of the table.
func jobs(r *condorsim.Result) iter.Seq[jobRow] {
	return func(yield func(jobRow) bool) {
		for i := range r.Outcomes {
			if !yield(jobRow{&r.Outcomes[i], r.Workload.Jobs[i], backfill.JobID(i)}) {
				return
			}
		}
	}
}

type jobColumn = spreadsheet.Column[jobRow]

// number returns a column of whole numbers.
func number(name string, value func(jobRow) int64) jobColumn {
	return spreadsheet.ColumnOf(name, value)
}

// when returns a column of times, which are missing of what never happened.
func when(name string, value func(jobRow) (backfill.Time, bool)) jobColumn {
	return spreadsheet.OptionalColumnOf(name, func(row jobRow) (int64, bool) {
		t, happened := value(row)
		return int64(t), happened
	})
}

// label returns a column of texts.
func label(name string, value func(jobRow) string) jobColumn {
	return spreadsheet.ColumnOf(name, value)
}

// columns returns the columns of the table. Fair start times and predictions are there if they were
// requested.
func (j *File) columns(r *condorsim.Result) []jobColumn {
	all := []jobColumn{
		label("id", func(row jobRow) string { return row.job.Name }),
		number("submit", func(row jobRow) int64 { return int64(row.job.Submit) }),
		when("start", func(row jobRow) (backfill.Time, bool) { return row.Start, row.Started }),
		when("end", func(row jobRow) (backfill.Time, bool) { return row.End, row.Ended }),
		when("guarantee", func(row jobRow) (backfill.Time, bool) { return row.Guarantee, row.Promised }),
		number("nodes", func(row jobRow) int64 { return int64(row.job.Nodes) }),
		number("cpus", func(row jobRow) int64 { cpus, _ := r.Occupies(row.id); return cpus }),
		number("memory", func(row jobRow) int64 { _, memory := r.Occupies(row.id); return memory }),
		when("estimate", func(row jobRow) (backfill.Time, bool) { return row.job.Estimate, row.job.Estimate > 0 }),
		number("run", func(row jobRow) int64 { return int64(row.job.Run) }),
		label("user", func(row jobRow) string { return row.job.User }),
		label("how", func(row jobRow) string {
			if !row.Started {
				return ""
			}
			if row.job.Scavenger {
				return "scavenger"
			}
			return row.How.String()
		}),
		label("slots", func(row jobRow) string { return row.Placement.String() }),
	}
	for _, fair := range []struct {
		name   string
		starts []backfill.Time
	}{{"strict_fst", r.StrictFST}, {"relaxed_fst", r.RelaxedFST}} {
		if fair.starts != nil {
			all = append(all, when(fair.name, func(row jobRow) (backfill.Time, bool) {
				return fair.starts[row.id], row.Started
			}))
		}
	}
	if j.Predictions {
		for _, use := range []struct {
			name  string
			value func(row jobRow) backfill.Time
		}{
			{"estimate_order", func(row jobRow) backfill.Time { return r.Predicted(row.id).Order }},
			{"estimate_backfill", func(row jobRow) backfill.Time { return r.Predicted(row.id).Backfill }},
			{"estimate_running", func(row jobRow) backfill.Time { return r.Predicted(row.id).Running }},
		} {
			all = append(all, when(use.name, func(row jobRow) (backfill.Time, bool) { return use.value(row), row.Started }))
		}
	}
	if r.Workload.Scavengers != nil {
		all = append(
			all,
			number("scavenger", func(row jobRow) int64 {
				if row.job.Scavenger {
					return 1
				}
				return 0
			}),
			when("delay", func(row jobRow) (backfill.Time, bool) { return row.Delay, row.Started && !row.job.Scavenger }),
		)
	}
	return append(append(all, resources(r)...), numbers(r.Workload)...)
}

// resources returns a column for each resource other than cpus and memory that the pool has or a
// job asks for: what the job held, or else asks for in all. It is missing where only a slot could tell.
func resources(r *condorsim.Result) (list []jobColumn) {
	w := r.Workload
	capacity := w.Capacity()
	asked := w.Requests()
	for _, k := range w.OtherResources() {
		asks := func(request backfill.Vector) bool { return request != nil && request[k] > 0 }
		if capacity[k] == 0 && !slices.ContainsFunc(asked, asks) {
			continue
		}
		list = append(list, spreadsheet.OptionalColumnOf(w.Schema.Resources[k], func(row jobRow) (int64, bool) {
			if occupied, noted := r.OccupiesOf(row.id, k); noted {
				return occupied, true
			}
			request := asked[row.id]
			if request == nil {
				return 0, false
			}
			return request[k] * int64(row.job.Nodes), true
		}))
	}
	return list
}

// numbers returns the columns cluster and proc, by which jobs from ads can be joined with other
// tables; none if no job has such numbers.
func numbers(w *condorsim.Workload) []jobColumn {
	if !slices.ContainsFunc(w.Jobs, func(j condorsim.Job) bool { _, _, ok := clusterProc(j.Name); return ok }) {
		return nil
	}
	return []jobColumn{
		spreadsheet.OptionalColumnOf("cluster", func(row jobRow) (int64, bool) {
			cluster, _, ok := clusterProc(row.job.Name)
			return cluster, ok
		}),
		spreadsheet.OptionalColumnOf("proc", func(row jobRow) (int64, bool) {
			_, proc, ok := clusterProc(row.job.Name)
			return proc, ok
		}),
	}
}

// clusterProc returns the numbers of a job that is named CLUSTER.PROC or CLUSTER.PROC@SCHEDD; false
// if it is not.
func clusterProc(name string) (cluster, proc int64, ok bool) {
	name, _, _ = strings.Cut(name, "@")
	before, after, _ := strings.Cut(name, ".")
	cluster, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	proc, err = strconv.ParseInt(after, 10, 64)
	return cluster, proc, err == nil
}
