package negotiator

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// check refuses a delta that cannot be true, before anything has changed.
func (n *Negotiator) check(d *Delta) error {
	if d.Now < n.State().Now() {
		return fmt.Errorf("the last cycle was at %d", n.State().Now())
	}
	if err := n.matchmaker.checkSlots(d.SlotsUp, d.SlotsDown); err != nil {
		return err
	}
	if err := n.checkBundles(d); err != nil {
		return err
	}
	clear(n.told)
	for _, check := range []func(*Delta) error{n.checkJobs, n.checkFound, n.checkReports, n.checkEnds} {
		if err := check(d); err != nil {
			return err
		}
	}
	return nil
}

// checkJobs refuses jobs that arrive and are there, or were edited and do not wait.
func (n *Negotiator) checkJobs(d *Delta) error {
	for _, job := range d.Submitted {
		if n.jobs[job.ID] != nil || n.told[job.ID] {
			return fmt.Errorf("job %s (ID %d) was submitted twice", job.Name, job.ID)
		}
		if err := n.checkJob(job, d.Bundles); err != nil {
			return err
		}
	}
	for _, job := range d.Changed {
		if !n.queued(job.ID) {
			return fmt.Errorf("job %s (ID %d) was edited, but does not wait", job.Name, job.ID)
		}
		if err := n.checkJob(job, d.Bundles); err != nil {
			return err
		}
	}
	return nil
}

// checkReports refuses what happened to jobs that were not there for it.
func (n *Negotiator) checkReports(d *Delta) error {
	for _, report := range []struct {
		what    string
		ids     []backfill.JobID
		running bool // the job must be running
	}{{"completed", d.Completed, true}, {"removed", d.Removed, false}, {"failed to start", d.StartFailed, true}} {
		for _, id := range report.ids {
			if err := n.tell(id); err != nil {
				return err
			}
			if n.jobs[id] == nil || report.running && !n.State().IsRunning(id) {
				return fmt.Errorf("job ID %d %s, but was not there for it", id, report.what)
			}
		}
	}
	return nil
}

// checkEnds refuses ends of jobs that do not run, and ends in the past.
func (n *Negotiator) checkEnds(d *Delta) error {
	for _, end := range d.Ends {
		if err := n.tell(end.Job); err != nil {
			return err
		}
		switch {
		case n.jobs[end.Job] == nil || !n.State().IsRunning(end.Job):
			return fmt.Errorf("job ID %d is expected to end at %d, but does not run", end.Job, end.At)
		case end.At <= d.Now || end.At > backfill.Forever:
			return fmt.Errorf("job %s is expected to end at %d, and it is %d", n.jobs[end.Job].Name, end.At, d.Now)
		}
	}
	return nil
}

// tell notes that a job is reported, which it may be once.
func (n *Negotiator) tell(id backfill.JobID) error {
	if n.told[id] {
		return fmt.Errorf("job ID %d is reported twice", id)
	}
	n.told[id] = true
	return nil
}

// checkJob notes a job that is reported with all that it is, in a pool to which bundles
// come.
func (n *Negotiator) checkJob(job *Job, bundles []*Bundle) error {
	if err := n.tell(job.ID); err != nil {
		return err
	}
	if err := n.checkOne(job, bundles); err != nil {
		return fmt.Errorf("job %s: %w", job.Name, err)
	}
	return nil
}

// checkOne refuses a job that cannot be planned with.
func (n *Negotiator) checkOne(job *Job, bundles []*Bundle) error {
	if len(n.matchmaker.bundles)+len(bundles) > 0 && job.Nodes != 1 {
		return fmt.Errorf("%d chunks: in a pool with bundles a job has one, and asks it for all", job.Nodes)
	}
	return n.schema.check(job, n.matchmaker.byAd[job.Ad])
}

// checkFound refuses runs that cannot be.
func (n *Negotiator) checkFound(d *Delta) error {
	if len(d.Found) == 0 {
		return nil
	}
	up := map[string]bool{} // as far as the delta says so
	for _, name := range d.SlotsDown {
		up[name] = false
	}
	for _, slot := range d.SlotsUp {
		up[slot.Name] = true
	}
	isUp := func(name string) bool {
		is, told := up[name]
		if id, known := n.matchmaker.ids[name]; !told && known {
			is = n.State().SlotUp(id)
		}
		return is
	}
	for _, run := range d.Found {
		if err := n.checkJob(run.Job, d.Bundles); err != nil {
			return err
		}
		if err := n.matchmaker.checkPlacement(run.Job, run.Placement, isUp); err != nil {
			return fmt.Errorf("job %s runs, but %w", run.Job.Name, err)
		}
		if run.Start > d.Now || run.Start < -maxSeconds || run.End > backfill.Forever {
			return fmt.Errorf("job %s cannot run from %d to %d: it is %d", run.Job.Name, run.Start, run.End, d.Now)
		}
	}
	return nil
}

// checkPlacement refuses a placement that does not have all of the job's chunks, each
// slot named once, on slots that are up; or on one bundle whose slots are.
func (m *matchmaker) checkPlacement(j *Job, at Placement, isUp func(name string) bool) error {
	if len(m.bundles) > 0 {
		return m.checkWhole(j, at, isUp)
	}
	chunks := 0
	for i, place := range at {
		switch {
		case place.Slot == nil:
			return errors.New("on a slot that is none")
		case !isUp(place.Slot.Name):
			return fmt.Errorf("slot %s is not there", place.Slot.Name)
		case place.Chunks < 1 || place.Chunks > j.Nodes:
			return fmt.Errorf("%d of its %d chunks are on slot %s", place.Chunks, j.Nodes, place.Slot.Name)
		case slices.ContainsFunc(at[:i], func(o Place) bool { return o.Slot.Name == place.Slot.Name }):
			return fmt.Errorf("slot %s is named twice", place.Slot.Name)
		}
		chunks += place.Chunks
	}
	if chunks != j.Nodes {
		return fmt.Errorf("%d of its %d chunks are placed", chunks, j.Nodes)
	}
	return nil
}

