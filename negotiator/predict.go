package negotiator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// predictions are the run times that jobs are planned with beside what they request.
// They are made when a job arrives, and all anew when other estimators take over.
type predictions struct {
	set    *estimate.Set // nil: what is requested
	actual func(backfill.JobID) backfill.Time
	// guarantees says that the policy in charge gives them: it plans with what is
	// requested, whatever the estimators say.
	guarantees bool
	slack      backfill.Time           // in all times that are planned with
	unknown    backfill.Time           // stands for what is requested where nothing is
	jobs       map[backfill.JobID]*Job // the negotiator's
	known      map[backfill.JobID]*prediction
	apart      int                     // of those known, how many the order is to see otherwise than the plan
	anew       bool                    // all are to be made anew
	replanned  map[backfill.JobID]bool // told anew in this cycle
	learned    []estimate.Ended        // in this cycle
}

// prediction is of a job that is not taken to run for as long as it requests in all
// three uses.
type prediction struct {
	estimate.Uses
	apart bool // the order goes by another run time than the plan
	// ordered is a copy of a job as the queue's order is to see it.
	ordered, of *backfill.Job
}

// idle says that there is nothing to ask.
func (p *predictions) idle() bool { return p.set == nil || p.set.Requested() }

// planned says that jobs are planned with what is foretold.
func (p *predictions) planned() bool { return !p.idle() && !p.guarantees }

// requested is the run time that a job asks for, or what stands for it.
func (p *predictions) requested(job *Job) backfill.Time { return cmp.Or(job.Estimate, p.unknown) }

// describe is a job as estimators know it.
func (p *predictions) describe(job *Job) estimate.Job {
	return estimate.Job{Name: job.Name, Requested: p.requested(job), Unestimated: job.Estimate == 0, Labels: job.Labels}
}

// foretell asks for a job's run times.
func (p *predictions) foretell(job *Job) {
	if p.idle() {
		return
	}
	j := p.describe(job)
	if p.actual != nil {
		j.Actual = p.actual(job.ID)
	}
	uses, r := p.set.Estimate(&j), j.Requested
	p.forget(job.ID)
	if uses == (estimate.Uses{Order: r, Backfill: r, Running: r}) {
		return
	}
	planned := uses.Backfill
	if p.guarantees {
		planned = r
	}
	made := &prediction{Uses: uses, apart: uses.Order != planned}
	if p.known[job.ID] = made; made.apart {
		p.apart++
	}
}

// forget drops what is known of a job that is gone.
func (p *predictions) forget(id backfill.JobID) {
	if known := p.known[id]; known != nil {
		delete(p.known, id)
		if known.apart {
			p.apart--
		}
	}
}

// plan sets the run times that a job is planned with. It is ended at what it requests,
// never at what was foretold.
func (p *predictions) plan(spec *backfill.Job, job *Job) {
	requested := p.requested(job)
	spec.Estimate, spec.Limit, spec.Unestimated = requested, job.Limit, job.Estimate == 0
	if u := p.known[job.ID]; u != nil && !p.guarantees && (u.Backfill != requested || u.Running != requested) {
		spec.Estimate, spec.Limit = u.Backfill, cmp.Or(job.Limit, requested)
		if u.Running != u.Backfill {
			spec.Running = u.Running + p.slack
		}
	}
	spec.Estimate += p.slack
	if spec.Limit != 0 {
		spec.Limit += p.slack
	}
}

// runs is how long a job is taken to run from its start.
func runs(j *backfill.Job) backfill.Time { return cmp.Or(j.Running, j.Estimate) }

// order has the queue's order see the run times that are meant for it.
func (p *predictions) order(by backfill.Order) backfill.Order {
	if p.idle() || by == nil {
		return by
	}
	return func(j *backfill.Job, now backfill.Time) (key float64, moves bool) { return by(p.ordered(j), now) }
}

// ordered is a job as the order is to see it.
func (p *predictions) ordered(j *backfill.Job) *backfill.Job {
	if p.apart == 0 {
		return j
	}
	known := p.known[j.ID]
	if known == nil || !known.apart {
		return j
	}
	if known.of != j {
		ordered := *j
		ordered.Estimate = known.Order + p.slack
		known.ordered, known.of = &ordered, j
	}
	return known.ordered
}

// under is what is foretold once a change is made.
func (p *predictions) under(c Change) *predictions {
	next := *p
	next.set, next.guarantees = c.Estimates, c.Policy.Spec().Guarantees
	others := p.set != next.set && (!p.idle() || !next.idle())
	next.anew = p.anew || others || p.guarantees != next.guarantees && !next.idle()
	return &next
}

