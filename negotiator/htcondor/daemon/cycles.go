package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// cycles runs the cycles of one opened pool: it measures them, saves their state and publishes
// their results.
type cycles struct {
	d    *Daemon
	pool Pool
	soft context.Context // ends first: a cycle under way may still finish
	now  Cycle
	cpu  time.Duration        // of the process as the cycle began
	told map[string]time.Time // when problems of the last cycle were told
	// way has jobs that were started and wait for scavengers to leave, with until when at the latest.
	way map[backfill.JobID]backfill.Time

	rouseAt time.Time          // when it is next asked for whom machines should be woken
	roused  []negotiator.Match // for whom, when that was last asked

	judging    judging
	unrecorded bool // the last cycle could not be added to the observer's record
}

// decided is what a cycle has come to: its report, the plan that it belongs to, and the guarantees
// that leases have broken by now.
type decided struct {
	*negotiator.Report
	plan negotiator.Checkpoint
	// scavengers are those of the pool that run, and some of those that wait, of which there are so many idle.
	// They are in no plan.
	scavengers []negotiator.JobCheckpoint
	idle       int
	lost       []track.Broken
	// roused are the jobs that would start on slots of machines that sleep.
	roused []negotiator.Match
}

// clockPatience is how far the clock may be put back. The schedule stands still until the clock has
// caught up; if that took longer, the daemon starts again from the saved state.
const clockPatience = 5 * time.Minute

// mostFailures is how many cycles in a row may fail before the daemon ends: users write what a pool
// reports, and whatever they make of it must not keep all others from running.
const mostFailures = 3

// errEnough ends a run after one cycle.
var errEnough = errors.New("one cycle is enough")

// run repeats fetch and step until one of them fails, or the soft context ends while fetch waits.
// The hard context ends a cycle that is under way.
func (c *cycles) run(hard context.Context) error {
	for {
		delta, err := c.fetch()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for {
			if err = c.step(hard, delta); err != nil {
				return err
			}
			if delta, err = c.fill(hard); err != nil {
				return err
			}
			if len(delta.Found) == 0 {
				break
			}
		}
	}
}

// fetch waits until a cycle is due and returns what changed in the pool. It runs between cycles,
// without the cycle lock: other goroutines may use the negotiator meanwhile. It returns [io.EOF]
// when the soft context has ended.
func (c *cycles) fetch() (negotiator.Delta, error) {
	c.explain()
	c.d.tune(c.pool) // the ad tells of the last cycle now
	delta, err := c.pool.Fetch(c.soft, c.d.n.NextWake())
	if c.soft.Err() != nil {
		return delta, io.EOF
	}
	if err != nil {
		return delta, err
	}
	if ahead := time.Until(time.Unix(int64(delta.Now), 0)); ahead > clockPatience {
		c.d.log.Error("THE CLOCK WAS PUT BACK: the schedule is taken up anew from what was written down",
			"by", ahead.Round(time.Second))
		return delta, errAgain
	}
	looked := time.Now()
	facts := c.pool.Last()
	if err = c.d.without(c.soft, facts.Negotiators, true); err != nil {
		if _, rival := errors.AsType[*RivalError](err); !rival { // alone asks until it is known
			err = errAgain
		}
		return delta, err
	}
	c.d.beReady()
	c.now = Cycle{
		Began: facts.Began, Fetch: facts.Took, Rest: looked.Sub(facts.Began.Add(facts.Took)),
		Slots: facts.Slots, Schedds: facts.Schedds, Submitters: facts.Submitters,
		Unplanned: facts.Unplanned, Considered: len(delta.Submitted), FetchCPU: facts.LookCPU, RestCPU: facts.RestCPU,
	}
	if facts.Began.IsZero() {
		c.now.Began, c.now.Rest = looked, 0
	}
	return delta, nil
}

// step runs one cycle: it decides, persists, acts and publishes. It takes the cycle lock, so nobody
// else uses the negotiator meanwhile. The error says that no other cycle is to follow.
func (c *cycles) step(ctx context.Context, delta negotiator.Delta) error {
	c.d.cycle.Lock()
	defer c.d.cycle.Unlock()
	now := time.Now()
	c.d.began.Store(&now)
	defer c.d.began.Store(nil)
	r, err := c.decide(ctx, delta)
	if err != nil {
		return err
	}
	// If it acted first, a daemon that is killed in between would forget promises that it has given.
	c.persist(r)
	if err = c.act(ctx, r.Matches); err != nil {
		return err
	}
	if err = c.rouse(ctx, &r); err != nil {
		return err
	}
	return c.publish(r)
}

