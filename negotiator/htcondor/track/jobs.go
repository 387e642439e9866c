package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// unknownRun says that it is not known how long a job ran.
const unknownRun = -1

// jobsDiffer reports how jobs differ from what is recorded of them, but not jobs whose queue was
// not read.
func (c *comparison) jobsDiffer() {
	var fresh, again []*Job
	lost, silent := false, c.silent()
	c.b.forgiveUnused()
	c.witness()
	for _, j := range slices.Backward(c.b.all) { // whoever takes the place of one that left was here before
		key := j.Key
		s := c.b.Schedd(key.Schedd)
		if s == nil || s.Moved {
			c.jobLeft(j) // with its schedd
			delete(c.b.ended, key)
			lost = true
			continue
		}
		c.follow(j)
		c.times(j)
		if !s.Read {
			if j.leader == nil && !c.isAdrift(j) {
				c.awaitsSchedd(j, silent[key.Schedd])
			}
			continue
		}
		switch {
		case !j.Seen(c.b.now.Number) && j.hidden != c.b.now.Number:
			c.jobLeft(j)
		case j.leader != nil:
			c.isPart(j)
		case c.isAdrift(j):
		case j.Group.Runs():
			c.outlives(j)
			c.jobRuns(j)
			c.settlePromise(j)
		case j.Phase == Running:
			if c.jobIsIdle(j) {
				again = append(again, j)
			}
		case j.Phase == Waiting && (!c.b.same(j) || c.barred(j) != ""):
			c.jobChanged(j)
		case j.Phase == Lent:
			c.delta.Taught = append(c.delta.Taught, negotiator.PastRun{Job: c.b.described(j), Ran: unknownRun})
			c.b.ended[j.Key], j.Phase = c.b.now.Began, Unknown
			fresh = append(fresh, j)
		case j.Phase == Unknown:
			fresh = append(fresh, j)
		}
	}
	again = append(again, c.strangersSettle()...)
	if lost {
		clear(c.b.members) // a schedd that comes back tells of new jobs
	}
	slices.SortFunc(again, (*Job).Compare)
	for _, j := range again {
		c.renumber(j)
	}
	c.admit(append(fresh, again...))
}

// silent returns the schedds of which the last look had no answer, and to which jobs are on their way
// for too long: those without an ad of their own, as of others that stop for minutes the jobs are
// promised places.
func (c *comparison) silent() map[string]bool {
	all := map[string]bool{}
	for id, f := range c.flights {
		if j := c.b.byID[id]; f.Overdue && !c.b.s.Observe && j != nil {
			s := c.b.Schedd(j.Key.Schedd)
			all[j.Key.Schedd] = s != nil && !s.Read && !s.Own
		}
	}
	return all
}

// awaitsSchedd has a job whose queue was not read leave the plan until it is, if its schedd is
// silent: each job there would else hold a slot in vain, one after the other.
func (c *comparison) awaitsSchedd(j *Job, silent bool) {
	f, flies := c.flights[j.ID]
	switch {
	case !silent || j.Group.Runs():
		return
	case flies && f.Overdue:
		c.b.log.Warn("a job was not started in time", "job", c.b.Name(j), "slots", list(j.Places), "matched", f.Sent, "why", f.Why)
		c.out.Unstarted++
		c.out.Failed = append(c.out.Failed, j.ID)
		delete(c.flights, j.ID)
		c.runEnded(j)
		c.unhold(j)
	case j.Phase == Waiting:
	default:
		return
	}
	c.tellRemoved(j.ID)
	j.Phase, j.Places, j.booked, j.promised, j.starts = Unknown, nil, nil, 0, 0
	c.leaveOut(j, "waits until its schedd answers")
}

// jobChanged has a waiting job that was edited planned anew, or leave the plan for a time. One that
// slots round in another way keeps what it was promised.
func (c *comparison) jobChanged(j *Job) {
	edited := c.b.edited(j)
	c.editedAhead(j)
	if why := c.unfit(j); why != "" {
		c.tellRemoved(j.ID)
		j.Phase, j.booked = Unknown, nil
		c.leaveOut(j, why)
		return
	}
	c.changes("job", c.b.Name(j), j.Spec.Ad, j.Group.Spec.Ad)
	if edited {
		j.starts, j.promised, j.hopeless = 0, 0, nil // until the next plan
	}
	c.edited = append(c.edited, j)
}

