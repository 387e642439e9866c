package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// asSubmitted is what condor_submit has the Requirements of a deferred job say of its time.
const asSubmitted = "(((time() + ScheddInterval) >= (DeferralTime - DeferralPrepTime)) && " +
	"(time() < (DeferralTime + DeferralWindow)))"

// TestDeferredJobs says what is read of jobs with a time of their own: when they run, and that they
// match whatever the time is.
func TestDeferredJobs(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable("HasJobDeferral = true\n")}
	deferred := "Requirements = TARGET.HasJobDeferral && " + asSubmitted + "\nDeferralPrepTime = 300\n" +
		"DeferralWindow = 0\nScheddInterval = 60\n"
	p.schedds[0].SetJobs(
		job("ClusterId = 1\nQDate = 1600000000"),
		job(deferred+"ClusterId = 2\nQDate = 1600000001\nDeferralTime = 1700000000"),
		job(deferred+"ClusterId = 3\nQDate = 1600000002\nDeferralTime = QDate + 60\nDeferralWindow = 9\n"+
			"DeferralPrepTime = -5"),
		job(deferred+"ClusterId = 4\nQDate = 1600000003\nDeferralTime = \"noon\""),
	)
	groups := p.see().Schedds["s@test"].Groups
	require.Len(t, groups, 4)
	want := map[int64]Deferral{
		1: {}, 2: {Time: 1_700_000_000, Prep: 300}, 3: {Time: 1_600_000_062, Window: 9}, 4: {},
	}
	slot := p.Observer.slots["slot1@n"].Ad.Ad
	for _, g := range groups {
		cluster := g.Jobs[0].Cluster
		require.Equal(t, want[cluster], g.Deferral)
		require.NoError(t, g.Spec.Wrong)
		require.Equal(t, cluster != 4, g.Spec.Ad.Eval("Requirements", slot).IsTrue(), g.Spec.Text)
	}
}

// TestStopClock says what becomes of time() in Requirements.
func TestStopClock(t *testing.T) {
	for requirements, want := range map[string]string{
		asSubmitted: "(((999 + ScheddInterval) >= (DeferralTime - DeferralPrepTime)) && " +
			"(999 < (DeferralTime + DeferralWindow)))",
		`Time() > 1 && Name != "time()" && dayTime() > 2`:   `999 > 1 && Name != "time()" && dayTime() > 2`,
		`member(TIME( ), {time(), [a = time() ? "e" : b]})`: `member(999,{ 999,[ a = 999 ? "e" : b ] })`,
		"time(1) > 2": "time(1) > 2",
		"true":        "true",
	} {
		ad, err := classad.ParseOld("DeferralTime = 1000\nRequirements = " + requirements)
		require.NoError(t, err)
		quiet().stopClock(ad)
		e, _ := ad.Lookup("Requirements")
		require.Equal(t, want, e.String())
		ad.Delete("DeferralTime")
		require.NoError(t, ad.SetExpr("Requirements", requirements))
		before := ad.Clone()
		quiet().stopClock(ad)
		require.Equal(t, before.String(), ad.String())
	}
}

// TestCoolingJobs says what is read of jobs that cool down: until when, in seconds since 1970.
func TestCoolingJobs(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable("")}
	p.schedds[0].SetJobs(
		job("ClusterId = 1\nQDate = 1600000000"),
		job("ClusterId = 2\nQDate = 1600000000\nJobCoolDownExpiration = 1700000000"),
		job("ClusterId = 3\nQDate = 1600000000\nJobCoolDownExpiration = \"never\""),
	)
	spec := map[*Spec]bool{}
	for _, g := range p.see().Schedds["s@test"].Groups {
		spec[g.Spec] = true
		for _, key := range g.Jobs {
			require.Equal(t, map[int64]backfill.Time{2: 1_700_000_000}[key.Cluster], g.Cools)
		}
	}
	require.Len(t, spec, 1, "they are planned by the same")
}
