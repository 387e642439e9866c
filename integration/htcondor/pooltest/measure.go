package pooltest

import (
	"slices"
	"time"
)

// Measures summarizes what ran.
type Measures struct {
	Jobs              int           // that started
	Makespan          time.Duration // from the first submit to the last end
	MeanWait, MaxWait time.Duration // from submit to first start
	Utilisation       float64       // core seconds used, as a fraction of those available during the makespan
}

// Measure summarizes the runs of the given jobs, or of all if none is given, in a pool with this
// many cores.
func (a Audit) Measure(cores int, jobs ...JobID) Measures {
	var first, last time.Time
	var waits, used time.Duration
	var m Measures
	started := map[JobID]time.Time{}
	for _, run := range a.Runs {
		if len(jobs) > 0 && !slices.Contains(jobs, run.Job) {
			continue
		}
		if _, again := started[run.Job]; !again {
			started[run.Job] = run.Start
		}
		if run.End.IsZero() {
			continue
		}
		used += run.End.Sub(run.Start) * time.Duration(run.Given.Cpus)
		if run.End.After(last) {
			last = run.End
		}
	}
	for id, start := range started {
		submitted := a.Submits[id]
		if first.IsZero() || submitted.Before(first) {
			first = submitted
		}
		wait := start.Sub(submitted)
		waits += wait
		m.MaxWait = max(m.MaxWait, wait)
	}
	m.Jobs = len(started)
	if m.Jobs == 0 || !last.After(first) {
		return m
	}
	m.Makespan = last.Sub(first)
	m.MeanWait = waits / time.Duration(m.Jobs)
	m.Utilisation = used.Seconds() / (m.Makespan.Seconds() * float64(cores))
	return m
}
