package condorsim

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// SimulatedPool runs a workload: it submits the jobs at their times and ends them after their run
// times, or at their limits. [Workload.Outages] says in advance which slots fail or are drained,
// and when. A job that loses a slot goes back to the queue and runs again from the beginning, or from
// its last checkpoint ([Preemption]), until it has lost slots too often.
type SimulatedPool struct {
	w    *Workload
	pace Pace
	up   bool // the slots have been announced
	next int  // the next job to submit
	now  backfill.Time
	ends ahead.Endings // a run is told by how many of its job came to nothing before
	over ahead.Endings // when it is told of runs beyond their estimates that they go on
	// starts are those of the runs in over.
	starts map[backfill.JobID]backfill.Time
	done   int // number of jobs that ended or were given up

	successors *successors // nil: no job is submitted after the end of another
	absences   *absences   // nil: no job leaves the queue but to run

	outages *outages           // nil: no slot ever fails
	making  *making            // nil: no job makes way for another
	losses  []int32            // by job, how often it lost a slot so far, if there are outages
	runs    []int32            // by job, how often its run came to nothing so far, if one may
	lost    []backfill.JobID   // jobs that lost a slot at this instant, or made way
	left    []backfill.JobID   // scavengers that have left at this instant, which is yet to be told
	began   []negotiator.Began // and jobs that have begun in the place of scavengers

	void int // runs that came to nothing since their ends were dropped last

	idle      int           // rounds that only the negotiator wanted, while nothing ran and no job was to come
	idleSince backfill.Time // when the first of them was

	until *backfill.Time // nil: the pool runs until all jobs have ended; else see RunTo

	completed []backfill.JobID // buffers for deltas
	submitted []*negotiator.Job
}

// Pace waits until the instant t of the simulation has come in the caller's time; a nil Pace does
// not wait.
type Pace func(ctx context.Context, t backfill.Time) error

// NewPool returns a pool that will run the workload, once: if jobs are submitted after the ends of
// others, it sets their submit times.
func NewPool(w *Workload, pace Pace) *SimulatedPool {
	p := &SimulatedPool{
		w: w, pace: pace, starts: map[backfill.JobID]backfill.Time{}, successors: newSuccessors(w),
		absences: newAbsences(w),
	}
	p.skip()
	if len(w.Jobs) > 0 {
		p.outages = newOutages(w, w.Jobs[0].Submit)
	}
	p.making = newMaking(w)
	if p.outages != nil {
		p.losses = make([]int32, len(w.Jobs))
	}
	if p.outages != nil || p.making != nil {
		p.runs = make([]int32, len(w.Jobs))
	}
	return p
}

// Fetch advances to the next instant at which anything happens, or to wake if that is earlier, and
// returns what happens then. It returns io.EOF once nothing will happen any more.
func (p *SimulatedPool) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	if err := ctx.Err(); err != nil {
		return negotiator.Delta{}, err
	}
	now := p.nextInstant(wake)
	if p.until != nil && now > *p.until { // nothing happens then, but time has passed
		if !p.up || p.now == *p.until {
			return negotiator.Delta{}, io.EOF
		}
		now = *p.until
	}
	if now >= backfill.Forever || p.isVain(now) {
		return negotiator.Delta{}, io.EOF
	}
	if p.pace != nil {
		if err := p.pace(ctx, now); err != nil {
			return negotiator.Delta{}, err
		}
	}
	p.now = now
	// A bundle can only name slots that are known, so all slots are announced first, even those
	// that fail at once.
	if !p.up && len(p.w.Bundles) > 0 {
		p.up = true
		return negotiator.Delta{Now: now, SlotsUp: p.w.Slots, Bundles: p.w.Bundles, Limits: p.w.Limits}, nil
	}
	d := negotiator.Delta{Now: now, Completed: p.completed[:0], Submitted: p.submitted[:0]}
	if !p.up {
		d.Limits = p.w.Limits
	}
	for len(p.ends) > 0 && p.ends[0].At <= now {
		if ended := p.ends.Pop(); !p.stale(ended) {
			d.Completed = append(d.Completed, ended.Job)
		}
	}
	p.done += len(d.Completed)
	p.ended(d.Completed)
	p.absences.set(isOver, d.Completed...)
	p.lost = nil
	if err := p.makeWay(&d); err != nil {
		return negotiator.Delta{}, err
	}
	p.outlive(&d)
	if p.outages != nil {
		p.turn(&d)
	} else if !p.up {
		d.SlotsUp = p.w.Slots // none of which ends
	}
	p.takeOver(&d)
	p.up = true
	p.absences.set(isWaiting, p.lost...)
	p.absences.set(isOver, d.Removed...)
	p.leave(&d)
	p.arrive(&d)
	p.completed, p.submitted = d.Completed, d.Submitted
	if p.w.accounts != nil {
		return d, p.w.accounts.fetched(&d, p.lost)
	}
	return d, nil
}

