package daemon

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// TestSiteAttributes: the ad has the attributes of the site, and none of these in the place of its own. A
// new configuration changes them.
func TestSiteAttributes(t *testing.T) {
	w := newWorld()
	o := w.options("easy")
	o.SiteAttributes = "Room = \"B2\"\nName = \"mine\"\nBackfillPolicy = \"mine\"\nLong = LastNegotiationCycleSlots0 > 5\n"
	d, end := run(t, o)
	w.deltas <- w.begin()
	poll.Contains(t, "Room = \"B2\";", w.lastAd)
	require.Contains(t, w.lastAd(), "Name = \"here\";")
	require.NotContains(t, w.lastAd(), "mine")
	require.Contains(t, w.lastAd(), "Long = LastNegotiationCycleSlots0 > 5;")
	o.SiteAttributes = "Room = \"B3\"\n"
	d.Configure(o.Tuning)
	poll.Contains(t, "Room = \"B3\";", w.lastAd)
	require.NotContains(t, w.lastAd(), "Long")
	require.NoError(t, end())
}

// TestCycleStats: the ad tells of as many cycles as it is to, without the period of the last of them.
func TestCycleStats(t *testing.T) {
	for length, want := range map[int]int{0: 0, 1: 1, 3: 3, 5: 5, 100: 6} {
		s := &status{sessions: func() int { return 0 }}
		s.telling.CycleStats = length
		for range 6 {
			s.add(Cycle{})
		}
		ad, n := s.ad(s.started), 0
		for name := range ad.All() {
			if len(name) > 24 && name[:24] == "LastNegotiationCycleTime" {
				n++
			}
		}
		require.Equal(t, want, n, "%d", length)
	}
}

// TestAccountingIsToldOrNot: Accounting ads go to the collector with the Negotiator ad, unless the site
// wants none.
func TestAccountingIsToldOrNot(t *testing.T) {
	s, err := OpenState(t.Context(), t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	w := newWorld()
	o := w.options("easy")
	o.Accountant, err = s.Accountant(accountant.DefaultSettings())
	require.NoError(t, err)
	o.Accounting = false
	d, end := run(t, o)
	accounted := locked(w, func() int { return w.accounted })
	w.deltas <- w.begin()
	poll.Contains(t, "LastNegotiationCycleMatches0 = 1;", w.lastAd)
	o.Accounting = true
	before := locked(w, func() int { return len(w.ads) })()
	require.Zero(t, accounted())
	d.Configure(o.Tuning)
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Equal(t, true, func() bool { return accounted() > 0 })
	require.NoError(t, end())
	require.LessOrEqual(t, accounted(), locked(w, func() int { return len(w.ads) })()-before)
}