// matchUp does phases 2 and 3: it turns a delta in terms of ads into a round in
// terms of vectors and candidate sets.
func (n *Negotiator) matchUp(d *Delta) (backfill.Round, error) {
	round := backfill.Round{Now: d.Now, Events: n.events[:0]}
	anew := n.foretellAnew()
	if err := n.takeSlots(d, &round); err != nil {
		return round, err
	}
	for _, job := range d.Submitted {
		if err := n.bring(&round, backfill.Event{Kind: backfill.Submitted}, job); err != nil {
			return round, err
		}
	}
	for _, job := range d.Changed {
		if err := n.bring(&round, backfill.Event{Kind: backfill.Changed}, job); err != nil {
			return round, err
		}
	}
	for _, run := range d.Found {
		e := backfill.Event{Kind: backfill.Found, Placement: n.slotsOf(run.Placement), Start: run.Start, End: run.End}
		if err := n.bring(&round, e, run.Job); err != nil {
			return round, err
		}
	}
	if anew {
		if err := n.replan(d, &round); err != nil {
			return round, err
		}
	}
	for _, id := range d.Completed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, Job: id})
	}
	for _, id := range d.Removed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Removed, Job: id})
	}
	for _, id := range d.StartFailed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.StartFailed, Job: id})
	}
	for _, end := range d.Ends {
		if n.predictions.replanned[end.Job] {
			continue // that is told with its new run time
		}
		round.Events = append(round.Events, backfill.Event{Kind: backfill.EstimateChanged, Job: end.Job, End: n.foretoldEnd(end, d.Now)})
	}
	n.events = round.Events
	for _, c := range n.matchmaker.unsent() {
		round.Candidates = append(round.Candidates, backfill.CandidateSet{ID: c.id, Candidates: c.candidates})
	}
	return round, nil
}

// bring adds an event that brings a job with all that it is.
func (n *Negotiator) bring(round *backfill.Round, e backfill.Event, job *Job) (err error) {
	if known := n.jobs[job.ID]; e.Kind != backfill.Found || known == nil || known.Estimate != job.Estimate {
		n.predictions.foretell(job) // else it was, when it arrived
	}
	if e.Spec, err = n.spec(job); err != nil {
		return err
	}
	if e.Kind == backfill.Found && e.End == 0 {
		e.End = e.Start + runs(e.Spec)
	}
	n.jobs[job.ID] = job
	round.Events = append(round.Events, e)
	return nil
}

// slotsOf is a placement in the policy's terms, on slots that are known.
func (n *Negotiator) slotsOf(places Placement) backfill.Placement {
	if len(places) == 1 && places[0].Bundle != nil {
		return n.matchmaker.chunksOf(places[0].Bundle)
	}
	at := make(backfill.Placement, len(places))
	for i, place := range places {
		at[i] = backfill.Chunks{Slot: n.matchmaker.ids[place.Slot.Name], Count: place.Chunks}
	}
	return at
}

// takeSlots takes the delta's slots and bundles in. When they can tell jobs apart that none
// could before, all waiting jobs are matched anew, and a running one a cycle
// after it came back to the queue: until then its autocluster has no candidates.
func (n *Negotiator) takeSlots(d *Delta, round *backfill.Round) error {
	for _, name := range d.SlotsDown {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.SlotLost, Slot: n.slot(n.matchmaker.ids[name])})
	}
	first := len(n.matchmaker.bundles)
	if len(d.SlotsUp)+len(d.Bundles) > 0 && n.matchmaker.add(d.SlotsUp, d.Bundles) {
		n.stale = slices.Sorted(maps.Keys(n.jobs))
	}
	for id := range d.Bundles {
		round.Bundles = append(round.Bundles, n.matchmaker.told(backfill.BundleID(first+id)))
	}
	for _, slot := range d.SlotsUp {
		id := n.matchmaker.ids[slot.Name]
		kind := backfill.SlotAdded
		if n.State().SlotUp(id) {
			kind = backfill.SlotChanged
		}
		round.Events = append(round.Events, backfill.Event{Kind: kind, Slot: n.slot(id)})
	}
	for _, id := range n.stale {
		if !n.queued(id) || n.told[id] {
			continue // else it is gone, runs, or was edited, and so matched anew
		}
		spec, err := n.spec(n.jobs[id])
		if err != nil {
			return err
		}
		n.told[id] = true
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Changed, Spec: spec})
	}
	n.stale = slices.DeleteFunc(n.stale, func(id backfill.JobID) bool { return !n.State().IsRunning(id) })
	return nil
}

func (n *Negotiator) slot(id backfill.SlotID) backfill.Slot {
	s := n.matchmaker.slots[id]
	return backfill.Slot{ID: id, Name: s.Name, Capacity: s.Capacity}
}

// spec is a job in the policy's terms.
func (n *Negotiator) spec(job *Job) (*backfill.Job, error) {
	c, err := n.matchmaker.cluster(job.Ad)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job.Name, err)
	}
	spec := &backfill.Job{
		ID: job.ID, Submit: job.Submit, Place: job.Place, Nodes: job.Nodes, Request: c.request,
		Candidates: c.id, Labels: job.Labels, Whole: len(n.matchmaker.bundles) > 0,
	}
	n.predictions.plan(spec, job)
	return spec, nil
}
