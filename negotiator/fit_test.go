package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

func TestFit(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{
		newSlot(t, "a", 4, `Site = "north"`),
		newSlot(t, "b", 4, `Site = "north"; Requirements = TARGET.Owner =!= "eve"`),
		newSlot(t, "c", 8, `Site = "south"`), newSlot(t, "gone", 8, `Site = "north"`),
	}})
	cycle(t, n, Delta{SlotsDown: []string{"gone"}, Submitted: []*Job{
		newJob(t, 1, 1, `Requirements = TARGET.Site == "north" && (TARGET.Cpus >= RequestCpus && TARGET.Missing)`),
		newJob(t, 2, 1, `Owner = "eve"; Requirements = TARGET.Site == "north"`),
		newJob(t, 3, 9, ""),
	}})
	for id, want := range map[backfill.JobID]matchmaker.Fit{
		1: {Slots: 3, Matching: 0, Clauses: []matchmaker.Clause{
			{Text: `TARGET.Site == "north"`, Met: 2},
			{Text: "TARGET.Cpus >= RequestCpus", Met: 3},
			{Text: "TARGET.Missing", Met: 0},
		}},
		2: {
			Slots: 3, Matching: 1, Refusing: 1, Clauses: []matchmaker.Clause{{Text: `TARGET.Site == "north"`, Met: 2}},
			Refusals: []matchmaker.Refusal{{Attribute: "Requirements", Text: `TARGET.Owner =!= "eve"`, Slots: 1}},
		},
		3: {Slots: 3, Matching: 3, Clauses: []matchmaker.Clause{{Text: "true", Met: 3}}}, // although it is too large
	} {
		got, ok := n.Fit(id)
		require.True(t, ok)
		require.Equal(t, want, got, "job %d", id)
	}
	_, ok := n.Fit(4)
	require.False(t, ok)
}

// TestAJobWhoseSlotsAreClosed: it is not said of it that it can never run.
func TestAJobWhoseSlotsAreClosed(t *testing.T) {
	n := newNegotiator(t)
	slots := []*Slot{newSlot(t, "a", 2, `Requirements = false; BackfillClosed = "drained"`)}
	job := newJob(t, 1, 1, "")
	r := cycle(t, n, Delta{SlotsUp: slots, Submitted: []*Job{job}})
	require.Equal(t, []Held{{
		Job: job, Reason: "matches no slot: those that would do are closed: of 1 slot 1 is drained", Closed: true,
	}}, r.Held)
}
