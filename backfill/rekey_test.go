package backfill

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// contents are what a state lists by key.
type contents struct {
	keys                map[JobID]float64
	queue, held, beyond []queued
	shapes              map[*Job]shape
	listed              map[*Job][]listed
}

func contentsOf(s *State) contents {
	s.queue.list()
	c := contents{keys: map[JobID]float64{}, shapes: map[*Job]shape{}, listed: map[*Job][]listed{}}
	s.jobs.Scan(func(id JobID, r *record) bool { c.keys[id] = r.key; return true })
	collect := func(into *[]queued) func(queued) bool {
		return func(q queued) bool { *into = append(*into, q); return true }
	}
	s.queue.order.ascend(nil, collect(&c.queue))
	s.held.Scan(collect(&c.held))
	s.beyond.Scan(collect(&c.beyond))
	for _, shape := range s.queue.shapes {
		for e, more := shape.jobs.fixed.next(nil, Forever+1); more; e, more = shape.jobs.fixed.next(&e.queued, Forever+1) {
			c.listed[shape.like] = append(c.listed[shape.like], e)
		}
		shape.jobs = listing{}
		c.shapes[shape.like] = shape
	}
	return c
}

// TestRekey compares keys that are all set at once with keys that are set one by one, and checks
// that a copy of the state does not change and that the old keys bring all back.
func TestRekey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewState([]string{"cpus"}, profile.ByRank)
		s.guarantees, s.planning.Reorder = rapid.Bool().Draw(t, "guarantees"), rapid.Bool().Draw(t, "reorder")
		n := JobID(rapid.IntRange(0, 300).Draw(t, "jobs"))
		reserved := map[JobID]bool{}
		key := rapid.Map(rapid.IntRange(0, 40), func(k int) float64 { return float64(k) })
		for id := range n {
			j := &Job{
				ID: id, Submit: Time(rapid.IntRange(0, 9).Draw(t, "submit")), Nodes: rapid.IntRange(1, 3).Draw(t, "nodes"),
				Request: Vector{1}, Estimate: Time(rapid.IntRange(1, 50).Draw(t, "estimate")),
				Position: QueuePosition{Cluster: int64(id)},
			}
			stage := rapid.SampledFrom([]phase{waiting, waiting, waiting, held}).Draw(t, "phase")
			r := record{job: j, phase: stage, key: key.Draw(t, "key")}
			require.NoError(t, s.set(id, &r, unchecked, new(record)))
			if stage == waiting && rapid.IntRange(0, 4).Draw(t, "reserved") == 0 {
				reserved[id] = true
				s.queue.reserve(r.place(), true)
			}
		}
		var keys []JobKey
		for range rapid.IntRange(0, 2*int(n)).Draw(t, "keys") { // for some jobs two
			keys = append(keys, JobKey{Job: JobID(rapid.IntRange(0, int(n)-1).Draw(t, "job")), Key: key.Draw(t, "new")})
		}
		before, single := contentsOf(s), s.Clone()
		old := s.rekey(keys)
		require.Equal(t, before, contentsOf(single))
		for _, k := range keys {
			next, _ := single.jobs.Get(k.Job)
			next.key = k.Key
			require.NoError(t, single.set(k.Job, &next, unchecked, new(record)))
			if reserved[k.Job] {
				single.queue.reserve(next.place(), true)
			}
		}
		require.Equal(t, contentsOf(single), contentsOf(s))
		s.rekey(old)
		require.Equal(t, before, contentsOf(s))
		if len(keys) > fewKeys && keysAtOnce*len(keys) > s.queue.Len() {
			round, err := s.Open(Round{Keys: keys})
			require.NoError(t, err)
			require.Equal(t, contentsOf(single), contentsOf(s))
			round.Rollback()
			require.Equal(t, before, contentsOf(s))
		}
	})
}
