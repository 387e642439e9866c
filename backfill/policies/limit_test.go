package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestJobsAtALimit checks what becomes of jobs that wait for a limit of one, on a slot with room for all
// of them: job 1 has it until 100, jobs 2 and 4 wait for it, and job 3 takes nothing of it. So job 3
// starts beside them, but under fcfs; and job 2 has a reservation for 100, under those that plan all job
// 4 one for 150. Under slack the shortest goes first.
func TestJobsAtALimit(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, near(spec.Name))
			only := backfill.CandidateSet{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}
			r := backfill.Round{
				Candidates: []backfill.CandidateSet{only}, Rows: []backfill.Row{{Name: "licence", Height: 1}},
				Events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: v(8)}}},
			}
			for i, j := range []a{{100, v(1)}, {50, v(1)}, {500, v(1)}, {20, v(1)}} {
				e := submission(backfill.JobID(i+1), 0, j)
				if i != 2 {
					e.Job.Takes = []backfill.Take{{Row: 0, Amount: 1}}
				}
				r.Events = append(r.Events, e)
			}
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			begin, planned := started(1, 3), map[backfill.JobID]backfill.Time{2: 100}
			switch spec.Name {
			case "fcfs":
				begin = started(1)
			case "first-fit", "best-fit":
				planned = nil
			case "slack", "slack-small": // which plans as late as it may
				require.Equal(t, started(3, 4), ids(d))
				return
			case "conservative", "pc", "dc":
				planned[4] = 150
			}
			require.Equal(t, begin, ids(d))
			for id := range backfill.JobID(5) {
				start, _, _ := h.State.Planned(id)
				require.Equal(t, planned[id], start, id)
			}
			reason, _ := h.State.Reason(2)
			require.Contains(t, h.State.Describe(reason, nil), "licence")
		})
	}
}
