package condorsim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// ErrFairPreempted says that fair start times cannot be found in a pool.
var ErrFairPreempted = errors.New("fair start times are those of pools in which no job makes way for another")

// Fair says which fair start times to find.
type Fair struct {
	// Strict asks for the start that each job would have if no job arrived after it.
	Strict bool
	// Relaxed asks for the start that each job would have if, in addition, it arrived only after
	// all jobs that wait at its arrival had started.
	Relaxed bool
	// Capped replaces fair start times that are later than the job's own start by that start.
	// Unfairness needs no more, and this takes about a third less time.
	Capped bool
	// Workers is how many copies of the simulation run at a time; 0: as many as there are
	// processors. The results do not depend on it.
	Workers int
}

// ErrFairOrder says that fair start times cannot be found under the order of fair share.
var ErrFairOrder = errors.New("fair start times are found in copies of the simulation, in which nobody keeps the " +
	"account of users: choose another order than " + negotiator.FairShare)

// ErrFairAgain says that fair start times cannot be found with estimators that predict run times again.
var ErrFairAgain = errors.New("fair start times are found in copies of the simulation, in which nobody predicts run " +
	"times again: add the option predict-again=false of the estimator learned")

// RunFair is [Run] without a pace that also finds fair start times: each job's start in a copy of
// the simulation in which no job arrives after it. Sources: Sabin, Kochhar and Sadayappan, Job
// fairness in non-preemptive job scheduling, ICPP 2004; Rajbhandary et al., Variations of
// Conservative backfilling to improve fairness.
//
// The policies must be [backfill.Repeatable], and the workload must have no outages.
func RunFair(ctx context.Context, w *Workload, c negotiator.Config, fair Fair,
	sinks ...negotiator.Sink,
) (*Result, error) {
	if w.Preemption != nil || w.Scavengers != nil {
		return nil, ErrFairPreempted
	}
	if w.Grouped() {
		return nil, ErrFairGroups
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c = w.configure(c)
	f, err := newFairStarts(ctx, fail, w, c, fair)
	if err != nil {
		return nil, err
	}
	c.Policy = f
	r, err := Run(ctx, w, c, nil, sinks...)
	if err != nil {
		fail(err) // the copies are not needed
	}
	f.finish()
	f.close()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause // the error of a copy, or the caller's
	}
	f.settle(r)
	return r, nil
}

// fairStarts takes the place of the active policy, which it asks for each decision, and copies the
// simulation as jobs arrive.
//
// Until another job arrives, the simulation itself shows how the last one would fare if no job came
// after it. So a copy is made only when the next job arrives, from the state just before its
// arrival. If the last job still waits, the copy finds its strict fair start. Once every waiting
// job has started in the copy, the next job arrives there, and the copy finds the relaxed fair
// start of that job.
type fairStarts struct {
	backfill.Decider

	w               *Workload
	fair            Fair
	strict, relaxed []backfill.Time // by job; unknown: no copy was needed
	last            *backfill.Job   // the last job that arrived
	alone           bool            // no other job waited when it arrived
	copies          chan *fairCopy
	working         sync.WaitGroup
	close           func() // closes the policies of the copies

	estimates *estimate.Set   // nil: the order uses requested times
	ordered   []*backfill.Job // by job, as the order saw it at its arrival; nil: unchanged

	// With caps, copies are kept here until their jobs start in the simulation: these starts are
	// the caps.
	waiting map[backfill.JobID][]*fairCopy
	held    int // number of copies kept in waiting
}

const unknown = -backfill.Forever

func newFairStarts(ctx context.Context, fail context.CancelCauseFunc, w *Workload, c negotiator.Config,
	fair Fair,
) (*fairStarts, error) {
	main, fallback, err := copyable(w, c, "fair start times")
	if err != nil {
		return nil, err
	}
	if c.Order.OfCycle() {
		return nil, ErrFairOrder
	}
	if c.Estimates != nil && c.Estimates.PredictsAgain() {
		return nil, ErrFairAgain
	}
	if fair.Workers <= 0 {
		fair.Workers = runtime.GOMAXPROCS(0)
	}
	const queued = 16 // copies for each worker
	f := &fairStarts{
		Decider: main, w: w, fair: fair, copies: make(chan *fairCopy, queued*fair.Workers),
		waiting: map[backfill.JobID][]*fairCopy{},
		strict:  slices.Repeat([]backfill.Time{unknown}, len(w.Jobs)),
		relaxed: slices.Repeat([]backfill.Time{unknown}, len(w.Jobs)),
	}
	if c.Estimates != nil && !c.Estimates.Requested() {
		f.estimates, f.ordered = c.Estimates, make([]*backfill.Job, len(w.Jobs))
	}
	return f, f.work(ctx, fail, c, main, fallback)
}

