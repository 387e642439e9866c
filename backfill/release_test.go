package backfill_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// after returns the job with an earliest start.
func after(release backfill.Time, j *backfill.Job) *backfill.Job {
	j.Release = release
	return j
}

func TestAnEarliestStartIsBounded(t *testing.T) {
	for _, release := range []backfill.Time{-1, backfill.MaxTime + 1} {
		_, err := newState(t, cpus(1)).Open(backfill.Round{Events: submitted(after(release, job(1, 0, 10, 1)))})
		require.ErrorContains(t, err, fmt.Sprintf("job 1: may not start before %d: must be from 0 to", release))
	}
}
