package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestAnEndThatGoesAway: job 1 loses its place, as slot a gets too small, and has no other start, as slot
// b is about to end. In the same round b turns out to last, and job 2, which comes first in the order,
// takes the only place in the plan. So the promise of job 1 is broken: it waits beyond the plan.
func TestAnEndThatGoesAway(t *testing.T) {
	slot := func(kind backfill.EventKind, id backfill.SlotID, cpus int64, end backfill.Time) backfill.Event {
		name := string('a' + rune(id))
		return backfill.Event{Kind: kind, Slot: backfill.Slot{ID: id, Name: name, Capacity: v(cpus), End: end}}
	}
	for _, policy := range []string{"conservative", "pc", "dc"} {
		t.Run(policy, func(t *testing.T) {
			s := backfill.NewState([]string{"cpus"}, profile.ByRank)
			h := hostOf(t, s, policy, "sjf", nil)
			h.SetPlanning(backfill.Planning{Depth: 1, Reorder: true})
			decide := func(r backfill.Round) backfill.Decision {
				t.Helper()
				d, err := h.Decide(t.Context(), r)
				require.NoError(t, err)
				return d
			}
			onA := submission(3, 0, a{17, v(1)})
			onA.Job.Candidates = 1
			decide(backfill.Round{
				Candidates: []backfill.CandidateSet{
					{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}}},
					{ID: 1, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}},
				},
				Events: []backfill.Event{slot(backfill.SlotAdded, 0, 2, 0), slot(backfill.SlotAdded, 1, 2, 20), onA},
			})
			decide(arrives(1, 1, a{30, v(2)}))
			decide(arrives(2, 2, a{20, v(1)}))
			_, promised := s.Guaranteed(1)
			require.True(t, promised)
			d := decide(backfill.Round{Now: 3, Events: []backfill.Event{
				slot(backfill.SlotChanged, 0, 1, 0), slot(backfill.SlotChanged, 1, 2, 0),
			}})
			require.Equal(t, started(2), ids(d))
			require.Len(t, d.Broken, 1)
			require.Equal(t, backfill.CauseSlotChanged, d.Broken[0].Cause)
			require.EqualValues(t, 1, d.Broken[0].Job.ID)
			_, promised = s.Guaranteed(1)
			require.False(t, promised)
		})
	}
}
