package meter

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/meter/shapes"
)

// picture is what the state of a pool says.
type picture struct {
	shapes.Counts
	resources       []string
	capacity, inUse backfill.Vector
	groups          map[string]*use
}

// use is what jobs of a group use and want, and its quota, if that is known.
type use struct {
	running, waiting, jobs int64
	quota                  *float64
}

func (u *use) add(more *use) {
	u.running += more.running
	u.waiting += more.waiting
	u.jobs += more.jobs
}

// look reads a state.
func look(s *backfill.State, starts func(backfill.JobID) (backfill.Time, bool)) *picture {
	p := &picture{
		Counts: shapes.Of(s, starts), resources: s.Resources(), capacity: s.Capacity(), inUse: s.Use(),
		groups: map[string]*use{},
	}
	for run := range s.Running() {
		if run.Pinned { // others are still in its place
			continue
		}
		group := p.group(run.Job)
		if !run.Job.Whole {
			group.running += run.Job.Width()
			continue
		}
		for _, at := range run.Placement {
			group.running += s.Slots()[at.Slot].Capacity[0]
		}
	}
	for _, j := range s.FirstWaiting(s.Waiting()) {
		group := p.group(j)
		group.jobs++
		group.waiting += j.Width()
	}
	return p
}

// group returns the use of a job's accounting group.
func (p *picture) group(j *backfill.Job) *use {
	name := j.Labels["group"]
	u := p.groups[name]
	if u == nil {
		u = new(use)
		p.groups[name] = u
	}
	return u
}
