package scavenge_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/scavenge"
)

// TestWhatRunsKeepsWhatItHas: a scavenger that is measured anew while it runs gives back what it has, and
// requests the other amount once it waits again.
func TestWhatRunsKeepsWhatItHas(t *testing.T) {
	var b scavenge.Book
	p := newPool(4)
	b.Put(job(1, 4, "a"))
	require.Len(t, b.Fill(p.idle()), 1)
	less := job(1, 2, "b")
	b.Put(less)
	b.Put(job(2, 1, "a"))
	require.Empty(t, b.Fill(p.idle()), "it still has all")
	b.Return(1)
	require.Equal(t, []backfill.JobID{1, 2}, ids(b.Fill(p.idle())))
	b.Put(job(3, 1, "c"))
	require.Len(t, b.Fill(p.idle()), 1, "and then no more than it requests")
}

// TestReleases: whatever becomes of scavengers, the next release is that of the first one that waits for it.
func TestReleases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b scavenge.Book
		p, now := newPool(3), backfill.Time(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := backfill.JobID(rapid.IntRange(1, 6).Draw(t, "id"))
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				b.Delete(id)
			case 1:
				b.Return(id)
			case 2:
				now += backfill.Time(rapid.IntRange(0, 9).Draw(t, "pause"))
				p.now = now
				for _, r := range b.Fill(p.idle()) {
					j, _ := b.Job(r.Job)
					require.LessOrEqual(t, j.Release, now)
				}
			default:
				j := job(id, 1, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "user"))
				j.Release = backfill.Time(rapid.IntRange(0, 60).Draw(t, "release"))
				b.Put(j)
			}
			next, waiting := backfill.Forever, 0
			for _, known := range b.IDs() {
				if _, runs := b.Run(known); runs {
					continue
				}
				waiting++
				if j, _ := b.Job(known); j.Release > now {
					next = min(next, j.Release)
				}
			}
			require.Equal(t, next, b.NextRelease(now))
			require.Equal(t, waiting, b.Waiting())
		}
	})
}

// TestFillIsRepeatable: the same scavengers in another order of reports get the same places, beside ends of
// slots, and with others who wait in other autoclusters.
func TestFillIsRepeatable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPool(rapid.SliceOfN(rapid.Int64Range(0, 6), 1, 5).Draw(t, "free")...)
		p.ends = map[backfill.SlotID]backfill.Time{}
		for id := range p.free {
			p.ends[id] = backfill.Time(rapid.SampledFrom([]int{0, 0, 5, 12}).Draw(t, "end"))
		}
		var jobs []scavenge.Job
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			j := job(backfill.JobID(i+1), rapid.Int64Range(1, 3).Draw(t, "cpus"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "user"))
			j.Candidates, j.Estimate = int(j.Request[0]), backfill.Time(rapid.IntRange(1, 15).Draw(t, "estimate"))
			j.Submit, j.Nodes = 0, rapid.IntRange(1, 2).Draw(t, "nodes")
			p.candidates[j.Candidates] = p.candidates[0]
			jobs = append(jobs, j)
		}
		var first, again scavenge.Book
		for _, j := range jobs {
			first.Put(j)
		}
		for _, j := range rapid.Permutation(jobs).Draw(t, "order") {
			again.Put(j)
		}
		in := p.idle()
		started := first.Fill(in)
		require.Equal(t, started, again.Fill(in))
		require.Empty(t, again.Fill(in), "nobody else could start")
	})
}
