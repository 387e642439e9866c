package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
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
	outlook *negotiator.Outlook
	jobs    []negotiator.JobCheckpoint // of those that run, have a reservation or are held, by ID
	waiting []*negotiator.Job          // the first in the queue
	further int                        // how many wait behind them
	// play plays the outlook ahead and returns the starts that it finds.
	play func(*negotiator.Outlook) map[backfill.JobID]ahead.Beginning

	once     sync.Once
	forecast *Forecast
}

// Forecast returns the forecast, which the first call makes.
func (p *forecaster) Forecast() *Forecast {
	p.once.Do(func() {
		p.forecast = p.make()
		p.outlook, p.jobs, p.waiting, p.play = nil, nil, nil, nil
	})
	return p.forecast
}

// make returns the forecast: the schedule as it is, and of waiting jobs the starts that are played.
// A job that the play does not reach is told its reservation, if it has one.
func (p *forecaster) make() *Forecast {
	s := p.outlook.State()
	beyond := s.BeyondDepth() > 0 // then all jobs without a reservation are
	f := &Forecast{Now: s.Now(), Further: p.further, byID: make(map[backfill.JobID]int, len(p.waiting)+len(p.jobs))}
	for i, job := range p.waiting {
		settled := negotiator.JobCheckpoint{Job: job} // it only waits
		if at, is := slices.BinarySearchFunc(p.jobs, job.ID, byID); is {
			settled = p.jobs[at]
		}
		f.add(settled)
		switch waits := settled.Placement == nil; {
		case waits && beyond:
			r, _ := s.Reason(job.ID)
			f.Jobs[i].Unpromised, f.Jobs[i].Reason = r.Text, r.Text
		case waits && i > 0:
			f.Jobs[i].Behind = p.waiting[0].Name
		}
	}
	for _, c := range p.jobs {
		if _, known := f.byID[c.Job.ID]; !known {
			f.add(c)
		}
	}
	starts := p.play(p.outlook)
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if times, predicted := p.outlook.Of(j.ID); predicted {
			j.Requested, j.Predicted = seconds(times.Requested), seconds(times.Predicted)
		}
		if begins, known := starts[j.ID]; known {
			j.expect(s, begins)
		}
	}
	return f
}

func byID(c negotiator.JobCheckpoint, id backfill.JobID) int { return cmp.Compare(c.Job.ID, id) }

// forecaster returns what will make the forecast of this cycle's plan.
func (c *cycles) forecaster(r *negotiator.Report) *forecaster {
	jobs := c.checkpoint.Jobs
	head := r.State.FirstWaiting(mostForeseen + reserved(jobs))
	f := &forecaster{
		outlook: r.Outlook(), jobs: jobs, waiting: make([]*negotiator.Job, len(head)),
		further: r.State.Waiting() - len(head), play: c.d.play(len(head)),
	}
	for i, j := range head {
		f.waiting[i] = c.d.n.Job(j.ID)
	}
	return f
}

// errNewer ends the play of a schedule that is not the newest any more.
var errNewer = errors.New("there is a newer plan")

// play returns a function that plays a schedule ahead, until the first jobs of the queue have
// started. The play ends, with what it has found, when play is called for a newer schedule.
func (d *Daemon) play(jobs int) func(*negotiator.Outlook) map[backfill.JobID]ahead.Beginning {
	ctx, cancel := context.WithCancelCause(context.Background())
	if older := d.playing.Swap(&cancel); older != nil {
		(*older)(errNewer)
	}
	return func(o *negotiator.Outlook) map[backfill.JobID]ahead.Beginning {
		ctx, done := context.WithTimeout(ctx, playPatience)
		defer done()
		starts, err := d.lookAhead(ctx, o, jobs)
		if err != nil && ctx.Err() == nil && d.mute.CompareAndSwap(false, true) {
			d.log.Warn(cannotLookText, "error", err)
		}
		return starts
	}
}

// lookAhead plays a schedule ahead, until that many jobs of the queue have started. A decision of the policy that is refused ends the play, as its
// starts would be the fallback's.
func (d *Daemon) lookAhead(
	ctx context.Context, o *negotiator.Outlook, jobs int,
) (map[backfill.JobID]ahead.Beginning, error) {
	rules, done, err := d.twins.Rules(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	rules.Refused = func(r backfill.Refusal) { refuse(r.Err) }
	play, err := rules.Play(o.Start())
	if err != nil {
		return nil, err
	}
	return play.Starts(ctx, ahead.Bounds{Rounds: mostRounds, Jobs: jobs})
}
