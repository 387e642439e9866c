package negotiator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// Checkpoint is the state of a negotiator from which [Restore] makes its successor. One thing is
// missing: which resources were freed lately, which the maui policy's chunking looks at.
type Checkpoint struct {
	// Now is the instant of the last cycle.
	Now backfill.Time
	// Policy is the name of the active policy. Guarantees says whether it gives guarantees.
	Policy     string
	Guarantees bool
	// Planning says how far it plans.
	Planning backfill.Planning
	// Order is how the queue is ordered. Only [Negotiator.Settled] tells it.
	Order Order
	// Foretold says that jobs are planned with predicted run times.
	Foretold bool
	// Slots are those that are up. If several slots that are down come back in one cycle, the
	// successor may number them in another order.
	Slots []*Slot
	// Bundles are in the order in which they came. Away are the slots of bundles that are not up.
	Bundles []*Bundle
	Away    []*Slot
	// Limits are the pool's limits. What waits keeps its reservation only with those that it was
	// planned with.
	Limits []Limit
	// Jobs are all jobs that wait, run or are held, by ID.
	Jobs []JobCheckpoint
	// Distrusted are the users whose stated run times do not count as they are; nil: there are none.
	Distrusted map[string]bool
	// Wakes are the instants at which the policy asked to be woken, ascending.
	Wakes []backfill.Time
	// Exchanges are the jobs that changed places lately, see [preempt.Memory].
	Exchanges []preempt.Exchange
	// Displaced are the jobs that make way, or have made way and are back in the queue, by ID.
	Displaced []preempt.Displaced
}

// JobCheckpoint is a job, where it stands, and where it runs or is planned to run.
type JobCheckpoint struct {
	Job       *Job
	Placement Placement
	backfill.Standing
	// Unmatched says that a held job matches no slot and no bundle. Unknown is why it is not known
	// yet what it matches; "" if it is.
	Unmatched bool
	Unknown   string
	// Closed is how a held job that matches no slot fits them, if it would match some that are
	// closed for a while, see [WhyClosed]; else nil.
	Closed *matchmaker.Fit
	// Displaced is by whom a scavenger is displaced, or was before it came back to the queue; nil: it is not,
	// or the job is none: see [Checkpoint].Displaced.
	Displaced *preempt.Displaced
}

