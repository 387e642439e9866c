package htcondor

import (
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// A schedd runs no more than so many jobs at once (MAX_JOBS_RUNNING), and drops matches in
// silence that come when it is full. So it has no more of its jobs planned with than it
// runs at once: those that run, and those that wait to. What has waited for a while does
// not count any more, or jobs that cannot run would keep all others out; where that lets
// too many start, those that there is no room for leave the plan until there is.

// readRoom takes in what a schedd's ad says of its room. A gang has one shadow, however
// many nodes; the ad counts its nodes, but says rather too early than too late that the
// schedd is full.
func (s *schedd) readRoom(ad *classad.ClassAd) {
	jobs, ok := ad.Int("MaxJobsRunning")
	if !ok || jobs < 0 {
		s.room, s.full = nil, false
		return
	}
	if s.room == nil || s.room.Jobs != int(jobs) {
		s.room = &accountant.Room{Jobs: int(jobs)}
	}
	runs, _ := ad.Int("TotalRunningJobs")
	s.full = runs >= jobs
}

// letIn says that a schedd has no room for a flight, given how many jobs are in; "": it has,
// and that is taken now.
func (p *Pool) letIn(f *flight, in map[string]int) (why string) {
	s := p.schedds[f.job.key.schedd]
	if f.full = s.room != nil && !f.handed() && in[s.name] >= s.room.Jobs; f.full {
		return s.room.Full()
	}
	if !f.handed() {
		in[s.name]++
	}
	return ""
}

// inRooms counts the jobs that schedds run, as far as they tell, or were told to.
func (p *Pool) inRooms() map[string]int {
	in := map[string]int{}
	for _, j := range p.jobs {
		f := p.flights[j.id]
		if f != nil && f.handed() || f == nil && j.group.runs() {
			in[j.key.schedd]++
		}
	}
	return in
}
