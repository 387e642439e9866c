package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// starts plays a plan until every job that waits or is held now has started, or nothing happens any
// more, and returns when they start. The callback, which may be nil, sees each decision; its error
// ends the play.
func (a *asking) starts(ctx context.Context, p plan, look func(*backfill.Decision) error,
) (map[backfill.JobID]backfill.Time, error) {
	waiting := map[backfill.JobID]bool{}
	for _, j := range p.start.State.Snapshot().Jobs {
		if !j.Running {
			waiting[j.Job.ID] = true
		}
	}
	if p.start.First != nil {
		for _, e := range p.start.First.Events {
			if e.Kind == backfill.Submitted {
				waiting[e.Job.ID] = true
			}
		}
	}
	found := make(map[backfill.JobID]backfill.Time, len(waiting))
	var seen error
	err := a.play(ctx, p, func(d *backfill.Decision) bool {
		for _, s := range d.Started {
			if waiting[s.Job.ID] {
				found[s.Job.ID] = d.Now
			}
		}
		if look != nil {
			seen = cmp.Or(seen, look(d))
		}
		return seen != nil || len(found) == len(waiting)
	})
	return found, cmp.Or(seen, err)
}

// mostMoves is how many jobs an answer lists that start at another time.
const mostMoves = 1000

// compare compares the starts of jobs in two plays of an outlook.
func (a *asking) compare(ctx context.Context, o *outlook.Outlook, before, after map[backfill.JobID]backfill.Time,
) *ChangeAnswer {
	c := &ChangeAnswer{ToldBy: ByPlan, Moves: []Move{}, Broken: []Broken{}}
	var both []*backfill.Job
	var moved []moving
	for _, j := range o.State().Snapshot().Jobs {
		if j.Running {
			continue
		}
		m := moving{job: j.Job, before: at(before, j.Job.ID), after: at(after, j.Job.ID)}
		if a.cut != "" && max(m.before, m.after) >= backfill.Forever {
			continue // a play ended before it came to this job
		}
		if j.Promised {
			if c.Promises++; m.after > j.Guarantee {
				m.promised = &j.Guarantee
			}
		}
		if m.before < backfill.Forever && m.after < backfill.Forever {
			both = append(both, j.Job)
		}
		switch {
		case m.before == m.after:
			c.Same++
		case m.after == backfill.Forever:
			c.Never++
		case m.before == backfill.Forever:
			c.Anew++
		case m.after < m.before:
			c.Earlier++
		default:
			c.Later++
		}
		if m.before != m.after || m.promised != nil {
			moved = append(moved, m)
		}
	}
	slices.SortFunc(moved, func(a, b moving) int {
		return cmp.Or(cmp.Compare(b.by(), a.by()), backfill.Compare(a.job, b.job))
	})
	a.list(ctx, c, moved)
	c.Present, c.Changed = totals(o, both, before), totals(o, both, after)
	c.Cut = a.cut
	return c
}

// moving is a job that starts at another time, or later than promised. A start that is not found is
// at the end of time.
type moving struct {
	job           *backfill.Job
	before, after backfill.Time
	promised      *backfill.Time // if it is broken
}

func (m moving) by() backfill.Time { return max(m.before-m.after, m.after-m.before) }

func at(starts map[backfill.JobID]backfill.Time, id backfill.JobID) backfill.Time {
	if start, known := starts[id]; known {
		return start
	}
	return backfill.Forever
}

// list adds the jobs that move to an answer, by name; by number if there is no time to look.
func (a *asking) list(ctx context.Context, c *ChangeAnswer, moved []moving) {
	names := make([]string, len(moved))
	for i, m := range moved {
		names[i] = fmt.Sprintf("%d.%d", m.job.Position.Cluster, m.job.Position.Proc)
	}
	_ = a.Look(ctx, func(n *negotiator.Negotiator) error {
		for i, m := range moved {
			if job := n.Job(m.job.ID); job != nil { // else it has gone meanwhile
				names[i] = job.Name
			}
		}
		return nil
	})
	start := func(t backfill.Time) *int64 {
		if t == backfill.Forever {
			return nil
		}
		return seconds(t)
	}
	for i, m := range moved {
		owner := m.job.Labels["owner"]
		if m.promised != nil {
			c.Broken = append(c.Broken, Broken{names[i], owner, int64(*m.promised), start(m.before), start(m.after)})
		}
		switch {
		case m.before == m.after:
		case len(c.Moves) == mostMoves:
			c.Unlisted++
		default:
			c.Moves = append(c.Moves, Move{names[i], owner, start(m.before), start(m.after)})
		}
	}
}

// totals returns the measures of a plan over these jobs.
func totals(o *outlook.Outlook, jobs []*backfill.Job, starts map[backfill.JobID]backfill.Time) (t Totals) {
	if t.Jobs = len(jobs); t.Jobs == 0 {
		return t
	}
	const shortest = 10
	waits, last := make([]float64, len(jobs)), o.Now()
	for i, j := range jobs {
		start, run := starts[j.ID], o.RunTime(j)
		wait := float64(max(0, start-j.Submit))
		waits[i], last = wait, max(last, start+run)
		t.MeanWait += wait
		t.Slowdown += max(1, (wait+float64(run))/max(float64(run), shortest))
	}
	slices.Sort(waits)
	worst := waits[len(waits)-(len(waits)+19)/20:]
	for _, wait := range worst {
		t.WorstWait += wait / float64(len(worst))
	}
	n := float64(len(jobs))
	t.MeanWait, t.Slowdown, t.Makespan = t.MeanWait/n, t.Slowdown/n, int64(last-o.Now())
	return t
}
