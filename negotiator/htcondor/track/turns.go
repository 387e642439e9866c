package track

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// lineUp brings jobs into the order in which limits admit them: the queue's order in the plan, as
// far as it is known, but last of all those that no slot can run. Jobs of a user for whom a limit
// was held in vain come after those of others.
func (c *comparison) lineUp(jobs []*Job) {
	slices.SortFunc(jobs, (*Job).Compare)
	keys := c.b.keys(jobs)
	type turn struct {
		job  *Job
		late int
		key  float64
	}
	turns := make([]turn, len(jobs)) // asked for once, not each time that two are compared
	for i, j := range jobs {
		turns[i] = turn{job: j, key: keys(j.ID)}
		switch _, vain := c.b.vain[j.Group.Spec.User()]; {
		case j.CannotRun():
			turns[i].late = 2
		case vain:
			turns[i].late = 1
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.late, b.late), cmp.Compare(a.key, b.key)) })
	for i, t := range turns {
		jobs[i] = t.job
	}
}

// keys returns the keys of sorted jobs in the queue's order, by ID; all are 0 if that is not known
// yet.
func (b *Belief) keys(jobs []*Job) func(backfill.JobID) float64 {
	var keys map[backfill.JobID]float64
	switch {
	case b.queue.OfCycle() && b.s.Accounting.Accountant != nil:
		fair := b.fair(jobs)
		return func(id backfill.JobID) float64 { key, _ := fair.Key(id); return key }
	case b.planned:
		keys = b.keysOf(jobs)
	}
	return func(id backfill.JobID) float64 { return keys[id] }
}

func (b *Belief) fair(jobs []*Job) *accountant.Share {
	waiting := make([]accountant.Waiting, len(jobs))
	for i, j := range jobs {
		waiting[i] = b.share(j)
	}
	return b.s.Accounting.Accountant.Share(waiting)
}

// keysOf asks an order that looks at the jobs alone. Jobs of a group have the same key.
func (b *Belief) keysOf(jobs []*Job) map[backfill.JobID]float64 {
	described := map[backfill.JobID]*negotiator.Job{}
	order := b.queue.Of(described, b.s.Schema.Resources, b.s.StartSlack, b.s.World.matching())
	if order == nil { // first come, first served
		return nil
	}
	at := backfill.Moment{Now: b.now.Now, Capacity: make(backfill.Vector, len(b.s.Schema.Resources))}
	for _, s := range b.slots {
		if s.up {
			at.Capacity.AddScaled(s.reported.Capacity, 1)
		}
	}
	keys, known := make(map[backfill.JobID]float64, len(jobs)), map[*observe.Group]float64{}
	for _, j := range jobs {
		key, asked := known[j.Group]
		if !asked {
			spec := j.Group.Spec
			described[j.ID] = &negotiator.Job{ID: j.ID, Ad: spec.Ad, Labels: spec.Labels}
			key, _ = order(&backfill.Job{
				ID: j.ID, Submit: j.submitted(), Nodes: spec.Nodes, Request: spec.Request, Labels: spec.Labels,
				Estimate: cmp.Or(spec.Estimate, b.s.DefaultEstimate) + b.s.StartSlack, Release: b.release(j),
			}, at)
			known[j.Group] = key
		}
		keys[j.ID] = key
	}
	return keys
}
