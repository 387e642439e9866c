package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// TestClaimedSlots: the ads of claimed slots are kept whole once a job may make way: a machine has
// a RANK, or PREEMPTION_REQUIREMENTS may be true. Else only RANK is asked for, and jobs are matched
// with the same ads.
func TestClaimedSlots(t *testing.T) {
	const busy = "RemoteUser = \"alice@pool\"\nCurrentRank = 0.0\nRetirementTimeRemaining = 20\n" +
		"MachineMaxVacateTime = 10 * 60\nTotalJobRunTime = 7\nColor = \"red\"\n"
	p := newSite(t, "s@test")
	look := func(rank string, preemption config.Preemption) (*Snapshot, *Slot) {
		t.Helper()
		p.slots = []string{partitionable("TotalJobRunTime = 9\n" + rank), part(busy + rank)}
		scope := p.s.Scope
		scope.Preemption = preemption
		p.Ask(scope)
		s := p.see()
		return s, s.Slots["slot1_1@n"]
	}
	has := func(s *Snapshot, name string) bool {
		_, has := s.Slots["slot1@n"].Ad.Ad.Lookup(name)
		return has
	}
	const rank = "Rank = TARGET.Owner == \"bob\"\n"
	off, cut := look(rank, config.Preemption{PreemptionRequirements: "True"})
	require.False(t, off.Preempts)
	require.Nil(t, cut.Claim)

	plain, cut := look("Rank = 0.0\n", config.Preemption{ConsiderPreemption: true, PreemptionRequirements: "False"})
	require.False(t, plain.Preempts)
	require.Nil(t, cut.Claim)
	require.False(t, has(plain, "Rank"), "a number prefers nobody")
	require.NotContains(t, p.slotAttributes.projection(), "retirementtimeremaining")

	asked, cut := look("Rank = 0.0\n", config.Preemption{ConsiderPreemption: true, PreemptionRequirements: "MY.Color == Hue"})
	require.True(t, asked.Preempts)
	color, _ := cut.Claim.Literal("Color").Text()
	require.Equal(t, "red", color)
	require.Equal(t, "7", cut.Claim.Literal("TotalJobRunTime").String())
	require.False(t, has(asked, "TotalJobRunTime"), "it changes all the time")
	require.Contains(t, p.jobAttributes.projection(), "hue")

	neighbours := config.Preemption{ConsiderPreemption: true, PreemptionRequirements: "Slot2_RemoteUserPrio > slot3_RemoteGroupQuota"}
	_, _ = look(rank, neighbours)
	require.NotContains(t, p.slotAttributes.projection(), "slot2_remoteuser")
	neighbours.CrossSlotPrios = true
	_, _ = look(rank, neighbours)
	for _, name := range []string{"slot2_remoteuser", "slot3_remoteuser"} {
		require.Contains(t, p.slotAttributes.projection(), name, "whose priority it is")
	}

	ranked, cut := look(rank, config.Preemption{ConsiderPreemption: true})
	require.True(t, ranked.Preempts)
	require.Equal(t, "20", cut.Claim.Literal("RetirementTimeRemaining").String())
	require.True(t, has(ranked, "Rank"))
}
