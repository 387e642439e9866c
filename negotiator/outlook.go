package negotiator

import (
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Outlook is a copy of the schedule between two cycles, with all that is needed to play it ahead
// beside the cycles. It never changes. All its methods may be called concurrently.
type Outlook struct {
	// Predictions are the predicted run times of the jobs.
	Predictions

	now   backfill.Time
	mu    sync.Mutex      // for state, which one goroutine at a time may clone
	state *backfill.State // as it was; never played itself

	policy, fallback backfill.Decider // in charge; used by no play
	order            Order
	jobs             map[backfill.JobID]*Job    // by ID, if the order is an expression
	keys             map[backfill.JobID]float64 // of jobs that are only supposed, if an order holds for one cycle
	resources        []string
	unlike           map[backfill.JobID]unlike
	past             *estimate.Records // nil: nothing is learned
	come             []*backfill.Job   // who may come once more, by submit time
}

// unlike is a running job that does not end when its start and its planned run time say.
type unlike struct {
	began backfill.Time // since when it runs, by its reported end
	lease backfill.Time // its slots are not free before; 0: no lease
	end   backfill.Time // its reported end, if that says nothing of its start; else 0
}

// Outlook copies the schedule after the cycle. It must be called before the next cycle.
func (r *Report) Outlook() *Outlook { return r.negotiator.Outlook() }

// Outlook copies the schedule. It must be called between two cycles.
func (n *Negotiator) Outlook() *Outlook {
	s := n.State()
	o := &Outlook{
		Predictions: n.predictions.copy(s), now: s.Now(), state: s.Clone(),
		policy: n.policy, fallback: n.fallback, order: n.order, resources: n.schema.Resources,
		unlike: map[backfill.JobID]unlike{},
	}
	if n.predictions.set != nil {
		o.past = n.predictions.set.Records()
	}
	if o.order.expression != nil {
		o.jobs = make(map[backfill.JobID]*Job, n.jobs.Len())
		for _, id := range n.jobs.ids() {
			o.jobs[id] = n.jobs.get(id)
		}
	}
	o.come = o.comers(n.arrived)
	for run := range s.Running() {
		if u := o.unlikeOthers(run, n.jobs.get(run.Job.ID)); u != (unlike{}) {
			o.unlike[run.Job.ID] = u
		}
	}
	return o
}

// unlikeOthers returns what is known of the end of a running job beside its start and its run time;
// zero: nothing.
func (o *Outlook) unlikeOthers(run backfill.RunningJob, job *Job) (u unlike) {
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

// planned returns for how long a job is planned to run, once it runs.
func (o *Outlook) planned(j *backfill.Job) backfill.Time {
	if o.guarantees || j.Running == 0 {
		return j.Estimate
	}
	return j.Running
}

// Now returns the instant of the last cycle.
func (o *Outlook) Now() backfill.Time { return o.now }

// State returns a copy of the state for the caller.
func (o *Outlook) State() *backfill.State {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state.Clone()
}

// RunTime returns for how long a job is taken to run in all: for the predicted time under a policy
// that plans with requested times, else for as long as it is planned to.
func (o *Outlook) RunTime(j *backfill.Job) backfill.Time {
	switch known, predicted := o.of[j.ID]; {
	case !predicted:
		return o.planned(j)
	case o.guarantees:
		return known.Order + o.slack
	default:
		return known.Running + o.slack // also in a play in which a policy plans it otherwise
	}
}

// Start returns where a play begins in which every job runs for as long as it is taken to.
func (o *Outlook) Start() ahead.Start {
	return o.StartWith(func(j *backfill.Job, _ backfill.Time) backfill.Time { return o.RunTime(j) })
}

// StartWith is Start with run times of the caller's. The callback returns how long a job runs in
// all; it gets how long the job has run so far, 0 if it has not started.
func (o *Outlook) StartWith(runTime func(j *backfill.Job, so backfill.Time) backfill.Time) ahead.Start {
	now := o.now
	return ahead.Start{
		State: o.State(),
		End: func(j *backfill.Job, started backfill.Time) backfill.Time {
			u := o.unlike[j.ID]
			if u.end != 0 {
				return u.end
			}
			if u.began != 0 {
				started = u.began
			}
			return max(u.lease, backfill.ExpectedEnd(j, runTime(j, max(0, now-started)), started, now))
		},
	}
}

// Rules returns the rules under which the schedule goes on, with the order and the estimators in
// charge and the given policy and fallback. Each call returns rules for another goroutine.
func (o *Outlook) Rules(policy, fallback backfill.Decider) ahead.Rules {
	return ahead.Rules{Order: o.Order(o.order), Policy: policy, Fallback: fallback}
}

// Order returns an order of the queue as a function, for one goroutine.
func (o *Outlook) Order(by Order) backfill.Order {
	if by.once {
		last := o.State()
		const enough = 10_000
		keys := map[string]float64{} // of the owners who have jobs in the queue
		for _, j := range last.FirstWaiting(enough) {
			keys[j.Labels["owner"]] = last.Key(j.ID)
		}
		return func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
			if key, supposed := o.keys[j.ID]; supposed {
				return key, 0
			}
			if j.ID >= firstAgain {
				return keys[j.Labels["owner"]], 0
			}
			return last.Key(j.ID), 0
		}
	}
	order, _ := by.of(func(id backfill.JobID) *Job { return o.jobs[id] }, o.resources, o.slack)
	return o.ordered(order)
}

// ordered wraps an order, so that it sees the run times that are predicted for it.
func (p Predictions) ordered(by backfill.Order) backfill.Order {
	if by == nil || len(p.of) == 0 {
		return by
	}
	seen := map[backfill.JobID]*backfill.Job{} // as the order sees them
	return func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
		known, predicted := p.of[j.ID]
		if !predicted || known.Order+p.slack == j.Estimate {
			return by(j, at)
		}
		ordered := seen[j.ID]
		if ordered == nil {
			copied := *j
			copied.Estimate = known.Order + p.slack
			ordered, seen[j.ID] = &copied, &copied
		}
		return by(ordered, at)
	}
}

// copy copies the predictions of all jobs.
func (p *predictions) copy(s *backfill.State) Predictions {
	made := Predictions{slack: p.slack, guarantees: p.guarantees}
	made.of = make(map[backfill.JobID]predicted, len(p.known))
	for id, known := range p.known {
		made.of[id] = predicted{
			Uses: known.Uses, requested: p.requested(p.jobs.get(id)), running: s.IsRunning(id),
		}
	}
	return made
}
