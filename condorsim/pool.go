package condorsim

import (
	"container/heap"
	"context"
	"io"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Pool is a simulated pool: it submits the jobs of a workload at their times and
// ends them after their run times, or at their limits. Nothing ever goes wrong
// in it.
type Pool struct {
	w    *Workload
	pace Pace
	up   bool // the slots have been announced
	next int  // the next job to be submitted
	now  backfill.Time
	ends endings

	completed []backfill.JobID // room for those of a delta
	submitted []*negotiator.Job
}

// Pace waits until an instant of the simulation has come, in whatever time the
// user lives in; nil does not wait at all.
type Pace func(ctx context.Context, t backfill.Time) error

// NewPool makes a pool that will run the workload.
func NewPool(w *Workload, pace Pace) *Pool { return &Pool{w: w, pace: pace} }

// Fetch goes to the next instant at which anything happens.
func (p *Pool) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	if err := ctx.Err(); err != nil {
		return negotiator.Delta{}, err
	}
	now := wake
	if p.next < len(p.w.Jobs) {
		now = min(now, p.w.Jobs[p.next].Submit)
	}
	if len(p.ends) > 0 {
		now = min(now, p.ends[0].at)
	}
	if now >= backfill.Forever {
		return negotiator.Delta{}, io.EOF
	}
	if p.pace != nil {
		if err := p.pace(ctx, now); err != nil {
			return negotiator.Delta{}, err
		}
	}
	p.now = now
	d := negotiator.Delta{Now: now, Completed: p.completed[:0], Submitted: p.submitted[:0]}
	if !p.up {
		p.up, d.SlotsUp = true, p.w.Slots
	}
	for len(p.ends) > 0 && p.ends[0].at <= now {
		ended, _ := heap.Pop(&p.ends).(ending)
		d.Completed = append(d.Completed, ended.job)
	}
	for p.next < len(p.w.Jobs) && p.w.Jobs[p.next].Submit <= now {
		d.Submitted = append(d.Submitted, p.w.Jobs[p.next].Job)
		p.next++
	}
	p.completed, p.submitted = d.Completed, d.Submitted
	return d, nil
}

// Act starts the matched jobs.
func (p *Pool) Act(_ context.Context, matches []negotiator.Match) error {
	for _, m := range matches {
		heap.Push(&p.ends, ending{at: p.now + p.w.Jobs[m.Job.ID].runs(), job: m.Job.ID})
	}
	return nil
}

// ending is a job's end to come.
type ending struct {
	at  backfill.Time
	job backfill.JobID
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
