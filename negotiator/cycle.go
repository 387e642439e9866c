package negotiator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// RunCycle schedules what the pool reports: phases 2 to 6 of the package's description. A delta
// that contradicts itself or what is known is an error and changes nothing. After any other error
// the negotiator must not be used any more.
func (n *Negotiator) RunCycle(ctx context.Context, delta Delta) (*Report, error) {
	return n.runCycle(ctx, &delta)
}

// runCycle is RunCycle. It gets the delta by address, as copies are a part of what short cycles
// cost.
func (n *Negotiator) runCycle(ctx context.Context, delta *Delta) (*Report, error) {
	var began time.Time
	if n.clock != nil {
		began = n.clock()
	}
	if n.recorder != nil {
		n.recorder.Told(n, delta)
	}
	r, matches := &n.last, n.last.Matches[:0]
	*r = Report{}
	r.Delta, r.Matches, r.State = *delta, matches, n.host.State
	d := &r.Delta
	news, due := n.takeScavengers(d), d.Now >= n.dueAt()
	if err := cmp.Or(n.check(d), n.checkScavengers(d, &news)); err != nil {
		return nil, fmt.Errorf("what the pool reports at %d cannot be true: %w", d.Now, err)
	}
	n.predictions.now = d.Now
	if n.predictions.trust != estimate.TrustAll {
		n.review(d)
	}
	r.Left = n.left(d)
	n.hear(d)
	n.learn(d)
	n.learnDelays(d)
	if err := n.cluster(d); err != nil { // 2
		return nil, err
	}
	scavenged, err := n.hearOfScavengers(d, &news)
	if err != nil {
		return nil, err
	}
	n.matchmaker.SetRoom(d.Room)
	n.countFree(d)
	candidates, err := n.matchmaker.Match(ctx, d.Now) // 3
	if err != nil {
		return nil, fmt.Errorf("match at %d: %w", d.Now, err)
	}
	n.remeasure()
	n.findScavengers(news.found)
	r.Matched = n.since(began)
	if r.Quiet = !due && n.isQuiet(d, &news, candidates); r.Quiet {
		n.keepCandidates(candidates)
		n.release()
	} else if err = n.plan(ctx, r, n.candidatesAfter(candidates)); err != nil { // 4 and 5
		return nil, err
	}
	n.report(r) // 6
	if scavenged != nil {
		n.scavengeOn(r, scavenged)
	}
	n.countFree(nil)
	if !r.Quiet {
		n.lookAgainSoon(r)
	}
	r.Took = n.since(began)
	return r, nil
}

// plan is phases 4 and 5: the policy decides the round, and then it is looked who displaces whom.
func (n *Negotiator) plan(ctx context.Context, r *Report, candidates []backfill.CandidateSet) (err error) {
	round := n.round(&r.Delta, candidates) // 4
	n.release()
	n.renewed = false
	if r.Decision, err = n.host.Decide(ctx, round); err != nil { // 5
		return fmt.Errorf("plan at %d: %w", r.Delta.Now, err)
	}
	return n.displace(ctx, r)
}

// lookAgainSoon has a further cycle due if this one started jobs beside which others may begin.
func (n *Negotiator) lookAgainSoon(r *Report) {
	n.again = backfill.Forever
	if len(r.Decision.Started) > 0 && (n.matchmaker.WantsLittle() || n.mayDisplaceNext(r)) {
		n.again = r.Delta.Now + 1
	}
}

// since returns the time since a cycle began; 0 without a clock.
func (n *Negotiator) since(began time.Time) time.Duration {
	if n.clock == nil {
		return 0
	}
	return n.clock().Sub(began)
}

// mostKept is how many entries of a buffer the next cycle uses again.
const mostKept = 4096

// release ends the use of the cycle's buffers, once the host has the events. Those of an unusual
// cycle are dropped before it decides: in the first one a million jobs may come at once, and the
// next ones have a few hundred events.
func (n *Negotiator) release() {
	n.arrivals = emptied(n.arrivals)
	if cap(n.events) > mostKept {
		n.events = nil
	}
	n.reported.Clear()
}

// emptied returns a buffer without its entries, or nil if it is too large to be kept.
func emptied[T any](buffer []T) []T {
	if cap(buffer) > mostKept {
		return nil
	}
	clear(buffer) // they keep jobs in memory
	return buffer[:0]
}

