package condorsim

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Fair says which fair start times are wanted.
type Fair struct {
	// Strict is a job's start if no job came after it.
	Strict bool
	// Relaxed is its start if, besides, it came after every job that waits at its
	// arrival had started.
	Relaxed bool
	// Capped gives a fair start time that is not before the job's own start as that.
	// It is all that unfairness asks for, and takes a third less time or so.
	Capped bool
	// Workers is how many copies of the simulation run at a time; 0: as many as there
	// are processors. The results do not depend on it.
	Workers int
}

// RunFair is [Run] without a pace, and finds fair start times on the way: what
// each job's start would have been in a copy of the simulation in which nobody
// comes after it. Sources: Sabin, Kochhar and Sadayappan, Job fairness in
// non-preemptive job scheduling, ICPP 2004; Rajbhandary et al., Variations of
// Conservative backfilling to improve fairness.
//
// The policies must be [backfill.Repeatable], and nothing may go wrong in the pool.
func RunFair(ctx context.Context, w *Workload, c negotiator.Config, fair Fair, sinks ...negotiator.Sink) (*Result, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	f, err := newFairStarts(ctx, fail, w, c, fair)
	if err != nil {
		return nil, err
	}
	c.Policy = f
	r, err := Run(ctx, w, c, nil, sinks...)
	if err != nil {
		fail(err) // nobody needs the copies
	}
	f.finish()
	f.close()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause // of a copy, or the caller's
	}
	f.settle(r)
	return r, nil
}

// fairStarts is the policy in charge, and makes copies of the simulation as jobs
// arrive. As long as no other job arrives, the simulation is itself the copy in
// which none does. So a copy is made when the next job comes, as things are just
// before: it tells the strict start of the job that came last, if that still waits,
// and then, as all who wait have started there, the relaxed one of the next.
type fairStarts struct {
	backfill.Decider

	w               *Workload
	fair            Fair
	strict, relaxed []backfill.Time // by job; unknown: no copy was needed
	last            *backfill.Job   // the last job that arrived
	alone           bool            // nobody else waited then
	copies          chan *fairCopy
	working         sync.WaitGroup
	close           func() // of the copies' policies

	estimates *estimate.Set   // nil: the order goes by what jobs request
	ordered   []*backfill.Job // by job, as the order is to see it since it arrived; nil: as it is

	// With caps, copies wait until it is known when the jobs start that they are for.
	waiting map[backfill.JobID][]*fairCopy
	held    int // of them
}

const unknown = -backfill.Forever

// fairCopy is a copy of the simulation, in which nobody arrives but late, if it is a
// job, as soon as nobody waits.
type fairCopy struct {
	state      *backfill.State
	now        backfill.Time
	events     []backfill.Event // of the first round, if there is one now
	ends       endings          // of what runs
	last, late fairJob          // whose starts are looked for
	arrived    bool             // late has
	awaits     int              // starts that are to become its caps
}

// fairJob is a job whose start is looked for, until nothing earlier than the cap can
// come out; no job: nothing is.
type fairJob struct {
	*backfill.Job
	cap backfill.Time
}

