package daemon

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// mostForeseen is for how many waiting jobs without a reservation, from the head of the queue, a
// start is foreseen: what is foreseen for the last of a million means nothing.
const mostForeseen = 10_000

// A play of a forecast ends after so many rounds, or so much time, and then tells the starts that
// it has found.
const (
	mostRounds     = 200_000
	playPatience   = 5 * time.Second
	noStart        = "waits: no start is foreseen yet"
	cannotLookText = "start times are those of the plan alone: the policy cannot be played ahead"
)

// forecaster makes the forecast of one cycle's schedule, when it is first asked for.
type forecaster struct {
	d       *Daemon
	outlook *outlook.Outlook
	jobs    []negotiator.JobCheckpoint // of those that run, have a reservation or are held, by ID
	waiting []*negotiator.Job          // the first in the queue
	further int                        // how many wait behind them
	roused  []negotiator.Match         // jobs that would start on machines that sleep
	flies   map[backfill.JobID]bool    // those that were matched and do not run yet
	asked   int                        // the first jobs of the queue, whose starts are asked for
	// stretched are those that wait and whose stated run times do not count, with why.
	stretched map[backfill.JobID]string
	// lacking are those for which a limit has no room now, with which.
	lacking map[backfill.JobID]string
	// drained are those that wait, and a slot that is drained before they would end there.
	drained map[backfill.JobID]string
	// preempted are those that were or are displaced by others, or could displace some later, with why.
	preempted map[backfill.JobID]string
	// scavengers are in no plan.
	scavengers []foreseenScavenger
	// way has jobs that were started and wait for scavengers to leave, with until when at the latest.
	way map[backfill.JobID]backfill.Time
	// scene is what pictures are made from; nil: nobody sees any.
	scene *picture.Scene

	first   sync.Once
	base    *Forecast                // without what plays find
	best    atomic.Pointer[Forecast] // the best so far
	mu      sync.Mutex               // guards what follows, after the first forecast
	started bool                     // starts are played
	ranged  bool                     // ranges are, or are not wanted
}

// foreseen is what plays have found, and of which cycle's schedule. What earlier plays have found
// is told until the next ones are due.
type foreseen struct {
	starts struct {
		at  backfill.Time
		all map[backfill.JobID]beginning
	}
	ranges struct {
		at  backfill.Time
		all map[backfill.JobID]ahead.Range
	}
}

// beginning is when and where a job begins in a play.
type beginning struct {
	at        backfill.Time
	placement backfill.Placement
	slots     string
}

// mostForeseenAge is for how many seconds what a play has found is told.
const mostForeseenAge backfill.Time = 10 * 60

// Forecast returns the best forecast so far. The first call makes it. It plays the schedule ahead
// if a play is due, and does not look for ranges.
func (p *forecaster) Forecast() *Forecast {
	p.first.Do(func() {
		p.base = p.make()
		p.jobs, p.waiting, p.roused, p.scavengers = nil, nil, nil, nil
		p.start()
		p.tell()
	})
	return p.best.Load()
}

// Widen returns the forecast with everything that plays find, as far as they are due, and in how
// long it can tell more: 0 if it has found everything.
func (p *forecaster) Widen() (told *Forecast, later time.Duration) {
	told = p.Forecast()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started && p.ranged {
		return told, 0
	}
	p.start()
	p.widen()
	p.tell()
	told = p.best.Load()
	switch {
	case p.started && p.ranged:
		p.outlook = nil
		return told, 0
	case p.started:
		later = p.d.ranging.wait()
	case p.ranged:
		later = p.d.starting.wait()
	default:
		later = min(p.d.starting.wait(), p.d.ranging.wait())
	}
	return told, max(later, time.Millisecond) // it may just have become due
}

// tell stores the forecast with what plays have found.
func (p *forecaster) tell() { p.best.Store(p.base.with(p.d.foreseen.Load())) }

