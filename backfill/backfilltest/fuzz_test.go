package backfilltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// FuzzConform drives a policy through the pool of a seed. It checks that no decision is refused,
// that no guarantee breaks in a calm pool, and that the state restored from its snapshot is the
// same.
func FuzzConform(f *testing.F) {
	for i := range policies.All() {
		f.Add(uint64(i), uint8(i), true)
		f.Add(uint64(1000+i), uint8(i), false)
	}
	f.Add(uint64(1<<63), uint8(1), false)
	f.Fuzz(func(t *testing.T, seed uint64, policy uint8, calm bool) {
		all := policies.All()
		main, err := backfill.Link(all[int(policy)%len(all)], nil)
		require.NoError(t, err)
		driver := conformance.NewDriver(seed)
		driver.Calm, driver.Predicted = calm, seed%2 == 0
		host := backfilltest.NewHost(t, driver, main) // fails on a refusal
		for range 60 {
			d, err := host.Decide(t.Context(), driver.Round(host.State))
			require.NoError(t, err)
			if calm {
				require.Empty(t, d.Broken, "a calm pool has no event that can break a guarantee")
			}
			snap := host.State.Snapshot()
			again, err := backfill.Restore(snap)
			require.NoError(t, err)
			require.Equal(t, snap, again.Snapshot())
			for _, slot := range snap.Slots {
				for at := snap.Now; at < snap.Now+50; at += 7 {
					require.Equal(t, host.State.Free(slot.ID, at), again.Free(slot.ID, at), "free on %s at %d",
						slot.Name, at)
				}
			}
		}
	})
}
