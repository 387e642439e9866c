package condorsim

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Rounds writes rounds of a simulation as instances, of which each plays its round alone. It is to be
// one of the simulation's sinks.
type Rounds struct {
	dir   string
	w     *Workload
	n     *negotiator.Negotiator
	kinds map[string]bool // of failures of which a round was written
}

// NewRounds makes one that writes to the folder dir.
func NewRounds(w *Workload, dir string) *Rounds {
	return &Rounds{dir: dir, w: w, kinds: map[string]bool{}}
}

func (r *Rounds) watch(n *negotiator.Negotiator) { r.n = n }

// Cycle does nothing.
func (*Rounds) Cycle(*negotiator.Report) error { return nil }

// Save writes the round in which a decision is being refused, and returns the file's path. Of each
// kind of failure it writes the first round only, and ten in all; the path is "" for others, and for rounds
// in which the policy was not asked.
//
// In the instance, the jobs that run come first and start when they did; those that wait may not start
// before the round, and keep their submit times. Labels, slots and Requirements are left out, and what was
// promised or reserved before the round.
func (r *Rounds) Save(refusal backfill.Refusal) (path string, err error) {
	const most = 10
	kind := refusal.Kind()
	if !refusal.Asked() || r.kinds[kind] || len(r.kinds) >= most || r.n == nil {
		return "", nil
	}
	r.kinds[kind] = true
	path = filepath.Join(r.dir, fmt.Sprintf("condorsim-refused-%s-at-%d.json", fileName(r.w.Name), refusal.Now))
	return path, wholefile.Write("the round", path, r.trace(refusal.Now).WriteInstance)
}

// Telling returns what is to be told of refused decisions: it tells of each, writes rounds as Save does, and
// logs where each is and with which command it is run alone, given its path.
func (r *Rounds) Telling(tell func(backfill.Refusal), log func(text string, about ...any),
	again func(path string) string,
) func(backfill.Refusal) {
	return func(refusal backfill.Refusal) {
		tell(refusal)
		switch path, err := r.Save(refusal); {
		case err != nil:
			log("the refused round could not be written", "at", refusal.Now, "error", err)
		case path != "":
			log("the refused round is written", "at", refusal.Now, "file", path, "run it alone with", again(path))
		}
	}
}

// trace returns the jobs of the round at an instant, from the state before it.
func (r *Rounds) trace(now backfill.Time) *workload.Trace {
	state := r.n.State()
	t := &workload.Trace{
		Name:    fmt.Sprintf("%s at %d", r.w.Name, now),
		Machine: workload.Machine{Processors: r.w.Capacity()[0], Memory: r.w.Memory(), GPUs: r.w.gpus()},
	}
	first, starts := now, map[backfill.JobID]backfill.Time{}
	for on := range state.Running() {
		starts[on.Job.ID] = on.Start
	}
	var running, waiting []workload.Job
	for i := range r.w.Jobs {
		j := &r.w.Jobs[i]
		known := state.Job(backfill.JobID(i)) != nil
		isNew := j.Submit > state.Now() || state.Revision() == 0
		if j.Submit > now || !known && !isNew || j.Scavenger { // the policy sees no scavengers
			continue
		}
		job := j.instance()
		if start, runs := starts[backfill.JobID(i)]; runs {
			job.Release = max(0, int64(start))
			running = append(running, job)
			first = min(first, start)
		} else {
			job.Release = max(0, int64(max(now, j.Release)))
			waiting = append(waiting, job)
		}
		first = min(first, j.Submit)
	}
	slices.SortStableFunc(running, func(a, b workload.Job) int { return cmp.Compare(a.Release, b.Release) })
	for i := range running { // before those that wait, so that no plan for these is in their way
		running[i].Submit = int64(first)
	}
	t.Jobs = append(running, waiting...)
	return t
}

// instance returns the job as instances hold it. One whose name is no number has no id: all jobs are
// numbered anew then.
func (j *Job) instance() workload.Job {
	id, err := strconv.ParseInt(j.Name, 10, 64)
	if err != nil {
		id = 0
	}
	return workload.Job{
		ID: id, Submit: int64(j.Submit), Release: int64(j.Release), Run: int64(j.runs()),
		Estimate: int64(max(j.Estimate, j.runs(), 1)), Procs: j.Cpus, Memory: j.Memory, GPUs: j.GPUs,
	}
}

// fileName returns a workload's name as a part of a file's.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\: `, r) {
			return '-'
		}
		return r
	}, name)
}
