package scavenge

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestQueue: a queue has who was added and not removed, in order, and its memory does not grow with time.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var want []*entry
		last, most := 0, 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if len(want) > 0 && rapid.Bool().Draw(t, "removes") {
				i := rapid.SampledFrom([]int{0, len(want) - 1, len(want) / 2}).Draw(t, "which")
				q.remove(want[i])
				want = slices.Delete(want, i, i+1)
			} else {
				last++
				id := rapid.SampledFrom([]int{-last, last, 2*last + 1, -2*last - 1}).Draw(t, "id")
				e := &entry{Job: Job{Job: backfill.Job{ID: backfill.JobID(1000 + id), Submit: backfill.Time(last % 3)}}}
				i, found := slices.BinarySearchFunc(want, e, compare)
				if found {
					continue
				}
				q.add(e)
				want = slices.Insert(want, i, e)
			}
			most = max(most, len(want))
			require.Equal(t, len(want), q.len())
			for i, e := range want {
				require.Same(t, e, q.at(i))
			}
			for _, e := range q.memory[:q.unused] {
				require.Nil(t, e, "it is not kept in memory")
			}
		}
		require.LessOrEqual(t, len(q.memory), 8*most+8)
	})
}
