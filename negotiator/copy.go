package negotiator

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Copy is a copy of the schedule between two cycles, with all that is needed to play it ahead beside
// the cycles, as package outlook does. The negotiator changes none of it later.
type Copy struct {
	State *backfill.State
	// Policy and Fallback are in charge; no play may use them, see [backfill.Repeatable].
	Policy, Fallback backfill.Decider
	Order            Order
	// Slack is a part of all planned run times; see [Config.StartSlack].
	Slack     backfill.Time
	Resources []string // the names, cpus first
	// Jobs are all jobs by ID, if the order is an expression, which sees their ads; else nil.
	Jobs map[backfill.JobID]*Job
	// Predicted are the run times of those jobs for which one differs from the requested one.
	Predicted map[backfill.JobID]RunTimes
	// Past is what the estimators have learned; nil: there are none.
	Past *estimate.Records
	// Delays are how long the last starts took.
	Delays estimate.Delays
	// World is what an order's expression sees besides the ads.
	World World
	// Arrived are the last jobs that were submitted, the first of them first.
	Arrived []Expected
}

// RunTimes are those that are predicted for a job, and the one that it requests, without slack.
type RunTimes struct {
	estimate.Uses
	Requested backfill.Time
	Runs      bool // the job runs now
	// Correction is what is expected of the job once it has outlived what was predicted.
	Correction backfill.Correction
}

// Expected is a job that a play submits although nobody has: such as one of the past that may come
// again. Its ID must be one that no known job has.
type Expected struct {
	// Job is what the policy sees of it, in any of the forms that a job has: planned with predicted
	// run times or with the requested one.
	Job *backfill.Job
	// Ad is what the pool advertises of it, which an order's expression sees.
	Ad *Job
	// Uses are its predicted run times, and Requested is the one that it requests, without slack.
	Uses      estimate.Uses
	Requested backfill.Time
}

// Copy copies the schedule. It must be called between two cycles.
func (n *Negotiator) Copy() Copy {
	p, s := n.predictions, n.State()
	c := Copy{
		State: s.Clone(), Policy: n.policy, Fallback: n.fallback, Order: n.order, Slack: p.slack,
		Resources: n.schema.Resources, Predicted: make(map[backfill.JobID]RunTimes, p.known.Len()), Arrived: n.arrived,
		Delays: n.delays, World: n.world,
	}
	for id, known := range p.known.Scan {
		c.Predicted[id] = RunTimes{
			Uses: known.Uses, Requested: p.requested(p.jobs.get(id)), Runs: s.IsRunning(id), Correction: p.set.Correction(),
		}
	}
	if n.GivenUp() != nil { // plays go on as the cycles do
		c.Policy = n.fallback
	}
	if p.set != nil {
		c.Past = p.set.Records()
	}
	if n.order.IsExpression() {
		c.Jobs = make(map[backfill.JobID]*Job, n.jobs.Len())
		for _, id := range n.jobs.ids() {
			c.Jobs[id] = n.jobs.get(id)
		}
	}
	return c
}

// mostArrivals is how many of the jobs that arrived are known.
const mostArrivals = 2000

// arrive notes a job that comes, as planned.
func (n *Negotiator) arrive(job *Job, planned *backfill.Job) {
	if len(n.arrived) == mostArrivals {
		n.arrived = n.arrived[1:]
	}
	n.arrived = append(n.arrived, n.predictions.expected(job, planned)) // never changed in place: copies share it
}

// expected returns a job, as planned, in the form of one that may come once more.
func (p *predictions) expected(job *Job, planned *backfill.Job) Expected {
	r := p.requested(job)
	return Expected{Job: planned, Ad: job, Requested: r, Uses: usesOf(p.known.Find(job.ID), r)}
}