// arrive adds to the delta the jobs that are submitted by now.
func (p *SimulatedPool) arrive(d *negotiator.Delta) {
	for p.next < len(p.w.Jobs) && p.w.Jobs[p.next].Submit <= d.Now {
		if j := p.w.Jobs[p.next]; j.runsAnyway() {
			p.runsOn(d, j)
		} else {
			d.Submitted = append(d.Submitted, j.Job)
			p.absences.set(isWaiting, j.ID)
		}
		p.next++
		p.skip()
	}
	if p.successors.next() <= d.Now {
		d.Submitted = p.successors.submit(p.w, d.Now, d.Submitted)
		slices.SortFunc(d.Submitted, func(a, b *negotiator.Job) int { return int(a.ID - b.ID) })
	}
}

// skip passes over jobs that are submitted after the ends of others.
func (p *SimulatedPool) skip() {
	for p.successors != nil && p.next < len(p.w.Jobs) && p.w.Jobs[p.next].After != nil {
		p.next++
	}
}

// ended has the jobs be submitted in time that are submitted after the ends of these.
func (p *SimulatedPool) ended(jobs []backfill.JobID) {
	if p.successors == nil {
		return
	}
	for _, id := range jobs {
		p.successors.ended(p.w, id, p.now)
	}
}

// isVain reports whether a round at an instant would be one too many: nothing runs and no job is to come,
// and for a year of time and a thousand rounds, or for many more rounds, the negotiator has only asked for
// another one. A policy may wait for long, but not put off the jobs for good.
func (p *SimulatedPool) isVain(now backfill.Time) bool {
	const (
		year = 366 * 24 * 60 * 60
		some = 1000
		many = 100_000
	)
	switch {
	case len(p.ends) > 0, p.next < len(p.w.Jobs), min(p.successors.next(), p.absences.next()) < backfill.Forever:
		p.idle = 0
		return false
	case p.nextInstant(backfill.Forever) <= now: // a slot fails or returns
		return false
	}
	if p.idle++; p.idle == 1 {
		p.idleSince = now
	}
	return p.idle > many || p.idle > some && now-p.idleSince > year
}

// nextInstant returns when something happens next, or wake if that is earlier: then the negotiator
// wants to be called. It returns [backfill.Forever] if nothing will happen any more.
func (p *SimulatedPool) nextInstant(wake backfill.Time) backfill.Time {
	now := min(wake, p.successors.next(), p.absences.next())
	if p.next < len(p.w.Jobs) {
		now = min(now, p.w.Jobs[p.next].Submit)
	}
	for len(p.ends) > 0 && p.stale(p.ends[0]) {
		p.ends.Pop()
	}
	if len(p.ends) > 0 {
		now = min(now, p.ends[0].At)
	}
	now = min(now, p.making.next())
	if len(p.left) > 0 {
		now = min(now, p.now)
	}
	for len(p.over) > 0 && p.stale(p.over[0]) {
		p.over.Pop()
	}
	if len(p.over) > 0 {
		now = min(now, p.over[0].At)
	}
	if p.outages != nil && p.done < len(p.w.Jobs) {
		idle := now >= backfill.Forever
		now = min(now, p.outages.next(idle))
	}
	return now
}

// outlive adds to the delta the jobs that run on beyond their estimates: a second after these are over,
// and again each time when they have run for twice as long.
func (p *SimulatedPool) outlive(d *negotiator.Delta) {
	for len(p.over) > 0 && p.over[0].At <= d.Now {
		e := p.over.Pop()
		if p.stale(e) {
			continue
		}
		start := p.starts[e.Job]
		d.Outliving = append(d.Outliving, negotiator.PastRun{Job: p.w.Jobs[e.Job].Job, Ran: d.Now - start})
		e.At = 2*d.Now - start
		p.watch(e)
	}
}

// watch notes when the pool is to tell that a run goes on, unless it is over by then.
func (p *SimulatedPool) watch(e ahead.Ending) {
	if start := p.starts[e.Job]; e.At < start+p.lasts(e.Job, start) {
		p.over.Push(e)
	} else {
		delete(p.starts, e.Job)
	}
}

