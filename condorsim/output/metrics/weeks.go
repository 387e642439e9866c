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

	// Sums of what jobs count as in weighted means, and of the products with it. In older results they
	// are 0, and those means have no intervals.
	Area                     float64 `json:"area,omitempty"` // processor seconds
	AreaWait                 float64 `json:"area_wait,omitempty"`
	AreaResponse             float64 `json:"area_response,omitempty"`
	Processors               float64 `json:"processors,omitempty"`
	ProcessorBoundedSlowdown float64 `json:"processor_bounded_slowdown,omitempty"`
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
		area, procs, slowdown := j.area(), float64(j.Procs), j.boundedSlowdown(DefaultBound)
		all[len(all)-1].add(Week{
			Jobs: 1, Wait: j.wait(), Uwait: j.uwait(), Response: j.response(), Slowdown: j.slowdown(),
			BoundedSlowdown: slowdown,
			Area:            area, AreaWait: float64(area * j.wait()), AreaResponse: float64(area * j.response()),
			Processors: procs, ProcessorBoundedSlowdown: float64(procs * slowdown),
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
	w.Area += other.Area
	w.AreaWait += other.AreaWait
	w.AreaResponse += other.AreaResponse
	w.Processors += other.Processors
	w.ProcessorBoundedSlowdown += other.ProcessorBoundedSlowdown
}

// Sum returns the sum that a mean is computed from, what it is divided by, and whether there is one:
// the number of jobs or, in a weighted mean, what they count as. The mean is named as in [Metrics].
func (w *Week) Sum(mean string) (sum, size float64, known bool) {
	jobs := float64(w.Jobs)
	switch mean {
	case "mean_wait":
		return w.Wait, jobs, true
	case "mean_uwait":
		return w.Uwait, jobs, true
	case "mean_response":
		return w.Response, jobs, true
	case "mean_slowdown":
		return w.Slowdown, jobs, true
	case "mean_bounded_slowdown":
		return w.BoundedSlowdown, jobs, true
	case "area_weighted_wait":
		return w.AreaWait, w.Area, true
	case "area_weighted_response":
		return w.AreaResponse, w.Area, true
	case "processor_bounded_slowdown":
		return w.ProcessorBoundedSlowdown, w.Processors, true
	default:
		return 0, 0, false
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
