package accountant

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const sharedSettings = "GROUP_NAMES = g, g.sub\nGROUP_QUOTA_DYNAMIC_g = 0.5\nGROUP_QUOTA_DYNAMIC_g.sub = 0.5\n" +
	"PRIORITY_HALFLIFE = 1000\nDEFAULT_PRIO_FACTOR = 10"

// usedBy are what an accounting tells that its submitters use.
func usedBy(a *Accountant) map[string]Use {
	all := map[string]Use{}
	for _, ad := range a.ActiveAds() {
		if name, u, ok := ReadUse(ad); ok {
			all[name] = u
		}
	}
	return all
}

// standardsOf are the priorities that an accounting tells.
func standardsOf(t require.TestingT, a *Accountant) (all []Standard) {
	list := a.Accounts()
	for i := range list.Len() {
		s, ok := ReadStandard(list.At(i))
		require.True(t, ok, "%v", list.At(i))
		all = append(all, s)
	}
	return all
}

// TestHalvesHaveTheSamePriorities: of two negotiators with slots of their own one keeps the accounts. They are those
// of one negotiator with all slots, and the other has the same priorities, whatever each of them runs, and
// whoever sets factors. Its quotas stay those of its own slots.
func TestHalvesHaveTheSamePriorities(t *testing.T) {
	names := []string{"alice@here", "bob@here", "g.carol@here", "g.sub.dave@here"}
	rapid.Check(t, func(t *rapid.T) {
		var all [3]*Accountant // the ledger, who follows it, and one that has all slots
		for i := range all {
			a, err := New(settings(t, sharedSettings))
			require.NoError(t, err)
			all[i] = a
		}
		ledger, west, whole := all[0], all[1], all[2]
		now := int64(0)
		for range rapid.IntRange(1, 8).Draw(t, "cycles") {
			now += rapid.Int64Range(1, 500).Draw(t, "passed")
			here, there, sum := map[string]Use{}, map[string]Use{}, map[string]Use{}
			for _, name := range names {
				h, w := rapid.IntRange(0, 3).Draw(t, "here"), rapid.IntRange(0, 3).Draw(t, "there")
				here[name], there[name] = Use{h, float64(2 * h)}, Use{w, float64(w)}
				sum[name] = Use{h + w, float64(2*h + w)}
			}
			require.NoError(t, west.Update(at(now), there))
			ledger.ChargeElsewhere(usedBy(west))
			require.NoError(t, ledger.Update(at(now), here))
			require.NoError(t, whole.Update(at(now), sum))
			if rapid.Bool().Draw(t, "sets") {
				who, factor := rapid.SampledFrom(names).Draw(t, "who"), rapid.Float64Range(1, 50).Draw(t, "factor")
				require.NoError(t, ledger.SetFactor(who, factor))
				require.NoError(t, whole.SetFactor(who, factor))
			}
			west.Follow(standardsOf(t, ledger))
			require.NoError(t, west.Update(at(now), there))
			for _, name := range append(names, "g", "g.sub", "new@here") {
				require.InEpsilon(t, whole.Priority(name), ledger.Priority(name), 1e-9, name)
				require.InEpsilon(t, ledger.Priority(name), west.Priority(name), 1e-9, name)
			}
			require.Equal(t, usedBy(whole), usedBy(ledger), "the ledger tells all that is used")
		}
		require.NoError(t, ledger.Divide(8, map[string]float64{names[0]: 8}))
		require.NoError(t, whole.Divide(8, map[string]float64{names[0]: 8}))
		for _, name := range names {
			l, w := ledger.accounts[name], whole.accounts[name]
			if l == nil || w == nil {
				require.Equal(t, w == nil, l == nil, name)
				continue
			}
			require.InDelta(t, w.Used, l.Used, 1e-6, name)
			require.InDelta(t, w.Weighted, l.Weighted, 1e-6, name)
			require.LessOrEqual(t, ledger.Standing(name).InUse, whole.Standing(name).InUse, "quotas count its own slots alone")
		}
	})
}

// TestWhoeverFollowsGoesOnAlone: while the ledger is not there, the one that follows ages what it knew last by what
// is used on its own slots.
func TestWhoeverFollowsGoesOnAlone(t *testing.T) {
	a, err := New(settings(t, sharedSettings))
	require.NoError(t, err)
	require.NoError(t, a.Update(at(0), nil))
	a.Follow([]Standard{{"alice@here", 64, 10}, {"bob@here", 32, 20}, {"idle@here", 0.5, 10}, {"bad name", 7, 10}})
	require.ErrorContains(t, a.Update(at(0), map[string]Use{"bob@here": {1, 32}}), "bad name")
	require.InDelta(t, 640, a.Priority("alice@here"), 1e-9)
	require.NotContains(t, a.accounts, "idle@here", "a new account says the same")
	require.NoError(t, a.Update(at(1000), nil))
	require.InDelta(t, 320, a.Priority("alice@here"), 1e-9, "half-life")
	require.InDelta(t, 640, a.Priority("bob@here"), 1e-9, "he used as much as his priority says")
	require.Zero(t, a.accounts["alice@here"].Factor, "it is the default factor, and follows that")
	require.InDelta(t, 20, a.accounts["bob@here"].Factor, 0)
}

// TestNonsenseIsNoStandard: ads of which nothing can be made are passed over.
func TestNonsenseIsNoStandard(t *testing.T) {
	a, err := New(settings(t, ""))
	require.NoError(t, err)
	require.NoError(t, a.Update(at(0), map[string]Use{"alice@here": {2, 3}}))
	ad := a.ActiveAds()[1]
	name, use, ok := ReadUse(ad)
	require.True(t, ok)
	require.Equal(t, "alice@here", name)
	require.Equal(t, Use{2, 3}, use)
	_, _, ok = ReadUse(a.ActiveAds()[0])
	require.False(t, ok, "a group's is the sum of its submitters'")
	for attribute, expr := range map[string]string{
		"Name": `"a b"`, "Priority": "error", "PriorityFactor": "0.0",
	} {
		bad := a.ActiveAds()[1]
		require.NoError(t, bad.SetExpr(attribute, expr))
		_, ok = ReadStandard(bad)
		require.False(t, ok, fmt.Sprint(bad))
	}
}
