package backfill

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// FollowFrom sets from how many waiting jobs on a host has keys move along lines, whatever its
// policy looks at.
func (h *Host) FollowFrom(jobs int) { h.long, h.walks = jobs, mostWalks }

// MovesAlong reports whether keys move along lines.
func (s *State) MovesAlong() bool { return s.queue.moving }

// TestAlong has the keys of a queue move along lines or stay, undoes rounds, and compares the queue
// with one whose jobs have the keys of each instant one by one.
func TestAlong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]curveKind{expansion, cube}).Draw(t, "kind")
		along, plain := NewState([]string{"cpus"}, profile.ByRank), NewState([]string{"cpus"}, profile.ByRank)
		sets := []CandidateSet{{Candidates: Candidates{Slots: []SlotID{0}}}}
		slots := []Event{{Kind: SlotAdded, Slot: Slot{Name: "a", Capacity: Vector{1}}}}
		lines := map[JobID]*line{}
		now, next := Time(0), JobID(0)
		for step := range rapid.IntRange(1, 20).Draw(t, "rounds") {
			now += Time(rapid.IntRange(0, 300).Draw(t, "passes"))
			events := []Event{}
			if step == 0 {
				events = slots
			}
			var turned []JobKey
			plain.jobs.Scan(func(id JobID, r *record) bool {
				switch rapid.IntRange(0, 9).Draw(t, "job") {
				case 0:
					events = append(events, Event{Kind: Removed, JobID: id})
				case 1:
					lines[id] = drawLine(t, kind, r.job.Submit)
					turned = append(turned, JobKey{id, lines[id].Key(now), lines[id]})
				}
				return true
			})
			keys := []JobKey{}
			plain.jobs.Scan(func(id JobID, _ *record) bool {
				keys = append(keys, JobKey{id, lines[id].Key(now), lines[id]})
				return true
			})
			for range rapid.IntRange(0, 20).Draw(t, "arrivals") {
				j := &Job{
					ID: next, Submit: now, Nodes: 1, Request: Vector{1}, Position: QueuePosition{Cluster: int64(next)},
					Estimate: Time(rapid.IntRange(1, 50).Draw(t, "length")),
				}
				lines[next] = drawLine(t, kind, now)
				events = append(events, Event{Kind: Submitted, Job: j, Key: lines[next].Key(now), line: lines[next]})
				next++
			}
			r := Round{Now: now, Events: events}
			if step == 0 {
				r.Candidates = sets
			}
			all, moved := r, r
			all.Keys, moved.Keys, moved.moves = keys, turned, rapid.IntRange(0, 3).Draw(t, "moves") > 0
			if !moved.moves {
				moved.Keys = keys
			}
			if rapid.Bool().Draw(t, "undone") {
				before := plain.Snapshot()
				tx, err := along.Open(moved)
				require.NoError(t, err)
				for _, more := tx.Next(); more; {
					_, more = tx.Next()
				}
				for j := range tx.Waiting() {
					require.Equal(t, lines[j.ID].Key(now), along.Key(j.ID)) //nolint:testifylint // to the last bit
				}
				tx.Rollback()
				require.Equal(t, before, along.Snapshot())
			}
			copied := along.Clone()
			for _, s := range []*State{along, copied, plain} {
				told := moved
				if s == plain {
					told = all
				}
				tx, err := s.Open(told)
				require.NoError(t, err)
				_, err = tx.Close()
				require.NoError(t, err)
			}
			require.Equal(t, plain.Snapshot(), along.Snapshot())
			require.Equal(t, plain.Snapshot(), copied.Snapshot())
			few := rapid.IntRange(0, 40).Draw(t, "first")
			require.Equal(t, plain.FirstWaiting(few), along.FirstWaiting(few))
			require.Equal(t, plain.FirstWaiting(1<<20), copied.FirstWaiting(1<<20))
		}
	})
}