// jobLeft adds to the delta that a job has left its queue, or that no one can start it any more. If
// the job was seen to run, its run time ends at this look. The run time is unknown if the job was
// held or removed before its requested time was over, since it would have run longer, or if the job
// constraint now leaves the job out, since it runs on.
func (c *comparison) jobLeft(j *Job) {
	c.promiseLeaves(j)
	c.over(j)
	c.b.drop(j)
	c.leavesUnused(j)
	switch j.Phase {
	case Running, Lent:
		c.runEnded(j)
		if c.b.takeovers.byJob[j.ID] != nil {
			c.endTakeover(j.ID)
			c.tellRemoved(j.ID) // it has not begun
			return
		}
		ran := c.ran(j)
		if ran != unknownRun {
			c.proven(j)
		}
		if s := c.b.Schedd(j.Key.Schedd); s == nil || s.Moved {
			ran = unknownRun // it went with its schedd
		}
		if c.departing(j) {
			ran = unknownRun
		}
		told := ran == unknownRun && c.lastOf(j)
		completed := j.Phase == Running && !c.holds(j)
		idled := j.lasted != nil && j.lasted.ahead > 0 // what was planned is more than the run
		if completed && idled && ran != unknownRun {
			c.delta.Taught = append(c.delta.Taught, c.pastRun(j, ran))
			ran = unknownRun
		}
		if completed {
			c.tellCompleted(j.ID)
			c.delta.Ran[j.ID] = ran
		} else if ran != unknownRun || told {
			c.delta.Taught = append(c.delta.Taught, c.pastRun(j, ran))
		}
	case Waiting:
		c.tellRemoved(j.ID)
	case Unknown:
		if j.leader != nil && j.Group.Runs() {
			c.b.ended[j.Key] = c.b.now.Began // claims may name this proc
		}
		c.driftsOff(j)
		c.outlivedOff(j)
	}
}

// ran returns how long a job ran that has left its queue; unknownRun if that is not known, see
// jobLeft.
func (c *comparison) ran(j *Job) backfill.Time {
	if s := c.b.Schedd(j.Key.Schedd); s != nil && !s.Moved && j.look < s.AskedSince {
		delete(c.b.ended, j.Key) // it was not asked for
		return unknownRun
	}
	if j.lasted == nil || !j.Group.Runs() {
		return unknownRun
	}
	now, spec := c.delta.Now, cmp.Or(j.lasted.stated, j.Group.Spec)
	if r := j.run; r != nil && r.ended {
		now = backfill.Time(r.free.Unix())
	}
	ran := j.lasted.ran(now)
	stopped := j.stopped > j.look && ran < cmp.Or(spec.Limit, spec.Estimate, backfill.Forever)
	if stopped || j.lasted.since > now {
		return unknownRun
	}
	return max(0, ran)
}

// runEnded notes that a job runs no more, or that its start has failed.
func (c *comparison) runEnded(j *Job) {
	c.b.ended[j.Key] = c.b.now.Began
	if j.Spec != nil && j.Spec.Parallel && !c.b.s.Observe {
		c.out.Ended = append(c.out.Ended, Ended{Job: j.ID, Schedd: j.Key.Schedd, Places: j.Places})
	}
}

// proven notes that a job's start succeeded.
func (c *comparison) proven(j *Job) {
	c.out.Proven = append(c.out.Proven, Proven{Job: j.ID, Schedd: j.Key.Schedd, Places: j.Places, Start: j.Start})
}

