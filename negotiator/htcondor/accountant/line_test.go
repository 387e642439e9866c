package accountant

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestLineIsShare: a line that is kept from cycle to cycle has the keys of a share that is made anew, to
// the last bit.
func TestLineIsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, err := New(DefaultSettings())
		require.NoError(t, err)
		require.NoError(t, a.SetFactor("bob@d", 3000))
		require.NoError(t, a.SetFloor("carol@d", 5))
		line := NewLine(a, func(x, y backfill.JobID) int { return cmp.Compare(x, y) })
		wait, places := map[backfill.JobID]Waiting{}, map[backfill.JobID]*Place{}
		now := int64(0)
		for range rapid.IntRange(1, 10).Draw(t, "cycles") {
			for range rapid.IntRange(0, 8).Draw(t, "changes") {
				id := backfill.JobID(rapid.IntRange(0, 20).Draw(t, "job"))
				if p := places[id]; p != nil {
					p.Leave()
					p.Leave() // is nothing
					delete(places, id)
					delete(wait, id)
					continue
				}
				wait[id] = Waiting{
					ID: id, Submitter: rapid.SampledFrom([]string{"alice@d", "bob@d", "carol@d"}).Draw(t, "name"),
					Weight: rapid.Float64Range(0, 9).Draw(t, "weight"), Prio: rapid.Int64Range(-1, 1).Draw(t, "prio"),
				}
				places[id] = line.Join(wait[id])
			}
			now += rapid.Int64Range(0, 50_000).Draw(t, "passes")
			use := map[string]Use{}
			for _, name := range []string{"alice@d", "bob@d", "carol@d"} {
				use[name] = Use{Slots: 1, Weight: rapid.Float64Range(0, 9).Draw(t, "use")}
			}
			require.NoError(t, a.Update(at(now), use))
			line.Open()
			var jobs []Waiting
			for _, w := range wait {
				jobs = append(jobs, w)
			}
			slices.SortFunc(jobs, func(x, y Waiting) int { return cmp.Compare(x.ID, y.ID) })
			share := a.Share(jobs)
			for id, p := range places {
				want, known := share.Key(id)
				require.True(t, known)
				require.Equal(t, want, p.Key(), "job %d", id) //nolint:testifylint // to the last bit
			}
		}
	})
}
