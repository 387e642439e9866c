package policies_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

var guaranteeing = []string{"conservative", "pc", "dc"}

// TestADepthThatIsNotReachedChangesNothing checks that a plan which is deeper than the queue is ever
// long has the same jobs, starts and promises as one without a limit.
func TestADepthThatIsNotReachedChangesNothing(t *testing.T) {
	for turn, name := range append(guaranteeing, "slack") {
		spec, err := policies.Named(name)
		require.NoError(t, err)
		for seed := range thorough.Share(turn, 6, 24) {
			want := run(t, seed, spec, "sjf", backfill.Planning{}, false)
			require.Equal(t, want, run(t, seed, spec, "sjf", backfill.Planning{Depth: 1000}, false), "%s, seed %d", name,
				seed)
		}
	}
}

// TestBeyondTheDepth checks who is promised a start, and who starts beside them, after jobs arrive
// together at four idle cpus with a plan of a given depth. Job 1 takes three cpus until 10, job 2
// needs all of them for 10 s; job 3 would run beyond that, job 4 would not. Job 5 is as wide as 2.
func TestBeyondTheDepth(t *testing.T) {
	all := started(1, 2, 3, 4, 5)
	jobs := []a{{10, v(3)}, {10, v(4)}, {20, v(1)}, {9, v(1)}, {5, v(4)}}
	for _, tt := range []struct {
		name     string
		planning backfill.Planning
		started  []backfill.JobID
		promised []backfill.JobID
		planned  map[backfill.JobID]backfill.Time
	}{
		{"no limit", backfill.Planning{}, started(1, 4), all, map[backfill.JobID]backfill.Time{2: 10, 3: 20, 5: 40}},
		{"deep", backfill.Planning{Depth: 5}, started(1, 4), all, map[backfill.JobID]backfill.Time{2: 10, 3: 20, 5: 40}},
		{"two", backfill.Planning{Depth: 2}, started(1, 4), started(1, 2), map[backfill.JobID]backfill.Time{2: 10}},
		// Nobody is promised room after job 1 has started, so the next in the queue takes what is idle.
		{"one", backfill.Planning{Depth: 1}, started(1, 4), started(1), map[backfill.JobID]backfill.Time{}},
		// By sjf it is 5, 4, 1, 2, 3: 5 starts, 4 is planned behind it, 1 and 2, too.
		{
			"reordered",
			backfill.Planning{Depth: 4, Reorder: true},
			started(5),
			started(1, 2, 4, 5),
			map[backfill.JobID]backfill.Time{4: 5, 1: 5, 2: 15},
		},
		{
			"reordered, one",
			backfill.Planning{Depth: 1, Reorder: true},
			started(5),
			started(5),
			map[backfill.JobID]backfill.Time{},
		},
	} {
		for _, policy := range guaranteeing {
			t.Run(policy+" "+tt.name, func(t *testing.T) {
				s := backfill.NewState([]string{"cpus"}, profile.ByRank)
				h := hostOrdered(t, s, policy, "sjf")
				h.SetPlanning(tt.planning)
				d := arrive(t, h, 4, jobs...)
				want := tt.started
				if policy == "conservative" && tt.name == "one" {
					want = started(1, 3) // without reorder, its queue is in the order of arrival
				}
				require.Equal(t, want, slices.Sorted(slices.Values(ids(d))))
				var promised []backfill.JobID
				planned := map[backfill.JobID]backfill.Time{}
				for _, j := range s.Snapshot().Jobs {
					if start, _, ok := s.Planned(j.Job.ID); ok {
						planned[j.Job.ID] = start
					}
					if j.Promised {
						promised = append(promised, j.Job.ID)
					}
				}
				require.Equal(t, tt.planned, planned)
				require.Equal(t, tt.promised, promised)
				require.Equal(t, s.Waiting()-len(planned), s.BeyondDepth())
			})
		}
	}
}

// TestNobodyOvertakesThoseBeyondTheDepth checks that a job which arrives when there is room in the
// plan again enters it behind the jobs that wait for that. Jobs 1 and 2 start and leave room for two
// jobs; job 3 waited beyond the depth, job 4 comes later.
func TestNobodyOvertakesThoseBeyondTheDepth(t *testing.T) {
	for _, policy := range guaranteeing {
		for _, later := range []backfill.Planning{{Depth: 2}, {}} {
			t.Run(fmt.Sprintf("%s, then %d", policy, later.Depth), func(t *testing.T) {
				s := backfill.NewState([]string{"cpus"}, profile.ByRank)
				h := hostOrdered(t, s, policy, "fcfs")
				h.SetPlanning(backfill.Planning{Depth: 2})
				require.Equal(t, started(1, 2), ids(arrive(t, h, 4, a{10, v(2)}, a{10, v(2)}, a{10, v(4)})))
				require.Equal(t, 1, s.BeyondDepth())
				h.SetPlanning(later)
				_, err := h.Decide(t.Context(), arrives(1, 4, a{10, v(4)}))
				require.NoError(t, err)
				third, _, _ := s.Planned(3)
				fourth, _, _ := s.Planned(4)
				require.Equal(t, []backfill.Time{10, 20}, []backfill.Time{third, fourth})
			})
		}
	}
}

// TestAPromiseThatAnEndTook checks a plan of one job, in a round in which the slot of that job shrinks
// while the other ends too early for it, and then has no end any more. Another job that comes first has
// got the plan's place by then, so the promise is reported as broken.
func TestAPromiseThatAnEndTook(t *testing.T) {
	for _, policy := range append(guaranteeing, "slack") {
		t.Run(policy, func(t *testing.T) {
			s := backfill.NewState([]string{"cpus"}, profile.ByRank)
			h := hostOf(t, s, policy, "sjf", near(policy))
			h.SetPlanning(backfill.Planning{Depth: 1, Reorder: true})
			slot := func(id backfill.SlotID, cpus int64, end backfill.Time) backfill.Slot {
				return backfill.Slot{ID: id, Name: fmt.Sprint("slot", id), Capacity: v(cpus), End: end}
			}
			job := func(id backfill.JobID, cpus int64, lasts backfill.Time) *backfill.Job {
				return &backfill.Job{ID: id, Nodes: 1, Request: v(cpus), Estimate: lasts, Position: backfill.QueuePosition{
					Cluster: int64(id),
				}}
			}
			both := backfill.Candidates{Slots: []backfill.SlotID{0, 1}}
			r := backfill.Round{Candidates: []backfill.CandidateSet{{Candidates: both}}}
			for id, cpus := range []int64{2, 2} {
				at := backfill.SlotID(id)
				r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(at, cpus, backfill.Time(40*id))},
					backfill.Event{
						Kind: backfill.Found, Job: job(backfill.JobID(1+id), 2, 20), End: 20,
						Placement: backfill.Placement{{Slot: at, Count: 1}},
					})
			}
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: job(3, 2, 50)})
			_, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			start, _, planned := s.Planned(3)
			require.True(t, planned)
			d, err := h.Decide(t.Context(), backfill.Round{Now: 1, Events: []backfill.Event{
				{Kind: backfill.SlotChanged, Slot: slot(0, 1, 0)},
				{Kind: backfill.SlotChanged, Slot: slot(1, 2, 0)},
				{Kind: backfill.Submitted, Job: job(4, 2, 10)},
			}})
			require.NoError(t, err)
			_, _, planned = s.Planned(4)
			require.True(t, planned)
			require.Len(t, d.Broken, 1)
			require.Equal(t, start, d.Broken[0].Promised)
			require.Equal(t, backfill.Forever, d.Broken[0].Now)
		})
	}
}
