package negotiator

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestRouse: jobs that wait are placed on slots that sleep, in the queue's order, after those that no
// other slot can run. Nobody gets more than there is, and nothing changes.
func TestRouse(t *testing.T) {
	n := newNegotiator(t)
	gang := newJob(t, 4, 3, "")
	gang.Nodes = 3
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "awake", 4, "")}, Submitted: []*Job{
		newJob(t, 1, 4, ""), newJob(t, 2, 2, ""), newJob(t, 3, 1, "Requirements = TARGET.Cpus > 4"), gang,
		newJob(t, 5, 2, ""), newJob(t, 6, 2, "Owner = \"eve\""), newJob(t, 7, 1, "Requirements = TARGET.Cpus > 9"),
	}})
	require.Equal(t, []string{"1.1@awake×1"}, started(r))
	wanted := func(held []backfill.JobID, asleep ...*Slot) (all []string) {
		for _, m := range n.Rouse(asleep, held) {
			all = append(all, m.Job.Name+"@"+m.Placement.String())
		}
		return all
	}
	notEve := newSlot(t, "a", 5, "Requirements = TARGET.Owner =!= \"eve\"")
	held := []backfill.JobID{3, 7, 99}
	for name, c := range map[string]struct {
		asleep []*Slot
		held   []backfill.JobID
		want   []string
	}{
		"nobody sleeps":      {nil, held, nil},
		"one":                {[]*Slot{notEve}, held, []string{"1.3@a×1", "1.2@a×1", "1.5@a×1"}},
		"nobody is held":     {[]*Slot{notEve}, nil, []string{"1.2@a×1", "1.5@a×1"}},
		"for eve":            {[]*Slot{newSlot(t, "b", 6, "")}, nil, []string{"1.2@b×1", "1.5@b×1", "1.6@b×1"}},
		"one that is small":  {[]*Slot{newSlot(t, "b", 1, "")}, held, nil},
		"a gang on two":      {[]*Slot{newSlot(t, "b", 6, ""), newSlot(t, "c", 4, "")}, []backfill.JobID{4}, []string{"1.4@b×2 c×1"}},
		"a gang on too few":  {[]*Slot{newSlot(t, "b", 8, "")}, []backfill.JobID{4}, []string{"1.2@b×1", "1.5@b×1", "1.6@b×1"}},
		"one that is closed": {[]*Slot{newSlot(t, "b", 8, "Requirements = false")}, held, nil},
	} {
		before := n.Checkpoint()
		require.Equal(t, c.want, wanted(c.held, slices.Clone(c.asleep)...), name)
		require.Equal(t, before, n.Checkpoint(), name)
	}
}