// cluster is phase 2. It adds the delta's slots and bundles, lists the jobs that the round has to
// describe in full (the arrivals), and finds their autoclusters.
//
// If the new slots or bundles refer to job attributes to which none referred before, all waiting
// jobs are clustered anew. A running job keeps its old autocluster, which has no candidates any
// more, until the cycle after the one in which the job returns to the queue.
func (n *Negotiator) cluster(d *Delta) error {
	n.arrivals = slices.Grow(n.arrivals[:0], len(d.Submitted)+len(d.Changed)+len(d.Found))
	if len(d.SlotsUp)+len(d.Bundles) > 0 && n.addSlots(d.SlotsUp, d.Bundles) {
		n.stale, n.scavengers.anew = n.jobs.ids(), true
	}
	n.setLimits(d)
	for _, id := range n.stale {
		if n.queued(id) && n.reported.Add(id) { // else it is gone, runs, or is clustered below
			n.arrivals = append(n.arrivals, arrival{kind: backfill.Changed, job: n.jobs.get(id)})
		}
	}
	n.stale = slices.DeleteFunc(n.stale, func(id backfill.JobID) bool { return !n.State().IsRunning(id) })
	for _, job := range d.Submitted {
		n.arrivals = append(n.arrivals, arrival{kind: backfill.Submitted, job: job, predict: true})
	}
	for _, job := range d.Changed {
		n.arrivals = append(n.arrivals, arrival{kind: backfill.Changed, job: job, predict: true})
	}
	for _, run := range d.Found {
		known := n.jobs.get(run.Job.ID)
		n.arrivals = append(n.arrivals, arrival{
			kind: backfill.Found, job: run.Job, placement: n.inventory.toCore(run.Placement),
			start: run.Start, end: run.End,
			predict: known == nil || known.Estimate != run.Job.Estimate, // else it was when the job arrived
		})
	}
	n.reconsider(d)
	n.retake(d)
	n.replan(d)
	n.predictAgain()
	for i := range n.arrivals {
		a := &n.arrivals[i]
		var err error
		if a.cluster, err = n.autocluster(a.job); err != nil {
			return err
		}
	}
	return nil
}

// round is phase 4: it turns the delta into events for the policy.
func (n *Negotiator) round(d *Delta, candidates []backfill.CandidateSet) backfill.Round {
	n.predictions.predictAnew()
	round := backfill.Round{
		Now: d.Now, Candidates: candidates, Rows: n.limits.changed, Reordered: n.predictions.reordered,
		Events: slices.Grow(n.events[:0], len(d.SlotsUp)+len(n.arrivals)),
	}
	n.addSlotEvents(&round, d)
	for i := range n.arrivals {
		n.addArrival(&round, &n.arrivals[i])
	}
	n.addReports(&round, d)
	n.events = round.Events
	return round
}

// addSlotEvents adds the delta's new bundles to the round, and events for the slots that came or
// went.
func (n *Negotiator) addSlotEvents(round *backfill.Round, d *Delta) {
	for i := range d.Bundles {
		id := backfill.BundleID(len(n.inventory.bundles) - len(d.Bundles) + i)
		round.Bundles = append(round.Bundles, n.inventory.bundle(id))
	}
	for _, name := range d.SlotsDown {
		slot := n.inventory.slot(n.inventory.ids[name])
		round.Events = append(round.Events, backfill.Event{Kind: backfill.SlotLost, Slot: slot})
	}
	for _, s := range d.SlotsUp {
		slot := n.inventory.slot(n.inventory.ids[s.Name])
		kind := backfill.SlotAdded
		if n.State().SlotUp(slot.ID) {
			kind = backfill.SlotChanged
		}
		round.Events = append(round.Events, backfill.Event{Kind: kind, Slot: slot})
	}
}

// addArrival adds an event with the whole job. A job that is here only for new run times gets no
// event if it is planned with the same as before: at most its place in the queue's order changes.
func (n *Negotiator) addArrival(round *backfill.Round, a *arrival) {
	if a.predict {
		n.predictions.predict(a.job)
	}
	k := n.jobs.Put(a.job.ID)
	n.limits.know(k.job, a.job)
	if a.kind != backfill.Found && k.job != a.job {
		n.predictions.waitsNoMore(k.job)
		n.predictions.waits(a.job)
	}
	k.job = a.job
	e := backfill.Event{
		Kind: a.kind, Job: n.inCoreTerms(a.job, a.cluster), Placement: a.placement, Start: a.start, End: a.end,
		LimitChanged: a.limited && a.kind == backfill.Changed,
	}
	if a.kind == backfill.Found && (a.limited || a.replanned != nil) {
		e.Job.Request = n.State().Job(a.job.ID).Request // it has that, whatever it would request now
	}
	if before := a.replanned; before != nil {
		_, _, planned := n.State().Planned(before.ID)
		yields := a.distrusted && n.predictions.guarantees && (e.Job.Estimate > before.Estimate || n.reviews.broken && planned)
		if !yields && e.Job.Estimate == before.Estimate && e.Job.Running == before.Running && e.Job.Limit == before.Limit &&
			e.Job.Correction == before.Correction &&
			slices.Equal(e.Job.Takes, before.Takes) && slices.Equal(e.Job.Request, before.Request) {
			round.Reordered = append(round.Reordered, before.ID)
			return
		}
		if n.predictions.replanned != nil {
			n.predictions.replanned[before.ID] = true
		}
		if yields {
			if reason, _ := n.State().Reason(before.ID); reason.Promised {
				n.reviews.lifted = append(n.reviews.lifted, lifted{before.ID, reason.Latest})
			}
			e.Kind = backfill.Submitted
			round.Events = append(round.Events, backfill.Event{Kind: backfill.Removed, JobID: before.ID}, e)
			return
		}
		if e.End != 0 {
			e.End = n.predictions.expectedEnd(End{Job: before.ID, At: e.End}, round.Now)
		}
	}
	if e.Kind == backfill.Submitted {
		n.arrive(a.job, e.Job)
	}
	if e.Kind == backfill.Found {
		e.End = max(cmp.Or(e.End, e.Start+runs(e.Job)), a.job.Lease)
	}
	round.Events = append(round.Events, e)
}

