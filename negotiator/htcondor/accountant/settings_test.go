package accountant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettingsAreReadAsHTCondorReadsThem(t *testing.T) {
	s := settings(t, `
priority_halflife = 2 * 3600
DEFAULT_PRIO_FACTOR = 50
REMOTE_PRIO_FACTOR = 0.5
ACCOUNTANT_LOCAL_DOMAIN = home
NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = False
GROUP_NAMES = b.c, a  b,<none>, A, x.y
GROUP_QUOTA_a = 10.5
GROUP_QUOTA_DYNAMIC_a = 0.5
GROUP_QUOTA_DYNAMIC_b.c = 1.0/4
GROUP_ACCEPT_SURPLUS = yes
GROUP_ACCEPT_SURPLUS_b.c = 1 > 2
GROUP_AUTOREGROUP_b = T
GROUP_PRIO_FACTOR_b = 3
GROUP_SORT_EXPR = AccountingGroup`)
	require.Equal(t, Settings{
		HalfLife: 7200, DefaultFactor: 50, NiceFactor: 1e10, RemoteFactor: 1, LocalDomain: "home",
		NegotiatorName: "pool.test",
		Groups: []Group{
			{Name: "A", Static: true, Quota: 10.5, AcceptSurplus: true},
			{Name: "b", AcceptSurplus: true, Autoregroup: true, Factor: 3},
			{Name: "b.c", Quota: 0.25},
		},
		GroupSort: "AccountingGroup",
		Warnings:  s.Warnings,
	}, s)
	require.Equal(t, []string{
		"REMOTE_PRIO_FACTOR = 0.5: the least priority factor is 1",
		"GROUP_NAMES: <none> is the name of the group of those who are in none: ignored",
		"GROUP_NAMES: a is listed twice",
		"GROUP_NAMES: x.y is ignored, because x is no group",
		"neither GROUP_QUOTA_b nor GROUP_QUOTA_DYNAMIC_b is set: the quota of the group is 0",
	}, s.Warnings)
	other := settings(t, `
NEGOTIATOR_USE_SLOT_WEIGHTS = False
NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES = True
NEGOTIATOR_STRICT_ENFORCE_QUOTA = False
NEGOTIATOR_IGNORE_USER_PRIORITIES = True
USE_GLOBAL_JOB_PRIOS = True`)
	require.Equal(t, Charging{Unweighted: true, WithoutSuspended: true}, other.Charging)
	require.True(t, other.LooseQuotas)
	require.True(t, other.InTurn)
	require.True(t, other.GlobalPrios)
	require.Equal(t, DefaultSettings(), func() Settings { s := settings(t, ""); s.NegotiatorName = ""; return s }())
	require.Empty(t, settings(t, `GROUP_SORT_EXPR = ifThenElse(AccountingGroup=?="<none>",3.4e+38, `+
		`ifThenElse(GroupQuota>0,GroupResourcesInUse/GroupQuota,3.3e+38))`).GroupSort)
}

func TestWrongSettingsNameTheKnob(t *testing.T) {
	for text, want := range map[string]string{
		"GROUP_SORT_EXPR = 1 +":               "GROUP_SORT_EXPR = 1 +: must be an expression",
		"PRIORITY_HALFLIFE = 0":               "PRIORITY_HALFLIFE = 0: must be a number from 1e-05 to",
		"DEFAULT_PRIO_FACTOR = lots":          "DEFAULT_PRIO_FACTOR = lots: must be a number",
		"NICE_USER_PRIO_FACTOR = -1":          "NICE_USER_PRIO_FACTOR = -1",
		"GROUP_ACCEPT_SURPLUS = perhaps":      "GROUP_ACCEPT_SURPLUS = perhaps: must be true or false",
		"GROUP_NAMES = g\nGROUP_QUOTA_g = (":  "GROUP_QUOTA_g = (",
		"GROUP_NAMES = g\nGROUP_QUOTA_g = -2": "GROUP_QUOTA_g = -2: must be a number from 0",
		"GROUP_NAMES = g\nGROUP_QUOTA_DYNAMIC_g = 1.5": "GROUP_QUOTA_DYNAMIC_g = 1.5: must be " +
			"a number from 0 to 1",
		"GROUP_NAMES = g@x":                                    "GROUP_NAMES",
		"GROUP_NAMES = g\nGROUP_AUTOREGROUP_g = \"x\"":         "GROUP_AUTOREGROUP_g",
		"GROUP_NAMES = g\nGROUP_PRIO_FACTOR_g = real(\"nan\")": "GROUP_PRIO_FACTOR_g",
	} {
		_, err := ParseSettings(knobs(text))
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("GROUP_NAMES = a, a.b\nGROUP_QUOTA_a = 3\nGROUP_QUOTA_DYNAMIC_a.b = 0.5\nPRIORITY_HALFLIFE = 5", "a.b.u@d")
	f.Add("GROUP_NAMES = . a.. <none> a.", "@")
	f.Add("GROUP_NAMES = \xff.", "") // becomes longer in lower case
	f.Fuzz(func(t *testing.T, text, name string) {
		s, err := ParseSettings(knobs(text))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "configuration: "), err)
			return
		}
		tr, err := newTree(s.Groups, "")
		require.NoError(t, err)
		tr.root.assign(10, s.Oversubscribe)
		tr.root.grant()
		g, isGroup := tr.assigned(name)
		require.True(t, isGroup || g != nil)
		for _, g := range tr.all {
			require.GreaterOrEqual(t, g.quota, 0.0)
			require.LessOrEqual(t, g.allocated, g.requested)
		}
	})
}

