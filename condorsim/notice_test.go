package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// TestDrainWithNotice: jobs of 10 s follow each other on three slots, of which two are drained at 25. If
// that is known some time before, these are empty then, and until 20 they are as full as without.
func TestDrainWithNotice(t *testing.T) {
	jobs := make([]workload.Job, 12)
	for i := range jobs {
		jobs[i] = workload.Job{Procs: 4, Run: 10}
	}
	for notice, want := range map[backfill.Time]struct{ before, across int }{
		0: {4, 2}, 4: {4, 2}, 5: {4, 0}, 12: {4, 0}, 25: {4, 0}, 1000: {4, 0},
	} {
		drain := drains(25, 75, 1, 2)
		drain.Notice = notice
		w := onNodes(t, []pools.Outage{drain}, jobs...)
		r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
		require.NoError(t, err)
		before, across := 0, 0
		for _, o := range r.Outcomes {
			require.True(t, o.Ended)
			switch {
			case o.Placement[0].Slot.Name == "a" || o.Start >= 25:
			case o.End > 25:
				across++
			default:
				before++
			}
		}
		require.Equal(t, want, struct{ before, across int }{before, across}, "notice of %d s", notice)
	}
}
