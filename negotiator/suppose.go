package negotiator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Newcomer is a job that is not in the pool, as the plan would take it; see [Negotiator.Suppose].
type Newcomer struct {
	Job        *backfill.Job
	Candidates backfill.Candidates
	// WhyNone is why it has no candidates; "" if it has some.
	WhyNone string
}

// supposed is the ID of a job that is only supposed; no pool gets that far.
const supposed backfill.JobID = 1 << 62

// Arrival returns the round in which the newcomer arrives, as the first of a play.
func (o *Outlook) Arrival(c Newcomer) *backfill.Round {
	return &backfill.Round{
		Now:        o.now,
		Candidates: []backfill.CandidateSet{{ID: c.Job.Candidates, Candidates: c.Candidates}},
		Events:     []backfill.Event{{Kind: backfill.Submitted, Job: c.Job}},
	}
}

// Suppose copies the schedule for a question about a job that is not in the pool. The job gets an ID,
// candidates and predicted run times as if it arrived now; nothing else learns of it. If the order's
// keys are of the last cycle alone, it comes behind the waiting jobs of its owner, or behind all if
// none waits. Suppose must be called between two cycles. The error says why nobody could plan with
// the job.
func (n *Negotiator) Suppose(ctx context.Context, job *Job) (*Outlook, Newcomer, error) {
	o, c, job := n.Outlook(), Newcomer{}, new(*job)
	job.ID, job.Submit = supposed, o.now
	job.Position = backfill.QueuePosition{Queue: "\U0010FFFF"} // behind all that came in this second
	if err := n.checkPlannable(job, nil); err != nil {
		return nil, c, err
	}
	suited, err := n.matchmaker.Suit(ctx, job.Ad)
	if err != nil {
		return nil, c, err
	}
	n.predictions.predict(job)
	if known := n.predictions.known[job.ID]; known != nil {
		if o.of == nil {
			o.of = map[backfill.JobID]predicted{}
		}
		o.of[job.ID] = predicted{Uses: known.Uses, requested: n.predictions.requested(job)}
	}
	cluster := matchmaker.Autocluster{ID: len(n.State().CandidateSets()), Request: suited.Request}
	c = Newcomer{n.inCoreTerms(job, cluster), suited.Candidates, suited.WhyNone}
	n.predictions.forget(job.ID)
	o.admit(job, n.State())
	return o, c, nil
}

// admit has the order know a job that is only supposed.
func (o *Outlook) admit(job *Job, s *backfill.State) {
	if o.jobs != nil {
		o.jobs[job.ID] = job
	}
	if !o.order.once {
		return
	}
	last, ofOwner := 0.0, false
	for _, j := range s.FirstWaiting(s.Waiting()) {
		if own := j.Labels["owner"] == job.Labels["owner"]; own || !ofOwner {
			last, ofOwner = s.Key(j.ID), own || ofOwner
		}
	}
	o.keys = map[backfill.JobID]float64{job.ID: last}
}

// Under returns the outlook under a policy that gives guarantees or not and, if the set is not nil,
// with other estimators; and the round with which a play under it begins: jobs that are planned with
// other run times then, as in the first cycle after such a change. The policy itself is for the rules
// of the play to name. Estimators that need more than a job's labels are not for this.
func (o *Outlook) Under(guarantees bool, set *estimate.Set) (*Outlook, *backfill.Round) {
	first := &backfill.Round{Now: o.now}
	of := o.of
	switch {
	case set != nil:
		of = map[backfill.JobID]predicted{}
		for _, was := range o.State().Snapshot().Jobs {
			known := predicted{requested: o.requested(was.Job), running: was.Running}
			known.Uses = set.Estimate(&estimate.Job{
				Requested: known.requested, Unestimated: was.Job.Unestimated, Labels: was.Job.Labels,
			})
			if r := known.requested; known.Uses != (estimate.Uses{Order: r, Backfill: r, Running: r}) {
				of[was.Job.ID] = known
			}
		}
		first.Events = o.replan(o.State(), of, guarantees)
	case guarantees != o.guarantees:
		first.Events = o.replan(o.State(), of, guarantees)
	}
	return o.with(Predictions{of: of, slack: o.slack, guarantees: guarantees}), first
}

// replan returns the events with which a policy takes over a state: jobs that are planned with other
// run times under it, with the given predictions.
func (o *Outlook) replan(s *backfill.State, of map[backfill.JobID]predicted, guarantees bool) (all []backfill.Event) {
	if len(of) == 0 && len(o.of) == 0 {
		return nil // all jobs are planned with what they request
	}
	for _, was := range s.Snapshot().Jobs {
		known, is := of[was.Job.ID]
		now := o.replanned(was.Job, known, is && !guarantees)
		if now.Estimate == was.Job.Estimate && now.Running == was.Job.Running && now.Limit == was.Job.Limit {
			continue
		}
		e := backfill.Event{Kind: backfill.Changed, Job: &now}
		if was.Running {
			u := o.unlike[now.ID]
			e.Kind, e.Placement, e.Start = backfill.Found, was.Placement, was.Start
			e.End = max(cmp.Or(u.end, cmp.Or(u.began, was.Start)+runs(&now)), u.lease)
		}
		all = append(all, e)
	}
	return all
}

