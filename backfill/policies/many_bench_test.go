package policies_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// staticPool returns the events that bring up slots of one core, and the arrivals of as many jobs
// of one core, with their candidate sets. The jobs are of 20 autoclusters, which differ in memory,
// and have 20 different estimates.
func staticPool(slots int) (up, jobs []backfill.Event, sets []backfill.CandidateSet) {
	const kinds = 20
	var all backfill.Candidates
	for i := range slots {
		all.Slots = append(all.Slots, backfill.SlotID(i))
		up = append(up, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot%d@node%04d.example.org", 1+i%64, i/64), Capacity: v(1,
				4096),
		}})
	}
	for i := range kinds {
		sets = append(sets, backfill.CandidateSet{ID: i, Candidates: all})
	}
	for i := range slots {
		kind := i % kinds
		jobs = append(jobs, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: backfill.JobID(1 + i), Position: backfill.QueuePosition{Cluster: int64(i)}, Nodes: 1, Request: v(1,
				int64(1024+128*kind)),
			Estimate: backfill.Time(600 * (1 + i/kinds%kinds)), Candidates: kind,
		}})
	}
	return up, jobs, sets
}

// BenchmarkManySlots measures cycles on a pool of 10 000 slots. In "arrive" 10 000 jobs arrive at
// the idle pool at once, and all start. In "freed" a job runs on every slot, each with another
// expected end, and as many jobs wait; in each cycle one job ends.
func BenchmarkManySlots(b *testing.B) {
	const slots = 10_000
	up, jobs, sets := staticPool(slots)
	for _, policy := range []string{"easy", "conservative"} {
		for _, rule := range []profile.Rule{profile.ByRank, profile.Pack, profile.Spread} {
			idle := func() *backfill.Host {
				h := hostBench(b, backfill.NewState([]string{"cpus", "memory"}, rule), policy)
				_, err := h.Decide(b.Context(), backfill.Round{Events: up, Candidates: sets})
				require.NoError(b, err)
				return h
			}
			b.Run(fmt.Sprintf("policy=%s/rule=%v/arrive", policy, rule), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					h := idle()
					b.StartTimer()
					d, err := h.Decide(b.Context(), backfill.Round{Now: 1, Events: jobs})
					require.NoError(b, err)
					require.Len(b, d.Started, slots)
				}
			})
		}
		b.Run(fmt.Sprintf("policy=%s/freed", policy), func(b *testing.B) {
			s := backfill.NewState([]string{"cpus", "memory"}, profile.ByRank)
			first := backfill.Round{Events: up, Candidates: sets}
			var running []backfill.JobID
			for i, e := range jobs {
				j := *e.Job
				j.Estimate = backfill.Time(1_000_000 + 37*i)
				running = append(running, j.ID)
				first.Events = append(first.Events, backfill.Event{
					Kind: backfill.Found, Job: &j, Placement: backfill.Placement{{
						Slot:  backfill.SlotID(i),
						Count: 1,
					}}, End: j.Estimate,
				})
			}
			h := hostBench(b, s, policy)
			_, err := h.Decide(b.Context(), first)
			require.NoError(b, err)
			wait := backfill.Round{Now: 1}
			for _, e := range jobs {
				j := *e.Job
				j.ID, j.Position.Cluster = j.ID+slots, j.Position.Cluster+slots
				wait.Events = append(wait.Events, backfill.Event{Kind: backfill.Submitted, Job: &j})
			}
			_, err = h.Decide(b.Context(), wait)
			require.NoError(b, err)
			now := backfill.Time(1)
			for b.Loop() {
				now++
				d, err := h.Decide(b.Context(), backfill.Round{
					Now:    now,
					Events: []backfill.Event{{Kind: backfill.Completed, JobID: running[0]}},
				})
				require.NoError(b, err)
				running = running[1:]
				for _, started := range d.Started {
					running = append(running, started.Job.ID)
				}
			}
		})
	}
}

// BenchmarkClosingSlots is "freed" of [BenchmarkManySlots] for slots that close one after the other
// before what runs there ends, as pilots do: no waiting job has a start but on the slot that was freed.
// In "told" each cycle also brings all candidate sets anew, as one slot has closed.
func BenchmarkClosingSlots(b *testing.B) {
	const slots = 10_000
	up, jobs, sets := staticPool(slots)
	windows := make([][]backfill.Window, slots)
	for i := range windows {
		windows[i] = []backfill.Window{{From: -backfill.Forever, To: backfill.Time(100_000 + 7*i)}}
	}
	for i := range sets {
		sets[i].Candidates.Windows = windows
	}
	for _, policy := range []string{"easy", "conservative", "slack"} {
		for _, told := range []bool{false, true} {
			b.Run(fmt.Sprintf("policy=%s/told=%t", policy, told), func(b *testing.B) {
				first := backfill.Round{Events: up, Candidates: sets}
				for i, e := range jobs {
					j := *e.Job
					first.Events = append(first.Events, backfill.Event{
						Kind: backfill.Found, Job: &j, End: backfill.Time(1_000_000 + 37*i),
						Placement: backfill.Placement{{Slot: backfill.SlotID(i), Count: 1}},
					})
				}
				h := hostBench(b, backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), policy)
				_, err := h.Decide(b.Context(), first)
				require.NoError(b, err)
				wait := backfill.Round{Now: 1}
				for _, e := range jobs {
					j := *e.Job
					j.ID, j.Position.Cluster = j.ID+slots, j.Position.Cluster+slots
					wait.Events = append(wait.Events, backfill.Event{Kind: backfill.Submitted, Job: &j})
				}
				_, err = h.Decide(b.Context(), wait)
				require.NoError(b, err)
				now, n := backfill.Time(1), 0
				for b.Loop() {
					now++
					r := backfill.Round{Now: now, Events: []backfill.Event{{Kind: backfill.Completed, JobID: backfill.JobID(1 + n)}}}
					if told {
						r.Candidates = sets
					}
					d, err := h.Decide(b.Context(), r)
					require.NoError(b, err)
					require.Len(b, d.Started, 1)
					n++
				}
			})
		}
	}
}
