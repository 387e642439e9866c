package report

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// columns of the table of jobs.
var columns = [...]string{"id", "submit", "start", "end", "guarantee", "nodes", "cpus", "memory", "estimate", "run", "user", "how", "slots"}

// JobsFile writes the table of jobs to a file, which exists afterwards either
// whole or not at all.
func JobsFile(path string, r *condorsim.Result) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the table of jobs: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write the table of jobs to %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	if err = errors.Join(WriteJobs(file, r), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// WriteJobs writes a row of comma-separated values for each job, in order of
// jobs. What never happened, and a user who is not known, is left empty.
func WriteJobs(out io.Writer, r *condorsim.Result) error {
	buffered := bufio.NewWriter(out)
	rows := csv.NewWriter(buffered)
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
	return errors.Join(rows.Error(), buffered.Flush())
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
		when(j.Estimate > 0, j.Estimate), when(true, j.Run), j.User, how, slots(o.Placement),
	})
}

// slots lists a placement as name×chunks.
func slots(at []negotiator.Place) string {
	parts := make([]string, len(at))
	for i, p := range at {
		parts[i] = p.Slot.Name + "×" + strconv.Itoa(p.Chunks)
	}
	return strings.Join(parts, " ")
}
