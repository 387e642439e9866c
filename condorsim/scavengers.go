package condorsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Scavengers is how the scavengers of a workload leave and what they keep: jobs that run on whatever is idle
// now, also where it is reserved, and make way at once for any other job. Who is one says
// [negotiator.Job].Scavenger.
type Scavengers struct {
	// Vacate is how long one takes to leave. The jobs that it makes way for begin as much later at most; so
	// all jobs are planned to take at least as much longer than they request: see [negotiator.Config].StartSlack.
	Vacate backfill.Time
	// Checkpoint is after how many seconds of its run, again and again, one saves what it did; 0: never.
	Checkpoint backfill.Time
}

// findScavengers has jobs be scavengers, as the pool says or their own ads, and adds those that fill the pool
// before the other jobs. Jobs take partitions whole, and none scavenges there.
func (w *Workload) findScavengers(pool *pools.Description) error {
	s := pool.Scavengers
	if s == nil {
		s = pools.DefaultScavengers()
	}
	if err := w.fill(pool, s.Fill); err != nil {
		return err
	}
	count, unheeded := 0, 0
	for i := range w.Jobs {
		j := w.Jobs[i].Job
		switch {
		case i >= w.filled && !j.Scavenger && !s.Include(j.User, j.Labels["qos"], j.Ad):
		case len(w.Bundles) > 0:
			j.Scavenger = false
			unheeded++
		default:
			j.Scavenger = true
			count++
		}
	}
	if unheeded > 0 {
		w.Unheeded = append(w.Unheeded, fmt.Sprintf("%s of %d jobs, as none scavenges on partitions", pools.ScavengerOfJobs, unheeded))
	}
	if count > 0 {
		w.Scavengers = &Scavengers{Vacate: s.Vacate, Checkpoint: s.Checkpoint}
	} else if pool.Scavengers != nil {
		w.Unheeded = append(w.Unheeded, "scavengers of the pool: no job is one, by its user, its queue or its ad")
	}
	if text := w.unmatched(s); text != "" {
		w.Unheeded = append(w.Unheeded, text)
	}
	return nil
}

// unmatched says which users and queues of scavengers no job is of; "" if there are none.
func (w *Workload) unmatched(s *pools.Scavengers) string {
	users, queues := map[string]bool{}, map[string]bool{}
	if len(s.Users)+len(s.Queues) > 0 {
		for i := w.filled; i < len(w.Jobs); i++ {
			users[w.Jobs[i].User], queues[w.Jobs[i].Labels["qos"]] = true, true
		}
	}
	var none []string
	for _, list := range []struct {
		kind  string
		names []string
		found map[string]bool
	}{{"user", s.Users, users}, {"queue", s.Queues, queues}} {
		for _, name := range list.names {
			if !list.found[name] {
				none = append(none, list.kind+" "+backfill.Printable(name, longestName))
			}
		}
	}
	if none == nil {
		return ""
	}
	return "scavengers of the pool: no job is of " + strings.Join(none, ", ")
}

// longestName is up to how many letters of a name are shown.
const longestName = 60

// fill adds the jobs that fill the pool before those that are there, as they are submitted with the first one,
// unless these hold them already.
func (w *Workload) fill(pool *pools.Description, f pools.Fill) error {
	if f.Jobs == 0 || len(w.Jobs) == 0 || w.hasFill {
		return nil
	}
	like := workload.Job{
		Submit: int64(w.Jobs[0].Submit), Run: int64(f.RunTime), Estimate: int64(f.RunTime), Procs: f.Cpus, User: pools.FillUser,
	}
	nodes, cpus, _ := pool.Pack.Chunks(like.Procs, 0)
	ad, err := newRequestAds(pool, w.UnixStart).get(request{cpus: cpus}, &like)
	if err != nil {
		return err
	}
	all, jobs := make([]Job, f.Jobs, f.Jobs+len(w.Jobs)), make([]negotiator.Job, f.Jobs)
	labels := like.Labels()
	for i := range jobs {
		jobs[i] = negotiator.Job{
			Name: fmt.Sprintf("%s%d", pools.FillUser, i+1), Submit: backfill.Time(like.Submit), Nodes: int(nodes),
			Estimate: f.RunTime, User: pools.FillUser, Labels: labels, Ad: ad, Enforced: true,
		}
		all[i] = Job{Job: &jobs[i], Run: f.RunTime, Ran: f.RunTime, Cpus: f.Cpus}
	}
	w.filled, w.hasFill = f.Jobs, true
	w.Jobs = append(all, w.Jobs...)
	for i := range w.Jobs {
		j := &w.Jobs[i]
		j.ID, j.Position.Cluster = backfill.JobID(i), int64(i)
		if j.After != nil {
			j.After.Job += int64(f.Jobs)
		}
	}
	return nil
}

