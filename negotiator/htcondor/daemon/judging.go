package daemon

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
)

// judging writes down, of each job, when an observer would have started it, what it promised, and
// when it really began. It is of one opened pool: another one names its jobs anew.
type judging struct {
	record *witness.Record
	// known are the jobs that the observer would have started or promised something, as far as they
	// wait; nil: the job has begun.
	known map[backfill.JobID]*witness.Job
	last  []negotiator.JobCheckpoint // of the last cycle's plan, by ID
	swept int                        // how many jobs were known after the last sweep
	fresh int64                      // starts before it are in the record, or nobody looked
	since int64
	begun bool
}

// follow writes down what a cycle shows.
func (g *judging) follow(c *cycles, r decided) error {
	if g.known == nil {
		g.known = map[backfill.JobID]*witness.Job{}
	}
	since, fresh := g.record.Begin(c.look(r))
	first := !g.begun
	if first || since != g.since {
		g.begun, g.since, g.fresh = true, since, fresh
	}
	var err error
	if first {
		err = g.find(r)
	}
	for _, b := range r.Delta.Began {
		err = cmp.Or(err, g.begin(c, r, c.d.n.Job(b.Job), b.At))
	}
	for i := range r.Delta.Found {
		err = cmp.Or(err, g.begin(c, r, r.Delta.Found[i].Job, r.Delta.Found[i].Start))
	}
	for _, m := range r.Matches {
		if j := g.waits(r, m.Job); j != nil && j.Would == 0 {
			j.Would = int64(r.Delta.Now)
			err = cmp.Or(err, g.add(*j))
		}
	}
	for _, p := range r.plan.Jobs {
		if p.Running || !p.Promised {
			continue
		}
		if j := g.waits(r, p.Job); j != nil && j.Promise == 0 && j.Would == 0 { // else it would run by now
			j.Promise, j.Told = int64(p.Guarantee), int64(r.Delta.Now)
			err = cmp.Or(err, g.add(*j))
		}
	}
	err = cmp.Or(err, g.leave(r.Delta))
	g.sweep(c)
	g.last = r.plan.Jobs
	return cmp.Or(err, g.record.End())
}

// find notes which jobs began while no process was at work: they run in the saved state, and nobody
// reports them any more.
func (g *judging) find(r decided) error {
	decided := map[backfill.JobID]bool{}
	for _, m := range r.Matches {
		decided[m.Job.ID] = true
	}
	for i := range r.Delta.Found {
		decided[r.Delta.Found[i].Job.ID] = true
	}
	for _, b := range r.Delta.Began {
		decided[b.Job] = true
	}
	var err error
	for _, p := range r.plan.Jobs {
		if _, known := g.known[p.Job.ID]; known || !p.Running || decided[p.Job.ID] {
			continue
		}
		g.known[p.Job.ID] = nil
		if j := g.describe(r, p.Job); j != nil && int64(p.Start) >= g.fresh {
			j.Start, j.Found = int64(p.Start), true
			err = cmp.Or(err, g.add(*j))
		}
	}
	return err
}

// look is what a cycle saw of the pool.
func (c *cycles) look(r decided) witness.Look {
	policy, order := c.d.o.Policy()
	_, guarantees := r.State.Policy()
	l := witness.Look{
		At: int64(r.Delta.Now), Policy: policy, Order: order, Guarantees: guarantees,
		Waiting: r.State.Waiting() + len(r.Matches), Running: r.State.RunningJobs() - len(r.Matches),
		Slots: len(r.plan.Slots),
	}
	if k := slices.Index(r.State.Resources(), "cpus"); k >= 0 {
		for _, s := range r.plan.Slots {
			l.Largest = max(l.Largest, s.Capacity[k])
		}
	}
	return l
}

// add adds a job to the record.
func (g *judging) add(j witness.Job) error {
	j.Since = g.since
	return g.record.Add(j)
}

// waits returns what is known of a job that waits; nil: it has begun before, or is gone.
func (g *judging) waits(r decided, job *negotiator.Job) *witness.Job {
	j, known := g.known[job.ID]
	if !known {
		if j = g.describe(r, job); j != nil {
			g.known[job.ID] = j
		}
	}
	return j
}

// describe says what does not change of a job; nil: it is gone.
func (g *judging) describe(r decided, job *negotiator.Job) *witness.Job {
	planned := r.State.Job(job.ID)
	if planned == nil {
		return nil
	}
	j := &witness.Job{
		Job: job.Name, Schedd: job.Position.Queue, User: job.Labels["owner"], Chunks: job.Nodes,
		Submit: int64(max(job.Submit, job.Release)),
	}
	if k := slices.Index(r.State.Resources(), "cpus"); k >= 0 {
		j.Cpus = planned.Request[k] * int64(job.Nodes)
	}
	return j
}

// begin notes that a job is seen to run, since an instant; only the first time counts.
func (g *judging) begin(c *cycles, r decided, job *negotiator.Job, at backfill.Time) error {
	if job == nil {
		return nil
	}
	j, known := g.known[job.ID]
	if known && j == nil {
		return nil
	}
	if !known {
		j = g.describe(r, job)
	}
	g.known[job.ID] = nil
	if j == nil || int64(at) < g.fresh {
		return nil
	}
	j.Start = int64(at)
	if j.Would == 0 {
		g.planned(c, job.ID, j)
	}
	return g.add(*j)
}

// planned sets the start that the last cycle's plan had for a job, or why it had none.
func (g *judging) planned(c *cycles, id backfill.JobID, j *witness.Job) {
	i, found := slices.BinarySearchFunc(g.last, id, byID)
	foreseen, played := c.d.foreseen.Load().starts.all[id]
	switch {
	case found && g.last[i].Held != "":
		j.Held = cmp.Or(whyUnmatched(g.last[i]), g.last[i].Held)
	case found && !g.last[i].Running && g.last[i].Placement != nil:
		j.Planned = int64(g.last[i].Start)
	case played && foreseen.at < backfill.Forever:
		j.Planned, j.Foreseen = int64(foreseen.at), true
	}
}

// leave notes that jobs have left the queue, or were started elsewhere.
func (g *judging) leave(d negotiator.Delta) error {
	var err error
	for _, id := range slices.Concat(d.Completed, d.Removed) {
		if j := g.known[id]; j != nil {
			if slices.Contains(d.Elsewhere, id) {
				j.Elsewhere = int64(d.Now)
			} else {
				j.Gone = int64(d.Now)
			}
			err = cmp.Or(err, g.add(*j))
		}
		delete(g.known, id)
	}
	return err
}

// sweep forgets jobs that are gone without a word, such as those that got another ID, once there
// may be as many of them as of all others.
func (g *judging) sweep(c *cycles) {
	const few = 1000
	if len(g.known) < 2*g.swept+few {
		return
	}
	for id := range g.known {
		if c.d.n.Job(id) == nil {
			delete(g.known, id)
		}
	}
	g.swept = len(g.known)
}

// judge writes the observer's record, if there is one. An error is only logged, once until it ends.
func (c *cycles) judge(r decided) {
	if c.judging.record = c.d.o.Record; c.judging.record == nil {
		return
	}
	err := c.judging.follow(c, r)
	if err != nil && !c.unrecorded {
		c.d.log.Error("the observer's record could not be written: a part of what it saw is lost", "error", err)
	}
	c.unrecorded = err != nil
}
