package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// columns are the columns of the table of jobs. Fair start times follow them if they were
// requested.
var columns = []string{
	"id", "submit", "start", "end", "guarantee", "nodes", "cpus", "memory", "estimate", "run",
	"user", "how", "slots",
}

// JobsFile writes the table of jobs to a file, whole or not at all.
type JobsFile struct {
	// Predictions adds columns with the run times that the jobs were planned with.
	Predictions bool
	// RawNames writes names as they are. Otherwise those that a spreadsheet would take for formulas
	// have an apostrophe before them: names of jobs, users and slots are other people's texts.
	RawNames bool

	file *wholefile.File
}

// CreateJobs begins the file of the table. It is called before the simulation, so that a wrong path
// is reported early.
func CreateJobs(path string) (*JobsFile, error) {
	file, err := wholefile.Create("the table of jobs", path)
	if err != nil {
		return nil, err
	}
	return &JobsFile{file: file}, nil
}

// File returns the file being written; nil if j is nil.
func (j *JobsFile) File() *wholefile.File {
	if j == nil {
		return nil
	}
	return j.file
}

// Write writes the table and puts the file in its place.
func (j *JobsFile) Write(r *condorsim.Result) error {
	return j.file.Fill(func(out io.Writer) error { return j.rows(out, r) })
}

// Discard removes the unfinished file if the table was not written.
func (j *JobsFile) Discard() {
	if j != nil {
		j.file.Discard()
	}
}

// WriteJobs writes a row of comma-separated values for each job, in the order of the workload.
// Columns of what never happened, and of unknown users and requested times, are empty.
func WriteJobs(out io.Writer, r *condorsim.Result) error { return (&JobsFile{}).rows(out, r) }

func (j *JobsFile) rows(out io.Writer, r *condorsim.Result) error {
	name := spreadsheet.Quote
	if j.RawNames {
		name = func(text string) string { return text }
	}
	rows := csv.NewWriter(out)
	header := slices.Clone(columns)
	var fair [][]backfill.Time
	if r.StrictFST != nil {
		header, fair = append(header, "strict_fst"), append(fair, r.StrictFST)
	}
	if r.RelaxedFST != nil {
		header, fair = append(header, "relaxed_fst"), append(fair, r.RelaxedFST)
	}
	predicted := len(header)
	if j.Predictions {
		header = append(header, "estimate_order", "estimate_backfill", "estimate_running")
	}
	if err := rows.Write(header); err != nil {
		return err
	}
	row := make([]string, len(header))
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		fillRow(row, r.Workload.Jobs[i], o, name)
		for k, starts := range fair {
			row[len(columns)+k] = when(o.Started, starts[i])
		}
		if j.Predictions {
			uses := r.Predicted(backfill.JobID(i))
			for k, t := range []backfill.Time{uses.Order, uses.Backfill, uses.Running} {
				row[predicted+k] = when(o.Started, t)
			}
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

func fillRow(row []string, j condorsim.Job, o *condorsim.Outcome, name func(string) string) {
	how := ""
	if o.Started {
		how = o.How.String()
	}
	copy(row, []string{
		name(j.Name), when(true, j.Submit), when(o.Started, o.Start), when(o.Ended, o.End), when(o.Promised, o.Guarantee),
		strconv.Itoa(j.Nodes), strconv.FormatInt(j.Cpus, 10), strconv.FormatInt(j.Memory, 10),
		when(j.Estimate > 0, j.Estimate), when(true, j.Run), name(j.User), how, name(o.Placement.String()),
	})
}

// when writes a time, or nothing if it never happened.
func when(happened bool, t backfill.Time) string {
	if !happened {
		return ""
	}
	return strconv.FormatInt(int64(t), 10)
}
