package condorsim

import (
	"cmp"
	"context"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Outcome is what became of a job.
type Outcome struct {
	Started, Ended bool
	Start, End     backfill.Time
	How            backfill.How
	Placement      negotiator.Placement
	Estimate       backfill.Time // what was planned with
	Promised       bool
	Guarantee      backfill.Time // the latest start that was promised at first, mostly at arrival, if Promised
	Held           string        // the reason, if it never was to run
}

// Result is a finished simulation.
type Result struct {
	Workload *Workload
	Outcomes []Outcome // by job, as in Workload.Jobs
	Cycles   int
	Refusals int // rounds that the fallback policy decided
	Broken   int // guarantees that could not be kept
	// ReservedIdle is how many cpu seconds were idle because they were reserved; see
	// [backfill.State.ReservedIdle].
	ReservedIdle float64
	// Unordered says that the order's expression had a number for no job.
	Unordered bool
	// Bound is that of the bounded slowdowns; 0: the usual one.
	Bound backfill.Time
	// Work is what the jobs that ran used of each resource, in amounts times
	// seconds.
	Work []float64
	// Extra are measures that were asked for.
	Extra metrics.Measures

	reserved int64 // idle cpus that are reserved since the last cycle
	last     backfill.Time
}

// Run simulates the workload under a negotiator's configuration, whose schema
// is the workload's. The sinks see each cycle. An error of type [*Violation] is
// the program's own fault.
func Run(ctx context.Context, w *Workload, c negotiator.Config, pace Pace, sinks ...negotiator.Sink) (*Result, error) {
	return run(ctx, w, c, NewPool(w, pace), sinks...)
}

func run(ctx context.Context, w *Workload, c negotiator.Config, pool negotiator.Pool, sinks ...negotiator.Sink) (*Result, error) {
	r := &Result{Workload: w, Outcomes: make([]Outcome, len(w.Jobs))}
	c.Schema = w.Schema
	report := c.Refused
	c.Refused = func(refusal backfill.Refusal) {
		r.Refusals++
		if report != nil {
			report(refusal)
		}
	}
	n, err := negotiator.New(c)
	if err != nil {
		return nil, err
	}
	books := newAudit(w, r.Outcomes)
	all := append([]negotiator.Sink{books, r}, sinks...)
	if err = negotiator.Run(ctx, n, pool, all...); err != nil {
		return nil, err
	}
	if err = books.close(); err != nil {
		return nil, err
	}
	r.Work = books.done
	return r, nil
}

// Cycle records what a cycle did.
func (r *Result) Cycle(report negotiator.Report) error {
	r.Cycles++
	now := report.Delta.Now
	r.ReservedIdle += float64(r.reserved) * float64(now-r.last)
	r.reserved, r.last = report.State.ReservedIdle(), now
	for _, id := range report.Delta.Completed {
		r.Outcomes[id].End, r.Outcomes[id].Ended = now, true
	}
	if len(report.Delta.Submitted) > 0 {
		r.promise(report.Decision.Actions)
	}
	for i, s := range report.Decision.Started {
		o := &r.Outcomes[s.Job.ID]
		first := *o
		*o = Outcome{
			Started: true, Start: now, How: s.How, Placement: report.Matches[i].Placement, Estimate: s.Job.Estimate,
			Promised: s.Promised, Guarantee: s.Guarantee,
		}
		if first.Promised { // it may have been broken since
			o.Promised, o.Guarantee = true, first.Guarantee
		}
	}
	for _, h := range report.Held {
		r.Outcomes[h.Job.ID] = Outcome{Held: h.Reason} // a start clears it
	}
	r.Broken += len(report.Decision.Broken)
	r.Unordered = report.Unordered
	return nil
}

// promise records what was promised to jobs at their arrival.
func (r *Result) promise(actions []backfill.Action) {
	for _, a := range actions {
		if a.Kind == backfill.ActGuarantee {
			r.Outcomes[a.Job].Promised, r.Outcomes[a.Job].Guarantee = true, a.At
		}
	}
}

// Ran are the jobs that ran, as the metrics want them; held ones are left out.
func (r *Result) Ran() []metrics.Job {
	jobs := make([]metrics.Job, 0, len(r.Outcomes))
	for i, o := range r.Outcomes {
		if !o.Ended {
			continue
		}
		j := r.Workload.Jobs[i]
		jobs = append(jobs, metrics.Job{
			Submit: int64(j.Submit), Start: int64(o.Start), Run: int64(o.End - o.Start), Estimate: int64(o.Estimate),
			Procs: j.Cpus, Memory: j.Memory, User: j.User,
		})
	}
	return jobs
}

// Metrics measures the schedule.
func (r *Result) Metrics() metrics.Metrics {
	capacity := r.Workload.Capacity()
	machine := metrics.Machine{Processors: capacity[0], Memory: r.Workload.Memory()}
	return metrics.ComputeBounded(machine, r.Ran(), int64(cmp.Or(r.Bound, metrics.DefaultBound)))
}

// Users tells what each user got.
func (r *Result) Users() []metrics.User {
	return metrics.ByUser(r.Ran(), int64(cmp.Or(r.Bound, metrics.DefaultBound)))
}
