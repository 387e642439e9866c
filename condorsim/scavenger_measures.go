package condorsim

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// scavenged is what the scavengers of a run did, and what that cost the others.
type scavenged struct {
	requests []backfill.Vector // of jobs
	runs     map[backfill.JobID]scavengerRun
	capacity int64 // cpus of the slots that are up
	idle     int64 // cpus that no other job is given, since the last cycle
	sums     scavengedSums
	until    scavengedSums // when the last of the others ended: what comes after that is no gain

	delays             int // starts of others that came later
	delaySum, delayMax backfill.Time
}

// scavengerRun is a scavenger that runs.
type scavengerRun struct {
	cpus   int64
	leaves bool
}

// scavengedSums are cpu seconds and counts so far.
type scavengedSums struct {
	used                   float64 // by scavengers, also while they leave
	idle, idleUsed         float64 // idle beside the others, and what of it scavengers used
	reserved, reservedUsed float64 // of these, what reservations will take
	lost                   float64 // of used
	displacements          int
	completed              int
}

// scavenge records what scavengers did in a cycle. What others did must be recorded already, but for what is
// reserved since the last cycle.
func (r *Result) scavenge(report *negotiator.Report) {
	w := r.Workload
	if w.Scavengers == nil {
		return
	}
	s := &r.scavenged
	if s.runs == nil {
		s.requests, s.runs = w.Requests(), map[backfill.JobID]scavengerRun{}
	}
	s.elapse(float64(report.Delta.Now-r.last), r.reserved)
	if told := report.Scavengers; told != nil {
		r.scavengersEnd(report, told)
		for _, way := range told.MadeWay {
			for _, id := range way.Scavengers {
				run := s.runs[id]
				run.leaves = true
				s.runs[id] = run
			}
		}
		for _, m := range told.Matches {
			r.scavengerStarts(m, report.Delta.Now)
		}
	}
	if len(report.Delta.SlotsUp)+len(report.Delta.SlotsDown) > 0 {
		s.capacity = 0
		for _, slot := range report.State.Slots() {
			if report.State.SlotUp(slot.ID) {
				s.capacity += slot.Capacity[0]
			}
		}
	}
	s.idle = max(0, s.capacity-report.State.Use()[0])
	if len(report.Delta.Completed) > 0 {
		s.until = s.sums
	}
}

// elapse adds up what was used and idle for so many seconds, of which so many cpus were reserved.
func (s *scavenged) elapse(seconds float64, reserved int64) {
	var used, staying int64
	for _, run := range s.runs {
		used += run.cpus
		if !run.leaves {
			staying += run.cpus
		}
	}
	s.sums.used += float64(used) * seconds
	s.sums.idle += float64(s.idle) * seconds
	s.sums.idleUsed += float64(min(staying, s.idle)) * seconds
	s.sums.reserved += float64(reserved) * seconds
	s.sums.reservedUsed += float64(min(staying, reserved)) * seconds
}

// scavengersEnd records which scavengers ended, and which came back to the queue: of their runs only counts
// what was saved.
func (r *Result) scavengersEnd(report *negotiator.Report, told *negotiator.Scavenged) {
	s, now := &r.scavenged, report.Delta.Now
	for _, id := range told.Completed {
		r.Outcomes[id].End, r.Outcomes[id].Ended = now, true
		delete(s.runs, id)
		s.sums.completed++
	}
	for _, id := range slices.Concat(told.Back, told.Removed) {
		run, ran := s.runs[id]
		delete(s.runs, id)
		if !ran {
			continue
		}
		o := &r.Outcomes[id]
		saved := r.Workload.saves(id, now-o.Start)
		lost := float64(now - o.Start - saved)
		cpus, _ := r.Occupies(id)
		*o = o.kept()
		delete(r.chunks, id)
		o.Requeues++
		o.Lost += float64(cpus) * lost
		o.Saved += saved
		s.sums.lost += float64(run.cpus) * lost
		if slices.Contains(told.Displaced, id) {
			o.Displacements++
			s.sums.displacements++
		}
	}
	for _, id := range told.Removed {
		r.Outcomes[id].Held = GivenUp
	}
}