// jobRuns compares a job that runs with what is recorded of it, and reports where it runs or when
// it is expected to end, if that is new.
func (c *comparison) jobRuns(j *Job) {
	at := c.b.places(j.Group)
	if len(at) == 0 {
		return // it has just begun; the next look shows where
	}
	chunks := 0
	for _, a := range at {
		if c.b.Slot(a.Slot) == nil || !c.b.isUp(a.Slot) {
			c.runsAway(j, at)
			return
		}
		chunks += a.Chunks
	}
	takesOver := c.b.takeovers.byJob[j.ID] != nil
	if !takesOver && c.usesLease(j, at) {
		return
	}
	inPlace := slices.Equal(at, j.Places)
	_, fresh := c.flights[j.ID]
	c.arrived(j, inPlace, chunks)
	now := c.b.now.Now
	began := j.lasted.since
	if takesOver && (j.Phase != Running || !inPlace) {
		c.endTakeover(j.ID)
		takesOver = false
	}
	if j.Phase == Running && inPlace && !takesOver && now-j.Start >= backfill.Time(c.b.s.Patience/time.Second) {
		c.proven(j)
	}
	switch {
	case j.Phase == Running && inPlace && takesOver:
		c.tookOver(j)
	case j.Phase == Running && inPlace: // whatever else was edited, it has what it has
		if fresh {
			c.delta.Began = append(c.delta.Began, negotiator.Began{Job: j.ID, At: began})
		}
		c.endMoves(j, began)
	case chunks != j.Group.Spec.Nodes || j.Group.Spec.Wrong != nil || c.outgrows(j):
		c.runsUnplanned(j, at) // its claims are planned around
	default:
		c.unhold(j)
		j.Places, j.Start = at, began
		c.tellFound(negotiator.Running{Job: c.b.report(j, Running, j.lasted.ahead), Placement: c.b.placement(at), Start: began})
	}
}

// outgrows tells whether a job that runs and was not planned as it is now asks for more than one of
// its dynamic slots has: its user has edited it since. How much disk a slot has changes by itself.
func (c *comparison) outgrows(j *Job) bool {
	spec := j.Group.Spec
	if l := j.lasted; l.stated != nil && l.stated.Nodes == spec.Nodes {
		return false
	}
	return slices.ContainsFunc(j.Group.Hosts, func(name string) bool {
		o := c.b.Slot(name)
		if o == nil || !o.Dynamic || !j.has(o) {
			return false
		}
		for i, resource := range c.b.s.Schema.Resources {
			if resource != observe.Claims && resource != "disk" && spec.Request[i] > o.Free[i] {
				return true
			}
		}
		return false
	})
}

// arrived ends the flight of a job that runs: as arrived if it runs where it was sent, with a claim
// for each chunk, else as over.
func (c *comparison) arrived(j *Job, inPlace bool, chunks int) {
	if f := c.flights[j.ID]; f.Sent && f.Claims == chunks && inPlace {
		c.out.Arrived = append(c.out.Arrived, j.ID)
		delete(c.flights, j.ID)
	}
	c.over(j)
}

// over ends a job's flight, its way from the match to the slots, without saying that the job runs
// or that its start failed. It does nothing if the job has no flight.
func (c *comparison) over(j *Job) {
	if _, flies := c.flights[j.ID]; flies {
		c.out.Over = append(c.out.Over, j.ID)
		delete(c.flights, j.ID)
	}
}

// endMoves reports that a running job is expected to end at another time: it began later than
// planned, its user states a longer run time, or its claim is idle for less time than planned. A job that is
// suspended comes no nearer to its end, of which the negotiator is told from time to time.
func (c *comparison) endMoves(j *Job, began backfill.Time) {
	if c.b.yields(j.ID) {
		return
	}
	late, estimate, ahead := began > j.Start+c.b.s.StartSlack, j.runsFor(j.Group.Spec.Estimate), j.lasted.ahead
	paused := j.paused()
	moved := paused != j.run.paused
	if j.Group.IsSuspended() {
		moved = paused > j.run.paused+c.b.s.StartSlack
	}
	if !late && !moved && estimate == j.estimated && ahead == j.ahead {
		return
	}
	j.run.paused = paused
	j.Start, j.estimated, j.ahead = began, estimate, ahead
	if j.lease != nil {
		j.lease.told = anew
		return
	}
	if end := began + paused + ahead + cmp.Or(estimate, c.b.s.DefaultEstimate) + c.b.s.StartSlack; end > c.b.now.Now {
		c.tellEnds(negotiator.End{Job: j.ID, At: end})
	}
}

