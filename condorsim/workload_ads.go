package condorsim

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// ReadingFor returns how to read jobs that are to run on a pool, or, if that is nil, on a machine of
// their own. The pool decides which jobs are too large, and whether memory counts. Orders are those that
// the queue may have: what their expressions refer to is kept of job ads.
func ReadingFor(pool *pools.Description, o formats.Options, orders ...string) formats.Options {
	if pool == nil {
		return o
	}
	bounds := pool.Bounds()
	o.CPUs, o.Memory, o.GPUs = cmp.Or(o.CPUs, bounds.Processors), cmp.Or(o.Memory, bounds.Memory), cmp.Or(o.GPUs, bounds.GPUs)
	o.Ads.Schema, o.Ads.WithAds, o.Ads.Asked = pool.Schema, true, append(pool.Asked(), strings.ToLower(pools.ScavengerOfJobs))
	o.Ads.SlotsHave = pool.Has()
	for _, order := range orders {
		o.Ads.Asked = append(o.Ads.Asked, asked(order)...)
	}
	return o
}

// asked returns the attributes of jobs that an order's expression refers to; none for other orders.
func asked(order string) []string {
	text, found := strings.CutPrefix(order, "expr:")
	if !found {
		return nil
	}
	expression, err := classad.ParseExpr(text)
	if err != nil {
		return nil // making the order gives the error
	}
	_, names, _ := expression.Refs(classad.New())
	return names
}

// From makes a workload of what a file of jobs holds, for a pool, for which it must have been read (see
// [ReadingFor]). Without a pool the jobs run on the machine of their trace.
func From(jobs *formats.Jobs, pool *pools.Description) (*Workload, error) {
	return from(jobs, pool, nil)
}

func from(jobs *formats.Jobs, pool *pools.Description, asked *negotiator.Job) (*Workload, error) {
	switch {
	case jobs.Recorded != nil:
		return fromRecord(jobs.Recorded, jobs.Trace, pool, asked)
	case jobs.History != nil:
		return fromHistory(jobs.History, jobs.Trace, pool, asked)
	case pool != nil:
		w, err := OnPool(jobs.Trace, pool)
		if err == nil && asked != nil {
			w.countJobs(asked)
		}
		return w, err
	default:
		return FromTrace(jobs.Trace, nil)
	}
}

// Queued is [From] for a negotiator: it sees jobs of ads as their queue has them. They are submitted at
// the times of their ads, and are planned with what they state: a run time that they may exceed, a limit
// at which they are ended, or nothing. Asked is a job that the negotiator is asked about, which the pool is
// ready for as if it were one of these; nil: there is none.
func Queued(jobs *formats.Jobs, pool *pools.Description, asked *negotiator.Job) (*Workload, error) {
	w, err := from(jobs, pool, asked)
	if err != nil || jobs.History == nil {
		return w, err
	}
	for i := range w.Jobs {
		if i < w.filled {
			w.Jobs[i].Submit += backfill.Time(w.UnixStart)
			continue
		}
		j, stated := w.Jobs[i].Job, &jobs.History.Jobs[jobs.Trace.Jobs[i-w.filled].ID-1]
		j.Submit += backfill.Time(w.UnixStart)
		j.Estimate, j.Limit, j.Enforced = backfill.Time(stated.Estimate), backfill.Time(stated.Limit), false
		w.Jobs[i].Origin = workload.Stated
		switch {
		case j.Estimate == 0:
			w.Cleaning.EstimateDefault++
		case w.Jobs[i].runs() > j.Estimate:
			w.Cleaning.Overrunning++
		}
	}
	w.UnixStart = 0
	w.Cleaning.EstimateRaised, w.Cleaning.EstimateUnknown = 0, 0 // no estimate was changed
	return w, nil
}

