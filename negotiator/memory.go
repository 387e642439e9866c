package negotiator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Memory is what a negotiator leaves to its successor: all that matters of its
// state, in terms of ads. Only what Maui's chunking remembers of the last minutes is
// not in it.
type Memory struct {
	// Now is the instant of the last cycle.
	Now backfill.Time
	// Policy is the policy in charge, and Guarantees whether it gives them.
	Policy     string
	Guarantees bool
	// Foretold says that jobs are planned with other run times than they request.
	Foretold bool
	// Slots are those that are up. Of several others that come back at once the successor
	// may take another one first.
	Slots []*Slot
	// Bundles are in the order in which they came, and Away the slots of them that are not
	// up.
	Bundles []*Bundle
	Away    []*Slot
	// Jobs are all that wait, run or are held.
	Jobs []Standing
	// Wakes are the times for which the policy asked to be woken, ascending.
	Wakes []backfill.Time
}

// Standing is a job and where it stands.
type Standing struct {
	Job     *Job
	Running bool
	// Held is why the job is out of the queue, if it is.
	Held string
	// Unmatched says that matchmaking allows it no slot and no bundle.
	Unmatched bool
	// Placement is where the job runs or is planned to, Start its actual or planned
	// start, and End its expected end. A job without a placement has no reservation.
	Placement  Placement
	Start, End backfill.Time
	// Guarantee is the latest start, if Promised.
	Promised  bool
	Guarantee backfill.Time
}

// Memory copies out how things stand, between two cycles.
func (n *Negotiator) Memory() Memory {
	snap := n.State().Snapshot()
	m := Memory{Now: snap.Now, Policy: snap.Policy, Guarantees: snap.Guarantees, Foretold: n.predictions.planned(), Wakes: snap.Wakes, Jobs: make([]Standing, len(snap.Jobs))}
	m.Slots = make([]*Slot, 0, len(snap.Slots))
	for _, slot := range snap.Slots {
		if slot.Up {
			m.Slots = append(m.Slots, n.matchmaker.slots[slot.ID])
		} else if n.matchmaker.bundled[slot.ID] {
			m.Away = append(m.Away, n.matchmaker.slots[slot.ID])
		}
	}
	m.Bundles = slices.Clone(n.matchmaker.bundles)
	for i, j := range snap.Jobs {
		m.Jobs[i] = Standing{
			Job: n.jobs[j.Job.ID], Running: j.Running, Held: j.Held,
			Start: j.Start, End: j.End, Promised: j.Promised, Guarantee: j.Guarantee,
		}
		if j.Placement != nil {
			m.Jobs[i].Placement = n.places(j.Placement)
		}
		if j.Held != "" {
			m.Jobs[i].Unmatched = n.cluster(j.Job).allowsNone()
		}
	}
	return m
}

// Restore makes a negotiator that goes on from where another one ended: what runs,
// waits, and is reserved and promised stays, unless the configured policy is another
// or differs in giving guarantees. What has happened since comes with the first delta.
// It refuses a memory that no negotiator can have left, and names the job concerned.
//
// Run times are foretold anew. A reservation on slots that are no candidates any more,
// or one that another prediction may stand against, is given up. A job that waits
// without one under a policy that gives guarantees is placed anew in the first cycle,
// which is due at once; its guarantee is lifted then, as the job has changed.
func Restore(c Config, m Memory) (*Negotiator, error) {
	n, err := New(c)
	if err != nil {
		return nil, err
	}
	slots := slices.Concat(m.Slots, m.Away)
	if err = n.matchmaker.checkSlots(slots, nil); err == nil {
		err = n.matchmaker.checkBundles(m.Bundles, slots)
	}
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	n.matchmaker.add(slots, m.Bundles)
	snap := backfill.Snapshot{
		Resources: c.Schema.Resources, Rule: c.Placement, Now: m.Now, Policy: m.Policy, Guarantees: m.Guarantees, Wakes: m.Wakes,
	}
	for id := range n.matchmaker.slots {
		snap.Slots = append(snap.Slots, backfill.SlotState{Slot: n.slot(backfill.SlotID(id)), Up: id < len(m.Slots)})
	}
	for id := range m.Bundles {
		snap.Bundles = append(snap.Bundles, n.matchmaker.told(backfill.BundleID(id)))
	}
	snap.Jobs = make([]backfill.JobState, len(m.Jobs))
	for i, s := range m.Jobs {
		if s.Job == nil {
			return nil, fmt.Errorf("restore: standing %d is of no job", i)
		}
		if snap.Jobs[i], err = n.stand(s, m); err != nil {
			return nil, fmt.Errorf("restore: job %s: %w", s.Job.Name, err)
		}
	}
	for _, cluster := range n.matchmaker.clusters {
		snap.Candidates = append(snap.Candidates, backfill.CandidateSet{ID: cluster.id, Candidates: cluster.candidates})
	}
	if err = n.host.Resume(snap); err != nil {
		if of, ok := errors.AsType[*backfill.JobError](err); ok {
			return nil, fmt.Errorf("restore: job %s: %w", n.jobs[of.Job].Name, err)
		}
		return nil, fmt.Errorf("restore: %w", err)
	}
	n.matchmaker.sent()
	return n, nil
}

// stand takes a job in that has a standing already. The first slots are those that are up.
func (n *Negotiator) stand(s Standing, m Memory) (backfill.JobState, error) {
	if n.jobs[s.Job.ID] != nil {
		return backfill.JobState{}, fmt.Errorf("its ID %d is that of job %s, too", s.Job.ID, n.jobs[s.Job.ID].Name)
	}
	if err := n.checkOne(s.Job, nil); err != nil {
		return backfill.JobState{}, err
	}
	n.jobs[s.Job.ID] = s.Job
	n.predictions.foretell(s.Job)
	spec, err := n.spec(s.Job)
	if err != nil {
		return backfill.JobState{}, err
	}
	j := backfill.JobState{
		Job: spec, Running: s.Running, Held: s.Held, Start: s.Start, End: s.End, Promised: s.Promised, Guarantee: s.Guarantee,
	}
	if s.Placement != nil {
		isUp := func(name string) bool { id, known := n.matchmaker.ids[name]; return known && int(id) < len(m.Slots) }
		if err = n.matchmaker.checkPlacement(s.Job, s.Placement, isUp); err != nil {
			return j, err
		}
		j.Placement = n.slotsOf(s.Placement)
	}
	foretold := m.Foretold || n.predictions.planned()
	end := s.Start + spec.Estimate
	if s.Running {
		end = s.Start + runs(spec)
	}
	switch {
	case !s.Running && (!n.matchmaker.covers(n.cluster(spec), j.Placement) || foretold && s.Held == "" && (!m.Guarantees || end != s.End)):
		j.Placement, j.Start, j.End = nil, 0, 0 // slots or run times have changed meanwhile
	case s.Running && foretold && end > m.Now:
		j.End = end // by the estimators that there are now
	}
	if m.Guarantees && !s.Running && s.Held == "" {
		switch {
		case j.Placement == nil:
			n.stale = append(n.stale, s.Job.ID)
		case !s.Promised:
			return j, fmt.Errorf("it is planned for %d without a guarantee, and the policy gives them", s.Start)
		case s.Start > s.Guarantee:
			return j, fmt.Errorf("it is planned for %d, and was promised to start at %d at the latest", s.Start, s.Guarantee)
		}
	}
	return j, nil
}