// decide has the negotiator decide, and tells the pool of the plan.
func (c *cycles) decide(ctx context.Context, delta negotiator.Delta) (r decided, err error) {
	c.cpu = CPU()
	c.d.takeChosen()
	c.d.takeMaps()
	c.d.takePreemption()
	if r.Report, err = negotiator.Decide(ctx, c.d.n, delta); err != nil {
		return r, c.failed(ctx, err)
	}
	c.d.failures = 0
	before := time.Now()
	c.now.PlanCPU = CPU() - c.cpu
	r.plan = c.d.n.Settled()
	r.scavengers, r.idle = negotiator.Scavengers(c.d.n, mostScavengers)
	r.lost = c.pool.TakePlan(r.plan)
	c.now.Publish += time.Since(before)
	return r, nil
}

// failed returns errAgain if a cycle has failed that should not keep the daemon from going on; else
// its error. The negotiator, and what is believed of the pool, must not be used any more.
func (c *cycles) failed(ctx context.Context, err error) error {
	if c.d.failures++; ctx.Err() != nil || c.d.failures >= mostFailures {
		return err
	}
	c.d.log.Error("A CYCLE HAS FAILED: the schedule is taken up anew from what was written down",
		"error", err, "in_a_row", c.d.failures, "ends_at", mostFailures)
	return errAgain
}

// persist saves the plan for the next negotiator. An error is only logged.
func (c *cycles) persist(r decided) {
	if c.d.o.State == nil {
		return
	}
	before := time.Now()
	plan := r.plan
	plan.Jobs = slices.Concat(plan.Jobs, r.scavengers)
	saved := c.pool.Saved(plan)
	if err := c.d.o.State.Save(saved); err != nil {
		c.d.change(func(s *status) { s.unwritten++ })
		c.unsaved(saved, err)
	}
	c.now.Publish += time.Since(before)
}

// act hands the matches over to the pool. An error is only logged, unless the context has ended.
func (c *cycles) act(ctx context.Context, matches []negotiator.Match) error {
	if len(matches) == 0 {
		return nil
	}
	before, used := time.Now(), CPU()
	err := c.pool.Act(ctx, matches)
	c.now.Act, c.now.ActCPU = time.Since(before), CPU()-used
	if err != nil && ctx.Err() == nil {
		c.d.log.Error("matches could not be handed over", "error", err)
		return nil
	}
	return err
}

// publish shows a cycle's report: in the forecast, the status, the log and the ad. It returns an
// error if no other cycle is to follow.
func (c *cycles) publish(r decided) error {
	before := time.Now()
	c.keep(r.Report)
	d, now, jobs := c.d, &c.now, r.plan.Jobs
	made := c.forecaster(r)
	last := made.outlook // the forecaster, which others may ask from now on, drops it in the end
	d.lastCycle.Store(made)
	c.judge(r)
	d.accuracy.follow(r.Report, d.o.Observe)
	d.forgetAnswers()
	d.see(r.Report)
	facts := c.pool.Last()
	now.Match, now.Plan = r.Matched, r.Took-r.Matched
	now.Unplanned += r.Unmatched
	problems := few(slices.Concat(facts.Problems, unbearable(r.Report), d.unshared()))
	fallback, given := d.fallbackInUse()
	if fallback != "" {
		d.log.Warn(given)
	}
	now.Idle, now.Running = r.State.Waiting(), r.State.RunningJobs()
	now.Started, now.Broken = len(r.Matches), len(r.Decision.Broken)+len(r.lost)
	started := fmt.Sprint("started=", now.Started)
	if d.o.Observe { // the jobs go on waiting
		started = fmt.Sprint("would_start=", now.Started)
		now.Idle, now.Running, now.Started = now.Idle+now.Started, now.Running-now.Started, 0
	}
	now.Publish += time.Since(before)
	now.End = time.Now()
	now.CPU = CPU() - c.cpu
	c.meter(r, last)
	if r.Changed {
		d.mute.Store(false) // another policy may be one that can be played
	}
	policy, order := d.o.Policy()
	about, process := d.about()
	_, guarantees := r.State.Policy()
	choices := d.choices()
	has := observe.Has{
		Slots: int64(facts.Slots), Cpus: r.State.Capacity()[0], InUse: r.State.Use()[0],
		Running: int64(now.Running), Waiting: int64(now.Idle),
	}
	d.change(func(s *status) {
		s.has = has
		s.total++
		s.ended += len(r.Delta.Completed) + len(r.Delta.Removed)
		now.Number = s.total
		now.Rejected = facts.Rejected - s.rejected
		s.rejected = facts.Rejected
		s.add(*now)
		s.busy += now.End.Sub(now.Began)
		s.policy, s.order, s.guaranteed, s.choice, s.fallback = policy, order, guarantees, choices, fallback
		s.about, s.process = about, process
		s.problems, s.unstarted, s.promises = problems, facts.Unstarted, facts.Promises
		if fallback != "" {
			s.problems = append([]string{given}, problems...)
		}
		s.reserved, s.paused, s.deaf = reserved(jobs), len(facts.Paused), facts.Deaf
		s.kept, s.leftOut, s.contested = facts.Kept, facts.LeftOut, facts.Contested
		s.found, s.asked = facts.Found, facts.AskCPU
		s.beyond = r.State.BeyondDepth()
		s.scavenged.follow(r.Report, r.scavengers, r.idle)
		for _, b := range r.Decision.Broken {
			s.broken[b.Cause.String()]++
		}
		for _, b := range r.lost {
			s.broken[b.Cause]++
		}
		if !d.o.Observe {
			s.displacing.add(r.Report)
		}
	})
	d.tendDrains(r.State)
	c.tellBroken(r)
	c.report(r, started, problems)
	d.announce()
	signalTo(d.newCycle)
	signalTo(d.sharing)
	if d.o.Once {
		return errEnough
	}
	return c.soft.Err()
}