// inherit has the estimators learn what others learned before them.
func (p *predictions) inherit(from *predictions) {
	if p.set == nil || from.set == nil || p.set == from.set || p.set.History() == from.set.History() {
		return
	}
	for ended := range from.set.History().All() {
		p.set.Learn(ended)
	}
}

// learn takes note of the jobs that completed, in the order in which the cycle will,
// before what arrives is foretold.
func (n *Negotiator) learn(d *Delta) {
	p := n.predictions
	p.learned = p.learned[:0]
	if p.set == nil {
		return
	}
	for _, id := range slices.SortedFunc(slices.Values(d.Completed), n.State().CompareEnds) {
		ran, told := d.Ran[id]
		if !told {
			run, _ := n.State().Reason(id)
			ran = d.Now - run.At
		}
		if ran < 0 {
			continue
		}
		ended := estimate.Ended{Job: p.describe(n.jobs[id]), Ran: ran, At: d.Now}
		p.set.Learn(ended)
		p.learned = append(p.learned, ended)
	}
}

// foretellAnew makes all predictions anew if other estimators have taken over, or a
// policy that may or must not plan with them.
func (n *Negotiator) foretellAnew() bool {
	p := n.predictions
	p.replanned = nil
	if !p.anew {
		return false
	}
	p.anew, p.known, p.apart = false, map[backfill.JobID]*prediction{}, 0
	for _, id := range slices.Sorted(maps.Keys(n.jobs)) {
		p.foretell(n.jobs[id])
	}
	return true
}

// replan tells of the jobs whose run times are others now. Those that run do so as
// before, and end at another time; those that come back to the queue in this very
// round come as what they are now.
func (n *Negotiator) replan(d *Delta, round *backfill.Round) error {
	ends := map[backfill.JobID]backfill.Time{}
	for _, end := range d.Ends {
		ends[end.Job] = n.foretoldEnd(end, d.Now)
	}
	back := n.returning(d)
	n.predictions.replanned = map[backfill.JobID]bool{}
	for _, st := range n.State().Snapshot().Jobs {
		was := st.Job
		end, moved := ends[was.ID]
		returns := st.Running && back(was.ID, st.Placement)
		if n.told[was.ID] && !moved && !returns {
			continue // it is gone, or told anew
		}
		spec, err := n.spec(n.jobs[was.ID])
		if err != nil {
			return err
		}
		if spec.Estimate == was.Estimate && spec.Running == was.Running && spec.Limit == was.Limit {
			continue
		}
		e := backfill.Event{Kind: backfill.Changed, Spec: spec}
		if st.Running && !returns {
			e = backfill.Event{Kind: backfill.Found, Spec: spec, Placement: st.Placement, Start: st.Start, End: cmp.Or(end, st.Start+runs(spec))}
		}
		n.predictions.replanned[was.ID] = true
		round.Events = append(round.Events, e)
	}
	return nil
}

// returning tells which running jobs come back to the queue with the delta.
func (n *Negotiator) returning(d *Delta) func(backfill.JobID, backfill.Placement) bool {
	lost := map[backfill.SlotID]bool{}
	for _, name := range d.SlotsDown {
		lost[n.matchmaker.ids[name]] = true
	}
	gone := map[backfill.JobID]bool{}
	for _, id := range slices.Concat(d.Completed, d.Removed) {
		gone[id] = true
	}
	for _, run := range d.Found {
		gone[run.Job.ID] = true
	}
	return func(id backfill.JobID, at backfill.Placement) bool {
		return !gone[id] && (slices.Contains(d.StartFailed, id) || slices.ContainsFunc(at, func(c backfill.Chunks) bool { return lost[c.Slot] }))
	}
}

// foretoldEnd is when a running job is taken to end whose end by its request is told.
func (n *Negotiator) foretoldEnd(end End, now backfill.Time) backfill.Time {
	p := n.predictions
	known := p.known[end.Job]
	if known == nil || !p.planned() {
		return end.At
	}
	if at := end.At - p.requested(n.jobs[end.Job]) + known.Running; at > now {
		return at
	}
	return end.At
}

// Predicted are the run times that a job is planned with which waits or runs after the
// cycle.
func (r *Report) Predicted(id backfill.JobID) estimate.Uses {
	p := r.predictions
	t := p.requested(p.jobs[id])
	uses := estimate.Uses{Order: t, Backfill: t, Running: t}
	if known := p.known[id]; known != nil {
		uses = known.Uses
	}
	if p.guarantees {
		uses.Backfill, uses.Running = t, t
	}
	return uses
}
