package daemon

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Scavengers are in no plan, so they are told no start: what is said of one is whether it runs, and why not.

// mostScavengers is of how many scavengers that wait it is said in each forecast why; of the others when
// somebody asks.
const mostScavengers = 1000

// foreseenScavenger is what a forecast says of a scavenger.
type foreseenScavenger struct {
	job  *negotiator.Job
	runs bool
	at   *int64 // since when
	on   string
	why  string
}

// foreseeScavengers notes what a forecast says of scavengers.
func (p *forecaster) foreseeScavengers(all []negotiator.JobCheckpoint, now backfill.Time) {
	for _, c := range all {
		one := foreseenScavenger{job: c.Job, runs: c.Running, why: p.d.whyScavenger(c.Job.ID, now)}
		if c.Running {
			one.at, one.on = seconds(c.Start), c.Placement.Places().Short()
		}
		p.scavengers = append(p.scavengers, one)
	}
}

// whyScavenger is [negotiator.Negotiator.WhyScavenger] in the local time zone. The caller has the lock of
// cycles.
func (d *Daemon) whyScavenger(id backfill.JobID, now backfill.Time) string {
	why := d.n.WhyScavenger(id, func(at backfill.Time) string { return zoned(at, now, time.Local) })
	if why != "" && (*d.pool.Load()).MayRetire(id) {
		why += "; " + observe.NoRetirement
	}
	return why
}

// scavengerRuns tells whether a scavenger runs. The caller has the lock of cycles.
func (d *Daemon) scavengerRuns(id backfill.JobID) bool {
	running, _ := negotiator.Scavengers(d.n, 0)
	return slices.ContainsFunc(running, func(c negotiator.JobCheckpoint) bool {
		return c.Job.ID == id
	})
}

// addScavenger adds what is said of a scavenger.
func (p *forecaster) addScavenger(f *Forecast, one foreseenScavenger) {
	j := JobForecast{
		ID: one.job.ID, Job: one.job.Name, Schedd: one.job.Position.Queue, Owner: one.job.Labels["owner"],
		Situation: backfill.Waits.String(), Start: one.at, Slots: one.on, Scavenger: one.why,
	}
	switch {
	case one.runs && p.flies[j.ID]:
		j.Situation = matched
	case one.runs:
		j.Situation = backfill.Runs.String()
	}
	j.Reason = j.describe(f.Now, time.Local)
	f.byID[j.ID] = len(f.Jobs)
	f.Jobs = append(f.Jobs, j)
}

// noteWay returns which jobs were started and wait for scavengers to leave, with until when at the latest.
func (c *cycles) noteWay(r decided) map[backfill.JobID]backfill.Time {
	way := map[backfill.JobID]backfill.Time{}
	for id, at := range c.way {
		begun := slices.ContainsFunc(r.Delta.Began, func(b negotiator.Began) bool { return b.Job == id })
		if !begun && r.State.IsRunning(id) {
			way[id] = at
		}
	}
	if r.Scavengers != nil {
		for _, m := range r.Scavengers.MadeWay {
			way[m.Job] = m.At
		}
	}
	c.way = way
	return way
}

// awaitWay has a job expect its start when scavengers have left.
func (p *forecaster) awaitWay(f *Forecast, id backfill.JobID) {
	i, known := f.byID[id]
	at, waits := p.way[id]
	if !known || !waits || f.Jobs[i].Situation != matched {
		return
	}
	j := &f.Jobs[i]
	j.Situation, j.Start = takesOver, seconds(max(at, f.Now))
	j.Reason = j.describe(f.Now, time.Local)
}

// scavenged is what scavengers have done since the start.
type scavenged struct {
	Running, Waiting int
	// CPUs are those that scavengers have now.
	CPUs int64
	// Displaced counts how often one has made way.
	Displaced int
	// Ran is for how many seconds all of their cpus ran jobs whose runs are over, and Lost how much of that
	// was run by scavengers that made way: what they have kept of it is their affair.
	Ran, Lost int64

	runs map[backfill.JobID]scavengerRun
}

type scavengerRun struct {
	since backfill.Time
	cpus  int64
}

// follow takes in what a cycle shows, which scavengers run after it, and how many wait.
func (s *scavenged) follow(r *negotiator.Report, after []negotiator.JobCheckpoint, waiting int) {
	if s.runs == nil {
		s.runs = map[backfill.JobID]scavengerRun{}
	}
	if told := r.Scavengers; told != nil {
		for _, b := range told.Began {
			if run, known := s.runs[b.Job]; known {
				run.since = b.At
				s.runs[b.Job] = run
			}
		}
		for _, ids := range [][]backfill.JobID{told.Completed, told.Removed, told.Back} {
			for _, id := range ids {
				s.Ran += s.ran(id, r.Delta.Now)
			}
		}
		for _, id := range told.Displaced {
			s.Displaced++
			s.Lost += s.ran(id, r.Delta.Now)
		}
	}
	s.Running, s.Waiting, s.CPUs = 0, waiting, 0
	now := make(map[backfill.JobID]scavengerRun, len(s.runs))
	for _, c := range after {
		if !c.Running {
			continue
		}
		cpus, _ := c.Job.Ad.Literal("RequestCpus").Int()
		run := scavengerRun{c.Start, cpus * int64(c.Job.Nodes)}
		if before, known := s.runs[c.Job.ID]; known && before.since >= c.Start {
			run.since = before.since
		}
		now[c.Job.ID] = run
		s.Running, s.CPUs = s.Running+1, s.CPUs+run.cpus
	}
	s.runs = now
}

// ran returns for how many seconds of all its cpus a scavenger ran whose run is over now.
func (s *scavenged) ran(id backfill.JobID, now backfill.Time) int64 {
	run, known := s.runs[id]
	if !known {
		return 0
	}
	return int64(max(0, now-run.since)) * run.cpus
}