// scavengerStarts records that a scavenger starts.
func (r *Result) scavengerStarts(m negotiator.Match, now backfill.Time) {
	w, id := r.Workload, m.Job.ID
	o := &r.Outcomes[id]
	*o = o.kept()
	o.Started, o.Start, o.Placement, o.How = true, now, m.Placement, backfill.ByBackfill
	o.Estimate = cmp.Or(w.Jobs[id].Estimate, r.unknown)
	request := r.scavenged.requests[id]
	if w.Jobs[id].BySlot || request == nil {
		request = w.Schema.RequestOn(w.Jobs[id].Ad, m.Placement[0].Slot)
	}
	r.keepChunk(&backfill.Job{ID: id, Request: request}, m.Placement)
	var run scavengerRun
	for _, on := range m.Placement {
		run.cpus += w.chunkOn(id, request, on.Slot)[0] * int64(on.Count)
	}
	r.scavenged.runs[id] = run
}

// chunkOn returns what each chunk of a job takes of a slot, by what its ad alone requests.
func (w *Workload) chunkOn(id backfill.JobID, request backfill.Vector, slot *negotiator.Slot) backfill.Vector {
	if w.Jobs[id].BySlot || request == nil {
		request = w.Schema.RequestOn(w.Jobs[id].Ad, slot)
	}
	if w.isFull(slot.Capacity, request) {
		return slot.Capacity
	}
	return request
}

// begin records which jobs that were started in the place of scavengers have begun, and how much later.
func (r *Result) begin(report *negotiator.Report) {
	for _, b := range report.Delta.Began {
		o := &r.Outcomes[b.Job]
		if !o.Started || o.Ended || b.At <= o.Start {
			continue
		}
		s := &r.scavenged
		o.Delay, o.Start = b.At-o.Start, b.At
		s.delays++
		s.delaySum += o.Delay
		s.delayMax = max(s.delayMax, o.Delay)
	}
}

// scavengers measures what scavengers did until the last of the other jobs ended, and what that cost these; nil
// if there are none.
func (r *Result) scavengers() metrics.Measures {
	if r.Workload.Scavengers == nil {
		return nil
	}
	s, u := &r.scavenged, &r.scavenged.until
	count := func(name, label string, n int) metrics.Measure {
		return metrics.Measure{Name: name, Label: label, Unit: metrics.Count, Value: float64(n)}
	}
	list := metrics.Measures{
		count("scavengers_completed", "scavengers that completed before the last of the others", u.completed),
		count("scavengers_left", "scavengers that did not", r.Workload.Scavenging()-u.completed),
		count("scavengers_displaced", "runs of scavengers that made way", u.displacements),
		{Name: "scavenged_core_seconds", Label: "useful work of scavengers", Unit: metrics.CPUSeconds, Value: u.used - u.lost},
		{Name: "scavengers_lost_core_seconds", Label: "work that scavengers lost", Unit: metrics.CPUSeconds, Value: u.lost},
	}
	share := func(name, label string, part, whole float64) {
		if whole > 0 {
			list = append(list, metrics.Measure{Name: name, Label: label, Unit: metrics.Share, Value: part / whole})
		}
	}
	share("scavengers_lost_share", "lost, of all work of scavengers", u.lost, u.used)
	share("scavenged_idle_share", "used by scavengers, of what was idle else", u.idleUsed, u.idle)
	share("scavenged_reserved_share", "used by scavengers, of what was idle while reserved", u.reservedUsed, u.reserved)
	if m, some := r.measuredOf(func(job int) bool { return r.Workload.Jobs[job].Scavenger }); some {
		list = append(list, metrics.Measure{
			Name: "scavengers_mean_wait", Label: "mean wait of scavengers", Unit: metrics.Seconds, Value: m.MeanWait,
		})
	}
	list = append(list, count("delayed_starts", "starts of others that scavengers delayed", s.delays))
	if s.delays > 0 {
		list = append(
			list,
			metrics.Measure{
				Name: "delayed_starts_mean", Label: "delay of such starts, mean", Unit: metrics.Seconds,
				Value: float64(s.delaySum) / float64(s.delays),
			},
			metrics.Measure{
				Name: "delayed_starts_max", Label: "delay of such starts, at most", Unit: metrics.Seconds,
				Value: float64(s.delayMax),
			},
		)
	}
	return list
}
