package results

import (
	"maps"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// compared returns the measures of [Comparisons]. Lower is better in all of them.
func compared() []string {
	return []string{
		"mean_wait", "p999_wait", "longest_wait", "area_weighted_wait", "mean_uwait", "mean_response",
		"area_weighted_response", "mean_slowdown", "mean_bounded_slowdown", "processor_bounded_slowdown",
	}
}

// Comparison says by how much a measure of one scheduler differs from that of another one on the same
// workload: on the same trace, at the same load, under the same estimate model, with the same seeds.
type Comparison struct {
	Trace         string  `json:"trace"`
	Load          float64 `json:"load"`
	EstimateModel string  `json:"estimate_model"`
	// Measure is its name; lower is better.
	Measure   string `json:"measure"`
	Scheduler string `json:"scheduler"`
	Against   string `json:"against"`
	// Difference is the scheduler's mean less that of the other one; HalfWidth is half the width of its
	// 95 % interval.
	Difference float64 `json:"difference"`
	HalfWidth  float64 `json:"half_width"`
	// Pairs counts what the interval is made of: weeks or seeds, as Sample says.
	Pairs  int              `json:"pairs"`
	Sample intervals.Sample `json:"sample"`
}

// Sure reports whether the interval is on one side of 0.
func (c Comparison) Sure() bool {
	return intervals.Difference{Mean: c.Difference, Half: c.HalfWidth}.Sure()
}

// Pair returns by how much a measure of one scheduler differs from that of another one, by the finished
// cells of each for the same trace, load and estimate model. Cells with the same seed are a pair. If
// the seeds that both have are enough and make a difference, they are the sample of the interval, else
// the weeks of the jobs are; false if neither can be had.
func Pair(own, other []Cell, measure string) (intervals.Difference, bool) {
	var values, others []float64
	var weeks, otherWeeks []metrics.Weeks
	drawn := false // the seeds make a difference
	var first [2]*Cell
	for i := range own {
		for j := range other {
			a, b := &own[i], &other[j]
			x, known := a.Metrics[measure]
			y, too := b.Metrics[measure]
			if a.Seed != b.Seed || !known || !too {
				continue
			}
			if first[0] == nil {
				first = [2]*Cell{a, b}
			}
			drawn = drawn || !maps.Equal(a.Metrics, first[0].Metrics) || !maps.Equal(b.Metrics, first[1].Metrics)
			values, others = append(values, x), append(others, y)
			weeks, otherWeeks = append(weeks, a.Weeks), append(otherWeeks, b.Weeks)
		}
	}
	if drawn {
		if d, ok := intervals.OfPairedValues(values, others); ok {
			return d, true
		}
	}
	return intervals.OfPairedWeeks(metrics.Pooled(weeks...), metrics.Pooled(otherWeeks...), measure)
}

// Comparisons compares the schedulers with the baseline, a scheduler's label. Without a baseline it
// compares the best, of each measure and on each workload, with the others. It leaves out what has no
// interval. The measures are those that studies compare first: the means of jobs, also where
// jobs count as their area or their processors, and the waits of those who waited longest.
func Comparisons(f *Folder, baseline string) []Comparison {
	all := []Comparison{}
	for _, w := range workloads(f) {
		for _, measure := range compared() {
			base, fixed := w.index(baseline), baseline != ""
			if !fixed {
				base = w.best(measure)
			}
			if base < 0 {
				continue
			}
			for i := range w.schedulers {
				one, two := i, base
				if !fixed {
					one, two = base, i
				}
				d, ok := Pair(w.schedulers[one], w.schedulers[two], measure)
				if i == base || !ok {
					continue
				}
				key := &w.schedulers[one][0].Key
				all = append(all, Comparison{
					Trace: key.Trace, Load: key.Load, EstimateModel: key.EstimateModel, Measure: measure,
					Scheduler: key.Scheduler, Against: w.schedulers[two][0].Scheduler,
					Difference: d.Mean, HalfWidth: d.Half, Pairs: d.Pairs, Sample: d.Sample,
				})
			}
		}
	}
	return all
}

// sameWorkload has the finished cells of each scheduler on one workload, in the order of the manifest.
type sameWorkload struct{ schedulers [][]Cell }

// workloads puts the finished cells together that differ only in scheduler and seed.
func workloads(f *Folder) []*sameWorkload {
	type name struct {
		trace, model string
		load         float64
	}
	var all []*sameWorkload
	found := map[name]*sameWorkload{}
	for _, c := range f.Cells {
		key := name{c.Trace, c.EstimateModel, c.Load}
		w := found[key]
		if w == nil {
			w = &sameWorkload{}
			all, found[key] = append(all, w), w
		}
		at := w.index(c.Scheduler)
		if at < 0 {
			at = len(w.schedulers)
			w.schedulers = append(w.schedulers, nil)
		}
		w.schedulers[at] = append(w.schedulers[at], c)
	}
	return all
}

// index returns the index of the scheduler with that label; −1 if there is none.
func (w *sameWorkload) index(label string) int {
	for i, cells := range w.schedulers {
		if cells[0].Scheduler == label {
			return i
		}
	}
	return -1
}

// best returns the index of the scheduler with the lowest mean of a measure over its seeds; −1 if none
// has it.
func (w *sameWorkload) best(measure string) int {
	best, lowest := -1, 0.0
	for i, cells := range w.schedulers {
		sum, n := 0.0, 0
		for _, c := range cells {
			if v, ok := c.Metrics[measure]; ok {
				sum, n = sum+v, n+1
			}
		}
		if n > 0 && (best < 0 || sum/float64(n) < lowest) {
			best, lowest = i, sum/float64(n)
		}
	}
	return best
}