// reserved counts the jobs that have a reservation.
func reserved(jobs []negotiator.JobCheckpoint) (n int) {
	for _, j := range jobs {
		if !j.Running && j.Placement != nil {
			n++
		}
	}
	return n
}

// beyond tells, in the line about a cycle, how many jobs are promised no start yet as the plan does
// not reach them; "" if it reaches all.
func beyond(s *backfill.State) string {
	if n := s.BeyondDepth(); n > 0 {
		return fmt.Sprintf(" beyond_depth=%d", n)
	}
	return ""
}

// fallbackInUse names the fallback of a policy that was given up, and says so in a sentence; "": it
// was not.
func (d *Daemon) fallbackInUse() (name, told string) {
	why := d.n.GivenUp()
	if why == nil {
		return "", ""
	}
	const longest = 300 // letters of the reason, which is the plugin's
	policy, _ := d.n.State().Policy()
	name = d.inForce().Fallback.Spec().Name
	return name, fmt.Sprintf("policy %s is given up, and %s decides until condor_reconfig gives it another chance: %s",
		policy, name, backfill.Printable(why.Error(), longest))
}

// mostLines bounds the lines of the log, per cycle, about jobs that cannot run.
const mostLines = 10

// report logs a cycle and its end: one line, and one for each broken guarantee and each problem.
func (c *cycles) report(r decided, started string, problems []string) {
	log, now := c.d.log, c.now
	s := func(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }
	log.Info(fmt.Sprintf("cycle %d: fetch=%s match=%s plan=%s act=%s publish=%s rest=%s "+
		"slots=%d schedds=%d submitters=%d idle=%d running=%d %s%s rss=%dMiB",
		now.Number, s(now.Fetch), s(now.Match), s(now.Plan), s(now.Act), s(now.Publish), s(now.Rest),
		now.Slots, now.Schedds, now.Submitters, now.Idle+now.Unplanned, now.Running, started, beyond(r.State), rss()>>20))
	for _, m := range r.Matches {
		what := "started"
		if c.d.o.Observe {
			what = "would be started"
		}
		if len(m.Displaces) > 0 {
			what = "takes over"
		}
		log.Debug(what, "job", m.Job.Name, "slots", m.Placement.String())
	}
	for _, m := range r.Decision.Replaced {
		if job := c.d.n.Job(m.Job.ID); job != nil {
			log.Debug("is planned on other slots at the same start", "job", job.Name,
				"start", zoned(m.Start, r.Delta.Now, time.Local), "slots", r.State.DescribePlacement(m.At))
		}
	}
	broken := func(name string, promised, now backfill.Time, cause string) {
		log.Warn("a guarantee is broken", "job", name, "promised", zoned(promised, r.Delta.Now, time.Local),
			"now", zoned(now, r.Delta.Now, time.Local), "cause", cause)
	}
	if lifted := r.Lifted(); lifted != "" {
		log.Warn(lifted)
	}
	for _, b := range r.lost {
		broken(b.Job, b.Promised, b.Now, b.Cause)
	}
	for _, b := range r.Decision.Broken {
		name := fmt.Sprint(b.Job.ID)
		if job := c.d.n.Job(b.Job.ID); job != nil {
			name = job.Name
		}
		broken(name, b.Promised, b.Now, b.Cause.String())
	}
	c.reportHeld(r.Report)
	for _, p := range c.untold(problems) {
		log.Warn("a part of the pool does not answer as it should", "problem", p)
	}
	if r.Unordered {
		log.Warn(negotiator.UnorderedText)
	}
	for _, j := range r.Last[:min(len(r.Last), mostLines)] {
		log.Warn(negotiator.ExpensiveText, "job", j.Name, "steps", classad.FewSteps)
	}
	log.Info(htcondor.Finished)
}

