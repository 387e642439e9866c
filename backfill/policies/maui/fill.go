package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// fill starts as many of the jobs as fit in a window and stay within the limits of a level. The
// jobs are in the queue's order.
//
// A start only takes room away, so a job that does not fit or would exceed its limits is not tried
// again in the same pass.
type fill func(i *iteration, jobs []*backfill.Job, w window, l level)

// firstFit starts the first job of the window that fits, and repeats until none does. It leaves
// jobs of later windows to these. But if such a job is large enough for chunking, and no longer
// fits because a job behind it in the queue was started, it counts as blocked.
func firstFit(i *iteration, jobs []*backfill.Job, w window, l level) {
	var passed []*backfill.Job
	for _, j := range jobs {
		switch {
		case w.holds(j):
			if i.try(j, l); !i.runs(j) {
				continue
			}
		case j.Estimate > w.within && i.kept.minds(j):
			passed = append(passed, j)
		default:
			continue
		}
		blocked := slices.IndexFunc(passed, func(p *backfill.Job) bool { return i.use.allow(p, l) && !i.fits(p) })
		if blocked >= 0 {
			i.isBlocked(passed[blocked])
			passed = nil // one blocked job is enough to start chunking
		}
	}
}

// bestFit returns a fill that starts the job with the largest metric that fits, and repeats until
// none does.
func bestFit(m metric) fill {
	return func(i *iteration, jobs []*backfill.Job, w window, l level) {
		jobs = w.of(jobs)
		slices.SortStableFunc(jobs, func(a, b *backfill.Job) int { return m.of(b).compare(m.of(a)) })
		for _, j := range jobs {
			i.try(j, l)
		}
	}
}

// greedy returns a fill that starts the combination of jobs with the largest sum of the metric that
// the search finds in the given number of tries, and then every other job that still fits.
func greedy(m metric, schedules int) fill {
	return func(i *iteration, jobs []*backfill.Job, w window, l level) {
		jobs = w.of(jobs)
		for _, j := range i.bestOf(jobs, l, m, schedules) {
			i.try(j, l)
		}
		for _, j := range jobs {
			if !i.runs(j) {
				i.try(j, l)
			}
		}
	}
}

// metric is Maui's BACKFILLMETRIC, by which jobs are compared: the larger, the better.
type metric struct {
	each  func(*backfill.Job) int64 // the value of a job, or of one of its cpus
	byCPU bool                      // the value is that of one cpu, to be multiplied by the job's cpus
}

// metricNames lists Maui's names of the metrics.
var metricNames = []string{"PROCS", "PROCSECONDS", "SECONDS"}

// metrics holds the metrics by Maui's names.
var metrics = map[string]metric{
	"PROCS":       {each: func(*backfill.Job) int64 { return 1 }, byCPU: true},
	"PROCSECONDS": {each: length, byCPU: true},
	"SECONDS":     {each: length},
}

func length(j *backfill.Job) int64 { return int64(j.Estimate) }

func (m metric) of(j *backfill.Job) amount {
	if m.byCPU {
		return product(j.Width(), m.each(j))
	}
	return product(1, m.each(j))
}
