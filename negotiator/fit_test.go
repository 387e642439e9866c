package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestFit(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{
		newSlot(t, "a", 4, `Site = "north"`), newSlot(t, "b", 4, `Site = "north"; Requirements = TARGET.Owner =!= "eve"`),
		newSlot(t, "c", 8, `Site = "south"`), newSlot(t, "gone", 8, `Site = "north"`),
	}})
	cycle(t, n, Delta{SlotsDown: []string{"gone"}, Submitted: []*Job{
		newJob(t, 1, 1, `Requirements = TARGET.Site == "north" && (TARGET.Cpus >= RequestCpus && TARGET.Missing)`),
		newJob(t, 2, 1, `Owner = "eve"; Requirements = TARGET.Site == "north"`),
		newJob(t, 3, 9, ""),
	}})
	for id, want := range map[backfill.JobID]Fit{
		1: {Slots: 3, Matching: 0, Clauses: []Clause{{`TARGET.Site == "north"`, 2}, {"TARGET.Cpus >= RequestCpus", 3}, {"TARGET.Missing", 0}}},
		2: {Slots: 3, Matching: 1, Refusing: 1, Clauses: []Clause{{`TARGET.Site == "north"`, 2}}},
		3: {Slots: 3, Matching: 3, Clauses: []Clause{{"true", 3}}}, // and yet too large
	} {
		got, ok := n.Fit(id)
		require.True(t, ok)
		require.Equal(t, want, got, "job %d", id)
	}
	_, ok := n.Fit(4)
	require.False(t, ok)
}
