package backfill

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestJobTree compares a tree, and a copy that was taken on the way, with sorted lists.
func TestJobTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type world struct {
			tree  jobTree
			owner *owner
			list  []listed
		}
		compare := func(a, b listed) int { return a.compare(&b.queued) }
		now := &world{owner: new(owner)}
		worlds := []*world{now}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 40).Draw(t, "what"); {
			case what == 0 && len(worlds) < 3:
				copied := *now
				copied.list, copied.owner, now.owner = slices.Clone(now.list), new(owner), new(owner)
				worlds = append(worlds, &copied)
			case what == 1:
				now = rapid.SampledFrom(worlds).Draw(t, "world")
			case what < 14 && len(now.list) > 0:
				i := rapid.IntRange(0, len(now.list)-1).Draw(t, "gone")
				now.tree.remove(now.owner, now.list[i].queued)
				now.list = slices.Delete(now.list, i, i+1)
			case what < 18 && len(now.list) > 0:
				i := rapid.IntRange(0, len(now.list)-1).Draw(t, "changed")
				now.list[i].length = Time(rapid.IntRange(1, 50).Draw(t, "length"))
				now.tree.set(now.owner, now.list[i])
			default:
				e := listed{
					queued{
						key: float64(rapid.IntRange(0, 3).Draw(t, "key")),
						job: &Job{ID: JobID(len(now.list)), Submit: Time(rapid.IntRange(0, 1000).Draw(t, "submit"))},
					}, Time(rapid.IntRange(1, 50).Draw(t, "length")),
				}
				if i, known := slices.BinarySearchFunc(now.list, e, compare); !known {
					now.list = slices.Insert(now.list, i, e)
					now.tree.set(now.owner, e)
				}
			}
		}
		for _, w := range worlds {
			require.Equal(t, len(w.list), w.tree.size)
			var all []listed
			w.tree.ascend(nil, func(q queued) bool { all = append(all, listed{queued: q}); return true })
			require.Len(t, all, len(w.list))
			limit := Time(rapid.IntRange(0, 60).Draw(t, "limit"))
			for i, e := range w.list {
				require.Equal(t, e.queued, all[i].queued)
				require.Equal(t, i, w.tree.before(&e.queued))
				require.True(t, w.tree.has(e.queued))
				require.False(t, w.tree.has(queued{e.key, &Job{ID: -1, Submit: e.job.Submit}}))
				rest := w.list[i+1:]
				next, found := w.tree.next(&e.queued, limit)
				k := slices.IndexFunc(rest, func(e listed) bool { return e.length < limit })
				require.Equal(t, k >= 0, found)
				if found {
					require.Equal(t, rest[k], next)
				}
				count := 0
				w.tree.ascend(&e.queued, func(queued) bool { count++; return count < 5 })
				require.Equal(t, min(5, len(rest)), count)
			}
			if len(w.list) > 0 {
				require.Equal(t, w.list[0].queued, *w.tree.first())
				require.Equal(t, w.list[len(w.list)-1].queued, *w.tree.last())
				require.Equal(t, slices.MinFunc(w.list, func(a, b listed) int { return int(a.length - b.length) }).length,
					w.tree.least())
			}
		}
	})
}

// TestJobTreeCounts checks how many entries are before a place in a tree of several levels, while it
// grows, after it was copied, and while it shrinks.
func TestJobTreeCounts(t *testing.T) {
	list, jobs := newJobList(), make([]queued, 5000)
	for i := range jobs {
		jobs[i] = queued{float64(i * 7919 % len(jobs)), &Job{ID: JobID(i)}}
		list.Set(jobs[i])
	}
	before := func(l *jobList, key int) int { return l.tree.before(&queued{float64(key), &Job{ID: -1}}) }
	for key := 0; key < len(jobs); key += 97 {
		require.Equal(t, key, before(list, key))
	}
	copied := list.Copy()
	for _, q := range jobs {
		if int(q.key)%3 != 0 {
			list.Delete(q)
			list.Delete(q) // it is not there
		}
	}
	for key := 0; key < len(jobs); key += 97 {
		require.Equal(t, (key+2)/3, before(list, key))
		require.Equal(t, key, before(copied, key))
	}
	require.Equal(t, len(jobs), copied.Len())
}

