package ahead

import "github.com/condor-backfill/condor-backfill/backfill"

// Near says how many starts came near to when they had been told, as shares from 0 to 1: within one
// minute of it and within ten, earlier or later. Brown et al., Predicting batch queue job wait times for
// informed scheduling of urgent HPC workloads, arXiv 2204.13543, measure predictions in this way.
type Near struct{ Minute, TenMinutes float64 }

// NearOf returns the shares of errors, which are at least 0: by how much starts were told wrong. A start
// that is a minute off is still within it. Without errors both shares are 0.
func NearOf(errors []backfill.Time) Near {
	const minute, tenMinutes backfill.Time = 60, 600
	near, less := 0, 0
	for _, off := range errors {
		if off <= minute {
			near++
		}
		if off <= tenMinutes {
			less++
		}
	}
	all := float64(max(len(errors), 1))
	return Near{Minute: float64(near) / all, TenMinutes: float64(less) / all}
}