func TestQuotasAreDividedAsInHTCondor(t *testing.T) {
	const groups = "GROUP_NAMES = a, a.x, a.y, b, c\nGROUP_QUOTA_a = 60\nGROUP_QUOTA_b = 60\n" +
		"GROUP_QUOTA_DYNAMIC_c = 0.5\nGROUP_QUOTA_DYNAMIC_a.x = 0.75\nGROUP_QUOTA_DYNAMIC_a.y = 0.75\n"
	quotas := func(text string, total float64) (list []string) {
		a := open(t, groups+text)
		require.NoError(t, a.Divide(total, nil))
		for _, g := range a.tree.all {
			list = append(list, fmt.Sprintf("%s %v %v", g.Name, g.subtreeQuota, g.quota))
		}
		return list
	}
	strict := "NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = false"
	require.Equal(t, []string{"<none> 200 40", "a 60 0", "b 60 60", "c 40 40", "a.x 30 30", "a.y 30 30"},
		quotas(strict, 200))
	require.Equal(t, []string{"<none> 60 0", "a 30 0", "b 30 30", "c 0 0", "a.x 15 15", "a.y 15 15"},
		quotas(strict, 60), "static quotas are cut to the pool")
	require.Equal(t, []string{"<none> 60 0", "a 60 60", "b 60 60", "c 0 0", "a.x 30 30", "a.y 30 30"}, quotas("", 60),
		"oversubscribed")
	require.Equal(t, []string{"<none> 0 0", "a 0 0", "b 0 0", "c 0 0", "a.x 0 0", "a.y 0 0"}, quotas("", 0))
}

func TestSurplusGoesByQuota(t *testing.T) {
	a := open(t, `
GROUP_NAMES = a, b, c, z
GROUP_QUOTA_a = 10
GROUP_QUOTA_b = 30
GROUP_QUOTA_c = 60
GROUP_ACCEPT_SURPLUS_a = true
GROUP_ACCEPT_SURPLUS_b = true
GROUP_ACCEPT_SURPLUS_z = true
NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = false`)
	granted := func(waiting map[string]float64) (list []float64) {
		require.NoError(t, a.Divide(100, waiting))
		for _, g := range a.tree.all {
			list = append(list, g.allocated)
		}
		return list
	}
	// <none>, a, b, c, z
	require.Equal(t, []float64{0, 25, 75, 0, 0}, granted(map[string]float64{"a.u@d": 100, "b.u@d": 100, "z.u@d": 50}))
	require.Equal(t, []float64{0, 15, 35, 0, 50}, granted(map[string]float64{"a.u@d": 15, "b.u@d": 35, "z.u@d": 70}))
	require.Equal(t, []float64{5, 10, 30, 60, 0}[1:],
		granted(map[string]float64{"a.u@d": 10, "b.u@d": 30, "c.u@d": 100})[1:])
	require.Equal(t, []float64{20, 15, 5, 60, 0},
		granted(map[string]float64{"u@d": 20, "a.u@d": 15, "b.u@d": 5, "c.u@d": 100}))
}