// TestQueueShapes checks that jobs are listed by shape, also if their hashes are equal, and that a
// shape without jobs leaves nothing behind.
func TestQueueShapes(t *testing.T) {
	q := newQueue()
	var jobs []*Job
	for i := range 60 {
		j := &Job{ID: JobID(i), Nodes: 1 + i%3, Request: Vector{int64(i % 5), 1}, Estimate: Time(10 + i)}
		jobs = append(jobs, j)
		q.add(place{queued: queued{job: j}}, i%2 == 0)
	}
	q.list()
	require.Len(t, q.shapes, 15)
	for i := range q.shapes {
		require.Equal(t, 4, q.shapes[i].jobs.fixed.size)
	}
	// A shape whose hash is another's, as two shapes rarely have it.
	twin := q.shape(&Job{Nodes: 1, Request: Vector{99, 1}})
	other := q.shapes[twin].like.shapeHash()
	q.index[other] = 0
	q.shapes[0].next = twin
	require.Equal(t, twin, q.shape(&Job{Nodes: 1, Request: Vector{99, 1}}))
	q.forget(twin)
	require.Equal(t, int32(noShape), q.shapes[0].next)
	q.index = map[uint64]int32{}
	for i := range q.shapes[:15] {
		q.index[q.shapes[i].like.shapeHash()], q.shapes[i].next = int32(i), noShape
	}
	c := q.Copy()
	for _, j := range jobs {
		q.remove(place{queued: queued{job: j}})
	}
	require.Empty(t, q.index)
	require.Zero(t, q.Len())
	require.Len(t, q.free, len(q.shapes))
	require.Equal(t, 60, c.Len())
	for i := range c.shapes[:15] {
		require.Equal(t, 4, c.shapes[i].jobs.fixed.size)
	}
}

// TestAJobThatLeavesAtOnceIsInNoShape checks that jobs are listed by shape only as far as they stay, and
// that they can be taken off the queue before and after.
func TestAJobThatLeavesAtOnceIsInNoShape(t *testing.T) {
	for _, stay := range []int{0, 1, maxJoined, 3 * maxJoined} {
		q := newQueue()
		var jobs []*Job
		for i := range 3*maxJoined + 1 {
			j := &Job{ID: JobID(i), Nodes: 1, Request: Vector{1 + int64(i%5)}, Estimate: Time(10 + i)}
			jobs = append(jobs, j)
			q.add(place{queued: queued{job: j}}, false)
			if i >= stay {
				q.remove(place{queued: queued{job: j}})
			}
		}
		require.Equal(t, stay, q.Len())
		c := q.Copy()
		c.list()
		listed := 0
		for i := range c.shapes {
			listed += c.shapes[i].jobs.fixed.size
		}
		require.Equal(t, stay, listed)
		for _, j := range jobs[:stay] {
			q.remove(place{queued: queued{job: j}})
		}
		require.Empty(t, q.index)
		require.Zero(t, q.Len())
	}
}

// TestBefore asks a queue, which changes and is copied, for a job before another one in the order of jobs,
// and compares with a look at all.
func TestBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type world struct {
			q    *queue
			jobs []*Job
		}
		worlds := []*world{{q: newQueue()}}
		at := func(j *Job) place { return place{queued: queued{key: float64(j.ID % 7), job: j}} }
		drawn := func(id JobID) *Job {
			return &Job{
				ID: id, Submit: Time(rapid.IntRange(0, 9).Draw(t, "submit")), Nodes: 1, Request: Vector{1},
				Estimate: Time(rapid.IntRange(1, 3).Draw(t, "estimate")),
			}
		}
		for id := range JobID(rapid.IntRange(1, 200).Draw(t, "steps")) {
			w := rapid.SampledFrom(worlds).Draw(t, "world")
			what, i := rapid.IntRange(0, 9).Draw(t, "what"), len(w.jobs)
			if i > 0 {
				i = rapid.IntRange(0, i-1).Draw(t, "job")
			}
			switch {
			case what == 0 && len(worlds) < 3:
				worlds = append(worlds, &world{w.q.Copy(), slices.Clone(w.jobs)})
			case what == 1 && i < len(w.jobs):
				old := w.jobs[i]
				w.jobs[i] = drawn(old.ID)
				w.q.rekey(at(old), at(w.jobs[i]), false)
			case what < 5 && i < len(w.jobs):
				w.q.remove(at(w.jobs[i]))
				w.jobs = slices.Delete(w.jobs, i, i+1)
			default:
				w.jobs = append(w.jobs, drawn(id))
				w.q.add(at(w.jobs[len(w.jobs)-1]), false)
			}
			asked := drawn(id)
			isBefore := func(j *Job) bool { return Compare(j, asked) < 0 }
			found := w.q.before(asked)
			require.Equal(t, slices.ContainsFunc(w.jobs, isBefore), found != nil)
			if found != nil {
				require.True(t, isBefore(found))
				require.Contains(t, w.jobs, found)
			}
		}
	})
}