// countJobs has the pool count the jobs on its slots, and plan with kinds of GPUs, if the jobs of the
// workload, or one that is asked about, ask for that. Whoever takes slots together, as bundles, takes whole
// ones.
func (w *Workload) countJobs(asked *negotiator.Job) {
	if len(w.Bundles) > 0 {
		return
	}
	jobs := w.reported()
	if asked != nil {
		jobs = append(jobs, asked)
	}
	var unheeded []string
	w.Slots, unheeded = negotiator.PlanKinds(&w.Schema, w.Slots, jobs)
	w.Unheeded = append(w.Unheeded, unheeded...)
	w.Slots = negotiator.CountJobsFor(func(yield func(*classad.ClassAd) bool) {
		for _, j := range jobs {
			if !yield(j.Ad) {
				return
			}
		}
	}, &w.Schema, w.Slots)
}

// reported returns the jobs as the negotiator sees them.
func (w *Workload) reported() []*negotiator.Job {
	jobs := make([]*negotiator.Job, len(w.Jobs))
	for i := range w.Jobs {
		jobs[i] = w.Jobs[i].Job
	}
	return jobs
}

// FromHistory makes a workload of a history and the trace made from it. The trace says which jobs
// there are, when they are submitted and how long they run. Without a pool the jobs run on the
// trace's machine. On a pool each job has the chunks, Requirements and requests of its ad; for that
// the history must have been read with its ads and for the pool's schema.
func FromHistory(h *history.History, t *workload.Trace, pool *pools.Description) (*Workload, error) {
	return fromHistory(h, t, pool, nil)
}

func fromHistory(h *history.History, t *workload.Trace, pool *pools.Description, asked *negotiator.Job,
) (*Workload, error) {
	if pool == nil {
		w, err := FromTrace(t, nil)
		if err != nil {
			return nil, err
		}
		w.Drops = nil // the names of ads are no numbers
		beyond := 0
		for i, j := range t.Jobs {
			from := &h.Jobs[j.ID-1]
			w.Jobs[i].Name, w.Jobs[i].Labels, w.Jobs[i].Prio = from.Name, from.Labels, int64(from.Prio)
			if from.Beyond {
				beyond++
			}
		}
		if beyond > 0 {
			what := "RequestGPUs, Requirements and ConcurrencyLimits of %d jobs"
			gives := "--pool gives some, and --gpus gives it GPUs"
			if t.Machine.GPUs > 0 {
				what = "Requirements and ConcurrencyLimits, if any, of %d jobs that have these or ask for GPUs"
				gives = "--pool gives some"
			}
			w.Unheeded = append(w.Unheeded, fmt.Sprintf(what+", as the machine has no ads of slots: "+gives, beyond))
		}
		return w, nil
	}
	w := &Workload{
		Name: t.Name, Schema: pool.Schema, Slots: pool.Slots, Cleaning: t.Cleaning,
	}
	w.startAt(t.Header)
	w.Jobs = make([]Job, len(t.Jobs))
	jobs := make([]negotiator.Job, len(t.Jobs))
	for i, j := range t.Jobs {
		from := &h.Jobs[j.ID-1]
		jobs[i] = negotiator.Job{
			ID: backfill.JobID(i), Name: from.Name, Submit: backfill.Time(j.Submit),
			Position: backfill.QueuePosition{Cluster: int64(i)}, Nodes: int(from.Nodes), Estimate: backfill.Time(j.Estimate),
			User: j.User, Labels: from.Labels, Ad: submittedAt(from.Ad, w.UnixStart+j.Submit), Enforced: !j.Lies,
		}
		w.Jobs[i] = Job{
			Job: &jobs[i], Run: backfill.Time(j.Run), Ran: backfill.Time(j.Ran()), Cpus: j.Procs, Memory: j.Memory,
			Lies: j.Lies, Prio: int64(from.Prio), BySlot: bySlot(from.Ad, pool),
			Waited: backfill.Time(j.Waited), HasWaited: j.HasWaited, WrongStart: j.WrongStart, Origin: j.Origin,
		}
	}
	if err := w.On(pool); err != nil {
		return nil, err
	}
	w.countJobs(asked)
	return w, w.group(pool)
}

// bySlot reports whether what a job holds depends on the slot. On bundles it holds what its ad alone tells.
func bySlot(ad *classad.ClassAd, pool *pools.Description) bool {
	return len(pool.Bundles) == 0 && negotiator.RequestsBySlot(ad, pool.Schema.Resources)
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
