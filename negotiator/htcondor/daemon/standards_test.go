package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// accounted is a daemon with an accounting that no file keeps, beside others.
func accounted(t *testing.T, w *world, ledger string, others ...observe.Other) (Options, *accountant.Accountant) {
	t.Helper()
	a, err := accountant.New(accountant.DefaultSettings())
	require.NoError(t, err)
	w.others = others
	o := w.options("easy")
	o.SlotConstraint, o.PrioritiesOf, o.Accountant = "Half == 1", ledger, a
	return o, a
}

// cycle has one more cycle run.
func (w *world) cycle(now backfill.Time) { w.deltas <- negotiator.Delta{Now: now} }

// TestPrioritiesOfAnother: whoever names another negotiator takes over its priorities, and goes on with those when
// it does not answer, which the ad tells.
func TestPrioritiesOfAnother(t *testing.T) {
	w := newWorld()
	ledger := observe.Other{Name: "east@h", Address: "<127.0.0.2:1>", Ours: true, SlotConstraint: "Half == 2"}
	o, a := accounted(t, w, "east", ledger)
	var silent atomic.Bool
	o.Standards = func(_ context.Context, address string) ([]accountant.Standard, error) {
		if silent.Load() {
			return nil, errors.New("nobody listens")
		}
		require.Equal(t, ledger.Address, address)
		return []accountant.Standard{{Name: "alice@h", Real: 70, Factor: 1000}}, nil
	}
	d, end := run(t, o)
	w.deltas <- w.begin()
	poll.Contains(t, `BackfillPrioritiesOf = "east"`, adOf(d))
	priority := func() float64 {
		require.NoError(t, a.Update(time.Unix(1000, 0), nil))
		return a.Priority("alice@h")
	}
	poll.Equal(t, 70_000.0, priority)
	silent.Store(true)
	w.cycle(1001)
	poll.Contains(t, "nobody listens", func() string { return d.sharingFails() })
	w.cycle(1002)
	poll.Contains(t, "user priorities age here from those of before, by what runs on our own slots: nobody listens", adOf(d))
	require.InDelta(t, 70_000, priority(), 1e-9)
	silent.Store(false)
	w.cycle(1003)
	poll.Equal(t, "", d.sharingFails)
	require.NoError(t, end())
}

// sharingFails is why priorities are not shared.
func (d *Daemon) sharingFails() string {
	for _, why := range d.unshared() {
		return why
	}
	return ""
}

// TestWhoCannotKeepTheAccounts: what names nobody, itself, or one that follows another, is told.
func TestWhoCannotKeepTheAccounts(t *testing.T) {
	for ledger, want := range map[string]string{
		"north": "the collector knows no negotiator north (BACKFILL_PRIORITIES_OF)",
		"here":  "BACKFILL_PRIORITIES_OF = here: that is this negotiator: unset it here",
		"east":  "east (BACKFILL_PRIORITIES_OF) does not keep the accounts, but names here",
	} {
		w := newWorld()
		o, _ := accounted(t, w, ledger, observe.Other{Name: "east@h", PrioritiesOf: "here", Ours: true, SlotConstraint: "Half == 2"})
		d, end := run(t, o)
		w.deltas <- w.begin()
		poll.Contains(t, want, d.sharingFails)
		require.NoError(t, end(), ledger)
	}
}

// TestTheLedgerChargesAll: whoever keeps the accounts charges what runs on the slots of those that name it, and of
// nobody else.
func TestTheLedgerChargesAll(t *testing.T) {
	w := newWorld()
	w.accounts = []string{
		"Name = \"alice@h\"\nNegotiatorName = \"west@h\"\nResourcesUsed = 2\nWeightedResourcesUsed = 8.0\n",
		"Name = \"alice@h\"\nNegotiatorName = \"west@h\"\nResourcesUsed = 2\nWeightedResourcesUsed = 8.0\n", // a second collector's
		"Name = \"alice@h\"\nNegotiatorName = \"north@h\"\nResourcesUsed = 1\nWeightedResourcesUsed = 1.0\n",
		"Name = \"<none>\"\nNegotiatorName = \"west@h\"\nIsAccountingGroup = true\nResourcesUsed = 2\n", "= =\n",
	}
	west := observe.Other{Name: "west@h", Ours: true, PrioritiesOf: "HERE", SlotConstraint: "Half == 2"}
	north := observe.Other{Name: "north@h", Ours: true, PrioritiesOf: "here", SlotConstraint: "Half == 3"}
	o, a := accounted(t, w, "", west, north)
	_, end := run(t, o)
	w.deltas <- w.begin()
	uses := func() (u accountant.Use) {
		require.NoError(t, a.Update(time.Unix(1000, 0), map[string]accountant.Use{"bob@h": {Slots: 1, Weight: 1}}))
		for _, ad := range a.ActiveAds() {
			if name, used, ok := accountant.ReadUse(ad); ok && name == "alice@h" {
				u = used
			}
		}
		return u
	}
	poll.Equal(t, accountant.Use{Slots: 3, Weight: 9}, uses)
	w.mu.Lock()
	w.others = nil
	w.mu.Unlock()
	w.cycle(1001)
	poll.Equal(t, accountant.Use{}, uses)
	require.NoError(t, end())
}
