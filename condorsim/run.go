package condorsim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// refuse counts a refused decision under the name of its policy.
func (r *Result) refuse(refusal backfill.Refusal) {
	i := slices.IndexFunc(r.Refusals, func(other Refusals) bool { return other.Policy == refusal.Policy })
	if i < 0 {
		i = len(r.Refusals)
		r.Refusals = append(r.Refusals, Refusals{Policy: refusal.Policy, First: refusal})
	}
	r.Refusals[i].add(refusal)
}

// Run simulates the workload under a negotiator's configuration, but with the workload's schema
// and its clock.
// Each sink gets the report of every cycle. An error of type [*Violation] is a bug of this program.
func Run(ctx context.Context, w *Workload, c negotiator.Config, pace Pace, sinks ...negotiator.Sink) (*Result, error) {
	w, err := w.accounted()
	if err != nil {
		return nil, err
	}
	w = w.forRun()
	return run(ctx, w, c, NewPool(w, pace), sinks...)
}

// RunTo simulates the workload up to an instant, at which there is a last cycle also if nothing happens
// then: so what is known after it is known at that instant, and not at the last event before. Before the
// first event there is no cycle.
func RunTo(ctx context.Context, w *Workload, c negotiator.Config, at backfill.Time, sinks ...negotiator.Sink) error {
	w, err := w.accounted()
	if err != nil {
		return err
	}
	pool := NewPool(w, nil)
	pool.until = &at
	_, err = run(ctx, w, c, pool, sinks...)
	return err
}

func run(ctx context.Context, w *Workload, c negotiator.Config, pool negotiator.Pool,
	sinks ...negotiator.Sink,
) (*Result, error) {
	if err := w.CheckChunks(); err != nil {
		return nil, err
	}
	r := &Result{Workload: w, Outcomes: make([]Outcome, len(w.Jobs)), BrokenBy: map[string]int{}}
	if p, ok := pool.(*SimulatedPool); ok {
		r.pool = p
	}
	c = w.configure(c)
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
	for _, s := range sinks {
		if s, watches := s.(interface{ watch(*negotiator.Negotiator) }); watches {
			s.watch(n)
		}
	}
	books := newAudit(w, r.Outcomes, r.unknown, c.StartSlack)
	all := append([]negotiator.Sink{lapses{r}, books, r}, sinks...)
	if w.accounts != nil {
		if err = w.accounts.begin(); err != nil {
			return nil, err
		}
		all = append(all, w.accounts)
	}
	if err = negotiator.Run(ctx, n, pool, all...); err != nil {
		return nil, err
	}
	if r.pool != nil && r.pool.until != nil {
		return r, nil // jobs still wait and run
	}
	if err = r.leftWaiting(n.State()); err != nil {
		return nil, err
	}
	r.leftOut()
	r.scavengersLeft(n)
	if err = books.close(); err != nil {
		return nil, err
	}
	r.Work = books.done
	return r, nil
}

// leftOut has jobs count as held that were never submitted.
func (r *Result) leftOut() {
	if r.pool == nil {
		return
	}
	for _, id := range r.pool.successors.never() {
		r.Outcomes[id].Held = NeverSubmitted
	}
}

// leftWaiting has jobs count as held that wait for slots to open, which no ad in a simulation makes them,
// and those behind them. It returns an error if others still wait though none runs any more: nothing will
// happen after which the policy could start them.
func (r *Result) leftWaiting(s *backfill.State) error {
	if s.Waiting() == 0 || s.RunningJobs() > 0 {
		return nil
	}
	isClosed := func(j *backfill.Job) bool {
		reason, _ := s.Reason(j.ID)
		return reason.Why == backfill.NoStart
	}
	for _, j := range s.FirstWaiting(s.Waiting()) {
		reason, _ := s.Reason(j.ID)
		if !isClosed(j) && (reason.Behind == nil || !isClosed(reason.Behind)) {
			policy, _ := s.Policy()
			return fmt.Errorf("policy %s left %d jobs waiting for good: nothing runs any more, and it started neither job "+
				"%s, the first of them, nor another", policy, s.Waiting(), r.Workload.Jobs[s.FirstWaiting(1)[0].ID].Name)
		}
		o := &r.Outcomes[j.ID]
		*o = o.kept()
		o.Held = s.Describe(reason, func(j *backfill.Job) string { return r.Workload.Jobs[j.ID].Name })
	}
	return nil
}