// Checkpoint copies the negotiator's state, between two cycles.
func (n *Negotiator) Checkpoint() Checkpoint {
	snap := n.State().Snapshot()
	c := n.checkpoint(snap.Jobs)
	c.Wakes = snap.Wakes
	if all, _ := Scavengers(n, math.MaxInt); len(all) > 0 {
		c.Jobs = append(c.Jobs, all...)
		slices.SortFunc(c.Jobs, func(a, b JobCheckpoint) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	}
	return c
}

// Settled is a checkpoint without scavengers, and without the jobs that only wait: they neither run nor
// have a reservation, nor are they held. It takes no longer if there are a million of them.
func (n *Negotiator) Settled() Checkpoint {
	c := n.checkpoint(n.State().Settled())
	c.Order = n.order
	return c
}

// checkpoint returns the checkpoint of these jobs, without wakes.
func (n *Negotiator) checkpoint(jobs []backfill.JobState) Checkpoint {
	s := n.State()
	c := Checkpoint{
		Now: s.Now(), Planning: s.Planning(), Foretold: n.predictions.planned(), Bundles: slices.Clone(n.inventory.bundles),
		Slots: make([]*Slot, 0, len(n.inventory.slots)), Jobs: make([]JobCheckpoint, len(jobs)),
	}
	c.Policy, c.Guarantees = s.Policy()
	c.Exchanges, c.Displaced = n.preemption.memory.Save(), n.preemption.victims()
	c.Distrusted, c.Limits = n.predictions.distrusted(), n.limits.list()
	for id, slot := range n.inventory.slots {
		if s.SlotUp(backfill.SlotID(id)) {
			c.Slots = append(c.Slots, slot)
		} else if n.inventory.bundled[backfill.SlotID(id)] {
			c.Away = append(c.Away, slot)
		}
	}
	closed := n.closedTo()
	for i, j := range jobs {
		c.Jobs[i] = JobCheckpoint{Job: n.jobs.get(j.Job.ID), Standing: j.Standing}
		if j.Placement != nil {
			c.Jobs[i].Placement = n.inventory.fromCore(j.Placement)
		}
		if j.Held != "" {
			c.Jobs[i].Unmatched = n.matchmaker.MatchesNone(j.Job.Candidates)
			c.Jobs[i].Unknown, _ = n.matchmaker.Unmatched(j.Job.Candidates)
			if c.Jobs[i].Unmatched {
				c.Jobs[i].Closed = closed(j.Job.Candidates)
			}
		}
	}
	return c
}

// closedTo returns a function that finds [JobCheckpoint].Closed for the jobs of an autocluster
// which match no slot.
func (n *Negotiator) closedTo() func(cluster int) *matchmaker.Fit {
	some := sync.OnceValue(func() bool {
		return slices.ContainsFunc(n.inventory.slots, func(s *Slot) bool {
			_, closed := s.Ad.Lookup(WhyClosed)
			return closed
		})
	})
	known := map[int]*matchmaker.Fit{}
	return func(cluster int) *matchmaker.Fit {
		fit, found := known[cluster]
		if !found && some() {
			if f, closed := n.matchmaker.ClosedTo(cluster, n.State().SlotUp); closed {
				fit = &f
			}
			known[cluster] = fit
		}
		return fit
	}
}

// Restore makes a negotiator that continues from a checkpoint: running jobs, the queue,
// reservations and guarantees stay, unless the configured policy differs from the one before in
// giving guarantees. What has happened since comes with the first delta. A checkpoint that no
// negotiator can have left is an error, which names the job, slot or bundle concerned.
//
// Run times are predicted anew. A reservation is dropped if its slots are no candidates any more,
// or if it may contradict the new prediction. Under a policy that gives guarantees a waiting job
// that lost its reservation is planned anew in the first cycle, which is due at once. Its guarantee
// is lifted then, as the job has changed.
func Restore(c Config, from Checkpoint) (*Negotiator, error) {
	n, err := New(c)
	if err != nil {
		return nil, err
	}
	if err = n.restore(from); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	return n, nil
}

func (n *Negotiator) restore(from Checkpoint) error {
	snap, err := n.restoreSlots(from)
	if err != nil {
		return err
	}
	n.preemption.memory = preempt.Restored(from.Exchanges)
	if from.Jobs, err = n.restoreScavengers(from); err != nil {
		return err
	}
	for _, d := range from.Displaced {
		n.preemption.displaced[d.Victim] = &d
	}
	clusters := make([]matchmaker.Autocluster, len(from.Jobs))
	n.predictions.now = from.Now
	n.predictions.recall(from.Jobs)
	for i, j := range from.Jobs {
		if j.Job == nil {
			return fmt.Errorf("job checkpoint %d is of no job", i)
		}
		if clusters[i], err = n.restoreJob(j.Job); err != nil {
			return fmt.Errorf("job %s: %w", j.Job.Name, err)
		}
	}
	if snap.Candidates, err = n.matchPatiently(from.Now); err != nil {
		return err
	}
	snap.Jobs = make([]backfill.JobState, len(from.Jobs))
	for i, j := range from.Jobs {
		if snap.Jobs[i], err = n.restoreState(j, from, clusters[i], snap.Candidates); err != nil {
			return fmt.Errorf("job %s: %w", j.Job.Name, err)
		}
	}
	err = n.host.Resume(snap)
	if wrong, ok := errors.AsType[*backfill.JobError](err); ok {
		return fmt.Errorf("job %s: %w", n.jobs.get(wrong.Job).Name, err)
	}
	return err
}

// matchPatiently matches all jobs. A user with so many different jobs that one cycle would not
// match them all gets several, as jobs lose their reservations where it is not known what they
// match.
func (n *Negotiator) matchPatiently(now backfill.Time) ([]backfill.CandidateSet, error) {
	const cycles = 100
	sets, err := n.matchmaker.Match(context.Background(), now)
	for i := 1; i < cycles && err == nil && n.matchmaker.Hurries(); i++ {
		var more []backfill.CandidateSet
		more, err = n.matchmaker.Match(context.Background(), now)
		for _, set := range more {
			sets[set.ID] = set
		}
	}
	return sets, err
}

// restoreSlots adds the checkpoint's slots and bundles. It returns the snapshot for package
// backfill, still without candidates and jobs.
func (n *Negotiator) restoreSlots(from Checkpoint) (backfill.Snapshot, error) {
	snap := backfill.Snapshot{
		Resources: n.schema.Resources, Rule: n.State().Snapshot().Rule, Now: from.Now, Policy: from.Policy,
		Guarantees: from.Guarantees, Planning: from.Planning, Wakes: from.Wakes,
	}
	slots := slices.Concat(from.Slots, from.Away)
	if err := n.inventory.checkSlots(slots, nil); err != nil {
		return snap, err
	}
	if err := n.inventory.checkBundles(from.Bundles, slots); err != nil {
		return snap, err
	}
	if err := n.checkLimits(&Delta{Limits: from.Limits}); err != nil {
		return snap, err
	}
	n.setLimits(&Delta{Limits: from.Limits})
	snap.Rows = n.limits.changed
	n.addSlots(slots, from.Bundles)
	for id := range slots {
		slot := n.inventory.slot(backfill.SlotID(id))
		snap.Slots = append(snap.Slots, backfill.SlotState{Slot: slot, Up: id < len(from.Slots)})
	}
	for id := range from.Bundles {
		snap.Bundles = append(snap.Bundles, n.inventory.bundle(backfill.BundleID(id)))
	}
	return snap, nil
}

// restoreJob adds a job, predicts its run times and finds its autocluster.
func (n *Negotiator) restoreJob(job *Job) (matchmaker.Autocluster, error) {
	if other := n.jobs.get(job.ID); other != nil {
		return matchmaker.Autocluster{}, fmt.Errorf("its ID %d is that of job %s, too", job.ID, other.Name)
	}
	if err := n.checkPlannable(job, nil); err != nil {
		return matchmaker.Autocluster{}, err
	}
	n.jobs.Put(job.ID).job = job
	n.limits.know(nil, job)
	n.predictions.predict(job)
	return n.autocluster(job)
}

// restoreState returns a job's state in package backfill's form. It drops a reservation that is off
// the candidates, is too early for the job, or may rest on another run time. Slots with IDs below
// len(from.Slots) are up.
func (n *Negotiator) restoreState(
	s JobCheckpoint, from Checkpoint, cluster matchmaker.Autocluster, candidates []backfill.CandidateSet,
) (backfill.JobState, error) {
	j := backfill.JobState{Job: n.inCoreTerms(s.Job, cluster), Standing: s.Standing}
	if s.Placement != nil {
		isUp := func(name string) bool { id, known := n.inventory.ids[name]; return known && int(id) < len(from.Slots) }
		if err := n.inventory.checkPlacement(s.Job, s.Placement, isUp); err != nil {
			return j, err
		}
		j.Placement = n.inventory.toCore(s.Placement)
	}
	predicted := from.Foretold || n.predictions.planned()
	if s.Running {
		if end := s.Start + runs(j.Job); predicted && end > from.Now && !s.Yields {
			j.End = end // by the present estimators
		}
		return j, nil
	}
	otherTimes := predicted && s.Held == "" && (!from.Guarantees || s.Start+j.Job.Estimate != s.End)
	if !n.predictions.believed(s.Job) && s.Held == "" {
		otherTimes = otherTimes || s.Start+j.Job.Estimate != s.End
	}
	early := s.Held == "" && s.Job.Release != 0 && s.Start < s.Job.Release // its earliest start has changed
	if otherTimes || early || !n.inventory.covers(candidates[cluster.ID].Candidates, j.Placement) {
		j.Placement, j.Start, j.End = nil, 0, 0
	}
	_, unmatched := n.matchmaker.Unmatched(cluster.ID)
	if unmatched && !from.Guarantees && s.Held == "" {
		n.stale = append(n.stale, s.Job.ID) // the first cycle holds it, so that it blocks no others
	}
	if !from.Guarantees || s.Held != "" {
		return j, nil
	}
	switch {
	case j.Placement == nil && !s.Promised && from.Planning.Bounded() && !unmatched: // beyond the plan
	case j.Placement == nil:
		n.stale = append(n.stale, s.Job.ID)
	case !s.Promised:
		return j, fmt.Errorf("it is planned for %d without a guarantee, and the policy gives them", s.Start)
	case s.Start > s.Guarantee:
		return j, fmt.Errorf("it is planned for %d, and was promised to start at %d at the latest",
			s.Start, s.Guarantee)
	}
	return j, nil
}
