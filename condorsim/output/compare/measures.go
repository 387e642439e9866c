package compare

import (
	"maps"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// Measure is a measure of both sides, and the difference.
type Measure struct {
	Name  string       `json:"name"` // as condorsim run --json names it
	Label string       `json:"-"`
	Unit  metrics.Unit `json:"unit"`
	A     float64      `json:"a"`
	B     float64      `json:"b"`
	// Difference is B less A; HalfWidth is half the width of its 95 % interval, and nil if there is none.
	Difference float64  `json:"difference"`
	HalfWidth  *float64 `json:"half_width"`
	// Pairs counts what the interval is made of, Sample says what that is.
	Pairs  int              `json:"pairs,omitempty"`
	Sample intervals.Sample `json:"sample,omitempty"`
}

// Sure reports whether the interval is on one side of 0.
func (m *Measure) Sure() bool {
	return m.HalfWidth != nil && intervals.Difference{Mean: m.Difference, Half: *m.HalfWidth}.Sure()
}

// put sets the interval, if there is one.
func (m *Measure) put(d intervals.Difference, known bool) {
	if known {
		m.HalfWidth, m.Pairs, m.Sample = &d.Half, d.Pairs, d.Sample
	}
}

// meanCpus is the mean number of cpus in use, which is known even if the pool is not.
const meanCpus = "mean_cpus_in_use"

// shown lists the measures, and what they are called if package metrics has no label.
//
//nolint:gochecknoglobals // a table
var shown = []struct{ name, label string }{
	{"mean_wait", ""},
	{"median_wait", ""},
	{"p90_wait", "90th percentile of waits"},
	{"p99_wait", ""},
	{"p999_wait", ""},
	{"longest_wait", ""},
	{"widest10_wait", ""},
	{"narrowest50_wait", ""},
	{"mean_response", ""},
	{"area_weighted_response", ""},
	{"mean_bounded_slowdown", ""},
	{"p95_bounded_slowdown", ""},
	{"processor_bounded_slowdown", ""},
	{"user_fairness", ""},
	{"makespan", ""},
	{meanCpus, "cpus in use in the mean"},
	{"utilisation", ""},
	{"loss_of_capacity", ""},
	{"backfilled", ""},
}

// needsCpus reports whether a measure means nothing unless it is known how many cpus the pool has.
func needsCpus(name string) bool { return name == "utilisation" || name == "loss_of_capacity" }

// measure sets the measures.
func (c *Comparison) measure(s *sides, cpus int64) {
	values := [2]map[string]float64{}
	var weeks [2]metrics.Weeks
	for side := range values { // one after the other, as the jobs of a side take much memory
		jobs := s.jobs(side)
		m := metrics.Compute(metrics.Machine{Processors: cpus}, jobs)
		values[side] = map[string]float64{meanCpus: inUse(jobs, m.Makespan)}
		maps.Insert(values[side], m.All())
		weeks[side] = metrics.ComputeWeeks(jobs)
	}
	among := s.percentiles()
	c.Measures = measures(values[0], values[1], func(name string) (intervals.Difference, bool) {
		if d, known := intervals.OfPairedWeeks(weeks[1], weeks[0], name); known {
			return d, true
		}
		return among.interval(name)
	}, cpus > 0)
}

// inUse returns how many cpus were in use in the mean from the first submission to the last end.
func inUse(jobs []metrics.Job, makespan float64) float64 {
	var used float64
	for i := range jobs {
		used += float64(float64(jobs[i].Procs) * float64(jobs[i].Run+jobs[i].Saved))
	}
	if makespan == 0 {
		return 0
	}
	return used / makespan
}

// measures puts the measures that both sides have side by side.
func measures(a, b map[string]float64, interval func(string) (intervals.Difference, bool), cpusKnown bool) (all []Measure) {
	labels := map[string]metrics.Measure{meanCpus: {Unit: metrics.Ratio}}
	for _, m := range (metrics.Metrics{}).List() {
		labels[m.Name] = m
	}
	for _, s := range shown {
		x, known := a[s.name]
		y, too := b[s.name]
		if !known || !too || needsCpus(s.name) && !cpusKnown {
			continue
		}
		m := Measure{Name: s.name, Label: labels[s.name].Label, Unit: labels[s.name].Unit, A: x, B: y, Difference: y - x}
		if m.Label == "" {
			m.Label = s.label
		}
		m.put(interval(s.name))
		all = append(all, m)
	}
	return all
}