// Cycle records in the result what happened in a cycle.
func (r *Result) Cycle(report *negotiator.Report) error {
	r.Cycles++
	if report.Decision.By != "" {
		r.Decided++
	}
	if report.Changed {
		for i := range r.Refusals {
			r.Refusals[i].GivenUp = false
		}
	}
	now := report.Delta.Now
	r.begin(report)
	r.inherit(report.State)
	r.scavenge(report)
	r.ReservedIdle += float64(r.reserved) * float64(now-r.last)
	r.reserved, r.last = report.State.ReservedIdle(), now
	for _, id := range report.Delta.Completed {
		r.Outcomes[id].End, r.Outcomes[id].Ended = now, true
	}
	if r.pool != nil {
		for _, id := range r.pool.lost {
			if r.Workload.scavenges(id) {
				continue
			}
			r.lose(id, now, slices.Contains(report.Delta.Displaced, id))
		}
	}
	for _, id := range report.Delta.Displaced { // it has started, so its promise was kept; now it gets another one
		r.Outcomes[id].Promised, r.Outcomes[id].Guarantee = false, 0
	}
	for _, id := range report.Delta.Removed {
		r.removed(id, now)
	}
	r.promised(report)
	r.started(report)
	r.countBroken(report)
	r.Moved += len(report.Decision.Replaced)
	for _, h := range report.Held {
		o := &r.Outcomes[h.Job.ID]
		*o = o.kept()
		o.Held = h.Reason // a later start clears it
	}
	r.Unordered = report.Unordered
	return nil
}

// promised records the guarantees that a cycle gave or broke.
func (r *Result) promised(report *negotiator.Report) {
	// Jobs that were held come back when slots do; those beyond the plan enter it later.
	if len(report.Delta.Submitted)+len(report.Delta.SlotsUp)+len(report.Delta.Displaced) > 0 || report.State.Planning().Bounded() {
		for _, a := range report.Decision.Actions {
			if a.Kind == backfill.ActGuarantee {
				r.promise(a.Job, a.At)
			}
		}
	}
	for _, b := range report.Decision.Broken {
		r.promise(b.Job.ID, b.Promised)
	}
}

// started records the jobs that a cycle started, and those that have taken over from others.
func (r *Result) started(report *negotiator.Report) {
	for i := range report.Delta.Found {
		found := &report.Delta.Found[i]
		o := &r.Outcomes[found.Job.ID]
		*o = o.kept()
		o.TookOver = !r.Workload.Jobs[found.Job.ID].runsAnyway()
		o.Started, o.Start, o.Placement, o.Estimate = true, found.Start, found.Placement,
			cmp.Or(r.Workload.Jobs[found.Job.ID].Estimate, r.unknown)
		if planned := report.State.Job(found.Job.ID); planned != nil {
			r.keepChunk(planned, o.Placement)
		}
		if r.Predictions != nil {
			r.Predictions[found.Job.ID] = report.Predicted(found.Job.ID)
		}
	}
	for i := range report.Decision.Started {
		s := &report.Decision.Started[i]
		if s.Promised {
			r.promise(s.Job.ID, s.Guarantee)
		}
		o := &r.Outcomes[s.Job.ID]
		*o = o.kept()
		o.Started, o.Start, o.How, o.Placement, o.Estimate = true, report.Delta.Now, s.How, report.Matches[i].Placement,
			cmp.Or(r.Workload.Jobs[s.Job.ID].Estimate, r.unknown)
		o.Backfilled = s.How == backfill.ByBackfill && report.State.OnReserved(&report.Decision, i)
		r.keepChunk(s.Job, o.Placement)
		if r.Predictions != nil {
			r.Predictions[s.Job.ID] = report.Predicted(s.Job.ID)
		}
	}
}

// inherit drops the promises to waiting jobs if a policy without guarantees has become active.
// After such a one, it records what the next one promises to the jobs that it finds.
func (r *Result) inherit(s *backfill.State) {
	_, promises := s.Policy()
	switch {
	case promises == r.promises:
		return
	case promises:
		for _, j := range s.Settled() {
			if j.Promised && !j.Running {
				r.promise(j.Job.ID, j.Guarantee)
			}
		}
	default:
		for i := range r.Outcomes {
			if o := &r.Outcomes[i]; !o.Started {
				o.Promised, o.Guarantee = false, 0
			}
		}
	}
	r.promises = promises
}

// lose records that a running job lost its slot and went back to the queue, or made way for another:
// of its run only counts what was saved.
func (r *Result) lose(id backfill.JobID, now backfill.Time, displaced bool) {
	o := &r.Outcomes[id]
	cpus, _ := r.Occupies(id)
	ran := now - o.Start
	saved := r.Workload.saves(id, ran)
	lost := float64(cpus) * float64(ran-saved)
	*o = o.kept()
	delete(r.chunks, id)
	o.Requeues++
	o.Lost += lost
	o.Saved += saved
	r.Requeues++
	r.LostCoreSeconds += lost
	if displaced {
		o.Displacements++
		r.Displacements++
		r.DisplacedCoreSeconds += lost
	}
}

// promise records a job's first guarantee. Later ones replace broken ones and are not recorded.
func (r *Result) promise(id backfill.JobID, latest backfill.Time) {
	if o := &r.Outcomes[id]; !o.Promised {
		o.Promised, o.Guarantee = true, latest
	}
}
