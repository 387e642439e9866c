package condorsim

import (
	"cmp"
	"container/heap"
	"context"
	"io"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Pool is a simulated pool: it submits the jobs of a workload at their times and
// ends them after their run times, or at their limits. What goes wrong in it is
// told beforehand ([Workload.Outages]): a job that loses a slot goes back to the
// queue and runs anew from the beginning.
type Pool struct {
	w    *Workload
	pace Pace
	up   bool // the slots have been announced
	next int  // the next job to be submitted
	now  backfill.Time
	ends endings
	done int // jobs that ended, or were given up

	outages *outages         // nil: nothing ever goes wrong
	losses  []int32          // how often each job lost a slot so far, if there are outages
	lost    []backfill.JobID // jobs that lost a slot at this instant

	completed []backfill.JobID // room for those of a delta
	submitted []*negotiator.Job
}

// Pace waits until an instant of the simulation has come, in whatever time the
// user lives in; nil does not wait at all.
type Pace func(ctx context.Context, t backfill.Time) error

// NewPool makes a pool that will run the workload.
func NewPool(w *Workload, pace Pace) *Pool {
	p := &Pool{w: w, pace: pace}
	if len(w.Jobs) > 0 {
		p.outages = newOutages(w, w.Jobs[0].Submit)
	}
	if p.outages != nil {
		p.losses = make([]int32, len(w.Jobs))
	}
	return p
}

// Fetch goes to the next instant at which anything happens.
func (p *Pool) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	if err := ctx.Err(); err != nil {
		return negotiator.Delta{}, err
	}
	now := p.nextInstant(wake)
	if now >= backfill.Forever {
		return negotiator.Delta{}, io.EOF
	}
	if p.pace != nil {
		if err := p.pace(ctx, now); err != nil {
			return negotiator.Delta{}, err
		}
	}
	p.now = now
	if !p.up && len(p.w.Bundles) > 0 { // each of their slots has been there when they are told, even if it fails at once
		p.up = true
		return negotiator.Delta{Now: now, SlotsUp: p.w.Slots, Bundles: p.w.Bundles}, nil
	}
	d := negotiator.Delta{Now: now, Completed: p.completed[:0], Submitted: p.submitted[:0]}
	for len(p.ends) > 0 && p.ends[0].at <= now {
		if ended, _ := heap.Pop(&p.ends).(ending); !p.stale(ended) {
			d.Completed = append(d.Completed, ended.job)
		}
	}
	p.done += len(d.Completed)
	if p.outages != nil {
		p.turn(&d)
	} else if !p.up {
		d.SlotsUp = p.w.Slots
	}
	p.up = true
	for p.next < len(p.w.Jobs) && p.w.Jobs[p.next].Submit <= now {
		d.Submitted = append(d.Submitted, p.w.Jobs[p.next].Job)
		p.next++
	}
	p.completed, p.submitted = d.Completed, d.Submitted
	return d, nil
}

// nextInstant is when something happens next, at the latest when the negotiator
// wants to be asked.
func (p *Pool) nextInstant(wake backfill.Time) backfill.Time {
	now := wake
	if p.next < len(p.w.Jobs) {
		now = min(now, p.w.Jobs[p.next].Submit)
	}
	for len(p.ends) > 0 && p.stale(p.ends[0]) {
		heap.Pop(&p.ends)
	}
	if len(p.ends) > 0 {
		now = min(now, p.ends[0].at)
	}
	if p.outages != nil && p.done < len(p.w.Jobs) {
		idle := now >= backfill.Forever
		now = min(now, p.outages.next(idle))
	}
	return now
}

// stale says that an ending is of a run that was cut short.
func (p *Pool) stale(e ending) bool { return p.losses != nil && p.losses[e.job] != e.losses }

// turn lets slots go and come. What completes at the same instant has made it.
func (p *Pool) turn(d *negotiator.Delta) {
	for _, job := range d.Completed {
		p.outages.end(job)
	}
	d.SlotsUp, d.SlotsDown = p.outages.advance(d.Now, !p.up)
	p.lost = p.outages.lost(d.SlotsDown)
	most := int32(cmp.Or(p.w.GiveUpAfter, pools.DefaultGiveUpAfter))
	for _, job := range p.lost {
		if p.losses[job]++; p.losses[job] > most {
			d.Removed = append(d.Removed, job)
			p.done++
		}
	}
}

// Act starts the matched jobs.
func (p *Pool) Act(_ context.Context, matches []negotiator.Match) error {
	for _, m := range matches {
		e := ending{at: p.now + p.w.Jobs[m.Job.ID].runs(), job: m.Job.ID}
		if p.outages != nil {
			p.outages.start(m.Job.ID, m.Placement)
			e.losses = p.losses[m.Job.ID]
		}
		heap.Push(&p.ends, e)
	}
	return nil
}

// ending is a job's end to come.
type ending struct {
	at     backfill.Time
	job    backfill.JobID
	losses int32 // of the job when the run began
}

// endings is a heap by time; the order within an instant is the cycle's to find.
type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push appends an ending, for container/heap.
func (e *endings) Push(x any) {
	if ended, ok := x.(ending); ok {
		*e = append(*e, ended)
	}
}

// Pop takes the last ending off, for container/heap.
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
