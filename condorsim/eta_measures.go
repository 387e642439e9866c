package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// measures returns how true the start times are that were told, for the jobs that started: the error
// of the middle of the range and of the earliest fit, how many started near to these, and how many within
// the range.
func (e *EtaResult) measures(outcomes []Outcome) (list metrics.Measures) {
	if e == nil {
		return nil
	}
	var atArrival ahead.Near
	for _, when := range []struct {
		name, label string
		told        []Told
	}{{"eta_", "at arrival", e.Arrival}, {"eta_head_", "at the head", e.Head}} {
		var mid, fit []backfill.Time // how far off they were
		var width []float64
		within, before := 0, 0
		off := func(told, start backfill.Time) backfill.Time { return max(told, start) - min(told, start) }
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
		errorOf := func(list []backfill.Time, p int) float64 {
			var values []float64
			for _, v := range list {
				values = append(values, float64(v))
			}
			return percentile(values, p)
		}
		told, fits := ahead.NearOf(mid), ahead.NearOf(fit)
		if when.name == "eta_" {
			atArrival = told
		}
		measure("jobs", "told a start", metrics.Count, float64(len(mid)))
		measure("error_median", "median error, told", metrics.Seconds, errorOf(mid, 50))
		measure("error_p90", "p90 error, told", metrics.Seconds, errorOf(mid, 90))
		measure("within_1min", "started within 1 min of what was told", metrics.Share, told.Minute)
		measure("within_10min", "started within 10 min of what was told", metrics.Share, told.TenMinutes)
		share := func(count int) float64 { return float64(count) / float64(max(1, len(mid))) }
		measure("within_80", "started within the range told", metrics.Share, share(within))
		measure("before_80", "started before the range told", metrics.Share, share(before))
		measure("range_median", "median range, told", metrics.Seconds, percentile(width, 50))
		measure("fit_error_median", "median error, earliest fit", metrics.Seconds, errorOf(fit, 50))
		measure("fit_error_p90", "p90 error, earliest fit", metrics.Seconds, errorOf(fit, 90))
		measure("fit_within_1min", "started within 1 min of the earliest fit", metrics.Share, fits.Minute)
		measure("fit_within_10min", "started within 10 min of the earliest fit", metrics.Share, fits.TenMinutes)
	}
	return append(list, e.ofAll(atArrival)...)
}

// ofAll returns the shares of the starts that came near to what was told at arrival, of all jobs: those
// that started at once were told what came true. The sample stands for all that waited.
func (e *EtaResult) ofAll(sample ahead.Near) metrics.Measures {
	all := float64(max(e.AtOnce+e.Waited, 1))
	share := func(name, label string, ofWaiting float64) metrics.Measure {
		return metrics.Measure{
			Name: "eta_all_within_" + name, Label: "started within " + label + " of what was told, of all jobs",
			Unit: metrics.Share, Value: (float64(e.AtOnce) + float64(e.Waited)*ofWaiting) / all,
		}
	}
	return metrics.Measures{share("1min", "1 min", sample.Minute), share("10min", "10 min", sample.TenMinutes)}
}
