package condorsim

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Outcome is what became of a job.
type Outcome struct {
	Started, Ended bool
	Start, End     backfill.Time
	How            backfill.How
	Backfilled     bool // it overtook, on slots that are reserved for a job before it; see [backfill.State.OnReserved]
	Placement      negotiator.Placement
	Estimate       backfill.Time // what was requested, or stood for it
	Promised       bool
	Guarantee      backfill.Time // the latest start that was promised at first, mostly at arrival, if Promised
	Held           string        // the reason, if it never was to run
	// Requeues is how often the job lost its slot and went back to the queue; all
	// but the last run are void. Lost is what they took, in cpu seconds.
	Requeues int
	Lost     float64
}

// Result is a finished simulation.
type Result struct {
	Workload *Workload
	Outcomes []Outcome // by job, as in Workload.Jobs
	Cycles   int
	// Refusals are the rounds that a fallback policy decided, by the policies that
	// could not.
	Refusals []Refusals
	// Broken is how many guarantees could not be kept, BrokenBy by why: a cause of
	// the core or [BrokenByDrain]. What a job was promised before it had to be held
	// counts.
	Broken   int
	BrokenBy map[string]int
	// Requeues and LostCoreSeconds are the sums over the jobs of what Outcome says.
	Requeues        int
	LostCoreSeconds float64
	// ReservedIdle is how many cpu seconds were idle because they were reserved; see
	// [backfill.State.ReservedIdle].
	ReservedIdle float64
	// Unordered says that the order's expression had a number for no job.
	Unordered bool
	// StrictFST and RelaxedFST are the fair start times by job, if they were asked
	// for; see [RunFair]. Those of jobs that never ran mean nothing.
	StrictFST, RelaxedFST []backfill.Time
	// Predictions are what the jobs that started were planned with, by job; nil: all
	// with what they requested. See [Result.Predicted].
	Predictions []estimate.Uses
	// Bound is that of the bounded slowdowns; 0: the usual one.
	Bound backfill.Time
	// Work is what the jobs that ran used of each resource, in amounts times
	// seconds.
	Work []float64
	// Extra are measures that were asked for.
	Extra metrics.Measures

	pool     *Pool
	unknown  backfill.Time // is requested by jobs that bring no estimate
	promises bool
	reserved int64 // idle cpus that are reserved since the last cycle
	last     backfill.Time
}

// Refusals are the decisions of one policy that did not count.
type Refusals struct {
	Policy string
	Count  int
	First  backfill.Refusal
	// GivenUp says that the policy would have decided no more, and that nobody took
	// its place: the fallback decided the rest.
	GivenUp bool
}

// refuse counts a refusal.
func (r *Result) refuse(refusal backfill.Refusal) {
	i := slices.IndexFunc(r.Refusals, func(other Refusals) bool { return other.Policy == refusal.Policy })
	if i < 0 {
		i = len(r.Refusals)
		r.Refusals = append(r.Refusals, Refusals{Policy: refusal.Policy, First: refusal})
	}
	r.Refusals[i].Count++
	r.Refusals[i].GivenUp = errors.Is(refusal.Err, backfill.ErrGivenUp)
}

// BrokenByDrain is why a guarantee is broken whose slot takes no new work.
const BrokenByDrain = "slot drained"

// GivenUp is why a job is held that lost its slot too often.
const GivenUp = "given up: it lost its slot too often"

// Run simulates the workload under a negotiator's configuration, whose schema
// is the workload's. The sinks see each cycle. An error of type [*Violation] is
// the program's own fault.
func Run(ctx context.Context, w *Workload, c negotiator.Config, pace Pace, sinks ...negotiator.Sink) (*Result, error) {
	return run(ctx, w, c, NewPool(w, pace), sinks...)
}