// stale reports whether an ending is void because the job lost its slot during that run, or made way.
func (p *SimulatedPool) stale(e ahead.Ending) bool {
	return p.runs != nil && p.runs[e.Job] != e.Run
}

// makeWay adds to the delta the jobs that have made way by now. Jobs that complete at the same instant do not
// have to. It is an error if jobs only displace each other.
func (p *SimulatedPool) makeWay(d *negotiator.Delta) error {
	if p.making == nil {
		return nil
	}
	p.making.now = d.Now
	p.making.ends(d.Completed)
	evicted := p.making.evicted()
	if err := p.making.circle(evicted, len(d.Completed) > 0); err != nil {
		return err
	}
	p.evict(evicted)
	if len(p.left) > 0 {
		evicted, p.left = slices.Concat(evicted, p.left), nil
		slices.Sort(evicted)
	}
	d.StartFailed, d.Displaced, p.lost = evicted, evicted, evicted
	d.Claims = p.making
	p.dropVoid(len(evicted))
	return nil
}

// dropVoid forgets the ends of runs that came to nothing once they are many, of which some more have now: where
// jobs displace each other again and again, they would pile up.
func (p *SimulatedPool) dropVoid(more int) {
	const some = 1000
	if p.void += more; p.void < some || 2*p.void < len(p.ends) {
		return
	}
	p.void = 0
	for _, list := range []*ahead.Endings{&p.ends, &p.over} {
		*list = slices.DeleteFunc(*list, p.stale)
		slices.SortFunc(*list, func(a, b ahead.Ending) int { // what is sorted is a heap
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Job, b.Job))
		})
	}
}

// takeOver adds to the delta the jobs whose places have become free, and starts them.
func (p *SimulatedPool) takeOver(d *negotiator.Delta) {
	if p.making == nil {
		return
	}
	p.making.cancel(d)
	for _, m := range p.making.ready() {
		d.Found = append(d.Found, negotiator.Running{Job: m.Job, Placement: m.Placement, Start: d.Now})
		p.start(m)
	}
	d.Began, p.began = slices.Concat(p.began, p.beginLate()), nil
}

// turn applies the outages of this instant and adds to the delta the slots that change and the jobs
// that are given up. Jobs that complete at the same instant do not lose their slots.
func (p *SimulatedPool) turn(d *negotiator.Delta) {
	for _, job := range d.Completed {
		p.outages.end(job)
	}
	d.SlotsUp, d.SlotsDown = p.outages.advance(d.Now, !p.up)
	lost := p.outages.lost(d.SlotsDown)
	p.lost = slices.Concat(p.lost, lost)
	p.making.fail(lost)
	most := int32(cmp.Or(p.w.GiveUpAfter, pools.DefaultGiveUpAfter))
	for _, job := range lost {
		p.runs[job]++
		if p.losses[job]++; p.losses[job] > most {
			d.Removed = append(d.Removed, job)
			p.done++
		}
	}
	p.ended(d.Removed)
	p.dropVoid(len(lost))
}

// Act starts the matched jobs. One that displaces others starts once they have made way.
func (p *SimulatedPool) Act(_ context.Context, matches []negotiator.Match) error {
	for _, m := range matches {
		p.absences.set(isRunning, m.Job.ID)
		switch {
		case p.making.isLate(m):
			p.actLate(m)
		case len(m.Displaces) > 0:
			p.making.take(m)
			p.leaveAtOnce()
		default:
			p.start(m)
		}
	}
	return nil
}

// start starts a job.
func (p *SimulatedPool) start(m negotiator.Match) {
	if p.outages != nil {
		p.outages.start(m.Job.ID, m.Placement)
	}
	p.begin(m)
}

// lasts returns how long a job runs that begins at an instant.
func (p *SimulatedPool) lasts(id backfill.JobID, start backfill.Time) backfill.Time {
	j := p.w.Jobs[id]
	return min(p.making.left(j), j.runsFrom(start))
}

// begin begins a job's run.
func (p *SimulatedPool) begin(m negotiator.Match) {
	left := p.lasts(m.Job.ID, p.now)
	e := ahead.Ending{At: p.now + left, Job: m.Job.ID}
	if p.runs != nil {
		e.Run = p.runs[m.Job.ID]
	}
	p.making.starts(m.Job.ID, m.Placement, e.Run)
	p.ends.Push(e)
	if j := p.w.Jobs[e.Job]; j.Estimate > 0 && left > j.Estimate {
		p.starts[e.Job] = p.now
		p.watch(ahead.Ending{At: p.now + j.Estimate + 1, Job: e.Job, Run: e.Run})
	}
}
