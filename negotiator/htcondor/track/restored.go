package track

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Restore makes a checkpoint of what a negotiator left, as far as a snapshot still shows it: slots
// as they were, so that the next [Belief.Diff] reports which of them are gone; jobs as they were,
// if their slots are still there, even those that have left their queues, so that Diff reports
// them, too. A waiting job whose slots are gone keeps only its promise. The second result is the
// jobs that were started and do not run yet: they may have been handed over. Restore forgets what
// the belief recorded before; a nil state restores nothing.
func (b *Belief) Restore(saved *SavedState, s *observe.Snapshot) (negotiator.Checkpoint, []*Job) {
	if saved != nil {
		b.restoreSeen(saved, s.Now)
	}
	b.See(s)
	b.forget()
	if saved == nil {
		return negotiator.Checkpoint{}, nil
	}
	m := negotiator.Checkpoint{
		Now: max(0, min(saved.Now, s.Now)), Policy: saved.Policy, Guarantees: saved.Guarantees,
		Foretold: saved.Foretold,
	}
	for _, former := range saved.Slots {
		if slot := b.restoreSlot(former); slot != nil {
			m.Slots = append(m.Slots, slot)
		}
	}
	m.Limits = b.limiting.restore(saved.Limits)
	b.restoreLeases(saved.Leases)
	var flying []*Job
	back, lost := saved.back(s.Now), 0
	for _, former := range saved.Jobs {
		former = former.shifted(back)
		c, ok := b.restoreJob(former)
		if !ok {
			c, ok = b.restoreGone(former)
		}
		if !ok {
			if lost++; lost <= mostTold {
				b.log.Warn("a job is not taken up as the negotiator before left it: it has changed, or its slots are gone",
					"job", former.key().String(), "ran", former.Running)
			}
			continue
		}
		m.Jobs = append(m.Jobs, c)
		b.restoreWay(former, c.Job.ID)
		if j := b.byID[c.Job.ID]; j != nil && j.Phase == Running && !j.Group.Runs() {
			flying = append(flying, j)
		}
	}
	b.restoreTakeovers(saved.Jobs)
	m.Exchanges, m.Displaced = b.restoreExchanges(saved.Exchanges), b.restoreDisplaced(saved.Displaced, back)
	if lost > mostTold {
		b.log.Warn("more jobs are not taken up", "count", lost-mostTold)
	}
	return m, flying
}

// mostTold is how many jobs that are not taken up are logged, each in a line.
const mostTold = 10

// back is by how much the clock was put back since the state was saved, at least; 0 if it was not, or if
// no clock can have said when that was.
func (s *SavedState) back(now backfill.Time) backfill.Time {
	if s.Now > backfill.MaxTime {
		return 0
	}
	return max(0, s.Now-now)
}

// shifted returns a job with its times as a clock has them that was put back, so that it is not lost as
// one of the future.
func (former SavedJob) shifted(back backfill.Time) SavedJob {
	if back == 0 {
		return former
	}
	former.Start, former.End, former.Guarantee = shift(former.Start, back), shift(former.End, back), shift(former.Guarantee, back)
	if r := former.Run; r != nil {
		run := *r
		run.Since = shift(run.Since, back)
		former.Run = &run
	}
	return former
}

// shift returns an instant as a clock has it that was put back.
func shift(at, back backfill.Time) backfill.Time {
	if at <= 0 {
		return at
	}
	return max(0, at-back)
}

// forget removes from the record what the negotiator was told: as if it knew no slots and jobs yet.
func (b *Belief) forget() {
	clear(b.slots)
	for _, j := range b.all {
		j.Phase, j.Spec, j.Places, j.lease, j.servedBy, j.takes = Unknown, nil, nil, nil, nil, nil
	}
	b.lending, b.takeovers, b.way = newLending(), newTakeovers(), newMakingWay()
	b.limiting, b.limits = newLimiting(), nil
	clear(b.departed)
	b.goneEnded, b.goneRemoved = nil, nil
}

