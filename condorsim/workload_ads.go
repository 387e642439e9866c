package condorsim

import (
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// SlotsFromAds makes slots of the ads of a file, as classad.ReadAds yields them. A name that two
// slots share and a file without slots are errors. Errors give file and line. An ad without
// Requirements accepts every job that it has room for.
func SlotsFromAds(file string, schema negotiator.Schema,
	ads iter.Seq2[*classad.ClassAd, error],
) ([]*negotiator.Slot, error) {
	var slots []*negotiator.Slot
	names := map[string]bool{}
	for ad, err := range ads {
		if err != nil {
			return nil, err
		}
		negotiator.RequireNothing(ad)
		slot, err := schema.SlotFromAd(ad)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, ad.StreamLine(), err)
		}
		if names[slot.Name] {
			return nil, fmt.Errorf("%s:%d: there is another slot of the name %s", file, ad.StreamLine(), slot.Name)
		}
		names[slot.Name] = true
		slots = append(slots, slot)
	}
	if len(slots) == 0 {
		return nil, fmt.Errorf("%s: there is no slot in it", file)
	}
	return slots, nil
}

// FromAds makes a workload of the job ads of a file, for a pool of slots. RemoteWallClockTime, as
// in HTCondor's history, is the actual run time. Errors give file and line. An ad without
// Requirements may use every slot that has room.
func FromAds(file string, schema negotiator.Schema, slots []*negotiator.Slot,
	ads iter.Seq2[*classad.ClassAd, error],
) (*Workload, error) {
	base := filepath.Base(file)
	w := &Workload{Name: strings.TrimSuffix(base, filepath.Ext(base)), Schema: schema, Slots: slots, file: file}
	names := map[string]bool{}
	estimates, err := history.ParseEstimates(schema.Estimates)
	if err != nil {
		return nil, err
	}
	chosen := !slices.Equal(schema.Estimates, negotiator.DefaultSchema().Estimates)
	if chosen {
		schema.Estimates = nil // estimates finds them
	}
	for ad, err := range ads {
		if err != nil {
			return nil, err
		}
		job, err := jobFromAd(schema, ad)
		if err == nil && names[job.Name] {
			err = fmt.Errorf("there is another job %s", job.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, ad.StreamLine(), err)
		}
		if names[job.Name], job.Line = true, ad.StreamLine(); chosen {
			job.Estimate = backfill.Time(estimates.Of(ad))
		}
		w.Jobs = append(w.Jobs, job)
	}
	if len(w.Jobs) == 0 {
		return nil, fmt.Errorf("%s: there is no job in it", file)
	}
	if err = estimates.Check(file); chosen && err != nil {
		return nil, err
	}
	slices.SortStableFunc(w.Jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Position.Cluster, b.Position.Cluster),
			cmp.Compare(a.Position.Proc, b.Position.Proc))
	})
	for i := range w.Jobs {
		w.Jobs[i].ID = backfill.JobID(i)
	}
	w.Cleaning.JobsRead, w.Cleaning.JobsLeft = len(w.Jobs), len(w.Jobs)
	w.countJobs()
	return w, nil
}

// countJobs has the pool count the jobs on its slots if those of the workload ask for that. Whoever takes
// slots together, as bundles, takes whole ones.
func (w *Workload) countJobs() {
	if len(w.Bundles) > 0 {
		return
	}
	w.Slots = negotiator.CountJobsFor(func(yield func(*classad.ClassAd) bool) {
		for i := range w.Jobs {
			if !yield(w.Jobs[i].Ad) {
				return
			}
		}
	}, &w.Schema, w.Slots)
}

func jobFromAd(schema negotiator.Schema, ad *classad.ClassAd) (Job, error) {
	negotiator.RequireNothing(ad)
	j, err := schema.JobFromAd(0, ad)
	if err != nil {
		return Job{}, err
	}
	run, ok := ad.Int("RemoteWallClockTime")
	if !ok || run < 0 || run > maxRun {
		return Job{}, fmt.Errorf("job %s: RemoteWallClockTime, the actual run time, is missing or no whole number "+
			"from 0 to %d", j.Name, int64(maxRun))
	}
	request, err := schema.Request(ad, j.Nodes)
	if err != nil {
		return Job{}, fmt.Errorf("job %s: %w", j.Name, err)
	}
	j.User = j.Labels["owner"]
	job := Job{Job: j, Run: backfill.Time(run), Cpus: request[0] * int64(j.Nodes)}
	if i := slices.Index(schema.Resources, "memory"); i >= 0 {
		job.Memory = request[i] * int64(j.Nodes)
	}
	return job, nil
}

// maxRun bounds run times, in seconds, so that their sums cannot overflow.
const maxRun = 1 << 40

// FromHistory makes a workload of a history and the trace made from it. The trace says which jobs
// there are, when they are submitted and how long they run. Without a pool the jobs run on the
// trace's machine. On a pool each job has the chunks, Requirements and requests of its ad; for that
// the history must have been read with its ads and for the pool's schema.
func FromHistory(h *history.History, t *workload.Trace, pool *pools.Description) (*Workload, error) {
	if pool == nil {
		w, err := FromTrace(t, nil)
		if err != nil {
			return nil, err
		}
		w.Drops = nil // the names of ads are no numbers
		for i, j := range t.Jobs {
			from := &h.Jobs[j.ID-1]
			w.Jobs[i].Name, w.Jobs[i].Labels = from.Name, from.Labels
		}
		return w, nil
	}
	w := &Workload{
		Name: t.Name, Schema: pool.Schema, Slots: pool.Slots, Cleaning: t.Cleaning, file: h.Name,
	}
	w.startAt(t.Header)
	w.Jobs = make([]Job, len(t.Jobs))
	jobs := make([]negotiator.Job, len(t.Jobs))
	for i, j := range t.Jobs {
		from := &h.Jobs[j.ID-1]
		jobs[i] = negotiator.Job{
			ID: backfill.JobID(i), Name: from.Name, Submit: backfill.Time(j.Submit),
			Position: backfill.QueuePosition{Cluster: int64(i)}, Nodes: from.Nodes, Estimate: backfill.Time(j.Estimate),
			User: j.User, Labels: from.Labels, Ad: submittedAt(from.Ad, w.UnixStart+j.Submit), Enforced: !j.Lies,
		}
		w.Jobs[i] = Job{Job: &jobs[i], Run: backfill.Time(j.Run), Cpus: j.Procs, Memory: j.Memory, Lies: j.Lies, Line: from.Line, Origin: j.Origin}
	}
	if err := w.On(pool); err != nil {
		return nil, err
	}
	w.countJobs()
	return w, nil
}

// submittedAt returns the ad of a job that is submitted at a Unix time, which is another one than the
// ad says if the load was changed.
func submittedAt(ad *classad.ClassAd, at int64) *classad.ClassAd {
	if told, ok := ad.Literal("QDate").Int(); !ok || told == at {
		return ad
	}
	ad = ad.Clone()
	ad.SetInt("QDate", at)
	return ad
}