// replanned returns a job with the run times with which it is planned, by a prediction or, if that
// is not to count, by what it requests. It is what [predictions.plan] does, without the job's ad.
func (o *Outlook) replanned(j *backfill.Job, known predicted, predicted bool) backfill.Job {
	now, requested := *j, o.requested(j)
	now.Estimate, now.Running = requested+o.slack, 0
	if predicted && (known.Backfill != requested || known.Running != requested) {
		now.Estimate, now.Limit = known.Backfill+o.slack, cmp.Or(j.Limit, requested+o.slack)
		if known.Running != known.Backfill {
			now.Running = known.Running + o.slack
		}
	}
	return now
}

// with returns an outlook with other predictions.
func (o *Outlook) with(p Predictions) *Outlook {
	return &Outlook{
		Predictions: p, now: o.now, state: o.State(), policy: o.policy, fallback: o.fallback, order: o.order,
		jobs: o.jobs, keys: o.keys, resources: o.resources, unlike: o.unlike, past: o.past,
	}
}

// Learned iterates over the runs from which the estimators have learned, between two cycles.
func (n *Negotiator) Learned() iter.Seq[estimate.Ended] {
	if n.predictions.set == nil {
		return func(func(estimate.Ended) bool) {}
	}
	return n.predictions.set.History().All()
}

// Guarantees reports whether the policy in charge gives guarantees.
func (o *Outlook) Guarantees() bool { return o.guarantees }

// Resources returns the names of the pool's resources, cpus first.
func (o *Outlook) Resources() []string { return o.resources }

// Requested returns the run time that a job requests.
func (o *Outlook) Requested(j *backfill.Job) backfill.Time { return o.requested(j) }

// Planned returns for how long a job is planned that requests a run time.
func (o *Outlook) Planned(requested backfill.Time) backfill.Time { return requested + o.slack }

// RulesIn is Rules with another order; nil: the one in charge.
func (o *Outlook) RulesIn(by backfill.Order, policy, fallback backfill.Decider) ahead.Rules {
	rules := o.Rules(policy, fallback)
	if by != nil {
		rules.Order = o.ordered(by)
	}
	return rules
}

// Further is more slots, as they would come into the pool; see [Negotiator.Enlarge].
type Further struct {
	Events []backfill.Event
	Sets   []backfill.CandidateSet // that change
	// Untried counts the kinds of jobs that get none of the slots, as it would take too long to match
	// them.
	Untried int
}

// Enlarge returns what comes with count more slots that are like one of the pool's, except for the
// given amounts of resources. Nothing is changed. It must be called between two cycles.
func (n *Negotiator) Enlarge(like string, amounts map[string]int64, count int) (f Further, err error) {
	id, known := n.inventory.ids[like]
	switch {
	case len(n.inventory.bundles) > 0:
		return f, errors.New("the pool is partitioned: it cannot get further slots")
	case !known:
		return f, fmt.Errorf("there is no slot %s", like)
	}
	model := n.inventory.slots[id]
	ad, capacity := model.Ad.Clone(), slices.Clone(model.Capacity)
	for resource, amount := range amounts {
		i := slices.Index(n.schema.Resources, resource)
		if i < 0 {
			return f, fmt.Errorf("there is no resource %s: there are %v", resource, n.schema.Resources)
		}
		if amount < 0 || amount > backfill.MaxAmount {
			return f, fmt.Errorf("%d %s: must be from 0 to %d", amount, resource, int64(backfill.MaxAmount))
		}
		capacity[i] = amount
		for _, attribute := range []string{Attribute(resource), "TotalSlot" + Attribute(resource), "Total" + Attribute(resource)} {
			if _, has := ad.Lookup(attribute); has {
				ad.SetInt(attribute, amount)
			}
		}
	}
	var ids []backfill.SlotID
	for i := range count {
		slot := backfill.Slot{
			ID: backfill.SlotID(len(n.inventory.slots) + i), Name: fmt.Sprintf("new%d", i+1), Capacity: capacity,
		}
		ids = append(ids, slot.ID)
		f.Events = append(f.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
	}
	f.Sets, f.Untried = n.matchmaker.Enlarge(ad, ids)
	return f, nil
}

// ReadSupposed reads a job that is only supposed from its ad, which need not say which job it is.
func (n *Negotiator) ReadSupposed(name string, ad *classad.ClassAd) (*Job, error) {
	j := &Job{Name: name, Ad: ad.Clone(), Nodes: 1}
	j.Ad.SetInt("QDate", int64(max(0, n.State().Now())))
	if err := n.schema.readJob(j); err != nil {
		return nil, err
	}
	return j, nil
}