// restoreSlot returns a slot as it was; nil if it cannot have been a slot, was restored already, or
// has no ad to match with now: it is dynamic, or its ad cannot be used. A slot that is not there
// any more counts as missing from now on.
func (b *Belief) restoreSlot(former SavedSlot) *negotiator.Slot {
	outside := func(amount int64) bool { return amount < 0 || amount > backfill.MaxAmount }
	if len(former.Capacity) != len(b.s.Schema.Resources) || former.Name == "" || former.End < 0 || former.End > backfill.MaxTime ||
		slices.ContainsFunc(former.Capacity, outside) {
		return nil
	}
	o := b.Slot(former.Name)
	if o == nil {
		ad := classad.New()
		ad.SetString("Name", former.Name)
		ad.SetBool("Requirements", false)
		o = &observe.Slot{
			Name: former.Name, Host: former.Name, Missing: b.now.Began, Static: true,
			Ad: &negotiator.Slot{Name: former.Name, Capacity: former.Capacity, End: former.End, Ad: ad}, Free: make(backfill.Vector,
				len(former.Capacity)),
		}
		b.lost[former.Name] = o
	}
	if o.Ad == nil || b.isUp(former.Name) {
		return nil // it is a dynamic slot now, or named twice
	}
	s := b.slot(former.Name)
	s.reported, s.up = o.Ad, true
	if !slices.Equal(o.Ad.Capacity, former.Capacity) || o.Ad.End != former.End {
		s.reported = &negotiator.Slot{Name: former.Name, Capacity: former.Capacity, End: former.End, Ad: o.Ad.Ad}
	}
	return s.reported
}

// restoreJob returns a job as it stood. ok is false if the job is not in its queue any more or has
// changed, or if its slots are gone and it has no promise to keep.
func (b *Belief) restoreJob(former SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	j := b.jobs[former.key()]
	if j == nil || j.Group == nil || j.Phase != Unknown || !former.canBe(b.now.Now) {
		return c, false
	}
	spec := j.Group.Spec
	if former.Running && former.Run != nil && j.Group.Runs() && former.Run.Charged.User == spec.User() {
		return b.restoreRun(j, former)
	}
	if former.Submit < j.Group.Submit { // another one: what was saved is no earlier, see [Job.submitted]
		return c, false
	}
	j.wasSubmitted(former, b.now.Now)
	if spec.Wrong != nil || spec.Nodes != former.Nodes || !slices.Equal(spec.Request,
		former.Request) || spec.Estimate != former.Estimate {
		return c, false
	}
	c = former.checkpoint()
	c.Placement, ok = b.relocate(former)
	switch {
	case ok && former.Running:
		j.was(former)
		c.Job = b.report(j, Running, former.Ahead)
		j.Places, j.Start, j.lease = former.Places, former.Start, b.leaseFor(j, former.Places).term()
	case ok:
		c.Job = b.report(j, Waiting, former.Ahead)
	case former.Promised && !former.Running: // it keeps its promise, and is placed anew
		c.Placement, c.Start, c.End = nil, 0, 0
		c.Job, ok = b.report(j, Waiting, former.Ahead), true
	}
	return c, ok
}

// restoreRun returns a job that was seen to run as it stood, whatever its user has edited since. ok
// is false if its slots are gone.
func (b *Belief) restoreRun(j *Job, former SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	c = former.checkpoint()
	if c.Placement, ok = b.relocate(former); !ok || !former.isRequest(b.s.Schema.Resources) {
		return c, false
	}
	j.wasSubmitted(former, b.now.Now)
	j.was(former)
	b.report(j, Running, former.Ahead)
	j.Spec = former.spec(j.Group.Spec, b.s.Schema.Resources)
	j.estimated = j.Spec.Estimate
	j.lasted = &lasted{
		since: min(former.Run.Since, b.now.Now), ahead: former.Ahead, stated: j.Spec, started: j.Group.Started, looked: b.now.Now,
	}
	j.Places, j.Start, j.lease = former.Places, former.Start, b.leaseFor(j, former.Places).term()
	j.takes = b.takesOf(j)
	c.Job = b.described(j)
	return c, true
}

// was notes of what class a job was that runs, which it stays until it is back in the queue.
func (j *Job) was(former SavedJob) { j.Phase, j.scavenges = Waiting, former.Scavenger }

// wasSubmitted notes that a job was not submitted before the saved one was, unless that is in the
// future, since the clock was put back.
func (j *Job) wasSubmitted(former SavedJob, now backfill.Time) {
	if former.Submit <= now {
		j.notBefore = former.Submit
	}
}

func (former SavedJob) key() observe.JobKey {
	return observe.JobKey{Schedd: former.Schedd, Cluster: former.Cluster, Proc: former.Proc}
}

// checkpoint returns the job as it stood. Held jobs are not saved: each negotiator finds them anew.
func (former SavedJob) checkpoint() negotiator.JobCheckpoint {
	stood := former.Standing
	stood.Held = ""
	return negotiator.JobCheckpoint{Standing: stood}
}