// start plays the future in which all jobs run for as long as they are taken to.
func (p *forecaster) start() {
	p.started = p.started || p.d.starting.do(1, func() {
		starts, state := p.d.player(p.asked).starts(p.outlook), p.outlook.State()
		all := make(map[backfill.JobID]beginning, len(starts))
		for id, b := range starts {
			all[id] = beginning{b.At, b.Placement, state.Places(b.Placement).Short()}
		}
		p.d.foresee(func(f *foreseen) {
			if p.base.Now >= f.starts.at { // who asked late for an older forecast may be the last to play
				f.starts.at, f.starts.all = p.base.Now, all
			}
		})
	})
}

// widen plays several futures, if any are wanted and anything is known of them.
func (p *forecaster) widen() {
	futures := p.d.tuned.Load().Futures
	if p.ranged {
		return
	}
	if p.ranged = futures < 2 || !p.outlook.Learned(); p.ranged {
		p.d.foresee(func(f *foreseen) { f.ranges.all = nil })
		return
	}
	p.ranged = p.d.ranging.do(min(futures, runtime.GOMAXPROCS(0)), func() {
		if ranges := p.d.player(p.asked).ranges(p.outlook, futures); len(ranges) > 0 {
			p.d.foresee(func(f *foreseen) { f.ranges.at, f.ranges.all = p.base.Now, ranges })
		}
	})
}

// foresee notes what a play has found.
func (d *Daemon) foresee(how func(*foreseen)) {
	for {
		last := d.foreseen.Load()
		next := *last
		how(&next)
		if d.foreseen.CompareAndSwap(last, &next) {
			return
		}
	}
}

// make returns the forecast without what plays find: the schedule as it is. A job that no play
// reaches is told its reservation, if it has one.
func (p *forecaster) make() *Forecast {
	s := p.outlook.State()
	beyond := s.BeyondDepth() > 0 // then all jobs without a reservation are
	f := &Forecast{Now: s.Now(), Further: p.further, byID: make(map[backfill.JobID]int, len(p.waiting)+len(p.jobs))}
	first := slices.IndexFunc(p.waiting, func(j *negotiator.Job) bool { return j.Release == 0 || j.Release <= f.Now })
	for i, job := range p.waiting {
		settled := negotiator.JobCheckpoint{Job: job} // it only waits
		if at, found := slices.BinarySearchFunc(p.jobs, job.ID, byID); found {
			settled = p.jobs[at]
		}
		f.add(settled, backfill.Runs.String())
		if settled.Placement != nil {
			continue
		}
		j := &f.Jobs[i]
		why, _ := s.Reason(job.ID)
		text := why.WhyNoStart(func(t backfill.Time) string { return zoned(t, f.Now, time.Local) })
		switch {
		case beyond:
			j.Unpromised = text
		case first >= 0 && i > first && j.NotBefore == nil:
			j.Behind = p.waiting[first].Name
		}
		if j.NotBefore == nil && (beyond || why.Why == backfill.NoStart) {
			j.Reason = text
		}
	}
	for _, c := range p.jobs {
		if _, known := f.byID[c.Job.ID]; !known {
			f.add(c, p.situation(s, c.Job.ID))
			p.awaitWay(f, c.Job.ID)
		}
	}
	for _, m := range p.roused {
		if i, known := f.byID[m.Job.ID]; known {
			f.Jobs[i].rouse(m.Placement.Places().Short(), f.Now)
		}
	}
	p.describe(f)
	for _, one := range p.scavengers {
		p.addScavenger(f, one)
	}
	return f
}

// describe adds to a forecast what is known of its jobs' estimates, and what keeps them from starting.
func (p *forecaster) describe(f *Forecast) {
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if times, predicted := p.outlook.Of(j.ID); predicted {
			j.Requested, j.Predicted = seconds(times.Requested), seconds(times.Predicted)
		}
		j.Stretched, j.Limit, j.Drained = p.stretched[j.ID], p.lacking[j.ID], p.drained[j.ID]
		if j.Preemption = p.preempted[j.ID]; j.Preemption != "" && j.Start == nil {
			j.Reason += "; " + j.Preemption
		}
		if j.Stretched != "" || j.Limit != "" || j.Drained != "" || j.Preemption != "" {
			if j.Start == nil && j.Limit != "" {
				j.Reason = j.Limit
			}
			j.Reason = j.describe(f.Now, time.Local)
		}
	}
}

