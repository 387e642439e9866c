package condorsim

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/wholefile"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
)

// Violation is something that a simulation did and no simulation may do: an
// internal error.
type Violation struct {
	At      backfill.Time
	Job     string // its name; "": no job in particular
	Problem string

	w        *Workload
	from, to int // the jobs that had to do with it
}

// Error says when, who and what.
func (v *Violation) Error() string {
	job := ""
	if v.Job != "" {
		job = ", job " + v.Job
	}
	return fmt.Sprintf("internal error at %d%s: %s", v.At, job, v.Problem)
}

// Save writes the case to a file in a folder, as an instance that condorsim run
// --instance reads: the jobs up to the instant, from the last one at which
// nothing waited or ran. The labels of jobs are not in it, nor are the slots of a
// pool. The file is there whole or not at all.
func (v *Violation) Save(dir string) (path string, err error) {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\: `, r) {
			return '-'
		}
		return r
	}, v.w.Name)
	path = filepath.Join(dir, fmt.Sprintf("condorsim-error-%s-at-%d.json", name, v.At))
	return path, wholefile.Write("the case", path, v.trace().WriteInstance)
}

// trace is the case. Jobs whose names are no numbers, as those of a trace are, are
// numbered anew.
func (v *Violation) trace() *workload.Trace {
	t := &workload.Trace{
		Name:    fmt.Sprintf("%s at %d", v.w.Name, v.At),
		Machine: workload.Machine{Processors: v.w.Capacity()[0], Memory: v.w.Memory()},
	}
	for _, j := range v.w.Jobs[v.from:v.to] {
		id, err := strconv.ParseInt(j.Name, 10, 64)
		if err != nil {
			id = 0
		}
		t.Jobs = append(t.Jobs, workload.Job{
			ID: id, Submit: int64(j.Submit), Run: int64(j.runs()),
			Estimate: int64(max(j.Estimate, j.runs(), 1)), Procs: j.Cpus, Memory: j.Memory,
		})
	}
	return t
}
