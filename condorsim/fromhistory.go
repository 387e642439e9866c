package condorsim

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/history"
	"github.com/condor-backfill/condor-backfill/condorsim/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// FromHistory makes a workload of a history. Which jobs, when and for how long is
// the trace's to say, which was made of the history. On a pool each has the chunks,
// the Requirements and the requests of its ad: the history must have been read with
// its ads, for the pool's schema. Without a pool it runs on the trace's machine.
func FromHistory(h *history.History, t *workload.Trace, pool *pools.Pool) (*Workload, error) {
	if pool == nil {
		w, err := FromTrace(t, nil)
		if err != nil {
			return nil, err
		}
		for i, j := range t.Jobs {
			from := &h.Jobs[j.ID-1]
			w.Jobs[i].Name, w.Jobs[i].Labels = from.Name, from.Labels
		}
		return w, nil
	}
	w := &Workload{
		Name: t.Name, Schema: pool.Schema, Slots: pool.Slots, Bundles: pool.Bundles, Cleaning: t.Cleaning,
		Outages: pool.Outages, GiveUpAfter: pool.GiveUpAfter,
	}
	w.Jobs = make([]Job, len(t.Jobs))
	jobs := make([]negotiator.Job, len(t.Jobs))
	for i, j := range t.Jobs {
		from := &h.Jobs[j.ID-1]
		jobs[i] = negotiator.Job{
			ID: backfill.JobID(i), Name: from.Name, Submit: backfill.Time(j.Submit),
			Place: backfill.Place{Cluster: int64(i)}, Nodes: from.Nodes, Estimate: backfill.Time(j.Estimate),
			Labels: from.Labels, Ad: from.Ad,
		}
		w.Jobs[i] = Job{Job: &jobs[i], Run: backfill.Time(j.Run), User: j.User, Cpus: j.Procs, Memory: j.Memory}
	}
	return w, w.CheckChunks()
}
