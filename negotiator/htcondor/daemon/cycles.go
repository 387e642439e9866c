package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// cycles stands between the core's loop and the pool: it knows when a cycle is
// under way, measures it, and does what a daemon has to do around it.
type cycles struct {
	d      *Daemon
	pool   Pool
	soft   context.Context // of the daemon: the loop itself ends later
	now    Cycle
	cpu    time.Duration // of the process as the cycle began
	inside bool
	memory *negotiator.Memory // as the cycle left it; nil: not written down yet
}

// clockPatience is how far the clock may be put back: schedules stand still until it has
// caught up. A clock that was wrong by more would have them stand for too long.
const clockPatience = 5 * time.Minute

// errEnough ends a run after one cycle.
var errEnough = errors.New("one cycle is enough")

// Fetch waits for the next look at the pool. The negotiator is ours alone from its
// return to the end of the cycle.
func (c *cycles) Fetch(_ context.Context, wake backfill.Time) (negotiator.Delta, error) {
	c.explain()
	delta, err := c.pool.Fetch(c.soft, wake)
	if c.soft.Err() != nil {
		return delta, io.EOF
	}
	if err != nil {
		return delta, err
	}
	if ahead := time.Until(time.Unix(int64(delta.Now), 0)); ahead > clockPatience {
		c.d.log.Error("THE CLOCK WAS PUT BACK: the schedule is taken up anew from what was written down", "by", ahead.Round(time.Second))
		return delta, errAgain
	}
	looked := time.Now()
	facts := c.pool.Last()
	if err = c.d.without(c.soft, facts.Negotiators, true); err != nil {
		return delta, err
	}
	c.d.beReady()
	c.d.cycle.Lock()
	c.inside, c.memory = true, nil
	c.cpu = cpu()
	c.now = Cycle{
		Began: facts.Began, Fetch: facts.Took, Rest: looked.Sub(facts.Began.Add(facts.Took)), Slots: facts.Slots, Schedds: facts.Schedds,
		Submitters: facts.Submitters, Unplanned: facts.Unplanned, Considered: len(delta.Submitted),
	}
	if facts.Began.IsZero() {
		c.now.Began, c.now.Rest = looked, 0
	}
	return delta, nil
}

// Act keeps what was decided, and hands the matches over: were it the other way
// round, a promise could be forgotten after it was given.
func (c *cycles) Act(ctx context.Context, matches []negotiator.Match) error {
	c.save()
	before := time.Now()
	err := c.pool.Act(ctx, matches)
	c.now.Act = time.Since(before)
	if err != nil && ctx.Err() == nil {
		c.d.log.Error("matches could not be handed over", "error", err)
		return nil
	}
	return err
}

// Cycle tells what came of a cycle.
func (c *cycles) Cycle(r *negotiator.Report) error {
	defer c.leave()
	c.save() // unless Act did
	before := time.Now()
	c.keep(r.Learned)
	d, now, memory := c.d, &c.now, c.memory
	d.plan.Store(&planner{state: r.State.Clone(), jobs: memory.Jobs, predictions: r.Predictions()})
	facts := c.pool.Last()
	now.Match, now.Plan = r.Matched, r.Took-r.Matched
	now.Idle, now.Running, now.Started, now.Broken = r.State.Waiting(), r.State.RunningJobs(), len(r.Matches), len(r.Decision.Broken)
	started := fmt.Sprint("started=", now.Started)
	if d.o.Observe { // it starts nothing: they go on waiting
		started = fmt.Sprint("would_start=", now.Started)
		now.Idle, now.Running, now.Started = now.Idle+now.Started, now.Running-now.Started, 0
	}
	now.Publish += time.Since(before)
	now.End = time.Now()
	now.CPU = cpu() - c.cpu
	policy, order := d.o.Policy()
	_, guarantees := r.State.Policy()
	d.change(func(s *standing) {
		s.total++
		now.Number = s.total
		now.Rejected = facts.Rejected - s.rejected
		s.rejected = facts.Rejected
		s.cycles = append([]Cycle{*now}, s.cycles[:min(len(s.cycles), 2)]...)
		s.policy, s.order, s.guaranteed, s.problems, s.unstarted = policy, order, guarantees, facts.Problems, facts.Unstarted
		s.reserved, s.paused = reserved(memory.Jobs), len(facts.Paused)
		for _, b := range r.Decision.Broken {
			s.broken[b.Cause.String()]++
		}
	})
	c.report(r, started, facts.Problems)
	d.announce()
	signalTo(d.fresh)
	if d.o.Once {
		return errEnough
	}
	return c.soft.Err()
}

