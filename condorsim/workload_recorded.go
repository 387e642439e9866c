package condorsim

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// fromRecord makes a workload of a record and the trace made from it, which says which jobs there are, when they
// arrive, how long they run and what users stated. Without a pool the jobs run on the pool of the record. Jobs that
// the trace has at another time than the record wait there like others, wherever they ran.
func fromRecord(r *recorded.Record, t *workload.Trace, pool *pools.Description, asked *negotiator.Job) (*Workload, error) {
	own := pool == nil
	if own {
		pool = r.Description
	}
	w := &Workload{
		Name: t.Name, Schema: pool.Schema, Slots: pool.Slots, Cleaning: t.Cleaning, Slack: r.Slack, Unstated: r.Unstated,
		Recorded: r,
	}
	w.startAt(t.Header)
	w.Jobs = make([]Job, len(t.Jobs))
	jobs := make([]negotiator.Job, len(t.Jobs))
	for i, j := range t.Jobs {
		from := &r.Jobs[j.ID-1]
		later := backfill.Time(j.Submit) - from.Submit
		jobs[i] = from.Job
		jobs[i].ID, jobs[i].Submit, jobs[i].Position = backfill.JobID(i), backfill.Time(j.Submit), backfill.QueuePosition{Cluster: int64(i)}
		w.Jobs[i] = Job{
			Job: &jobs[i], Run: backfill.Time(j.Run), Ran: backfill.Time(j.Ran()), Cpus: j.Procs, Memory: j.Memory,
			BySlot: bySlot(from.Ad, pool), Waited: backfill.Time(j.Waited), HasWaited: j.HasWaited, Origin: j.Origin,
		}
		if stated := r.Stated(int(j.ID - 1)); j.Estimate != stated {
			jobs[i].Estimate, w.Jobs[i].Lies = backfill.Time(j.Estimate), j.Lies
		}
		if later != 0 {
			jobs[i].Ad = submittedAt(from.Ad, w.UnixStart+j.Submit)
			if jobs[i].Release > 0 {
				jobs[i].Release = max(1, jobs[i].Release+later)
			}
		}
		w.Jobs[i].Stray = strayOf(from, later, own)
	}
	w.tellOfRecord()
	if !own {
		if err := w.On(pool); err != nil {
			return nil, err
		}
		w.countJobs(asked)
		return w, w.group(pool)
	}
	w.Bundles, w.Limits, w.Changes = pool.Bundles, pool.Limits, r.Changes
	if w.Scavenging() > 0 {
		w.Scavengers = &Scavengers{Vacate: r.Slack}
	}
	return w, w.CheckChunks()
}

// strayOf returns what a record knows of a job that arrives so much later than it says; own says that it runs on the
// pool of the record.
func strayOf(from *recorded.Job, later backfill.Time, own bool) *Stray {
	var s Stray
	if later == 0 && own {
		s.Places = from.Places
	}
	for _, a := range from.Away {
		if a.From += later; a.To != backfill.Forever {
			a.To += later
		}
		s.Away = append(s.Away, a)
	}
	if s.Away == nil && s.Places == nil {
		return nil
	}
	return &s
}

// tellOfRecord says what of the record does not happen again as it was.
func (w *Workload) tellOfRecord() {
	if n := w.Recorded.Foreign; n > 0 {
		w.Unheeded = append(w.Unheeded, fmt.Sprintf("places of %d jobs that ran and never were in the queue: they arrive when they "+
			"were found, like others", n))
	}
	if n := w.Recorded.Displaced; n > 0 {
		w.Unheeded = append(w.Unheeded, fmt.Sprintf("why jobs made way for others, %d times: a record does not have the pool's rules "+
			"for that, and only scavengers do", n))
	}
}
