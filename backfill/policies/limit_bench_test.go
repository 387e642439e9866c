package policies_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// limitedPool returns a pool of 2,000 slots of eight cores, and 22,500 jobs of 200 users. Each job takes
// one of the pool, its cpus of the quota of one of 49 groups, of four or five users each, and has one of
// four requests. The groups may use half of the pool together.
func limitedPool() (up, jobs []backfill.Event, sets []backfill.CandidateSet, rows []backfill.Row) {
	const slots, users, groups, all = 2000, 200, 49, 22_500
	var everywhere backfill.Candidates
	for i := range slots {
		everywhere.Slots = append(everywhere.Slots, backfill.SlotID(i))
		up = append(up, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot1@node%04d.example.org", i), Capacity: v(8, 32768),
		}})
	}
	rows = append(rows, backfill.Row{ID: 0, Name: "MAX_JOBS_RUNNING", Height: 6000})
	for g := range groups {
		rows = append(rows, backfill.Row{ID: backfill.RowID(1 + g), Name: fmt.Sprintf("group_%02d", g), Height: 163})
	}
	for u := range users {
		sets = append(sets, backfill.CandidateSet{ID: u, Candidates: everywhere})
	}
	for i := range all {
		user, cpus := i%users, int64(1+i/users%4)
		jobs = append(jobs, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: backfill.JobID(1 + i), Position: backfill.QueuePosition{Cluster: int64(i)}, Nodes: 1,
			Request: v(cpus, 2048*cpus), Estimate: backfill.Time(600 * (1 + i/users%20)), Candidates: user,
			Labels: map[string]string{"owner": fmt.Sprint("user", user)},
			Takes:  []backfill.Take{{Row: 0, Amount: 1}, {Row: backfill.RowID(1 + user%groups), Amount: cpus}},
		}})
	}
	return up, jobs, sets, rows
}

// fill lets the first jobs run that fill the groups' rows, one or two on a slot, and returns which.
func fill(r *backfill.Round, jobs []backfill.Event, rows []backfill.Row) (running []backfill.JobID) {
	taken := make([]int64, len(rows))
	for i, e := range jobs {
		if taken[e.Job.Takes[1].Row] += e.Job.Takes[1].Amount; taken[e.Job.Takes[1].Row] > rows[1].Height {
			break
		}
		running = append(running, e.Job.ID)
		r.Events = append(r.Events, backfill.Event{
			Kind: backfill.Found, Job: e.Job, Placement: backfill.Placement{{Slot: backfill.SlotID(i % 2000), Count: 1}},
			End: backfill.Time(50_000 + 37*i),
		})
	}
	return running
}

// BenchmarkLimits measures the next cycle on a pool with 20,000 waiting jobs of 200 users in 50 rows, of
// which each group's is full: 20 jobs end, and others of their groups start. In "heights" each cycle
// also changes the heights of all groups.
func BenchmarkLimits(b *testing.B) {
	up, jobs, sets, rows := limitedPool()
	for _, policy := range []string{"easy", "slack", "conservative"} {
		for _, heights := range []bool{false, true} {
			b.Run(fmt.Sprintf("policy=%s/heights=%t", policy, heights), func(b *testing.B) {
				first := backfill.Round{Events: slices.Clone(up), Candidates: sets, Rows: rows}
				h := hostBench(b, backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), policy)
				h.SetPlanning(backfill.Planning{Depth: 1000, Reorder: true})
				running := fill(&first, jobs, rows)
				_, err := h.Decide(b.Context(), first)
				require.NoError(b, err)
				_, err = h.Decide(b.Context(), backfill.Round{Now: 1, Events: jobs[len(running):]})
				require.NoError(b, err)
				now, next := backfill.Time(1), backfill.JobID(len(jobs)+1)
				for b.Loop() {
					now++
					r := backfill.Round{Now: now}
					for _, id := range running[:20] {
						j := *h.State.Job(id)
						j.ID, j.Submit, j.Position.Cluster = next, now, int64(next)
						next++
						r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: id},
							backfill.Event{Kind: backfill.Submitted, Job: &j})
					}
					if heights {
						r.Rows = append(r.Rows, rows...)
						for i := range r.Rows[1:] {
							r.Rows[1+i].Height += int64(now+backfill.Time(i)) % 3
						}
					}
					running = running[20:]
					d, err := h.Decide(b.Context(), r)
					require.NoError(b, err)
					for _, s := range d.Started {
						running = append(running, s.Job.ID)
					}
				}
				b.ReportMetric(float64(h.State.Waiting()), "waiting")
			})
		}
	}
}
