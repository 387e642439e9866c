package condorsim

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// foretold holds what a job is planned with against what it requests: predictions may
// be shorter, never change when the job would be ended, and do not matter where
// guarantees are given.
func (a *audit) foretold(j *backfill.Job, s *backfill.State) error {
	w := &a.w.Jobs[j.ID]
	requested := cmp.Or(w.Estimate, a.unknown) + a.slack
	limit := requested
	if w.Limit > 0 {
		limit = w.Limit + a.slack
	}
	running := cmp.Or(j.Running, j.Estimate)
	_, guarantees := s.Policy()
	switch {
	case j.Estimate > requested || running > requested:
		return a.violation(j.ID, "was taken to run for %d s, then for %d s, but requests %d", j.Estimate, running, requested)
	case cmp.Or(j.Limit, j.Estimate) != limit:
		return a.violation(j.ID, "was to be ended after %d s, but requests %d", cmp.Or(j.Limit, j.Estimate), limit)
	case guarantees && (j.Estimate != requested || running != requested):
		return a.violation(j.ID, "was taken to run for %d s, then for %d s, but a guarantee must rest on the %d that it requests", j.Estimate, running, requested)
	default:
		return nil
	}
}