// addReports adds the events of known jobs: completed, removed, failed to start, expected to end at
// another time.
func (n *Negotiator) addReports(round *backfill.Round, d *Delta) {
	for _, id := range d.Completed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
	}
	for _, id := range d.Removed {
		round.Events = append(round.Events, backfill.Event{Kind: backfill.Removed, JobID: id})
	}
	for _, id := range d.StartFailed {
		if failed := n.jobs.get(id); failed.Lease != 0 {
			again := *failed
			again.Lease = 0 // it has no place any more
			n.jobs.Put(id).job = &again
		}
		round.Events = append(round.Events, backfill.Event{
			Kind: backfill.StartFailed, JobID: id, SlotEnded: slices.Contains(d.SlotEnded, id),
		})
	}
	for _, end := range d.Ends {
		if n.yields(end.Job) { // what its run time would be tells nothing any more
			round.Events = append(round.Events, backfill.Event{Kind: backfill.EstimateChanged, JobID: end.Job, End: end.At})
			continue
		}
		if !n.predictions.replanned[end.Job] && !n.limits.moved[end.Job] { // else the event of addArrival has the new end
			e := backfill.Event{
				Kind: backfill.EstimateChanged, JobID: end.Job,
				End: max(n.predictions.expectedEnd(end, d.Now), n.jobs.get(end.Job).Lease),
			}
			round.Events = append(round.Events, e)
		}
	}
}

// report is phase 6: it turns the decision into matches and reasons, and forgets jobs that are
// gone.
func (n *Negotiator) report(r *Report) {
	n.forgive(&r.Delta, &r.Decision)
	n.reportLifted(&r.Decision)
	n.forget(r.Delta.Completed)
	n.forget(r.Delta.Removed)
	r.Unordered = n.priorities.unordered()
	r.Last = n.priorities.takeExpensive()
	r.Learned, r.predictions, r.negotiator = n.predictions.learned, n.predictions, n
	for i := range r.Decision.Started {
		s := &r.Decision.Started[i]
		n.starts(s.Job.ID, r.Delta.Now)
		r.Matches = append(r.Matches, Match{Job: n.jobs.get(s.Job.ID), Placement: n.inventory.fromCore(s.Placement)})
	}
	n.hearOfStarts(r)
	n.reportPreempted(r)
	n.stay(r.Delta.StartFailed)
	for i := range r.Preempted {
		n.stay(r.Preempted[i].Ousted)
	}
	r.Held = n.held(r.Decision.Held)
	r.Unmatched, r.Expensive = n.matchmaker.Unplanned(), n.matchmaker.Expensive()
	for _, id := range n.matchmaker.Unbearable() {
		r.Unbearable = append(r.Unbearable, n.inventory.slots[id].Name)
	}
}

// forget drops jobs that are gone.
func (n *Negotiator) forget(ids []backfill.JobID) {
	for _, id := range ids {
		k := n.jobs.Put(id)
		n.leave(k)
		n.limits.know(k.job, nil)
		n.predictions.waitsNoMore(k.job)
		n.jobs.Delete(id)
		n.priorities.forget(id)
		n.predictions.forget(id)
	}
}

// held lists held jobs with their reasons. Why a job matches nothing is found once for each
// autocluster.
func (n *Negotiator) held(jobs []backfill.HeldJob) (all []Held) {
	if len(jobs) == 0 {
		return nil
	}
	type whyNone struct {
		reason string
		closed bool
	}
	none := map[int]whyNone{}
	for _, h := range jobs {
		reason, unmatched, closed := h.Reason, false, false
		if id := h.Job.Candidates; reason == backfill.ReasonNeverFits {
			var why string
			if why, unmatched = n.matchmaker.Unmatched(id); unmatched {
				reason = why
			} else if n.matchmaker.MatchesNone(id) {
				if none[id].reason == "" {
					why, closed = n.matchmaker.WhyNone(id)
					none[id] = whyNone{backfill.AsReason(why), closed}
				}
				reason, closed = none[id].reason, none[id].closed
			} else {
				reason += n.lacking(h.Job)
			}
		}
		all = append(all, Held{Job: n.jobs.get(h.Job.ID), Reason: reason, Unmatched: unmatched, Closed: closed})
	}
	return all
}