func run(ctx context.Context, w *Workload, c negotiator.Config, pool negotiator.Pool, sinks ...negotiator.Sink) (*Result, error) {
	if err := w.CheckChunks(); err != nil {
		return nil, err
	}
	r := &Result{Workload: w, Outcomes: make([]Outcome, len(w.Jobs)), BrokenBy: map[string]int{}}
	if p, ok := pool.(*Pool); ok {
		r.pool = p
	}
	c.Schema = w.Schema
	r.unknown = cmp.Or(c.DefaultEstimate, negotiator.DefaultEstimate)
	if c.Estimates != nil && !c.Estimates.Requested() {
		r.Predictions = make([]estimate.Uses, len(w.Jobs))
		c.Actual = w.actual
	}
	report := c.Refused
	c.Refused = func(refusal backfill.Refusal) {
		r.refuse(refusal)
		if report != nil {
			report(refusal)
		}
	}
	n, err := negotiator.New(c)
	if err != nil {
		return nil, err
	}
	books := newAudit(w, r.Outcomes, r.unknown, c.StartSlack)
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
func (r *Result) Cycle(report *negotiator.Report) error {
	r.Cycles++
	if report.Changed {
		for i := range r.Refusals {
			r.Refusals[i].GivenUp = false
		}
	}
	now := report.Delta.Now
	r.withdraw(report.State)
	r.ReservedIdle += float64(r.reserved) * float64(now-r.last)
	r.reserved, r.last = report.State.ReservedIdle(), now
	for _, id := range report.Delta.Completed {
		r.Outcomes[id].End, r.Outcomes[id].Ended = now, true
	}
	if r.pool != nil {
		for _, id := range r.pool.lost {
			r.lose(id, now)
		}
	}
	for _, id := range report.Delta.Removed {
		r.Outcomes[id].Held = GivenUp
	}
	if len(report.Delta.Submitted)+len(report.Delta.SlotsUp) > 0 { // those who are held come back with slots
		for _, a := range report.Decision.Actions {
			if a.Kind == backfill.ActGuarantee {
				r.promise(a.Job, a.At)
			}
		}
	}
	for _, b := range report.Decision.Broken {
		r.promise(b.Job.ID, b.Promised)
	}
	for i := range report.Decision.Started {
		s := &report.Decision.Started[i]
		if s.Promised {
			r.promise(s.Job.ID, s.Guarantee)
		}
		o := &r.Outcomes[s.Job.ID]
		*o = o.kept()
		o.Started, o.Start, o.How, o.Placement, o.Estimate = true, now, s.How, report.Matches[i].Placement, cmp.Or(r.Workload.Jobs[s.Job.ID].Estimate, r.unknown)
		o.Backfilled = s.How == backfill.ByBackfill && report.State.OnReserved(&report.Decision, i)
		if r.Predictions != nil {
			r.Predictions[s.Job.ID] = report.Predicted(s.Job.ID)
		}
	}
	r.countBroken(report)
	for _, h := range report.Held {
		o := &r.Outcomes[h.Job.ID]
		*o = o.kept()
		o.Held = h.Reason // a start clears it
	}
	r.Unordered = report.Unordered
	return nil
}

// withdraw forgets what jobs that wait were promised, if a policy that promises
// nothing has taken over.
func (r *Result) withdraw(s *backfill.State) {
	_, promises := s.Policy()
	if r.promises && !promises {
		for i := range r.Outcomes {
			if o := &r.Outcomes[i]; !o.Started {
				o.Promised, o.Guarantee = false, 0
			}
		}
	}
	r.promises = promises
}

// kept is what stays true of a job whatever becomes of it.
func (o Outcome) kept() Outcome {
	return Outcome{Promised: o.Promised, Guarantee: o.Guarantee, Requeues: o.Requeues, Lost: o.Lost}
}

// lose sends a running job back to the queue.
func (r *Result) lose(id backfill.JobID, now backfill.Time) {
	o := &r.Outcomes[id]
	lost := float64(r.Workload.Jobs[id].Cpus) * float64(now-o.Start)
	*o = o.kept()
	o.Requeues++
	o.Lost += lost
	r.Requeues++
	r.LostCoreSeconds += lost
}

// countBroken counts the guarantees that a cycle broke. Nobody edits a job here, so
// a change of one is a change of its candidates: a slot is drained. A job that had
// to be held after it waited or ran will start later than promised, if ever, and
// the core, which lets its promise end, does not report that.
func (r *Result) countBroken(report *negotiator.Report) {
	count := func(cause string) {
		r.Broken++
		r.BrokenBy[cause]++
	}
	for _, b := range report.Decision.Broken {
		if b.Cause == backfill.CauseJobChanged {
			count(BrokenByDrain)
		} else {
			count(b.Cause.String())
		}
	}
	if !r.promises || len(report.Held) == 0 {
		return
	}
	cause := BrokenByDrain
	if len(report.Delta.SlotsDown) > 0 {
		cause = backfill.CauseSlotLost.String()
	}
	for _, h := range report.Held {
		arrived := slices.Contains(report.Delta.Submitted, h.Job)
		if !arrived && r.Outcomes[h.Job.ID].Held == "" {
			count(cause)
		}
	}
}

// promise records what a job was promised at first. Later promises take the place of
// broken ones.
func (r *Result) promise(id backfill.JobID, latest backfill.Time) {
	if o := &r.Outcomes[id]; !o.Promised {
		o.Promised, o.Guarantee = true, latest
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

// Held counts the jobs that never were to run.
func (r *Result) Held() int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Held != "" {
			n++
		}
	}
	return n
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
