package policies_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// pools returns the events that bring up one slot, or several with as many cpus together.
func pools(random *rand.Rand) (one, many []backfill.Event, cpus int64) {
	add := func(events []backfill.Event, n int64) []backfill.Event {
		id := backfill.SlotID(len(events))
		return append(events, backfill.Event{
			Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: id, Name: string(rune('a' + id)), Capacity: v(n)},
		})
	}
	for range 2 + random.IntN(6) {
		n := 1 + random.Int64N(8)
		many, cpus = add(many, n), cpus+n
	}
	return add(nil, cpus), many, cpus
}

// decideOnce decides a round, and tells of it without naming slots.
func decideOnce(t *testing.T, h *backfill.Host, r backfill.Round) string {
	t.Helper()
	d, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	var told strings.Builder
	fmt.Fprint(&told, d.Now, " starts ", ids(d))
	for _, j := range h.State.Snapshot().Jobs {
		if start, _, ok := h.State.Planned(j.Job.ID); ok {
			fmt.Fprintf(&told, ", %d at %d by %d", j.Job.ID, start, j.Guarantee)
		}
	}
	return told.String()
}

// TestUnitChunksMakeOneMachine checks that a pool of several slots decides like one slot with as many cpus,
// if all chunks are of one cpu: the same starts, planned starts and guarantees. Jobs end early or in time.
func TestUnitChunksMakeOneMachine(t *testing.T) {
	for seed := range thorough.Seeds(60, 600) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not for secrets
		one, many, cpus := pools(random)
		with := slacks[seed%uint64(len(slacks))]
		if with.book.Stay {
			continue
		}
		planning := plannings[seed/7%uint64(len(plannings))]
		order := []string{"fcfs", "sjf", "wfp", "widest"}[seed%4]
		var hosts []*backfill.Host
		for i, up := range [][]backfill.Event{one, many} {
			var all backfill.Candidates
			for id := range up {
				all.Slots = append(all.Slots, backfill.SlotID(id))
			}
			spec, err := policies.Named("slack")
			require.NoError(t, err)
			policy, err := spec.Make(with.options)
			require.NoError(t, err)
			spec.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
			rule := profile.Rule(i * random.IntN(3))
			h := hosting(t, backfill.NewState([]string{"cpus"}, rule), spec, order, planning)
			decideOnce(t, h, backfill.Round{Events: up, Candidates: []backfill.CandidateSet{{Candidates: all}}})
			hosts = append(hosts, h)
		}
		ends := map[backfill.JobID]backfill.Time{} // of those that run
		now := backfill.Time(0)
		for n := backfill.JobID(1); n < 150; {
			next := hosts[0].State.NextWake()
			for _, end := range ends {
				next = min(next, end)
			}
			now = min(max(now+1, next), now+backfill.Time(1+random.Int64N(12)))
			r := backfill.Round{Now: now}
			for _, id := range slices.Sorted(maps.Keys(ends)) {
				if ends[id] <= now {
					r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
					delete(ends, id)
				}
			}
			for range random.IntN(3) {
				e := submission(n, now, a{backfill.Time(1 + random.Int64N(40)), v(1)})
				e.Job.Nodes = 1 + random.IntN(int(min(cpus, 1+random.Int64N(cpus))))
				if random.IntN(8) == 0 {
					e.Job.Release = now + backfill.Time(random.Int64N(30))
				}
				r.Events = append(r.Events, e)
				n++
			}
			want := decideOnce(t, hosts[0], r)
			require.Equal(t, want, decideOnce(t, hosts[1], r), "seed %d", seed)
			hosts[0].State.Running()(func(run backfill.RunningJob) bool {
				if _, known := ends[run.Job.ID]; !known {
					ends[run.Job.ID] = now + cmp.Or(min(run.Job.Estimate, backfill.Time(random.Int64N(50))), 1)
				}
				return true
			})
		}
	}
}

// TestMovesKeepStarts checks on random pools with chunks of several cpus that moves change no start and no
// guarantee; that after each round all reservations fit beside each other and what runs; that
// [backfill.Decision] lists the moves; that the journal replays to the same state; and that a rollback
// leaves it as it was.
func TestMovesKeepStarts(t *testing.T) {
	moves := 0
	for seed := range thorough.Seeds(40, 400) {
		random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // not for secrets
		_, up, _ := pools(random)
		var all backfill.Candidates
		for id := range up {
			all.Slots = append(all.Slots, backfill.SlotID(id))
		}
		spec, err := policies.Named("slack")
		require.NoError(t, err)
		h := hosting(t, backfill.NewState([]string{"cpus"}, profile.Rule(random.IntN(3))), spec,
			[]string{"fcfs", "sjf", "widest"}[seed%3], backfill.Planning{})
		decideOnce(t, h, backfill.Round{Events: up, Candidates: []backfill.CandidateSet{{Candidates: all}}})
		for n := backfill.JobID(1); n < 120; {
			soon := h.State.Now() + backfill.Time(1+random.Int64N(12))
			r := backfill.Round{Now: max(h.State.Now()+1, min(h.State.NextWake(), soon))}
			for run := range h.State.Running() {
				if run.End <= r.Now || random.IntN(12) == 0 {
					r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: run.Job.ID})
				}
			}
			for range random.IntN(3) {
				e := submission(n, r.Now, a{backfill.Time(1 + random.Int64N(40)), v(1 + random.Int64N(4))})
				if e.Job.Nodes = 1 + random.IntN(3); h.State.Profile().EverFits(h.State.Request(e.Job)) {
					r.Events = append(r.Events, e)
					n++
				}
			}
			copied := h.State.Clone()
			before := copied.Snapshot()
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			require.Empty(t, d.Broken)
			for id := range up {
				require.False(t, h.State.Profile().Overfull(backfill.SlotID(id), r.Now), "seed %d at %d", seed, r.Now)
			}
			require.Equal(t, movesOf(before, h.State), d.Replaced, "seed %d at %d", seed, r.Now)
			moves += len(d.Replaced)
			again, err := copied.Open(r)
			require.NoError(t, err)
			require.NoError(t, again.Replay(t.Context(), d.Actions))
			again.Rollback()
			require.Equal(t, before, copied.Snapshot())
			again, err = copied.Open(r)
			require.NoError(t, err)
			require.NoError(t, again.Replay(t.Context(), d.Actions))
			replayed, err := again.Close()
			require.NoError(t, err)
			require.Equal(t, d.Replaced, replayed.Replaced)
			require.Equal(t, placesOf(h.State), placesOf(copied))
		}
	}
	require.Greater(t, moves, 40)
}