func byID(c negotiator.JobCheckpoint, id backfill.JobID) int { return cmp.Compare(c.Job.ID, id) }

// forecaster returns what will make the forecast of this cycle's plan, in which jobs have a place.
func (c *cycles) forecaster(r decided) *forecaster {
	jobs := r.plan.Jobs
	head := r.State.FirstWaiting(mostForeseen + reserved(jobs))
	f := &forecaster{
		d: c.d, outlook: outlook.New(c.d.n), jobs: jobs, waiting: make([]*negotiator.Job, len(head)),
		further: r.State.Waiting() - len(head), asked: len(head), roused: r.roused,
		flies: map[backfill.JobID]bool{},
	}
	if !c.d.o.Observe { // else nothing is matched
		for _, m := range r.Matches {
			f.flies[m.Job.ID] = true
		}
		for _, id := range c.pool.Matched() {
			f.flies[id] = true
		}
	}
	f.stretched, f.lacking = map[backfill.JobID]string{}, map[backfill.JobID]string{}
	f.drained = map[backfill.JobID]string{}
	drained := c.d.firstDrained(r.State)
	for i, j := range head {
		f.waiting[i] = c.d.n.Job(j.ID)
		if why := c.d.n.WhyStretched(j.ID); why != "" {
			f.stretched[j.ID] = why
		}
		if why := c.pool.Lacking(j.ID); why != "" {
			f.lacking[j.ID] = why
		}
		if slot := drained(j); slot != "" {
			f.drained[j.ID] = slot
		}
	}
	f.scene = c.scene(r, f)
	f.way = c.noteWay(r)
	f.foreseeScavengers(r.scavengers, r.State.Now())
	f.preempted = map[backfill.JobID]string{}
	for _, j := range head {
		f.notePreemption(j.ID, r.State.Now())
	}
	for _, j := range jobs {
		f.notePreemption(j.Job.ID, r.State.Now())
		if backfill.OverLimit(j.Held) {
			f.lacking[j.Job.ID] = c.pool.Lacking(j.Job.ID)
		}
	}
	return f
}

// player plays a schedule ahead for the daemon.
type player struct {
	d    *Daemon
	jobs int // the first jobs of the queue, whose starts are asked for
}

// player returns a player, which plays no longer than the daemon lives.
func (d *Daemon) player(jobs int) player { return player{d, jobs} }

// starts plays the future in which all jobs run for as long as they are taken to.
func (p player) starts(o *outlook.Outlook) (starts map[backfill.JobID]ahead.Beginning) {
	p.play(func(ctx context.Context, refused func(backfill.Refusal)) (err error) {
		starts, err = p.d.twins.Starts(ctx, o, p.bounds(), refused)
		return err
	})
	return starts
}

// ranges plays several futures; nil if they take too long.
func (p player) ranges(o *outlook.Outlook, futures int) (ranges map[backfill.JobID]ahead.Range) {
	p.play(func(ctx context.Context, refused func(backfill.Refusal)) (err error) {
		options := outlook.FuturesOptions{Futures: ahead.Futures{Count: futures}, Seed: seed}
		ranges, err = p.d.twins.Ranges(ctx, o, options, p.bounds(), refused)
		return err
	})
	return ranges
}

func (p player) bounds() ahead.Bounds { return ahead.Bounds{Rounds: mostRounds, Jobs: p.jobs} }

// seed is that of all futures, so that what is told does not change from cycle to cycle by chance.
const seed = 1

// play calls the function. A decision of the policy that is refused ends it, as the starts would be
// the fallback's.
func (p player) play(how func(ctx context.Context, refused func(backfill.Refusal)) error) {
	ctx, done := context.WithTimeout(p.d.playing, playPatience)
	defer done()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	err := how(ctx, func(r backfill.Refusal) { refuse(r.Err) })
	ended := p.d.playing.Err() != nil || errors.Is(err, context.DeadlineExceeded)
	if err != nil && !ended && p.d.mute.CompareAndSwap(false, true) {
		p.d.log.Warn(cannotLookText, "error", err)
	}
}
