package condorsim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// queueOf is a workload of jobs that come together and take the whole machine, but for the last.
func queueOf(t *testing.T) *condorsim.Workload {
	t.Helper()
	return newWorkload(
		t,
		workload.Job{Run: 10, Procs: 6},
		workload.Job{Run: 30, Procs: 8},
		workload.Job{Run: 20, Procs: 8},
		workload.Job{Run: 9, Procs: 2},
	)
}

// TestAPlanOfOneJob runs jobs under a plan of one job, in order of jobs and by sjf, and checks when
// each starts and what it was promised: those that start beside the plan are promised nothing.
func TestAPlanOfOneJob(t *testing.T) {
	for _, tt := range []struct {
		planning backfill.Planning
		starts   []backfill.Time
		promised []bool
	}{
		{backfill.Planning{}, []backfill.Time{0, 10, 40, 0}, []bool{true, true, true, true}},
		{backfill.Planning{Depth: 1}, []backfill.Time{0, 10, 40, 0}, []bool{true, true, true, false}},
		{backfill.Planning{Depth: 1, Reorder: true}, []backfill.Time{0, 30, 10, 0}, []bool{false, true, true, true}},
	} {
		for _, policy := range []string{"conservative", "pc", "dc"} {
			c := link(t, policy, nil)
			var err error
			c.Order, err = negotiator.OrderNamed("sjf")
			require.NoError(t, err)
			c.Planning = tt.planning
			result, err := condorsim.Run(t.Context(), queueOf(t), c, nil)
			require.NoError(t, err)
			var starts []backfill.Time
			var promised []bool
			for _, o := range result.Outcomes {
				starts, promised = append(starts, o.Start), append(promised, o.Promised)
			}
			require.Equal(t, tt.starts, starts, "%s %+v", policy, tt.planning)
			require.Equal(t, tt.promised, promised, "%s %+v", policy, tt.planning)
		}
	}
}

// TestAuditOfADepth feeds the audit a correct run under a plan of one job, and one whose decisions
// hide that a job was planned and promised.
func TestAuditOfADepth(t *testing.T) {
	for _, hides := range []bool{false, true} {
		w, c := queueOf(t), link(t, "conservative", nil)
		c.Planning.Depth = 1
		books, closeBooks := condorsim.Audited(w)
		_, err := condorsim.Run(t.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
			if hides {
				r.Decision.Actions, r.Decision.Started = nil, slices.Clone(r.Decision.Started)
				for i := range r.Decision.Started {
					r.Decision.Started[i].Promised = false
				}
			}
			return books.Cycle(r)
		}))
		if hides {
			require.EqualError(t, err,
				"internal error at 0 00:00:00: 2 jobs wait without a promise, and the plan has 0 of at most 1")
		} else {
			require.NoError(t, err)
			require.NoError(t, closeBooks())
		}
	}
}
