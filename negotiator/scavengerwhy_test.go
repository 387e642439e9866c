package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestWhyAScavengerNeverStarts: it is told what any other job would be told.
func TestWhyAScavengerNeverStarts(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Limits: []Limit{{Name: "matlab", Height: 4 * LimitUnit}},
		Submitted: []*Job{newJob(t, 1, 4, "")},
	})
	greedy, wide, spread := scavengerOf(t, 2, 1, "a"), scavengerOf(t, 3, 9, "a"), scavengerOf(t, 4, 3, "a")
	greedy.Takes = []Take{{Limit: "matlab", Amount: 9 * LimitUnit}}
	spread.Nodes = 2
	cycle(t, n, Delta{Now: 1, Submitted: []*Job{greedy, wide, spread, scavengerOf(t, 5, 4, "a")}})
	const never = "a scavenger: " + backfill.ReasonNeverFits
	for id, want := range map[backfill.JobID]string{
		2: "a scavenger: takes more of a limit than there is: 9 of matlab, which is 4",
		3: never + ": it requests 9 cpus, and none that it matches has more than 4",
		4: never,
		5: "a scavenger: it starts as soon as something is idle that it can use",
	} {
		require.Equal(t, want, n.WhyScavenger(id, nil))
	}
	cycle(t, n, Delta{Now: 2, SlotsUp: []*Slot{newSlot(t, "two", 12, "")}})
	require.Equal(t, "a scavenger: it runs on two×1 until any other job needs its place", n.WhyScavenger(3, nil))
}
