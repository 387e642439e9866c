package outlook

import (
	"cmp"
	"maps"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Outlook is a copy of the schedule between two cycles, with all that is needed to play it ahead
// beside the cycles. It never changes. All its methods may be called concurrently.
type Outlook struct {
	// Predictions are the predicted run times of the jobs.
	Predictions

	now   backfill.Time
	state *shared

	policy, fallback backfill.Decider // in charge; used by no play
	order            negotiator.Order
	jobs             map[backfill.JobID]*negotiator.Job // by ID, if the order is an expression
	keys             map[backfill.JobID]float64         // of jobs that are only supposed, if an order holds for one cycle
	resources        []string
	world            negotiator.World
	unlike           map[backfill.JobID]unlike
	past             *estimate.Records // nil: nothing is learned
	delays           estimate.Delays   // of the last starts
	arrivals         []*backfill.Job   // who may come once more, by submit time
}

// shared is the state as it was, which outlooks share and nobody plays: each play has a clone.
type shared struct {
	mu    sync.Mutex // one goroutine at a time may clone
	state *backfill.State
}

// unlike is what is known of a running job beside when it was started and for how long it is planned.
type unlike struct {
	runs  backfill.Time // since when it runs, or is taken to; 0: since it was started
	began backfill.Time // since when it is planned to run, by its reported end
	lease backfill.Time // its slots are not free before; 0: no lease
	end   backfill.Time // its reported end, if that says nothing of its start; else 0
}

// New returns the outlook of a negotiator, between two of its cycles.
func New(n *negotiator.Negotiator) *Outlook {
	c := n.Copy()
	o := &Outlook{
		Predictions: Predictions{known: c.Predicted, slack: c.Slack, guarantees: c.Policy.Spec().Guarantees},
		now:         c.State.Now(), state: &shared{state: c.State}, policy: c.Policy, fallback: c.Fallback, order: c.Order,
		jobs: c.Jobs, resources: c.Resources, world: c.World, unlike: map[backfill.JobID]unlike{}, past: c.Past,
		delays: c.Delays.UpTo(c.Slack),
	}
	o.expect(o.comeAgain(c.Arrived))
	for run := range c.State.Running() {
		if u := o.unlikeOthers(run, n.Began(run.Job.ID), n.Job(run.Job.ID)); u != (unlike{}) {
			o.unlike[run.Job.ID] = u
		}
	}
	return o
}

// unlikeOthers returns what is known of the end of a running job beside its start and its run time;
// zero: nothing. The parameter runs is since when it runs, 0 if the pool has not said.
func (o *Outlook) unlikeOthers(run backfill.RunningJob, runs backfill.Time, job *negotiator.Job) (u unlike) {
	if runs = cmp.Or(runs, run.Start+o.delays.Median()); runs != run.Start {
		u.runs = runs
	}
	if job != nil {
		u.lease = job.Lease
	}
	planned := o.planned(run.Job)
	switch began := run.End - planned; {
	case run.End == backfill.ExpectedEnd(run.Job, planned, run.Start, o.now), run.End == u.lease:
	case began >= run.Start && began <= o.now:
		u.began = began
	default:
		u.end = run.End
	}
	return u
}

// with returns an outlook of the same schedule with other predictions.
func (o *Outlook) with(p Predictions) *Outlook {
	next := *o
	next.Predictions = p
	return &next
}

// Expecting returns an outlook that knows more jobs, which plays may submit.
func (o *Outlook) Expecting(jobs []negotiator.Expected) *Outlook {
	if len(jobs) == 0 {
		return o
	}
	next := *o
	next.known, next.jobs = maps.Clone(o.known), maps.Clone(o.jobs)
	next.expect(jobs)
	return &next
}

// expect adds jobs to a new outlook.
func (o *Outlook) expect(jobs []negotiator.Expected) {
	for _, e := range jobs {
		if r := e.Requested; e.Uses != (estimate.Uses{Order: r, Backfill: r, Running: r}) {
			o.known[e.Job.ID] = negotiator.RunTimes{Uses: e.Uses, Requested: r}
		}
		if o.jobs != nil { // the order is an expression, and sees the job's ad
			o.jobs[e.Job.ID] = e.Ad
		}
	}
}

// Now returns the instant of the last cycle.
func (o *Outlook) Now() backfill.Time { return o.now }

// Resources returns the names of the pool's resources, cpus first.
func (o *Outlook) Resources() []string { return o.resources }

// keepInPlay is how many bytes a play keeps to find places faster. The cycles keep up to 200 MiB,
// and as many plays may go on at a time as there are processors.
const keepInPlay = 32 << 20

// State returns a copy of the state for the caller.
func (o *Outlook) State() *backfill.State {
	o.state.mu.Lock()
	defer o.state.mu.Unlock()
	s := o.state.state.Clone()
	s.KeepAtMost(keepInPlay)
	return s
}

// Start returns where a play begins in which every job runs for as long as it is taken to, and is as
// long on its way as the pool usually takes.
func (o *Outlook) Start() ahead.Start {
	start := o.StartWith(func(j *backfill.Job, _ backfill.Time) backfill.Time { return o.RunTime(j) })
	if usual := o.delays.Median(); usual > 0 {
		start.Begin = func(_ *backfill.Job, started backfill.Time) backfill.Time { return started + usual }
	}
	return start
}

// StartWith is Start with run times of the caller's, and no time on the way. The callback returns how long a job runs in
// all; it gets how long the job has run so far, 0 if it has not started.
func (o *Outlook) StartWith(runTime func(j *backfill.Job, so backfill.Time) backfill.Time) ahead.Start {
	now := o.now
	return ahead.Start{
		State: o.State(),
		End: func(j *backfill.Job, started backfill.Time) backfill.Time {
			u := o.unlike[j.ID]
			if u.end != 0 {
				return max(u.end-o.slack, now)
			}
			started = cmp.Or(u.began, u.runs, started)
			correction := o.known[j.ID].Correction
			return max(u.lease, correction.ExpectedEnd(j, runTime(j, max(0, now-started)), started, now))
		},
	}
}

// Rules returns the rules under which the schedule goes on, with the order and the estimators in
// charge and the given policy and fallback. Each call returns rules for another goroutine.
func (o *Outlook) Rules(policy, fallback backfill.Decider) ahead.Rules {
	return ahead.Rules{Order: o.Order(o.order), Policy: policy, Fallback: fallback}
}

// RulesIn is Rules with another order; nil: the one in charge.
func (o *Outlook) RulesIn(order backfill.Order, policy, fallback backfill.Decider) ahead.Rules {
	rules := o.Rules(policy, fallback)
	if order != nil {
		rules.Order = o.ordered(order)
	}
	return rules
}

// Order returns an order of the queue as a function, for one goroutine.
func (o *Outlook) Order(order negotiator.Order) backfill.Order {
	if !order.OfCycle() {
		return o.ordered(order.Of(o.jobs, o.resources, o.slack, o.world))
	}
	last := o.State()
	const enough = 10_000
	keys := map[string]float64{} // of the owners who have jobs in the queue
	for _, j := range last.FirstWaiting(enough) {
		keys[j.Labels["owner"]] = last.Key(j.ID)
	}
	return func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
		if key, supposed := o.keys[j.ID]; supposed {
			return key, backfill.Moves{}
		}
		if j.ID >= firstAgain {
			return keys[j.Labels["owner"]], backfill.Moves{}
		}
		return last.Key(j.ID), backfill.Moves{}
	}
}