// copyable returns the policies of a simulation of which many copies are played at once, to find what
// is named. It returns an error if there cannot be copies.
func copyable(w *Workload, c negotiator.Config, what string) (main, fallback backfill.Repeatable, err error) {
	main, ok := c.Policy.(backfill.Repeatable)
	fallback, fallbackOK := c.Fallback.(backfill.Repeatable)
	switch {
	case !ok || !fallbackOK:
		err = fmt.Errorf("%s are found in many copies of the simulation at once, and there cannot be more than one "+
			"of this policy", what)
	default:
		err = w.Steady(what)
	}
	return main, fallback, err
}

// work starts the workers, which play copies of the simulation. Each has policies of its own, and one
// play after the other, as the keys of all copies come from the same order. work returns an error if
// it cannot make these. Later errors of workers, and decisions of the policy that are refused, go to
// fail, which ends the simulation.
func (f *fairStarts) work(ctx context.Context, fail context.CancelCauseFunc, c negotiator.Config,
	main, fallback backfill.Repeatable,
) error {
	jobs := make(map[backfill.JobID]*negotiator.Job, len(f.w.Jobs))
	for _, j := range f.w.Jobs {
		jobs[j.ID] = j.Job
	}
	var deciders []backfill.Decider
	f.close = func() {
		for _, d := range deciders {
			if d, closes := d.(interface{ Close() }); closes {
				d.Close()
			}
		}
	}
	again := func(p backfill.Repeatable) (backfill.Decider, error) {
		d, err := p.Again(ctx)
		if err == nil {
			deciders = append(deciders, d)
		}
		return d, err
	}
	refused := func(r backfill.Refusal) { // a start by the fallback would not be the policy's
		fail(fmt.Errorf("fair start times, in a copy of the simulation at %s: %w", f.w.text(r.Now), r.Err))
	}
	plays := make([]*ahead.Play, f.fair.Workers)
	for i := range plays {
		rules := ahead.Rules{Order: f.order(c.Order.Of(jobs, f.w.Schema.Resources, 0, c.World)), Refused: refused}
		var err error
		if rules.Policy, err = again(main); err == nil {
			rules.Fallback, err = again(fallback)
		}
		if err == nil {
			plays[i], err = rules.Play(ahead.Start{})
		}
		if err != nil {
			f.close()
			return err
		}
	}
	for _, play := range plays {
		f.working.Go(func() {
			for copied := range f.copies {
				now := copied.from.State.Now()
				if err := f.follow(ctx, play, copied); err != nil {
					fail(fmt.Errorf("fair start times, in the copy of the simulation at %s: %w", f.w.text(now), err))
				}
			}
		})
	}
	return nil
}

// settle sets the fair start times that needed no copy, strict ones to the job's own start and
// relaxed ones to the strict one. It stores in the result those that were asked for.
func (f *fairStarts) settle(r *Result) {
	for i, o := range r.Outcomes {
		if f.strict[i] == unknown {
			f.strict[i] = o.Start
		}
		if f.relaxed[i] == unknown {
			f.relaxed[i] = f.strict[i]
		}
	}
	if f.fair.Strict {
		r.StrictFST = f.strict
	}
	if f.fair.Relaxed {
		r.RelaxedFST = f.relaxed
	}
}

// Unfairness returns by how much, on average, the jobs that ran started later than the given fair
// start times: the mean of max(0, start − fair start), in seconds.
func (r *Result) Unfairness(fair []backfill.Time) float64 {
	var sum, n float64
	for i, o := range r.Outcomes {
		if o.Ended {
			sum += float64(max(0, o.Start-fair[i]))
			n++
		}
	}
	return sum / max(n, 1)
}
