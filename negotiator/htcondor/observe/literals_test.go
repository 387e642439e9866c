package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestStateIsNotEvaluated: an expression in the place of a slot's state counts as undefined, and
// that is told once.
func TestStateIsNotEvaluated(t *testing.T) {
	o, l := quiet(), lookOf(1)
	for i, state := range []string{`"Unclaimed"`, `strcat("Un", "claimed")`, tooMuch} {
		_, err := o.readSlot(cedar.Lines(strings.NewReplacer("slot1@n", fmt.Sprintf("slot1@n%d", i), `"Unclaimed"`, state).
			Replace(partitionable("ChildName = { \"slot1_1@n\", strcat(\"slot1\", \"_2@n\") }\n"))), l)
		require.NoError(t, err)
		slot := o.slots[fmt.Sprintf("slot1@n%d", i)]
		require.Equal(t, i > 0, slot.Refuses())
		require.Equal(t, map[string]bool{"slot1_1@n": true}, slot.Parts)
	}
	l.tellOmitted()
	require.Equal(t, []string{"slot slot1@n1 advertises an expression as its State, which counts as undefined: daemons write a " +
		"value there; see whether its configuration (such as STARTD_ATTRS) sets that"}, l.Problems)
}

// TestAmountsHaveAPrice: what slots say of their resources may be expressions, which share
// slotSteps.
func TestAmountsHaveAPrice(t *testing.T) {
	resources := []string{"cpus", "memory"}
	ad, err := classad.ParseOld("Cpus = 2 + 2\nTotalSlotCpus = 8.0 / 2\nMemory = nothing\nTotalSlotMemory = 7\n")
	require.NoError(t, err)
	require.NoError(t, settle(ad, resources, nil))
	require.Equal(t, "Cpus = 4\nTotalSlotCpus = 4\nTotalSlotMemory = 7\n", ad.Format(classad.Lines))
	for value, why := range map[string]string{tooMuch: "too expensive", `strcat("a", "b")`: `is "ab"`, "1 / 0": "is error"} {
		require.NoError(t, ad.SetExpr("Memory", value))
		require.ErrorContains(t, settle(ad, resources, nil), why)
		require.Zero(t, Amounts(ad, resources, nil)[1])
	}
}

// TestAmountsByTheClock: what a slot says of its resources may depend on when that is.
func TestAmountsByTheClock(t *testing.T) {
	resources := []string{"cpus", "memory"}
	for now, cpus := range map[int64]int64{1_000_000: 4, 1_000_001: 6} {
		ad, err := classad.ParseOld("Cpus = time() > 1000000 ? 6 : 4\nMemory = CurrentTime / 1000\n")
		require.NoError(t, err)
		host := &classad.Host{Now: func() int64 { return now }}
		require.Equal(t, backfill.Vector{cpus, 1000}, Amounts(ad, resources, host))
		require.NoError(t, settle(ad, resources, host))
		require.Equal(t, fmt.Sprintf("Cpus = %d\nMemory = 1000\n", cpus), ad.Format(classad.Lines))
	}
}

// TestFollowingSlotsIsCharged: what the slots of one host refer to is followed up to a price in
// each look, and for those of others there is something left.
func TestFollowingSlotsIsCharged(t *testing.T) {
	o, l := quiet(), lookOf(1)
	var ad strings.Builder
	var names []string
	for i := range 40 {
		fmt.Fprintf(&ad, "A%d = %s\n", i, strings.Join(append(names, "1"), " + "))
		names = append(names, fmt.Sprintf("A%d", i))
	}
	slot := func(i int, host string) {
		_, err := o.readSlot(append(slotOf(i, host, fmt.Sprintf("TARGET.Mine%d && (%s) > 0", i, strings.Join(names, " + "))), ad.String()...), l)
		require.NoError(t, err)
	}
	o.slotAttributes.refer(names, always)
	slot(0, "10.0.0.1")
	each := o.slotReads.follow.users["10.0.0.1"]
	require.Greater(t, each, 1000, "such an ad takes much")
	const n = 200
	for i := range n {
		slot(1+i, "10.0.0.1")
	}
	slot(n+1, "10.0.0.2")
	require.LessOrEqual(t, o.slotReads.follow.users["10.0.0.1"], slotFollows/4+each)
	require.Equal(t, each, o.slotReads.follow.users["10.0.0.2"])
	require.Contains(t, o.read[fmt.Sprintf("slot1@n%d", n+1)].refers, fmt.Sprintf("mine%d", n+1))
}
