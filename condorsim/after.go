package condorsim

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// predecessors returns which jobs others are submitted after, by Position.Cluster, as far as they are in
// the workload; nil if there are none.
func (w *Workload) predecessors() map[int64]bool {
	var named map[int64]bool
	for i := range w.Jobs {
		if after := w.Jobs[i].After; after != nil {
			if named == nil {
				named = map[int64]bool{}
			}
			named[after.Job] = true
		}
	}
	if named == nil {
		return nil
	}
	there := map[int64]bool{}
	for i := range w.Jobs {
		if k := w.Jobs[i].Position.Cluster; named[k] {
			there[k] = true
		}
	}
	return there
}

// dependent reports whether some jobs are submitted after the ends of others. It is told once, before
// the run.
func (w *Workload) dependent() bool { return len(w.predecessors()) > 0 }

// forRun returns the workload for one run: if jobs are submitted after the ends of others or come back, a copy in
// which the run sets when they were. The others of the jobs are shared.
func (w *Workload) forRun() *Workload {
	there := w.predecessors()
	if len(there) == 0 && !w.comesBack() {
		return w
	}
	own := *w
	if own.given == nil {
		own.given = w
	}
	own.Jobs = slices.Clone(w.Jobs)
	for i := range own.Jobs {
		j := &own.Jobs[i]
		if j.After == nil {
			continue
		}
		if !there[j.After.Job] {
			j.After = nil
			continue
		}
		j.Job = new(*j.Job)
	}
	return &own
}

// successors are the jobs of a run that are submitted after the ends of others.
type successors struct {
	waiting map[int64][]backfill.JobID // by Position.Cluster of a job that has not ended
	due     []successor                // by time, then ID
}

type successor struct {
	at  backfill.Time
	job backfill.JobID
}

// newSuccessors returns those of a workload that is for one run; nil if there are none.
func newSuccessors(w *Workload) *successors {
	if !w.dependent() {
		return nil
	}
	s := &successors{waiting: map[int64][]backfill.JobID{}}
	for i := range w.Jobs {
		if after := w.Jobs[i].After; after != nil {
			s.waiting[after.Job] = append(s.waiting[after.Job], backfill.JobID(i))
		}
	}
	return s
}

// ended notes that a job has ended at an instant, or was given up.
func (s *successors) ended(w *Workload, id backfill.JobID, now backfill.Time) {
	cluster := w.Jobs[id].Position.Cluster
	for _, next := range s.waiting[cluster] {
		one := successor{w.Jobs[next].After.submits(w.Jobs[next].Submit, now), next}
		place, _ := slices.BinarySearchFunc(s.due, one, func(a, b successor) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job))
		})
		s.due = slices.Insert(s.due, place, one)
	}
	delete(s.waiting, cluster)
}

// never returns the jobs that are not submitted, since their preceding jobs have not ended.
func (s *successors) never() (all []backfill.JobID) {
	if s == nil {
		return nil
	}
	for _, jobs := range s.waiting {
		all = append(all, jobs...)
	}
	slices.Sort(all)
	return all
}

// next returns when the next of them is submitted; [backfill.Forever] if none has become due.
func (s *successors) next() backfill.Time {
	if s == nil || len(s.due) == 0 {
		return backfill.Forever
	}
	return s.due[0].at
}

// submit adds to the list those that are submitted by now, and sets their submit times.
func (s *successors) submit(w *Workload, now backfill.Time, list []*negotiator.Job) []*negotiator.Job {
	for s.next() <= now {
		j := w.Jobs[s.due[0].job]
		j.Submit, j.Ad = now, submittedAt(j.Ad, w.UnixStart+int64(now))
		list = append(list, j.Job)
		s.due = s.due[1:]
	}
	return list
}
