package condorsim

import (
	"context"
	"fmt"

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
	Guarantee      backfill.Time // the latest start that was promised at arrival, if Promised
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
	// StrictFST and RelaxedFST are the fair start times by job, if they were asked
	// for; see [RunFair]. Those of jobs that never ran mean nothing.
	StrictFST, RelaxedFST []backfill.Time

	reserved int64 // idle cpus that are reserved since the last cycle
	last     backfill.Time
}

// Run simulates the workload under a negotiator's configuration, whose schema
// is the workload's. The sinks see each cycle.
func Run(ctx context.Context, w *Workload, c negotiator.Config, pace Pace, sinks ...negotiator.Sink) (*Result, error) {
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
	all := append([]negotiator.Sink{r}, sinks...)
	if err = negotiator.Run(ctx, n, NewPool(w, pace), all...); err != nil {
		return nil, err
	}
	return r, r.complete()
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
	for i, s := range report.Decision.Started {
		o := &r.Outcomes[s.Job.ID]
		if o.Started {
			return fmt.Errorf("internal error at %d: job %d is started twice", now, s.Job.ID)
		}
		*o = Outcome{
			Started: true, Start: now, How: s.How, Placement: report.Matches[i].Placement, Estimate: s.Job.Estimate,
			Promised: s.Promised, Guarantee: s.Guarantee,
		}
	}
	for _, h := range report.Held {
		r.Outcomes[h.Job.ID].Held = h.Reason // a start clears it
	}
	r.Broken += len(report.Decision.Broken)
	r.Unordered = report.Unordered
	return nil
}

// complete makes sure that no job was lost.
func (r *Result) complete() error {
	for i, o := range r.Outcomes {
		if !o.Ended && o.Held == "" {
			return fmt.Errorf("internal error: job %s neither ran nor was held", r.Workload.Jobs[i].Name)
		}
	}
	return nil
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
			Procs: j.Cpus, Memory: j.Memory,
		})
	}
	return jobs
}

// Metrics measures the schedule.
func (r *Result) Metrics() metrics.Metrics {
	capacity := r.Workload.Capacity()
	return metrics.Compute(metrics.Machine{Processors: capacity[0], Memory: r.Workload.Memory()}, r.Ran())
}