func reserved(jobs []negotiator.Standing) (n int) {
	for _, j := range jobs {
		if !j.Running && j.Placement != nil {
			n++
		}
	}
	return n
}

// mostLines bounds what is logged in a cycle of jobs that cannot run.
const mostLines = 10

// report logs a cycle: one line, and one for each broken guarantee and each
// problem.
func (c *cycles) report(r *negotiator.Report, started string, problems []string) {
	log, now := c.d.log, c.now
	s := func(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }
	log.Info(fmt.Sprintf("cycle %d: fetch=%s match=%s plan=%s act=%s publish=%s rest=%s slots=%d schedds=%d submitters=%d idle=%d running=%d %s rss=%dMiB",
		now.Number, s(now.Fetch), s(now.Match), s(now.Plan), s(now.Act), s(now.Publish), s(now.Rest),
		now.Slots, now.Schedds, now.Submitters, now.Idle+now.Unplanned, now.Running, started, rss()>>20))
	for _, m := range r.Matches {
		what := "started"
		if c.d.o.Observe {
			what = "would be started"
		}
		log.Debug(what, "job", m.Job.Name, "slots", m.Placement.String())
	}
	for _, b := range r.Decision.Broken {
		name := fmt.Sprint(b.Job.ID)
		if job := c.d.n.Job(b.Job.ID); job != nil {
			name = job.Name
		}
		log.Warn("a guarantee is broken", "job", name, "promised", clock(b.Promised, r.Delta.Now), "now", clock(b.Now, r.Delta.Now), "cause", b.Cause)
	}
	for i, h := range r.Held {
		if i == mostLines {
			log.Info("and more jobs that cannot run in this pool", "jobs", len(r.Held)-i)
			break
		}
		log.Info("a job cannot run in this pool", "job", h.Job.Name, "why", h.Reason)
	}
	for _, p := range problems {
		log.Warn("a part of the pool does not answer as it should", "problem", p)
	}
	if r.Unordered {
		log.Warn(negotiator.UnorderedText)
	}
}

// save writes down what the next negotiator must know. To hand matches over changes
// nothing of it, so that once a cycle is enough.
func (c *cycles) save() {
	if c.memory != nil {
		return
	}
	before := time.Now()
	memory := c.d.n.Memory()
	c.memory = &memory
	if c.d.o.State != nil {
		if err := c.d.o.State.Save(c.pool.Left(memory)); err != nil {
			c.d.log.Error("WHAT WAS PROMISED COULD NOT BE WRITTEN DOWN: a restart would forget it", "error", err)
		}
	}
	c.now.Publish += time.Since(before)
}

// keep writes down what was learned of run times.
func (c *cycles) keep(learned []estimate.Ended) {
	if c.d.o.State == nil {
		return
	}
	if err := c.d.o.State.Learn(learned); err != nil {
		c.d.log.Error("what was learned of run times could not be written down: a restart would forget it", "error", err)
	}
}

// leave ends a cycle, if one is under way.
func (c *cycles) leave() {
	if c.inside {
		c.inside = false
		c.d.cycle.Unlock()
	}
}

// maxReasons bounds how many jobs are told why they wait, of the first in the queue.
const maxReasons = 1000

// explain tells jobs why they wait, by the last plan that was made. The pool wants
// that between two cycles.
func (c *cycles) explain() {
	plan := c.d.made.Swap(nil)
	if !c.d.tuned.Load().Reasons || c.d.o.Observe || plan == nil {
		return
	}
	var ids []backfill.JobID
	for _, j := range plan.Jobs[:min(len(plan.Jobs), maxReasons)] {
		if j.Situation != backfill.Runs.String() {
			ids = append(ids, j.ID)
		}
	}
	err := c.pool.Explain(c.soft, ids, func(id backfill.JobID) string {
		j, _ := plan.Find(id)
		return j.Reason
	})
	if err != nil && c.soft.Err() == nil {
		c.d.log.Warn("jobs could not be told why they wait", "error", err)
	}
}
