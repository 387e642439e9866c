package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// measures returns how true the start times are that were told, for the jobs that started: the error
// of the middle of the range and of the earliest fit, and how many started within the range.
func (e *EtaResult) measures(outcomes []Outcome) (list metrics.Measures) {
	if e == nil {
		return nil
	}
	for _, when := range []struct {
		name, label string
		told        []Told
	}{{"eta_", "at arrival", e.Arrival}, {"eta_head_", "at the head", e.Head}} {
		var mid, fit, width []float64
		within, before := 0, 0
		off := func(told, start backfill.Time) float64 { return float64(max(told, start) - min(told, start)) }
		for _, one := range when.told {
			o := outcomes[one.Job]
			if !o.Started {
				continue
			}
			mid, fit = append(mid, off(one.Range.Mid, o.Start)), append(fit, off(one.Fit, o.Start))
			width = append(width, float64(one.Range.High-one.Range.Low))
			switch {
			case o.Start < one.Range.Low:
				before++
			case o.Start <= one.Range.High:
				within++
			}
		}
		measure := func(name, label string, unit metrics.Unit, value float64) {
			list = append(list, metrics.Measure{
				Name: when.name + name, Label: label + " " + when.label, Unit: unit, Value: value,
			})
		}
		percentile := func(values []float64, p int) float64 { slices.Sort(values); return metrics.Percentile(values, p) }
		measure("jobs", "told a start", metrics.Count, float64(len(mid)))
		measure("error_median", "median error, told", metrics.Seconds, percentile(mid, 50))
		measure("error_p90", "p90 error, told", metrics.Seconds, percentile(mid, 90))
		share := func(count int) float64 { return float64(count) / float64(max(1, len(mid))) }
		measure("within_80", "started within the range told", metrics.Share, share(within))
		measure("before_80", "started before the range told", metrics.Share, share(before))
		measure("range_median", "median range, told", metrics.Seconds, percentile(width, 50))
		measure("fit_error_median", "median error, earliest fit", metrics.Seconds, percentile(fit, 50))
		measure("fit_error_p90", "p90 error, earliest fit", metrics.Seconds, percentile(fit, 90))
	}
	return list
}