func newFairStarts(ctx context.Context, fail context.CancelCauseFunc, w *Workload, c negotiator.Config, fair Fair) (*fairStarts, error) {
	main, ok := c.Policy.(backfill.Repeatable)
	fallback, fallbackOK := c.Fallback.(backfill.Repeatable)
	if !ok || !fallbackOK {
		return nil, errors.New("fair start times are found in many copies of the simulation at once, and there cannot be more than one of this policy")
	}
	if len(w.Outages) > 0 {
		return nil, errors.New("fair start times are those of a pool in which nothing fails: leave its failures and drains out")
	}
	if fair.Workers <= 0 {
		fair.Workers = runtime.GOMAXPROCS(0)
	}
	const ahead = 16 // copies that wait for each worker
	f := &fairStarts{
		Decider: main, w: w, fair: fair, copies: make(chan *fairCopy, ahead*fair.Workers),
		waiting: map[backfill.JobID][]*fairCopy{},
		strict:  slices.Repeat([]backfill.Time{unknown}, len(w.Jobs)),
		relaxed: slices.Repeat([]backfill.Time{unknown}, len(w.Jobs)),
	}
	if c.Estimates != nil && !c.Estimates.Requested() {
		f.estimates, f.ordered = c.Estimates, make([]*backfill.Job, len(w.Jobs))
	}
	jobs := make(map[backfill.JobID]*negotiator.Job, len(w.Jobs))
	for _, j := range w.Jobs {
		jobs[j.ID] = j.Job
	}
	hosts := make([]*backfill.Host, fair.Workers)
	var deciders []backfill.Decider
	f.close = func() {
		for _, d := range deciders {
			if d, closes := d.(interface{ Close() }); closes {
				d.Close()
			}
		}
	}
	refused := func(r backfill.Refusal) { // its fallback's start would not be the policy's
		fail(fmt.Errorf("fair start times, in a copy of the simulation at %d: %w", r.Now, r.Err))
	}
	for i := range hosts {
		ours, err := main.Again(ctx)
		if err == nil {
			deciders = append(deciders, ours)
			hosts[i], err = hostOfCopies(ctx, ours, fallback, f.order(c.Order.Of(jobs, w.Schema.Resources)), refused)
		}
		if err != nil {
			f.close()
			return nil, err
		}
	}
	for _, host := range hosts {
		f.working.Go(func() {
			for copied := range f.copies {
				if err := f.follow(ctx, host, copied); err != nil {
					fail(fmt.Errorf("fair start times, in the copy of the simulation at %d: %w", copied.now, err))
				}
			}
		})
	}
	return f, nil
}

// hostOfCopies makes a host that has no state yet.
func hostOfCopies(ctx context.Context, main backfill.Decider, fallback backfill.Repeatable, order backfill.Order, refused func(backfill.Refusal)) (*backfill.Host, error) {
	second, err := fallback.Again(ctx)
	if err != nil {
		return nil, err
	}
	return backfill.NewHost(nil, order, main, second, refused)
}

// Decide makes copies as jobs arrive, before anything is decided.
func (f *fairStarts) Decide(ctx context.Context, c *backfill.Cycle) error {
	for k, e := range c.Round().Events {
		if e.Kind != backfill.Submitted {
			continue
		}
		f.foretell(e.Spec)
		before := c.Round().Events[:k]
		together := k > 0 && before[k-1].Kind == backfill.Submitted // the last job arrives at this very instant
		var copied fairCopy
		if (f.fair.Strict || f.alone) && (together || f.last != nil && c.State().IsWaiting(f.last.ID)) {
			copied.last = fairJob{f.last, backfill.Forever}
		}
		f.last, f.alone = e.Spec, !together && c.State().Waiting() == 0
		if f.fair.Relaxed && !f.alone {
			copied.late = fairJob{e.Spec, backfill.Forever}
		}
		if copied.last.Job != nil || copied.late.Job != nil {
			f.fill(&copied, c, before)
			f.hand(&copied)
		}
	}
	return f.Decider.Decide(ctx, c)
}

// fill makes a copy of the simulation as it is before some event of the round.
func (f *fairStarts) fill(copied *fairCopy, c *backfill.Cycle, before []backfill.Event) {
	copied.state, copied.now, copied.events = c.State().Clone(), c.Now(), slices.Clone(before)
	for r := range c.Running() {
		if end := f.end(r.Job, r.Start); end > copied.now { // what ends now is among the events
			copied.ends = append(copied.ends, ending{at: end, job: r.Job.ID})
		}
	}
	heap.Init(&copied.ends)
}

// The copies that wait for their caps are bounded, and so is their memory: each takes
// some 500 bytes for a slot, and what differs from the others.
const maxHeld, maxHeldSlots = 2000, 1 << 18