// canBe tells whether the times of a saved job are ones that a negotiator can have saved.
func (former SavedJob) canBe(now backfill.Time) bool {
	const most = 2 * backfill.MaxTime
	started := !former.Running || former.Start <= now || former.Pinned
	if r := former.Run; r != nil && (r.Since < 0 || r.Since > now || r.Limit < 0 || r.Limit > most || r.Charged.Check() != nil) {
		return false
	}
	ends := former.Start < former.End || former.Scavenger // which has no end in any plan
	return started && former.Start >= 0 && ends && former.End <= most &&
		former.Guarantee >= 0 && former.Guarantee <= most && former.Estimate >= 0 && former.Estimate <= most &&
		former.Ahead >= 0 && former.Ahead <= most
}

// isRequest tells whether a job can have requested what the saved one has.
func (former SavedJob) isRequest(resources []string) bool {
	if len(former.Request) != len(resources) || former.Nodes < 1 || former.Nodes > backfill.MaxChunks || former.Request.Zero() {
		return false
	}
	outside := func(amount int64) bool { return amount < 0 || amount > backfill.MaxAmount/int64(former.Nodes) }
	return !slices.ContainsFunc(former.Request, outside)
}

// relocate returns a saved job's Places as a placement on the slots that are there now. The second
// result is false if some of the slots are gone, if the Places do not hold exactly the job's
// chunks, or are not sorted by slot as saved ones are.
func (b *Belief) relocate(former SavedJob) (negotiator.Placement, bool) {
	var at negotiator.Placement
	chunks := 0
	for i, x := range former.Places {
		o := b.Slot(x.Slot)
		unsorted := i > 0 && former.Places[i-1].Slot >= x.Slot // or named twice
		if unsorted || x.Chunks < 1 || x.Chunks > former.Nodes-chunks || o == nil || !b.isUp(x.Slot) ||
			!former.Running && !o.Missing.IsZero() {
			return nil, false
		}
		chunks += x.Chunks
		at = append(at, negotiator.Chunks{Slot: b.slots[x.Slot].reported, Count: x.Chunks})
	}
	return at, chunks == former.Nodes
}

// restoreGone returns a job that had a place and is not in its queue any more, or not as it was; ok
// is false if its slots are not there either. The next [Belief.Diff] reports that it is gone, so
// that others move up.
func (b *Belief) restoreGone(former SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	if !former.isRequest(b.s.Schema.Resources) || !former.canBe(b.now.Now) {
		return c, false
	}
	missing := func(at Place) bool { return !b.Slot(at.Slot).Missing.IsZero() }
	at, ok := b.relocate(former)
	if !ok || slices.ContainsFunc(former.Places, missing) {
		return c, false
	}
	ad := classad.New()
	for i, resource := range b.s.Schema.Resources {
		ad.SetInt("Request"+negotiator.Attribute(resource), former.Request[i])
	}
	ad.SetBool("Requirements", true)
	c = former.checkpoint()
	c.Placement = at
	c.Job = &negotiator.Job{
		ID: b.nextID(), Name: former.key().String() + " as it was", Submit: former.Submit, Nodes: former.Nodes,
		Estimate: former.Estimate + former.Ahead, Ad: ad, Scavenger: former.Scavenger,
		Position: backfill.QueuePosition{Queue: "left " + former.Schedd, Cluster: former.Cluster, Proc: former.Proc},
	}
	if former.Running && former.Run != nil { // its user may have edited it out of its queue
		spec := former.spec(&observe.Spec{Ad: ad, Labels: map[string]string{}}, b.s.Schema.Resources)
		past := Job{
			Key: former.key(), ID: c.Job.ID, Spec: spec, Places: former.Places, Start: former.Start, Phase: Running,
			run: &run{seen: b.now.Began},
		}
		past.Group = &observe.Group{
			Spec: spec, Submit: former.Submit, Status: observe.Running, Started: former.Run.Since, Jobs: []observe.JobKey{past.Key},
		}
		past.lasted = &lasted{since: former.Run.Since, ahead: former.Ahead, stated: spec, started: former.Run.Since, looked: b.now.Now}
		b.departed[past.Key] = &departed{job: past, at: b.now.Began, ran: unknownRun}
	}
	if former.Running {
		b.goneEnded = append(b.goneEnded, c.Job.ID)
	} else {
		b.goneRemoved = append(b.goneRemoved, c.Job.ID)
	}
	return c, true
}
