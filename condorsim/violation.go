package condorsim

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// Violation is an internal error: the simulation did something that no simulation may do.
type Violation struct {
	At      backfill.Time
	Job     string // its name; "": none in particular
	Problem string

	w        *Workload
	from, to int // the jobs involved
}

// Error returns a message with time, job and problem.
func (v *Violation) Error() string {
	job := ""
	if v.Job != "" {
		job = ", job " + v.Job
	}
	return fmt.Sprintf("internal error at %s%s: %s", v.w.text(v.At), job, v.Problem)
}

// Save writes the jobs that lead to the error to a file in the folder dir, as a JSON file for
// condorsim run --instance, and returns its path. These are the jobs that arrived up to the error,
// from the last instant at which nothing waited or ran. Each keeps its user, group and
// queue, and whether it is a scavenger; the slots of a pool are left out. The file is written whole or not at all.
func (v *Violation) Save(dir string) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("condorsim-error-%s-at-%d.json", fileName(v.w.Name), v.At))
	return path, wholefile.Write("the case", path, v.trace().WriteInstance)
}

// trace returns the jobs that lead to the error, as a trace. Jobs whose names are not numbers are
// numbered anew.
func (v *Violation) trace() *workload.Trace {
	t := &workload.Trace{
		Name:    fmt.Sprintf("%s at %d", v.w.Name, v.At),
		Machine: workload.Machine{Processors: v.w.Capacity()[0], Memory: v.w.Memory(), GPUs: v.w.gpus()},
		Filled:  v.w.hasFill, Scavengers: map[int64]bool{},
	}
	jobs := v.w.Jobs[v.from:v.to]
	known := map[int64]bool{0: true}
	anew := slices.ContainsFunc(jobs, func(j Job) bool {
		id := j.instance().ID
		twice := known[id]
		known[id] = true
		return twice
	})
	index := map[int64]int{} // of the jobs before, by Position.Cluster
	for i := range jobs {
		j := &jobs[i]
		job := j.instance()
		if anew {
			job.ID = int64(i) + 1
		}
		if j.Scavenger {
			t.Scavengers[job.ID] = true
		}
		job.User, job.Group, job.Queue = j.User, j.Labels["group"], j.Labels["qos"]
		if at := strings.LastIndexByte(j.Labels["account"], '.'); at >= 0 { // an AccountingGroup
			job.Group, job.User = j.Labels["account"][:at], j.Labels["account"][at+1:]
		}
		t.Jobs = append(t.Jobs, job)
		if j.After != nil {
			if k, before := index[j.After.Job]; before {
				t.Jobs[i].After = &workload.Preceding{ID: t.Jobs[k].ID, Think: int64(j.After.Think)}
			}
		}
		index[j.Position.Cluster] = i
	}
	return t
}

// noJob is the ID in violations that concern no particular job.
const noJob backfill.JobID = -1

func (a *audit) violation(id backfill.JobID, format string, args ...any) error {
	v := &Violation{At: a.now, Problem: fmt.Sprintf(format, args...), w: a.w, from: a.quiet, to: a.arrived}
	if a.came != nil {
		v.to = len(a.w.Jobs)
	}
	if id >= 0 && int(id) < len(a.w.Jobs) {
		v.Job = a.w.Jobs[id].Name
		v.from, v.to = min(v.from, int(id)), max(v.to, int(id)+1)
	}
	return v
}
