package metrics

import (
	"cmp"
	"slices"
)

// Week has the sums over the jobs that were submitted in one week.
type Week struct {
	// Week counts from the first submission; the first week is 0. Weeks without jobs are left out.
	Week int64 `json:"week"`
	Jobs int64 `json:"jobs"`

	Wait            float64 `json:"wait"`
	Uwait           float64 `json:"uwait"`
	Response        float64 `json:"response"`
	Slowdown        float64 `json:"slowdown"`
	BoundedSlowdown float64 `json:"bounded_slowdown"`
}

// Weeks are the weeks of a schedule, in their order. Package intervals finds how far its means are due
// to chance by them.
type Weeks []Week

// ComputeWeeks sums up the jobs of each week, which must be as for [Compute], with the usual bound
// of slowdowns.
func ComputeWeeks(jobs []Job) Weeks {
	const week = 7 * 24 * 3600
	var all Weeks
	for i := range jobs {
		j := &jobs[i]
		at := (j.Submit - jobs[0].Submit) / week
		if len(all) == 0 || all[len(all)-1].Week != at {
			all = append(all, Week{Week: at})
		}
		all[len(all)-1].add(Week{
			Jobs: 1, Wait: j.wait(), Uwait: j.uwait(), Response: j.response(), Slowdown: j.slowdown(),
			BoundedSlowdown: j.boundedSlowdown(DefaultBound),
		})
	}
	return all
}

func (w *Week) add(other Week) {
	w.Jobs += other.Jobs
	w.Wait += other.Wait
	w.Uwait += other.Uwait
	w.Response += other.Response
	w.Slowdown += other.Slowdown
	w.BoundedSlowdown += other.BoundedSlowdown
}

// Sum returns the sum that a mean is computed from, and whether there is one. The mean is named as in
// [Metrics].
func (w *Week) Sum(mean string) (float64, bool) {
	switch mean {
	case "mean_wait":
		return w.Wait, true
	case "mean_uwait":
		return w.Uwait, true
	case "mean_response":
		return w.Response, true
	case "mean_slowdown":
		return w.Slowdown, true
	case "mean_bounded_slowdown":
		return w.BoundedSlowdown, true
	default:
		return 0, false
	}
}

// Pooled adds up the weeks of several schedules, each week with those of the same number.
func Pooled(schedules ...Weeks) Weeks {
	all := slices.Concat(schedules...)
	slices.SortStableFunc(all, func(a, b Week) int { return cmp.Compare(a.Week, b.Week) })
	var pooled Weeks
	for _, w := range all {
		if n := len(pooled); n > 0 && pooled[n-1].Week == w.Week {
			pooled[n-1].add(w)
			continue
		}
		pooled = append(pooled, w)
	}
	return pooled
}
