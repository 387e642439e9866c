package daemon

import (
	"context"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// Screen is where pictures of the pool are shown: a [*livepage.Server].
type Screen interface {
	Show(p *picture.Picture)
	Broke(b livepage.Broken)
	Elsewhere(id backfill.JobID, at int64)
}

// ShowOn has the daemon show the pool. It must be called before Run.
func (d *Daemon) ShowOn(s Screen) { d.screen = s }

// scene returns what pictures of a cycle are made from, but what is told of jobs; nil if nobody looks.
func (c *cycles) scene(r decided, f *forecaster) *picture.Scene {
	if c.d.screen == nil {
		return nil
	}
	return &picture.Scene{
		Outlook: f.outlook, Settled: r.plan.Jobs, Scavengers: r.scavengers, Waiting: f.waiting, Drains: c.d.drains.now(),
		Zone: time.Local, Uncounted: observe.Claims,
	}
}

// show shows the schedule of a cycle with what is told of its jobs.
func (d *Daemon) show(f *forecaster, told *Forecast) {
	if d.screen == nil || f.scene == nil {
		return
	}
	s, foreseen := *f.scene, d.foreseen.Load().starts.all
	s.Told = func(id backfill.JobID) (t picture.Told) {
		j, known := told.Find(id)
		if !known {
			return t
		}
		t = picture.Told{
			Situation: j.Situation, Start: picture.Of(j.Start), Low: picture.Of(j.P10), High: picture.Of(j.P90),
			Reason: j.Why(time.Local) + d.orElsewhere(&j), Behind: j.Behind,
		}
		if b, found := foreseen[id]; found {
			t.Played, t.Placement = picture.At(b.at), b.placement
		}
		return t
	}
	for _, u := range (*d.pool.Load()).Unplanned() {
		if len(s.Unplanned) == mostForeseen {
			break
		}
		if _, known := told.Find(u.ID); known {
			continue
		}
		s.Unplanned = append(s.Unplanned, unplannedJob(u.ID, unplannedForecast(u)))
	}
	s.Head = d.head(told.Now)
	d.screen.Show(s.Picture())
}

// unplannedJob is a job that is in no plan, as pictures have it.
func unplannedJob(id backfill.JobID, j JobForecast) picture.Job {
	return picture.Job{
		Bar:    picture.Bar{ID: id, Name: j.Job, Owner: j.Owner, Situation: j.Situation},
		Reason: j.Reason,
		Chunks: 1,
	}
}

// head is what a page says above all.
func (d *Daemon) head(now backfill.Time) picture.Head {
	const before, after = 31 * 24 * 3600, 366 * 24 * 3600
	parts := d.parts()
	clock := instant.OfPool(time.Local)
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &d.status
	h := picture.Head{
		Pool: s.host, Clocks: clock.Stretches(int64(now)-before, int64(now)+after), Policy: s.policy, Order: s.order,
		Guarantees: s.guaranteed, Fallback: s.fallback, Problems: append([]string{}, s.problems...), Ended: s.ended, Parts: parts, Whole: picture.WholeOf(parts),
	}
	if s.stopped != "" {
		h.Problems = append(h.Problems, s.stopped)
	}
	return h
}

// tellBroken tells of the guarantees that a cycle could not keep, and of the jobs that were started
// elsewhere.
func (c *cycles) tellBroken(r decided) {
	if c.d.screen == nil {
		return
	}
	now := int64(r.Delta.Now)
	for _, id := range r.Delta.Elsewhere {
		c.d.screen.Elsewhere(id, now)
	}
	for _, b := range r.lost {
		c.d.screen.Broke(livepage.Broken{ID: livepage.NoID, Job: b.Job, Promised: int64(b.Promised), Now: picture.At(b.Now), Cause: b.Cause, At: now})
	}
	for _, b := range r.Decision.Broken {
		one := livepage.Broken{ID: b.Job.ID, Promised: int64(b.Promised), Now: picture.At(b.Now), Cause: b.Cause.String(), At: now}
		if job := c.d.n.Job(b.Job.ID); job != nil {
			one.Job, one.Owner = job.Name, job.Labels["owner"]
		}
		c.d.screen.Broke(one)
	}
}

// about describes the active policy and its process; "" if nobody looks. It must be called by the goroutine of
// the cycles, which also replaces the policy.
func (d *Daemon) about() (policy, process string) {
	if d.screen == nil || d.o.About == nil {
		return "", ""
	}
	return d.o.About()
}

// Overview tells a page how the pool is doing.
func (d *Daemon) Overview() livepage.Pool {
	d.mu.Lock()
	s := &d.status
	all := livepage.Pool{
		Policy: livepage.Policy{
			Name: s.policy, Order: s.order, Guarantees: s.guaranteed, Fallback: s.fallback, Text: s.about, Why: s.choice.why(),
		},
		Plugins: []livepage.Plugin{}, Cycles: []livepage.Cycle{}, Problems: append([]string{}, s.problems...),
	}
	if s.process != "" {
		all.Plugins = append(all.Plugins, livepage.Plugin{Name: s.policy, State: s.process})
	}
	if s.stopped != "" {
		all.Problems = append(all.Problems, s.stopped)
	}
	for _, c := range s.cycles {
		all.Cycles = append(all.Cycles, livepage.Cycle{
			Number: c.Number, Began: float64(c.Began.UnixMilli()) / 1000, Took: c.End.Sub(c.Began).Seconds(), Started: c.Started,
			Phases: map[string]float64{
				"fetch": c.Fetch.Seconds(), "match": c.Match.Seconds(), "plan": c.Plan.Seconds(), "act": c.Act.Seconds(),
				"publish": c.Publish.Seconds(), "rest": c.Rest.Seconds(),
			},
		})
	}
	d.mu.Unlock()
	return all
}

// Windows tells when a job that waits may start on slots that are not always open to it; none: they all are.
func (d *Daemon) Windows(ctx context.Context, job string) (all []livepage.Window) {
	_ = d.look(ctx, func(n *negotiator.Negotiator) error { // without: they are not shown
		for _, id := range (*d.pool.Load()).Find(job) {
			if core := n.State().Job(id); core != nil && n.State().IsWaiting(id) {
				all = livepage.WindowsOf(n.State(), core)
			}
		}
		return nil
	})
	return all
}