// movesOf lists the reservations that have other slots than before, and requires that they start when they
// would have.
func movesOf(before backfill.Snapshot, s *backfill.State) (moved []backfill.Moved) {
	for _, j := range before.Jobs {
		if start, at, planned := s.Planned(j.Job.ID); planned && !j.Running && j.Placement != nil && start == j.Start &&
			!at.Equal(j.Placement) {
			moved = append(moved, backfill.Moved{Job: j.Job, Start: start, At: at, From: j.Placement})
		}
	}
	slices.SortFunc(moved, func(a, b backfill.Moved) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), backfill.Compare(a.Job, b.Job))
	})
	return moved
}

// placesOf says where each job is and when.
func placesOf(s *backfill.State) map[backfill.JobID]string {
	all := map[backfill.JobID]string{}
	for _, j := range s.Snapshot().Jobs {
		all[j.Job.ID] = fmt.Sprint(j.Placement, j.Standing)
	}
	return all
}

// TestReplacedWithoutMoves checks that [backfill.Decision] also lists a reservation that an event left
// without its slot and that got another at the same start, though no policy moved it.
func TestReplacedWithoutMoves(t *testing.T) {
	for _, policy := range []string{"slack", "conservative"} {
		h := hostOf(t, backfill.NewState([]string{"cpus"}, profile.ByRank), policy, "fcfs", nil)
		var all backfill.Candidates
		r := backfill.Round{}
		for id, name := range []string{"a", "b"} {
			all.Slots = append(all.Slots, backfill.SlotID(id))
			r.Events = append(r.Events, backfill.Event{
				Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: backfill.SlotID(id), Name: name, Capacity: v(1)},
			})
		}
		r.Candidates = []backfill.CandidateSet{{Candidates: all}}
		e := submission(1, 0, a{10, v(1)})
		e.Job.Release = 5
		r.Events = append(r.Events, e)
		_, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		start, at, planned := h.State.Planned(1)
		require.True(t, planned)
		d, err := h.Decide(t.Context(), backfill.Round{Now: 1, Events: []backfill.Event{
			{Kind: backfill.SlotLost, Slot: backfill.Slot{ID: at[0].Slot}},
		}})
		require.NoError(t, err)
		other := backfill.Placement{{Slot: 1 - at[0].Slot, Count: 1}}
		require.Equal(t, []backfill.Moved{{Job: e.Job, Start: start, At: other, From: at}}, d.Replaced, policy)
	}
}

// TestBundlesMakeWay checks that a job that takes a bundle whole has others moved, too: job 1 is planned on
// the bundle cd, and could as well run on ab; job 2 may use only cd, and comes 5 s before job 1 starts.
func TestBundlesMakeWay(t *testing.T) {
	h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), "slack", opt("factor", "0"))
	r := backfill.Round{
		Bundles: []backfill.Bundle{
			{Name: "ab", Slots: []backfill.SlotID{0, 1}}, {ID: 1, Name: "cd", Slots: []backfill.SlotID{2, 3}},
		},
		Candidates: []backfill.CandidateSet{
			{Candidates: backfill.Candidates{Bundles: []backfill.BundleID{0, 1}, Rank: []int32{0, 1}}},
			{ID: 1, Candidates: backfill.Candidates{Bundles: []backfill.BundleID{1}}},
		},
	}
	for id, name := range []string{"a", "b", "c", "d"} {
		r.Events = append(r.Events, backfill.Event{
			Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: backfill.SlotID(id), Name: name, Capacity: v(1)},
		})
	}
	one, two := submission(1, 0, a{10, v(2)}), submission(2, 1, a{10, v(2)})
	one.Job.Whole, one.Job.Release = true, 5
	two.Job.Whole, two.Job.Candidates = true, 1
	r.Events = append(r.Events, one)
	_, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	start, at, _ := h.State.Planned(1)
	require.Equal(t, backfill.Placement{{Slot: 2, Count: 1}, {Slot: 3, Count: 1}}, at)
	d, err := h.Decide(t.Context(), backfill.Round{Now: start - 5, Events: []backfill.Event{two}})
	require.NoError(t, err)
	require.Equal(t, started(2), ids(d))
	ab := backfill.Placement{{Slot: 0, Count: 1}, {Slot: 1, Count: 1}}
	require.Equal(t, []backfill.Moved{{Job: one.Job, Start: start, At: ab, From: at}}, d.Replaced)
}
