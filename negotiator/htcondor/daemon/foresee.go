package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// mostForeseen is for how many waiting jobs without a reservation, from the head of the queue, a start is
// foreseen: what is foreseen for the last of a million means nothing.
const mostForeseen = 10_000

// A play of a forecast ends after so many rounds, or so much time, and then tells the starts that it
// has found.
const (
	mostRounds     = 200_000
	playPatience   = 5 * time.Second
	noStart        = "waits: no start is foreseen yet"
	cannotLookText = "start times are those of the plan alone: the policy cannot be played ahead"
)

// forecaster makes the forecast of one cycle's schedule, when it is first asked for.
type forecaster struct {
	outlook *outlook.Outlook
	jobs    []negotiator.JobCheckpoint // of those that run, have a reservation or are held, by ID
	waiting []*negotiator.Job          // the first in the queue
	further int                        // how many wait behind them
	roused  []negotiator.Match         // jobs that would start on machines that sleep
	flies   map[backfill.JobID]bool    // those that were matched and do not run yet
	player  player
	// stretched are those that wait and whose stated run times do not count, with why.
	stretched map[backfill.JobID]string

	first, widened sync.Once
	best           atomic.Pointer[Forecast] // the best so far
}

// Forecast returns the best forecast so far. The first call makes it, without ranges.
func (p *forecaster) Forecast() *Forecast {
	p.first.Do(func() {
		p.best.Store(p.make())
		p.jobs, p.waiting, p.roused = nil, nil, nil
	})
	return p.best.Load()
}

// Widen returns the forecast with the ranges of starts, which the first call finds.
func (p *forecaster) Widen() *Forecast {
	told := p.Forecast()
	p.widened.Do(func() {
		if ranges := p.player.ranges(p.outlook); len(ranges) > 0 {
			p.best.Store(told.with(ranges))
		}
		p.outlook, p.player = nil, player{}
	})
	return p.best.Load()
}

// make returns the forecast: the schedule as it is, and of waiting jobs the starts that are played.
// A job that the play does not reach is told its reservation, if it has one.
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
		f.add(settled, false)
		switch waits := settled.Placement == nil; {
		case waits && beyond:
			r, _ := s.Reason(job.ID)
			f.Jobs[i].Unpromised = r.Text
			if f.Jobs[i].NotBefore == nil {
				f.Jobs[i].Reason = r.Text
			}
		case waits && first >= 0 && i > first && f.Jobs[i].NotBefore == nil:
			f.Jobs[i].Behind = p.waiting[first].Name
		}
	}
	for _, c := range p.jobs {
		if _, known := f.byID[c.Job.ID]; !known {
			f.add(c, p.flies[c.Job.ID])
		}
	}
	for _, m := range p.roused {
		if i, known := f.byID[m.Job.ID]; known {
			f.Jobs[i].rouse(m.Placement.Places().Short(), f.Now)
		}
	}
	starts := p.player.starts(p.outlook)
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if times, predicted := p.outlook.Of(j.ID); predicted {
			j.Requested, j.Predicted = seconds(times.Requested), seconds(times.Predicted)
		}
		j.Stretched = p.stretched[j.ID]
		if begins, known := starts[j.ID]; known {
			j.expect(s, begins)
		}
	}
	return f
}

func byID(c negotiator.JobCheckpoint, id backfill.JobID) int { return cmp.Compare(c.Job.ID, id) }

// forecaster returns what will make the forecast of this cycle's plan, in which jobs have a place.
func (c *cycles) forecaster(r decided) *forecaster {
	jobs := r.plan.Jobs
	head := r.State.FirstWaiting(mostForeseen + reserved(jobs))
	f := &forecaster{
		outlook: outlook.New(c.d.n), jobs: jobs, waiting: make([]*negotiator.Job, len(head)),
		further: r.State.Waiting() - len(head), player: c.d.player(len(head)), roused: r.roused,
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
	f.stretched = map[backfill.JobID]string{}
	for i, j := range head {
		f.waiting[i] = c.d.n.Job(j.ID)
		if why := c.d.n.WhyStretched(j.ID); why != "" {
			f.stretched[j.ID] = why
		}
	}
	return f
}

// errNewer ends the play of a schedule that is not the newest any more.
var errNewer = errors.New("there is a newer plan")

// player plays a schedule ahead for the daemon, as long as the context lasts.
type player struct {
	d    *Daemon
	ctx  context.Context
	jobs int // the first jobs of the queue, whose starts are asked for
}

// player returns the player of the newest schedule; that of an older one ends, with what it has found.
func (d *Daemon) player(jobs int) player {
	ctx, cancel := context.WithCancelCause(context.Background())
	if older := d.playing.Swap(&cancel); older != nil {
		(*older)(errNewer)
	}
	return player{d, ctx, jobs}
}

// starts plays the future in which all jobs run for as long as they are taken to.
func (p player) starts(o *outlook.Outlook) (starts map[backfill.JobID]ahead.Beginning) {
	p.play(func(ctx context.Context, refused func(backfill.Refusal)) (err error) {
		starts, err = p.d.twins.Starts(ctx, o, p.bounds(), refused)
		return err
	})
	return starts
}

// ranges plays several futures; nil if none are wanted or they take too long.
func (p player) ranges(o *outlook.Outlook) (ranges map[backfill.JobID]ahead.Range) {
	futures := p.d.tuned.Load().Futures
	if futures < 2 || !o.Learned() {
		return nil
	}
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
	ctx, done := context.WithTimeout(p.ctx, playPatience)
	defer done()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	err := how(ctx, func(r backfill.Refusal) { refuse(r.Err) })
	ended := p.ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
	if err != nil && !ended && p.d.mute.CompareAndSwap(false, true) {
		p.d.log.Warn(cannotLookText, "error", err)
	}
}