// Scavenging returns how many of the jobs are scavengers.
func (w *Workload) Scavenging() (count int) {
	for i := range w.Jobs {
		if w.Jobs[i].Scavenger {
			count++
		}
	}
	return count
}

// scavenges reports whether a job is a scavenger.
func (w *Workload) scavenges(id backfill.JobID) bool { return w.Jobs[id].Scavenger }

// scavengersLeft has scavengers count as held that found no place though nothing runs any more.
func (r *Result) scavengersLeft(n *negotiator.Negotiator) {
	if r.Workload.Scavengers == nil {
		return
	}
	for i := range r.Outcomes {
		id := backfill.JobID(i)
		if why := n.WhyScavenger(id, r.Workload.text); why != "" && !r.Outcomes[i].Ended {
			r.Outcomes[i] = r.Outcomes[i].kept()
			r.Outcomes[i].Held = why
		}
	}
}

// isLate reports whether a match is of a job that is started in the place of scavengers, and not of others.
func (m *making) isLate(match negotiator.Match) bool {
	if m == nil || len(match.Displaces) == 0 && match.At <= m.now {
		return false
	}
	return !slices.ContainsFunc(match.Displaces, func(id backfill.JobID) bool { return !m.w.scavenges(id) })
}

// tell has a scavenger leave once it has vacated its place, unless it ends before.
func (m *making) tell(id backfill.JobID) {
	run := m.runs[id]
	run.leaves = true
	m.leaving.Push(ahead.Ending{At: m.now + m.w.Scavengers.Vacate, Job: id, Run: run.number})
}

// begins returns the jobs that begin now that scavengers have left, in the order in which they were decided. Of
// those that still wait each has the first claim to its place: none has to wait for who was started after it.
func (m *making) begins() (all []negotiator.Match) {
	if m == nil {
		return nil
	}
	claims := slices.Clone(m.late)
	m.late = slices.DeleteFunc(m.late, func(match negotiator.Match) bool {
		begins := m.hasRoom(match)
		if begins {
			all = append(all, match)
		}
		m.use(match.Job.ID, match.Placement, 1) // so that the next one finds less; the start counts it anew
		return begins
	})
	for _, match := range claims {
		m.use(match.Job.ID, match.Placement, -1)
	}
	return all
}

// hasRoom reports whether a job has room where it is to start.
func (m *making) hasRoom(match negotiator.Match) bool {
	for _, on := range match.Placement {
		room := slices.Clone(on.Slot.Capacity)
		if used := m.used[on.Slot.Name]; used != nil {
			room.AddScaled(used, -1)
		}
		room.AddScaled(m.chunk(match.Job.ID, on.Slot), -int64(on.Count))
		if slices.ContainsFunc(room, func(amount int64) bool { return amount < 0 }) {
			return false
		}
	}
	return !slices.ContainsFunc(m.w.Jobs[match.Job.ID].Takes, func(t negotiator.Take) bool {
		i := slices.IndexFunc(m.w.Limits, func(l negotiator.Limit) bool { return l.Name == t.Limit })
		return i >= 0 && m.taken[t.Limit]+t.Amount > m.w.Limits[i].Height
	})
}

// actLate has scavengers leave for a job, which begins at once if they need no time for that or it has room
// anyway, and else when they have left.
func (p *SimulatedPool) actLate(m negotiator.Match) {
	for _, id := range m.Displaces {
		p.making.tell(id)
	}
	p.leaveAtOnce()
	if p.outages != nil {
		p.outages.start(m.Job.ID, m.Placement)
	}
	p.making.late = append(p.making.late, m)
	began := p.beginLate()
	if p.w.Scavengers.Vacate > 0 { // else nobody expects it to begin later
		p.began = append(p.began, began...)
	}
}

// leaveAtOnce has scavengers leave that need no time for that. The next delta tells it.
func (p *SimulatedPool) leaveAtOnce() {
	if p.w.Scavengers == nil || p.w.Scavengers.Vacate > 0 {
		return
	}
	gone := p.making.evicted()
	p.evict(gone)
	p.left = append(p.left, gone...)
}

// beginLate begins the runs of jobs that were started in the place of scavengers, once these have left, and
// returns since when they run.
func (p *SimulatedPool) beginLate() (began []negotiator.Began) {
	for _, m := range p.making.begins() {
		p.begin(m)
		began = append(began, negotiator.Began{Job: m.Job.ID, At: p.now})
	}
	return began
}

// evict ends the runs of jobs that leave.
func (p *SimulatedPool) evict(jobs []backfill.JobID) {
	p.making.fail(jobs)
	for _, id := range jobs {
		p.runs[id]++
		if p.outages != nil {
			p.outages.end(id)
		}
	}
}