// runsUnplanned takes a job out of the plan, since the way it runs cannot be planned with: in another
// number of chunks or on smaller ones than it asks for, on slots that are not planned with, or with a
// Spec that cannot be planned.
func (c *comparison) runsUnplanned(j *Job, at []Place) {
	if j.Phase == Running {
		j.run.spec = j.Spec
	}
	if c.withdraw(j) {
		c.b.log.Info("a job runs where it cannot be planned with", "job", c.b.Name(j), "slots", list(at))
	}
}

// withdraw takes a job out of the plan, and reports whether it was in it. If it runs, it goes on.
func (c *comparison) withdraw(j *Job) bool {
	switch j.Phase {
	case Running:
		c.tellCompleted(j.ID)
		c.delta.Ran[j.ID] = unknownRun
	case Waiting:
		c.tellRemoved(j.ID)
	case Unknown, Lent:
		return false
	}
	c.over(j)
	c.unhold(j)
	j.Phase = Unknown
	return true
}

// jobIsIdle reports a job that should run and is idle: it was not started in time, or it has come
// back to the queue. The result is true if the job left the plan and must be admitted anew: because
// it was edited meanwhile, or because its schedd does not advertise its submitter any more.
func (c *comparison) jobIsIdle(j *Job) (fresh bool) {
	flight, flies := c.flights[j.ID]
	ran, ended := !flies || flight.CameBack, false
	displaced := ran && c.madeWay(j)
	if ran {
		ended = !displaced && c.slotEnded(j)
		j.promised = 0 // it was kept
	}
	edited := c.b.edited(j) || c.b.Undue(j) != "" || c.isRefused(j) != ""
	unwelcome, barred := c.unwelcome(j) != "", false
	if f, flies := c.flights[j.ID]; flies && !c.b.s.Observe {
		leftOut := func(at Place) bool {
			pause, out := c.leftOut[at.Slot]
			return out && pause.For(j)
		}
		switch {
		case edited && !f.Handed:
		case !f.Handed && f.Full: // the plan starts it when there is room
		case !f.Handed && f.Barred:
			barred = true
			c.b.log.Debug("a job was not started: limits have no room for it", "job", c.b.Name(j), "why", f.Why)
		case !f.Handed && slices.ContainsFunc(j.Places, leftOut):
		case f.CameBack:
			c.b.log.Info("a job ran and came back at once", "job", c.b.Name(j), "slots", list(j.Places))
		case f.Refused:
			c.b.log.Warn("a job was not started: its claim was refused", "job", c.b.Name(j), "slots", list(j.Places))
			c.out.Unstarted++
		case !f.Overdue:
			return false
		default:
			c.b.log.Warn("a job was not started in time",
				"job", c.b.Name(j), "slots", list(j.Places), "matched", f.Sent, "why", f.Why)
			c.out.Unstarted++
		}
		c.out.Failed = append(c.out.Failed, j.ID)
		delete(c.flights, j.ID)
	}
	displaced = displaced || c.hasLeft(j)
	c.over(j)
	c.runEnded(j)
	c.unhold(j)
	c.endTakeover(j.ID)
	j.Phase, j.Places = Waiting, nil
	if j.booked != nil && c.b.now.Now >= j.booked.due {
		j.booked = nil // it was used, or not by the pool's fault
	}
	if !edited && !unwelcome {
		c.tellStartFailed(j.ID, ended, barred)
		if displaced {
			c.delta.Displaced = append(c.delta.Displaced, j.ID)
		}
		return false
	}
	c.editedAhead(j)
	c.tellRemoved(j.ID)
	j.Phase = Unknown
	return true
}

// slotEnded tells whether a job that has run came back because a slot of it takes no jobs any more:
// its startd has shut down or drains, or its owner has it. Versions before 23.10 do not say so in
// the job.
func (c *comparison) slotEnded(j *Job) bool {
	return j.Group.SlotEnded() || slices.ContainsFunc(j.Places, func(at Place) bool {
		o := c.b.Slot(at.Slot)
		return o == nil || !o.Missing.IsZero() || o.Refuses()
	})
}

// renumber gives a job a new ID, since the negotiator was told that the job with the old one is
// gone.
func (c *comparison) renumber(j *Job) {
	delete(c.b.byID, j.ID)
	j.ID = c.b.nextID()
	c.b.byID[j.ID] = j
}
