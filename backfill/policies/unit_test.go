package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// unitJob is a job of a few cpus, in chunks of one: when it arrives after the one before it, for how long it
// asks and how long it runs.
type unitJob struct {
	gap, estimate, runs backfill.Time
	cpus                int
}

// unitJobs are all kinds of jobs of the workloads that are tried.
func unitJobs(gaps []backfill.Time, most int) (kinds []unitJob) {
	for _, gap := range gaps {
		for cpus := 1; cpus <= most; cpus++ {
			for _, times := range [][2]backfill.Time{{2, 2}, {3, 1}, {4, 4}} {
				kinds = append(kinds, unitJob{gap, times[0], times[1], cpus})
			}
		}
	}
	return kinds
}

// unitPool is a host under slack on slots with so many cpus.
func unitPool(t *testing.T, with map[string]string, order string, slots ...int64) *backfill.Host {
	t.Helper()
	spec, err := policies.Named("slack")
	require.NoError(t, err)
	policy, err := spec.Make(with)
	require.NoError(t, err)
	spec.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
	h := hosting(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec, order, backfill.Planning{})
	r := backfill.Round{Candidates: []backfill.CandidateSet{{}}}
	for id, cpus := range slots {
		r.Candidates[0].Candidates.Slots = append(r.Candidates[0].Candidates.Slots, backfill.SlotID(id))
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(id), Name: string(rune('a' + id)), Capacity: v(cpus),
		}})
	}
	_, err = h.Decide(t.Context(), r)
	require.NoError(t, err)
	return h
}

// playUnits plays a workload second by second and tells of each decision.
func playUnits(t *testing.T, h *backfill.Host, jobs []unitJob) (told []string, moves int) {
	t.Helper()
	next, arrives, left := 0, jobs[0].gap, len(jobs)
	for now := backfill.Time(1); left > 0; now++ {
		r := backfill.Round{Now: now}
		for run := range h.State.Running() {
			if run.Start+jobs[run.Job.ID-1].runs <= now {
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: run.Job.ID})
				left--
			}
		}
		for ; next < len(jobs) && arrives < now; next++ {
			e := submission(backfill.JobID(next+1), now, a{jobs[next].estimate, v(1)})
			e.Job.Nodes = jobs[next].cpus
			r.Events = append(r.Events, e)
			if next+1 < len(jobs) {
				arrives += jobs[next+1].gap
			}
		}
		snap := h.State.Snapshot()
		told = append(told, decideOnce(t, h, r))
		moves += len(movesOf(snap, h.State))
	}
	return told, moves
}

// TestAllUnitWorkloads checks that a pool of several slots decides like one slot with as many cpus if all
// chunks are of one cpu, for all workloads of a few jobs of a few kinds.
func TestAllUnitWorkloads(t *testing.T) {
	for i, with := range []map[string]string{
		{"factor": "0", "aging": "0"},
		{"factor": "1", "aging": "0.7"},
		{"factor": "8", "aging": "2"},
	} {
		order := []string{"fcfs", "sjf", "widest"}[i]
		first, others := unitJobs([]backfill.Time{0}, 3), unitJobs([]backfill.Time{0, 1}, 3)
		total, moves := uint64(len(first)*len(others)*len(others)*len(others)), 0
		step := thorough.Cases[uint64](97, 1)
		for n := uint64(i) % step; n < total; n += step {
			jobs, rest := make([]unitJob, 0, 4), n
			for _, kinds := range [][]unitJob{first, others, others, others} {
				jobs = append(jobs, kinds[rest%uint64(len(kinds))])
				rest /= uint64(len(kinds))
			}
			want, _ := playUnits(t, unitPool(t, with, order, 3), jobs)
			for _, slots := range [][]int64{{1, 2}, {1, 1, 1}} {
				got, moved := playUnits(t, unitPool(t, with, order, slots...), jobs)
				moves += moved
				require.Equal(t, want, got, "%v on %v", jobs, slots)
			}
		}
		t.Logf("%v: %d workloads of %d, %d moves", with, total/step, total, moves)
	}
}
