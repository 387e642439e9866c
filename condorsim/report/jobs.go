package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
)

// columns of the table of jobs, behind which stand the fair start times if they were
// asked for.
var columns = []string{"id", "submit", "start", "end", "guarantee", "nodes", "cpus", "memory", "estimate", "run", "user", "how", "slots"}

// JobsFile is a table of jobs that will be a file: either whole or not at all.
type JobsFile struct {
	path string   // as it was asked for
	file *os.File // beside the target until it is whole; or a device or pipe itself
	real string   // the target, links resolved; "": file is the target
}

// CreateJobs makes sure that the table can be written, before the work whose
// result it will hold.
func CreateJobs(path string) (*JobsFile, error) {
	j := &JobsFile{path: path, real: resolve(path)}
	info, err := os.Stat(j.real)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("write the table of jobs: %s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		j.real = ""
		j.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		j.file, err = os.OpenFile(filepath.Join(filepath.Dir(j.real), fmt.Sprintf(".%s.%d", filepath.Base(j.real), os.Getpid())), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	}
	if err != nil {
		return nil, j.fault(err)
	}
	return j, nil
}

// resolve is where a link leads, even if nothing is there yet.
func resolve(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	target, err := os.Readlink(path)
	switch {
	case err != nil:
		return path
	case filepath.IsAbs(target):
		return target
	default:
		return filepath.Join(filepath.Dir(path), target)
	}
}

// fault names the file that was asked for, whatever file it really was.
func (j *JobsFile) fault(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return fmt.Errorf("write the table of jobs to %s: %w", j.path, err)
}

// Write writes the table and puts it in its place.
func (j *JobsFile) Write(r *condorsim.Result) error {
	err := errors.Join(WriteJobs(j.file, r), j.file.Close())
	if err == nil && j.real != "" {
		err = os.Rename(j.file.Name(), j.real)
	}
	if err != nil {
		return j.fault(err)
	}
	j.file = nil
	return nil
}

// Discard removes what is there of the table, if it was not written.
func (j *JobsFile) Discard() {
	if j == nil || j.file == nil {
		return
	}
	_ = j.file.Close() // it may be closed already
	if j.real != "" {
		_ = os.Remove(j.file.Name()) // nothing better can be done
	}
}

// WriteJobs writes a row of comma-separated values for each job, in order of
// jobs. What never happened, and a user who is not known, is left empty.
func WriteJobs(out io.Writer, r *condorsim.Result) error {
	rows := csv.NewWriter(out)
	header := slices.Clone(columns)
	var fair [][]backfill.Time
	if r.StrictFST != nil {
		header, fair = append(header, "strict_fst"), append(fair, r.StrictFST)
	}
	if r.RelaxedFST != nil {
		header, fair = append(header, "relaxed_fst"), append(fair, r.RelaxedFST)
	}
	if err := rows.Write(header); err != nil {
		return err
	}
	row := make([]string, len(header))
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		fillRow(row, r.Workload.Jobs[i], o)
		for k, starts := range fair {
			row[len(columns)+k] = when(o.Started, starts[i])
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

func fillRow(row []string, j condorsim.Job, o *condorsim.Outcome) {
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

// when is an instant, and empty if it never came.
func when(happened bool, t backfill.Time) string {
	if !happened {
		return ""
	}
	return strconv.FormatInt(int64(t), 10)
}