// reportHeld logs the jobs that cannot run, and whose jobs were put off as too expensive to match.
func (c *cycles) reportHeld(r *negotiator.Report) {
	log, n := c.d.log, 0
	for _, h := range r.Held {
		if h.Unmatched || backfill.OverLimit(h.Reason) {
			continue
		}
		if n++; n <= mostLines {
			log.Info("a job cannot run in this pool", "job", h.Job.Name, "why", h.Reason)
		}
	}
	if n > mostLines {
		log.Info("and more jobs that cannot run in this pool", "jobs", n-mostLines)
	}
	for _, e := range r.Expensive[:min(len(r.Expensive), mostLines)] {
		log.Warn("jobs are put off: their Requirements or Rank are too expensive to evaluate",
			"user", e.User, "jobs", e.Jobs, "so_far", matchmaker.Cost(e.Steps))
	}
}

// unsaved logs what a restart would forget, as the saved state could not be written.
func (c *cycles) unsaved(saved *track.SavedState, err error) {
	promised, reserved, running := 0, 0, 0
	for _, j := range saved.Jobs {
		switch {
		case j.Running:
			running++
		case j.Promised:
			promised++
		default:
			reserved++
		}
	}
	text := "WHAT WAS PROMISED COULD NOT BE WRITTEN DOWN: a restart would forget what is new of it"
	if promised == 0 {
		text = "THE PLAN COULD NOT BE WRITTEN DOWN: a restart would forget what is new of it; it has no guarantees"
	}
	written := "never by this process"
	if at := c.d.o.State.at; !at.IsZero() {
		written = dated(new(at.Unix()), time.Local)
	}
	c.d.log.Error(text, "policy", saved.Policy, "guarantees", promised, "reservations", reserved,
		"running", running, "last_written", written, "error", err)
}

// keep saves what was learned of run times, and of how long starts take. An error is only logged.
func (c *cycles) keep(r *negotiator.Report) {
	if c.d.o.State == nil {
		return
	}
	err := c.d.o.State.Learn(r.Learned)
	if err == nil {
		err = c.d.o.State.LearnWords(c.d.n.LearnedWords())
	}
	if err == nil && len(r.Delta.Began)+len(r.Delta.Found) > 0 {
		err = c.d.o.State.LearnDelays(c.d.n.Delays())
	}
	if err != nil {
		c.d.log.Error("what was learned of run times could not be written down: a restart would forget it",
			"error", err)
	}
}

// maxReasons is how many jobs, from the head of the queue, have their users told why they wait.
const maxReasons = 1000

// explain tells users why their jobs wait, by the last forecast. It must be called between two
// cycles.
func (c *cycles) explain() {
	last := c.d.forecast.Swap(nil)
	if !c.d.tuned.Load().Reasons || c.d.o.Observe || last == nil {
		return
	}
	var ids []backfill.JobID
	for _, j := range last.Jobs[:min(len(last.Jobs), maxReasons)] {
		if !j.started() {
			ids = append(ids, j.ID)
		}
	}
	err := c.pool.Explain(c.soft, ids, func(id backfill.JobID) string {
		j, _ := last.Find(id)
		return c.d.onOurSlots(j.Reason)
	})
	if err != nil && c.soft.Err() == nil {
		c.d.log.Warn("jobs could not be told why they wait", "error", err)
	}
}
