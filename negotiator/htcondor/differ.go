package htcondor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// differ tells what a look showed otherwise than the negotiator believes, and takes
// note that it is told.
func (p *Pool) differ(l *look) negotiator.Delta {
	d := negotiator.Delta{Now: l.now, Completed: p.meanwhileEnded, Removed: p.meanwhileLeft, Ran: map[backfill.JobID]backfill.Time{}}
	for _, id := range d.Completed {
		d.Ran[id] = unknownRun // nobody saw when
	}
	p.meanwhileEnded, p.meanwhileLeft = nil, nil
	p.hearTold(nil)
	p.judge(l)
	p.differSlots(&d, l)
	p.differJobs(&d, l)
	p.differClaims(&d, l)
	byJob := func(a, b *negotiator.Job) int { return int(a.ID - b.ID) }
	slices.SortFunc(d.Submitted, byJob)
	slices.SortFunc(d.Changed, byJob)
	slices.SortFunc(d.Found, func(a, b negotiator.Running) int { return byJob(a.Job, b.Job) })
	slices.SortFunc(d.Ends, func(a, b negotiator.End) int { return int(a.Job - b.Job) })
	for _, ids := range [][]backfill.JobID{d.Completed, d.Removed, d.StartFailed} {
		slices.Sort(ids)
	}
	slices.SortFunc(d.SlotsUp, func(a, b *negotiator.Slot) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(d.SlotsDown)
	p.begun = true
	p.publish(l)
	return d
}

// differSlots tells of slots that are new, changed, or gone for good.
func (p *Pool) differSlots(d *negotiator.Delta, l *look) {
	missing, all := 0, 0
	for _, s := range p.slots {
		if s.up {
			all++
			if !s.gone.IsZero() {
				missing++
			}
		}
	}
	l.grace = grace
	if 2*missing > all {
		l.grace = longGrace
	}
	busy := p.busy()
	for name, s := range p.slots {
		long := s.longGone(l)
		switch {
		case s.ad == nil: // dynamic
			if s.look != l.number && !s.gone.IsZero() && s.foreign == 0 { // while there is an ad, it is not read anew
				delete(p.slots, name)
			}
		case s.gone.IsZero():
			p.tellSlot(d, s, l)
		case long && busy[name]:
			if s.up && !s.shut { // its jobs may come back, but it can take no others
				s.shut, s.told = true, shut(s.told)
				d.SlotsUp = append(d.SlotsUp, s.told)
				p.log.Warn("a slot is gone; its jobs have not been given up", "slot", name)
			}
		case long:
			if s.up {
				d.SlotsDown = append(d.SlotsDown, name)
				p.log.Warn("a slot is gone", "slot", name)
			}
			delete(p.slots, name)
		}
	}
}

// tellSlot tells of a slot that is there, unless that is known.
func (p *Pool) tellSlot(d *negotiator.Delta, s *slot, l *look) {
	if now := p.shown(s, l.began); !s.up || s.told != now {
		s.up, s.told, s.shut = true, now, false
		d.SlotsUp = append(d.SlotsUp, now)
	}
}

// longGone tells whether a slot was missed for longer than may happen to any.
func (s *slot) longGone(l *look) bool {
	outlived := !s.outlived.IsZero() && l.began.Sub(s.outlived) >= settling
	return outlived || !s.gone.IsZero() && l.began.Sub(s.gone) >= l.grace
}

// shut is a slot that takes no job.
func shut(s *negotiator.Slot) *negotiator.Slot {
	ad := s.Ad.Clone()
	ad.SetBool("Requirements", false)
	return &negotiator.Slot{Name: s.Name, Capacity: s.Capacity, Ad: ad}
}

// busy are the slots on which jobs run, as far as the negotiator knows.
func (p *Pool) busy() map[string]bool {
	busy := map[string]bool{}
	for _, j := range p.jobs {
		if j.phase == running {
			for _, at := range j.places {
				busy[at.Slot] = true
			}
		}
	}
	for _, s := range p.slots {
		if s.foreign != 0 {
			busy[s.host] = true
		}
	}
	return busy
}

// differJobs tells of jobs. Nothing is told of those whose queue was not read.
func (p *Pool) differJobs(d *negotiator.Delta, l *look) {
	var fresh []*job
	for key, j := range p.jobs {
		s := p.schedds[key.schedd]
		if s.lost(l) {
			p.gone(d, j) // with its schedd
			delete(p.left, key)
			if j.phase == running {
				d.Ran[j.id] = unknownRun
			}
			continue
		}
		if s.read != l.number {
			continue
		}
		switch {
		case j.look != l.number:
			p.gone(d, j)
		case j.group.runs():
			p.differRunning(d, j, l)
		case j.phase == running:
			if p.differIdle(d, j, l) {
				fresh = append(fresh, j)
			}
		case j.phase == waiting && !j.same():
			if j.group.plan.wrong != nil {
				d.Removed = append(d.Removed, j.id)
				j.phase = unknown
				break
			}
			d.Changed = append(d.Changed, p.tell(j, waiting))
		case j.phase == unknown:
			fresh = append(fresh, j)
		}
	}
	p.admit(d, l, fresh)
	for name, s := range p.schedds {
		if s.lost(l) && (!s.moved || s.look != l.number) { // its ad may outlive it
			s.done()
			delete(p.schedds, name)
		}
	}
}

// lost tells whether a schedd has neither been seen nor answered for long, or is another
// one now.
func (s *schedd) lost(l *look) bool {
	return s == nil || s.moved || s.failed != nil && l.began.Sub(s.seen) > scheddGrace
}

// unknownRun says that it is not known how long a job ran.
const unknownRun = -1

// gone tells of a job that has left its queue, or that no one can start any more. How
// long it ran is known if it was seen to, since it left between two looks. One that was
// stopped before it had used all that it asked for did not run as long as it would have, and
// one that another constraint leaves out goes on.
func (p *Pool) gone(d *negotiator.Delta, j *job) {
	switch j.phase {
	case running:
		p.leave(j)
		d.Completed = append(d.Completed, j.id)
		d.Ran[j.id] = unknownRun
		began, asked := j.group.started, cmp.Or(j.group.plan.limit, j.group.plan.estimate, backfill.Forever)
		if s := p.schedds[j.key.schedd]; s != nil && j.look < s.other {
			delete(p.left, j.key) // it was not asked for
			break
		}
		if stopped := j.stopped > j.look && d.Now-began < asked; !stopped && j.group.runs() && 0 < began && began <= d.Now {
			d.Ran[j.id] = d.Now - began
			p.trust(j)
		}
	case waiting:
		d.Removed = append(d.Removed, j.id)
	case unknown:
	}
	p.drop(j)
}

// drop forgets a job.
func (p *Pool) drop(j *job) {
	delete(p.flights, j.id)
	delete(p.byID, j.id)
	delete(p.jobs, j.key)
	p.renamed = true
}

// differRunning tells of a job that runs, if it does not run where it should.
func (p *Pool) differRunning(d *negotiator.Delta, j *job, l *look) {
	if s := p.schedds[j.key.schedd]; j.group.plan.parallel {
		s.gang = max(s.gang, j.group.started)
	}
	at := p.places(j.group)
	if len(at) == 0 {
		return // it has just begun; the next look shows where
	}
	chunks := 0
	for _, a := range at {
		s := p.slots[a.Slot]
		if s == nil || !s.up {
			p.elsewhere(d, j, at)
			return
		}
		chunks += a.Chunks
	}
	if f := p.flights[j.id]; f != nil && f.sent() && len(f.claims) == chunks && slices.Equal(at, j.places) {
		j.claims = f.claims
	}
	delete(p.flights, j.id)
	began := j.group.started
	if began <= 0 || began > l.now {
		began = l.now
	}
	if j.phase == running && slices.Equal(at, j.places) && l.now-j.start >= backfill.Time(p.s.Patience/time.Second) {
		p.trust(j)
	}
	late, estimate := began > j.start+p.s.StartSlack, j.group.plan.estimate
	switch {
	case j.phase == running && slices.Equal(at, j.places): // whatever else was edited, it has what it has
		if !late && estimate == j.estimated {
			return
		}
		j.start, j.estimated = began, estimate
		if end := began + cmp.Or(estimate, p.s.DefaultEstimate) + p.s.StartSlack; end > l.now {
			d.Ends = append(d.Ends, negotiator.End{Job: j.id, At: end})
		}
	case chunks != j.group.plan.nodes || j.group.plan.wrong != nil:
		p.elsewhere(d, j, at) // its claims are planned around
	default:
		j.places, j.start = at, began
		d.Found = append(d.Found, negotiator.Running{Job: p.tell(j, running), Placement: p.placement(at), Start: began})
	}
}

// elsewhere tells of a job that does not run as one that we could plan with: on slots
// that we do not know, such as another pool's, or on other than it asks for.
func (p *Pool) elsewhere(d *negotiator.Delta, j *job, at []place) {
	switch j.phase {
	case running:
		d.Completed = append(d.Completed, j.id)
		d.Ran[j.id] = unknownRun // it goes on
	case waiting:
		d.Removed = append(d.Removed, j.id)
	case unknown:
		return
	}
	p.log.Info("a job runs where it cannot be planned with", "job", p.nameOf(j), "slots", list(at))
	delete(p.flights, j.id)
	j.phase = unknown
}

// differIdle tells of a job that should run and is idle: it was not started in
// time, or it has come back to the queue. One that was edited meanwhile is another
// job, and one that its schedd has no room for leaves the plan: true, it is fresh.
func (p *Pool) differIdle(d *negotiator.Delta, j *job, l *look) (fresh bool) {
	edited, full := !j.same(), false
	if f := p.flights[j.id]; f != nil && !p.s.Observe {
		switch handed := f.handed(); {
		case edited && !handed:
		case !handed && f.full:
			full = true // it is planned with when there is room
		case !handed && slices.ContainsFunc(j.places, func(at place) bool { return p.isLeftOut(at.Slot, j, l.began) }):
		case !p.overdue(f):
			return false
		default:
			p.log.Warn("a job was not started in time", "job", p.nameOf(j), "slots", list(j.places), "matched", f.sent(), "why", f.why)
			p.unstarted++
		}
		p.land(f)
	}
	delete(p.flights, j.id)
	p.leave(j)
	j.phase, j.places, j.claims = waiting, nil, nil
	if edited || full {
		d.Removed = append(d.Removed, j.id)
		delete(p.byID, j.id)
		p.lastID++
		j.id, j.phase, p.renamed = p.lastID, unknown, true
		p.byID[j.id] = j
		return true
	}
	d.StartFailed = append(d.StartFailed, j.id)
	return false
}

// admit tells of jobs that are new, unless something keeps them out.
func (p *Pool) admit(d *negotiator.Delta, l *look, fresh []*job) {
	leave := func(j *job, why string) {
		l.outside = append(l.outside, outside{j.id, j.key, j.group, why, p.several()})
	}
	slices.SortFunc(fresh, (*job).order)
	var sound []*job
	for _, j := range fresh {
		switch {
		case j.group.plan.wrong != nil:
			leave(j, "cannot be planned with: "+strings.ReplaceAll(j.group.plan.wrong.Error(), "\n", "; "))
		case j.group.plan.parallel && p.parts(j) > 1:
			leave(j, "is a part of a gang of several kinds of nodes, which is not planned for: use one queue statement with machine_count")
		case j.group.timed:
			leave(j, "is to start at a time of its own (DeferralTime), which is not planned for")
		default:
			sound = append(sound, j)
		}
	}
	lineUp(sound)
	p.account(l, sound)
	out := p.throttled(l, sound)
	for _, j := range sound {
		if why, throttled := out[j.id]; throttled {
			leave(j, why)
			continue
		}
		d.Submitted = append(d.Submitted, p.tell(j, waiting))
	}
	p.openOrder()
}

// parts counts the procs of a gang's cluster, up to two: together they are one gang.
func (p *Pool) parts(j *job) int {
	n := 1
	for _, proc := range []int64{0, 1} {
		if proc != j.key.proc && p.jobs[jobKey{j.key.schedd, j.key.cluster, proc}] != nil {
			n++
		}
	}
	return n
}

// placement is a place in the negotiator's terms.
func (p *Pool) placement(at []place) negotiator.Placement {
	places := make(negotiator.Placement, len(at))
	for i, a := range at {
		places[i] = negotiator.Place{Slot: p.slots[a.Slot].told, Chunks: a.Chunks}
	}
	return places
}
