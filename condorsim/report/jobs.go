package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/wholefile"
)

// columns of the table of jobs.
var columns = [...]string{"id", "submit", "start", "end", "guarantee", "nodes", "cpus", "memory", "estimate", "run", "user", "how", "slots"}

// JobsFile is a table of jobs that will be a file: either whole or not at all.
type JobsFile struct{ file *wholefile.File }

// CreateJobs makes sure that the table can be written, before the work whose
// result it will hold.
func CreateJobs(path string) (*JobsFile, error) {
	file, err := wholefile.Create("the table of jobs", path)
	if err != nil {
		return nil, err
	}
	return &JobsFile{file}, nil
}

// Write writes the table and puts it in its place.
func (j *JobsFile) Write(r *condorsim.Result) error {
	if err := WriteJobs(j.file, r); err != nil {
		return j.file.Fault(err)
	}
	return j.file.Commit()
}

// Discard removes what is there of the table, if it was not written.
func (j *JobsFile) Discard() {
	if j != nil {
		j.file.Discard()
	}
}

// WriteJobs writes a row of comma-separated values for each job, in order of
// jobs. What never happened, and a user who is not known, is left empty.
func WriteJobs(out io.Writer, r *condorsim.Result) error {
	rows := csv.NewWriter(out)
	if err := rows.Write(columns[:]); err != nil {
		return err
	}
	row := make([]string, len(columns))
	for i := range r.Outcomes {
		fillRow(row, r.Workload.Jobs[i], &r.Outcomes[i])
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

func fillRow(row []string, j condorsim.Job, o *condorsim.Outcome) {
	when := func(happened bool, t backfill.Time) string {
		if !happened {
			return ""
		}
		return strconv.FormatInt(int64(t), 10)
	}
	how := ""
	if o.Started {
		how = o.How.String()
	}
	copy(row, []string{
		j.Name, when(true, j.Submit), when(o.Started, o.Start), when(o.Ended, o.End), when(o.Promised, o.Guarantee),
		strconv.Itoa(j.Nodes), strconv.FormatInt(j.Cpus, 10), strconv.FormatInt(j.Memory, 10),
		when(j.Estimate > 0, j.Estimate), when(true, j.Run), j.User, how, o.Placement.String(),
	})
}