// hand gives a copy to the workers, or puts it by until its caps are known.
func (f *fairStarts) hand(copied *fairCopy) {
	if !f.fair.Capped || f.held >= min(maxHeld, maxHeldSlots/len(f.w.Slots)) {
		f.copies <- copied
		return
	}
	f.held++
	for _, j := range []fairJob{copied.last, copied.late} {
		if j.Job != nil {
			copied.awaits++
			f.waiting[j.ID] = append(f.waiting[j.ID], copied)
		}
	}
}

// Decided sets the caps of copies by what has started.
func (f *fairStarts) Decided(r backfill.Round, d backfill.Decision, own bool) {
	f.Decider.Decided(r, d, own)
	for _, s := range d.Started {
		for _, copied := range f.waiting[s.Job.ID] {
			if copied.last.Job == s.Job {
				copied.last.cap = d.Now
			} else {
				copied.late.cap = d.Now
			}
			if copied.awaits--; copied.awaits == 0 {
				f.held--
				f.copies <- copied
			}
		}
		delete(f.waiting, s.Job.ID)
	}
}

// finish hands on the copies that still wait, for jobs that never started and need
// no answer, and waits for all.
func (f *fairStarts) finish() {
	for _, copies := range f.waiting {
		for _, copied := range copies {
			if copied.awaits--; copied.awaits == 0 {
				f.copies <- copied
			}
		}
	}
	close(f.copies)
	f.working.Wait()
}

// end is when a job that started will end.
func (f *fairStarts) end(j *backfill.Job, start backfill.Time) backfill.Time {
	return start + f.w.Jobs[j.ID].runs()
}

// follow runs a copy until it has told what it is to tell.
func (f *fairStarts) follow(ctx context.Context, host *backfill.Host, copied *fairCopy) error {
	host.State = copied.state
	round := backfill.Round{Now: copied.now, Events: copied.events}
	if len(round.Events) == 0 {
		round = f.next(copied)
	}
	for f.asks(copied, round.Now) {
		d, err := host.Decide(ctx, round)
		if err != nil {
			return err
		}
		for _, s := range d.Started {
			heap.Push(&copied.ends, ending{at: f.end(s.Job, d.Now), job: s.Job.ID})
			f.tell(copied, s.Job, d.Now)
		}
		if copied.late.Job != nil && !copied.arrived && host.State.Waiting() == 0 {
			copied.arrived = true
			round = backfill.Round{Now: d.Now, Events: []backfill.Event{{Kind: backfill.Submitted, Spec: copied.late.Job}}}
			continue
		}
		round = f.next(copied)
	}
	return nil
}

// asks reports whether a copy is to go on: whether something that it looks for may
// still be earlier than the cap. There is nothing at the end of time.
func (f *fairStarts) asks(copied *fairCopy, now backfill.Time) bool {
	for _, j := range []fairJob{copied.last, copied.late} {
		if j.Job != nil && j.cap <= now {
			f.tell(copied, j.Job, j.cap)
		}
	}
	return copied.last.Job != nil || copied.late.Job != nil
}

// tell notes a job's start, if that is looked for.
func (f *fairStarts) tell(copied *fairCopy, j *backfill.Job, start backfill.Time) {
	switch j {
	case copied.last.Job:
		f.strict[j.ID], copied.last.Job = start, nil
	case copied.late.Job:
		f.relaxed[j.ID], copied.late.Job = start, nil
	}
}

// next is the next round of a copy; at the end of time there is none.
func (f *fairStarts) next(copied *fairCopy) backfill.Round {
	r := backfill.Round{Now: copied.state.NextWake(), Events: copied.events[:0]}
	if len(copied.ends) > 0 {
		r.Now = min(r.Now, copied.ends[0].at)
	}
	for len(copied.ends) > 0 && copied.ends[0].at <= r.Now {
		ended, _ := heap.Pop(&copied.ends).(ending)
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, Job: ended.job})
	}
	copied.events = r.Events
	return r
}

// settle fills in what no copy was needed for: the job's own start, and where nobody
// else waited, the strict one.
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

// Unfairness is by how much the jobs that ran started later than the given fair
// start times, on average: the mean of max(0, start − fair start), in seconds.
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
