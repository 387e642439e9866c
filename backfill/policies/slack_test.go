package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestSlackTakesOver checks that slack, where it follows a policy without guarantees, promises each
// waiting job a start as at its arrival, also one for which that policy had reserved. Four cpus are
// busy until 10; jobs 2 and 3 need all of them for 10 s. With its own slack job 2 starts at 20, and
// job 3, which could start at 10 then, at 30.
func TestSlackTakesOver(t *testing.T) {
	for _, tt := range []struct {
		from     string
		planning backfill.Planning
		want     plan
	}{
		{"easy", backfill.Planning{}, plan{0, 20, 30}},
		{"easy", backfill.Planning{Depth: 10, Reorder: true}, plan{0, 20, 30}},
		{"conservative", backfill.Planning{}, plan{0, 10, 20}}, // what was promised stays
	} {
		t.Run(tt.from, func(t *testing.T) {
			s := backfill.NewState([]string{"cpus"}, profile.ByRank)
			d := arrive(t, host(t, s, tt.from, nil), 4, a{10, v(4)}, a{10, v(4)}, a{10, v(4)})
			require.Equal(t, started(1), ids(d))
			h := host(t, s, "slack", opt("factor", "1"))
			h.Plan(tt.planning)
			d, err := h.Decide(t.Context(), backfill.Round{Now: 1})
			require.NoError(t, err)
			require.Empty(t, d.Broken)
			require.Equal(t, tt.want, planOf(s, 3))
			for _, j := range s.Snapshot().Jobs[1:] {
				require.True(t, j.Promised)
				require.Equal(t, tt.want[j.Job.ID-1], j.Guarantee)
			}
		})
	}
}
