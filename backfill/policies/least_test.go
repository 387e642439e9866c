package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// counting is a slot of so many cpus on which a job begins only while at least so much is free, as where
// an expression counts the jobs that run there.
func counting(cpus int64, least backfill.Vector) backfill.Round {
	return backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
			Slots: []backfill.SlotID{0}, Least: []backfill.Vector{least},
		}}},
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: v(cpus)}},
		},
	}
}

// TestJobsThatNeedMoreFreeBeginTogether checks that jobs which begin only while more is free than they
// take all begin in one second, one after another, as many as find enough: of 128 cpus, the hundredth
// finds 29 free. The next job begins when one has ended.
func TestJobsThatNeedMoreFreeBeginTogether(t *testing.T) {
	for _, spec := range policies.All() {
		for _, n := range []backfill.JobID{2, 100} {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, nil)
			r := counting(128, v(129-int64(n)))
			var all []backfill.JobID
			for id := range n {
				r.Events, all = append(r.Events, submission(id+1, 0, a{60, v(1)})), append(all, id+1)
			}
			r.Events = append(r.Events, submission(n+1, 0, a{60, v(1)}))
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			require.ElementsMatch(t, all, ids(d), "%s, %d", spec.Name, n)
			d, err = h.Decide(t.Context(), backfill.Round{Now: 10, Events: []backfill.Event{
				{Kind: backfill.Completed, JobID: 1},
			}})
			require.NoError(t, err)
			require.Equal(t, started(n+1), ids(d), "%s, %d", spec.Name, n)
		}
	}
}

// TestJobsThatNeedMoreFreeFollowTogether checks that two jobs which wait for two others begin when these
// end, early and both in one second, without another event.
func TestJobsThatNeedMoreFreeFollowTogether(t *testing.T) {
	for _, spec := range policies.All() {
		h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, nil)
		r := counting(8, v(6))
		for id := range backfill.JobID(4) {
			r.Events = append(r.Events, submission(id+1, 0, a{600, v(2)}))
		}
		d, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, started(1, 2), ids(d), spec.Name)
		d, err = h.Decide(t.Context(), backfill.Round{Now: 100, Events: []backfill.Event{
			{Kind: backfill.Completed, JobID: 1}, {Kind: backfill.Completed, JobID: 2},
		}})
		require.NoError(t, err)
		require.Equal(t, started(3, 4), ids(d), spec.Name)
	}
}

// TestRoomBesideAJobThatBeginsIsUsed checks that a job does not wait for the sake of what another needs
// free only until it has begun. Job 1, of all cpus, ends early. Job 2 needs all of them free to begin,
// and leaves 6 of 8; who plans every start has job 3 begin a second later, if not at once.
func TestRoomBesideAJobThatBeginsIsUsed(t *testing.T) {
	for _, spec := range policies.All() {
		h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, near(spec.Name))
		r := counting(8, v(8))
		r.Candidates = append(r.Candidates, backfill.CandidateSet{
			ID: 1, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}},
		})
		last := submission(3, 0, a{600, v(4)})
		last.Job.Candidates = 1
		r.Events = append(r.Events, submission(1, 0, a{600, v(8)}), submission(2, 0, a{600, v(2)}), last)
		d, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, started(1), ids(d), spec.Name)
		d, err = h.Decide(t.Context(), backfill.Round{Now: 100, Events: []backfill.Event{
			{Kind: backfill.Completed, JobID: 1},
		}})
		require.NoError(t, err)
		want := started(2, 3)
		if spec.Name == "conservative" || spec.Name == "pc" {
			want = started(2)
		}
		require.Equal(t, want, ids(d), spec.Name)
		d, err = h.Decide(t.Context(), backfill.Round{Now: 101})
		require.NoError(t, err)
		require.Len(t, append(want, ids(d)...), 2, spec.Name)
	}
}

// TestSlotsOpenWhenALeadIsOver checks that a pass over the queue sees the room that a job leaves when it
// begins, though it had listed the slots with a free cpu before. Only long queues of many requests are
// looked at with such a list, so the cases are pools of seeds that had shown the fault: a job began a
// round late.
func TestSlotsOpenWhenALeadIsOver(t *testing.T) {
	for seed, order := range map[uint64]string{41740: "ljf", 42442: "wfp", 42729: "narrowest"} {
		with := slacks[seed%uint64(len(slacks))]
		spec, err := policies.Named("slack")
		require.NoError(t, err)
		policy, err := spec.Make(with.options)
		require.NoError(t, err)
		spec.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
		book := spec
		book.New = func(backfill.Values) (backfill.Policy, error) { return with.book, nil }
		planning := plannings[seed/7%uint64(len(plannings))]
		require.Equal(t, run(t, seed, book, order, planning, false), run(t, seed, spec, order, planning, false), "seed %d", seed)
	}
}
