package auto

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Measures say what a candidate is expected to give: means over the jobs that wait, with their waits
// so far, and over those that arrive in a play. Where users have priorities, jobs count in the first two
// means by 1/priority.
type Measures struct {
	Jobs                int     `json:"jobs"`
	MeanBoundedSlowdown float64 `json:"mean_bounded_slowdown"`
	MeanWait            float64 `json:"mean_wait"`
	// Top5Wait is the mean of the greatest 5 % of the waits.
	Top5Wait float64 `json:"top5_wait"`
	// Makespan is the time from now until the last of the jobs ends.
	Makespan float64 `json:"makespan"`
}

// bound is what a run time counts as at least in a bounded slowdown, in seconds.
const bound = 10

// tally collects what becomes of the jobs of a play.
type tally struct {
	waits                   []float64
	slowdown, wait, weights float64 // sums, each job by its weight
	last                    backfill.Time
}

// add adds a job that starts at the given instant and runs for the given time. It counts by its weight in
// the means over all jobs.
func (t *tally) add(j *backfill.Job, start, runs backfill.Time, weight float64) {
	wait := float64(max(0, start-j.Submit))
	t.waits = append(t.waits, wait)
	t.wait += weight * wait
	t.slowdown += weight * max(1, (wait+float64(runs))/float64(max(runs, bound)))
	t.weights += weight
	t.last = max(t.last, start+runs)
}

// measures returns the measures; now is when the play began.
func (t *tally) measures(now backfill.Time) Measures {
	n := len(t.waits)
	if n == 0 {
		return Measures{}
	}
	slices.Sort(t.waits)
	const share = 20 // 5 %, rounded up
	return Measures{
		Jobs: n, MeanBoundedSlowdown: t.slowdown / t.weights, MeanWait: t.wait / t.weights,
		Top5Wait: mean(t.waits[n-(n+share-1)/share:]), Makespan: float64(max(0, t.last-now)),
	}
}

func mean(values []float64) (sum float64) {
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}
