package daemon

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestOverlappingSlot: a job that asks for a slot that overlaps with others is started there after the
// cycle's decision, once, and the negotiator knows that it runs. An observer starts none.
func TestOverlappingSlot(t *testing.T) {
	for _, observes := range []bool{false, true} {
		w := newWorld()
		ad := classad.New()
		ad.SetString("Name", "slot2@a")
		ad.SetBool("BackfillSlot", true)
		ad.SetBool("Requirements", true)
		w.overlap = []negotiator.Overlapping{{
			Slot:    &negotiator.Slot{Name: "slot2@a", Capacity: backfill.Vector{4}, Ad: ad},
			Machine: "a", Primary: []string{"slot1@a"}, Overlapping: []string{"slot2@a"},
		}}
		closed := ad.Clone()
		closed.SetBool("Requirements", false)
		fills := w.job(3, 3, 10)
		require.NoError(t, fills.Ad.SetExpr("Requirements", "TARGET.BackfillSlot =?= true"))
		more := w.job(4, 2, 10)
		more.Ad = fills.Ad
		w.deltas <- negotiator.Delta{
			Now:       1000,
			SlotsUp:   []*negotiator.Slot{w.slot, {Name: "slot2@a", Capacity: backfill.Vector{4}, Ad: closed}},
			Submitted: []*negotiator.Job{fills, more},
		}
		o := w.options("conservative")
		o.Observe = observes
		d, end := run(t, o)
		cycles := 2
		if !observes {
			poll.Equal(t, 1, w.acts)
			cycles = 3 // one follows at once for what was started beside the plan
		}
		w.deltas <- negotiator.Delta{Now: 1001}
		poll.Contains(t, fmt.Sprintf("BackfillCycles = %d;", cycles), adOf(d))
		require.NoError(t, end())
		if observes {
			require.Zero(t, w.acts())
			continue
		}
		require.Len(t, w.acted, 1)
		require.Len(t, w.acted[0], 1, "the other does not fit")
		require.Equal(t, "3.0", w.acted[0][0].Job.Name)
		require.Equal(t, "slot2@a×1", w.acted[0][0].Placement.String())
		require.True(t, d.n.State().IsRunning(3))
	}
}
