package negotiator

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// noteMade remembers the preemptions of a cycle: for the pause, and for those who ask why.
func (n *Negotiator) noteMade(r *Report) {
	now := r.Delta.Now
	n.preemption.busy = true
	for i := range r.Preempted {
		p := &r.Preempted[i]
		n.preemption.memory.Note(p, now)
		who := preempt.Displaced{
			By: p.Job, Name: n.jobs.get(p.Job).Name, User: r.Delta.Claims.Submitter(p.Job),
			Slot: n.inventory.slots[p.Host].Name, Decided: now, Reason: p.Reason,
		}
		note := func(id backfill.JobID, end backfill.Time) {
			displaced := who
			displaced.Victim, displaced.End = id, end
			n.preemption.displaced[id] = &displaced
		}
		for _, v := range p.Victims {
			note(v.Job, v.End)
		}
		for _, id := range p.Ousted {
			note(id, now)
		}
	}
}

// noteDisplaced forgets by whom jobs were displaced that are gone, run again or run on after all. It
// comes once a round is decided.
func (n *Negotiator) noteDisplaced(d *Delta) {
	all := n.preemption.displaced
	if len(all) == 0 {
		return
	}
	s := n.State()
	for id := range all {
		if n.jobs.get(id) == nil || s.IsRunning(id) && !n.yields(id) {
			delete(all, id)
		}
	}
	for _, ids := range [][]backfill.JobID{d.Completed, d.Removed} {
		for _, id := range ids {
			delete(all, id)
		}
	}
}

// left returns what the jobs had run that made way by a delta, before the plan is told that they are gone.
func (n *Negotiator) left(d *Delta) (all []preempt.Left) {
	if len(d.Displaced) == 0 {
		return nil
	}
	s := n.State()
	for run := range s.Running() {
		if !slices.Contains(d.Displaced, run.Job.ID) {
			continue
		}
		left := preempt.Left{Job: run.Job.ID}
		if why := n.preemption.displaced[run.Job.ID]; why != nil {
			left.Reason = why.Reason
		}
		left.CoreSeconds = float64(s.Holds(run.Job, run.Placement)[0]) * float64(max(0, d.Now-run.Start))
		all = append(all, left)
	}
	return all
}

// isPinned reports whether a job has been given a place that others have yet to leave.
func (n *Negotiator) isPinned(id backfill.JobID) bool {
	reason, _ := n.State().Reason(id)
	return reason.Why == backfill.TakesOver
}

// yields reports whether a running job is to make way for another.
func (n *Negotiator) yields(id backfill.JobID) bool {
	reason, _ := n.State().Reason(id)
	return reason.Yields
}

// stands reports whether a running job's place must be left as it is, since the core is told in other
// words what becomes of it: it makes way for another, or is to take over from others.
func (n *Negotiator) stands(id backfill.JobID) bool {
	return n.yields(id) || n.isPinned(id)
}

// reportPreempted adds the matches of the jobs that displace others.
func (n *Negotiator) reportPreempted(r *Report) {
	for i := range r.Preempted {
		p := &r.Preempted[i]
		m := Match{Job: n.jobs.get(p.Job), Placement: n.inventory.singles[p.Host], At: p.Start, Ousts: p.Ousted}
		for _, v := range p.Victims {
			m.Displaces = append(m.Displaces, v.Job)
		}
		r.Matches = append(r.Matches, m)
	}
}

// checkDisplaced refuses jobs that made way and did not come back to the queue, or came back for another
// reason, too.
func checkDisplaced(d *Delta) error {
	var seen backfill.JobSet
	for _, id := range d.Displaced {
		switch {
		case !slices.Contains(d.StartFailed, id):
			return displacedError(id, "did not come back to the queue")
		case slices.Contains(d.SlotEnded, id) || slices.Contains(d.Unadmitted, id):
			return displacedError(id, "came back to the queue for another reason, too")
		case !seen.Add(id):
			return displacedError(id, "is reported twice")
		}
	}
	return nil
}

func displacedError(id backfill.JobID, what string) error {
	return fmt.Errorf("job ID %d made way for another, but %s", id, what)
}

// together returns two decisions of the same instant as one.
func together(first, second *backfill.Decision) backfill.Decision {
	both := *first
	both.Revision = second.Revision
	both.Actions = append(both.Actions, second.Actions...)
	both.Started = append(both.Started, second.Started...)
	both.Held = slices.Concat(both.Held, second.Held)
	both.Broken = slices.Concat(both.Broken, second.Broken)
	both.Lifted += second.Lifted
	both.Replaced = backfill.MovedTogether(first, second)
	return both
}
