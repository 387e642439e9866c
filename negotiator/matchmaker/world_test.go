package matchmaker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestSetWorld: another world is heeded by slots and jobs that were matched in the former one, also where
// nobody is accepted any more.
func TestSetWorld(t *testing.T) {
	for name, limits := range map[string]Limits{"no limits": {}, "limits": StrangersLimits()} {
		t.Run(name, func(t *testing.T) {
			p := newLimitedPool(limits)
			only := func(user string) World {
				return World{UserMap: func(_, name string, _ *int) (string, bool) { return "x", name == user }}
			}
			p.SetWorld(only("ann"))
			p.add(slotAd(t, "a", 1, `Requirements = userMap("m", TARGET.Owner) isnt undefined`), slotAd(t, "b", 1, ""))
			ann, bob := p.clusterOf(t, jobAd(t, `Owner = "ann"`)), p.clusterOf(t, jobAd(t, `Owner = "bob"`))
			none := p.clusterOf(t, jobAd(t, `Owner = "eve"; Requirements = userMap("m", "ann", "x") is "x"`))
			sets := func() map[int][]backfill.SlotID {
				all := map[int][]backfill.SlotID{}
				for _, c := range p.match(t) {
					all[c.ID] = c.Candidates.Slots
				}
				return all
			}
			require.Equal(t, map[int][]backfill.SlotID{ann: {0, 1}, bob: {1}, none: {1}}, sets())
			require.Empty(t, p.match(t))

			p.SetWorld(only("bob"))
			require.Equal(t, map[int][]backfill.SlotID{ann: {1}, bob: {0, 1}, none: nil}, sets())
			p.SetWorld(World{})
			require.Equal(t, map[int][]backfill.SlotID{ann: {1}, bob: {1}, none: nil}, sets())
			require.Empty(t, p.match(t))
		})
	}
}
