package policies_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
func decideOnce(t *testing.T, h *backfill.Host, r backfill.Round) (told string) {
	t.Helper()
	d, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	told = fmt.Sprint(d.Now, " starts ", ids(d))
	for _, j := range h.State.Snapshot().Jobs {
		if start, _, ok := h.State.Planned(j.Job.ID); ok {
			told += fmt.Sprintf(", %d at %d by %d", j.Job.ID, start, j.Guarantee)
		}
	}
	return told
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
