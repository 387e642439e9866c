package matchmaker

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestRoomOfEachSlot: a job whose limits depend on the slot may begin now, and at no other instant, where
// they have room; jobs without such limits are matched once.
func TestRoomOfEachSlot(t *testing.T) {
	p := newPool()
	full, asked := "", 0
	p.SetRoom(func(limits string) string {
		if asked++; strings.Contains(full, limits) {
			return "full of " + limits
		}
		return ""
	})
	p.add(slotAd(t, "a", 8, ""), slotAd(t, "b", 8, ""))
	limited := p.clusterOf(t, jobAd(t, `Limits = strcat("net_", TARGET.Name); BackfillSlotLimits = Limits`))
	other := p.clusterOf(t, jobAd(t, `Limits = strcat("net_", TARGET.Name)`))
	at := func(now backfill.Time) [][]backfill.Window {
		_, err := p.Match(context.Background(), now)
		require.NoError(t, err)
		require.Len(t, p.clusters[limited].candidates.Slots, 2)
		require.Nil(t, p.clusters[other].candidates.Windows)
		return p.clusters[limited].candidates.Windows
	}
	open := func(now backfill.Time) []backfill.Window { return []backfill.Window{{From: now, To: now + 1}} }
	require.Equal(t, [][]backfill.Window{open(0), open(0)}, at(0))
	full = "net_a"
	require.Equal(t, [][]backfill.Window{unforeseen, open(5)}, at(5))
	fit := p.Fit(limited, func(backfill.SlotID) bool { return true })
	require.Equal(t, "of 2 slots 1 is full of net_a", fit.DescribeClosed(nil))
	full = ""
	require.Equal(t, [][]backfill.Window{open(6), open(6)}, at(6))
	require.Equal(t, 6, asked, "for the other jobs nobody is")
	p.SetRoom(nil)
	require.Equal(t, [][]backfill.Window{unforeseen, unforeseen}, at(7))
}
