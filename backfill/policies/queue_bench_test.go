package policies_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// longQueue is a full pool of equal slots with a long queue.
type longQueue struct {
	host    *backfill.Host
	differ  string // in what jobs differ
	jobs    int
	running []backfill.JobID // by start
}

// job returns the next job. They are alike, or differ in their estimates and a little in their
// cpus, or no two ask for the same.
func (q *longQueue) job(now backfill.Time) *backfill.Job {
	q.jobs++
	i := int64(q.jobs)
	j := &backfill.Job{
		ID: backfill.JobID(i), Submit: now, Position: backfill.QueuePosition{Cluster: i}, Nodes: 1,
		Request: v(4, 2048), Estimate: 3600,
	}
	if q.differ != "nothing" {
		j.Request = v(1+i*31%16, 2048)
		j.Estimate = backfill.Time(60 + i*104_729%86_400)
	}
	if q.differ == "memory" {
		j.Request[1] = 1 + i*7919%2_000_003
	}
	return j
}

// newLongQueue fills the slots and the queue.
func newLongQueue(b *testing.B, slots, waiting int, differ string) *longQueue {
	b.Helper()
	q := &longQueue{differ: differ}
	q.host = hostBench(b, backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), "easy")
	first := backfill.Round{}
	var set backfill.CandidateSet
	for i := range slots {
		first.Events = append(first.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot1@n%04d", i), Capacity: v(int64(6400/slots), 1<<40),
		}})
		set.Candidates.Slots = append(set.Candidates.Slots, backfill.SlotID(i))
	}
	first.Candidates = append(first.Candidates, set)
	q.decide(b, first)
	for now := backfill.Time(1); q.host.State.Waiting() < waiting; now++ { // so that they end one by one
		r := backfill.Round{Now: now}
		n := 1
		if q.host.State.Waiting() > 0 {
			n = waiting - q.host.State.Waiting()
		}
		for range n {
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: q.job(now)})
		}
		q.decide(b, r)
	}
	return q
}

func (q *longQueue) decide(b *testing.B, r backfill.Round) {
	b.Helper()
	d, err := q.host.Decide(b.Context(), r)
	require.NoError(b, err)
	for _, s := range d.Started {
		q.running = append(q.running, s.Job.ID)
	}
}

// next runs a cycle in which a job has ended and another has arrived.
func (q *longQueue) next(b *testing.B) {
	b.Helper()
	now := q.host.State.Now() + 1
	ended := q.running[0]
	q.running = q.running[1:]
	q.decide(b, backfill.Round{Now: now, Events: []backfill.Event{
		{Kind: backfill.Completed, JobID: ended}, {Kind: backfill.Submitted, Job: q.job(now)},
	}})
}

// BenchmarkQueue measures how a cycle of easy, in which a job has ended and another has arrived,
// grows with the number of waiting jobs. These differ in nothing, in their estimates and cpus, or
// no two ask for the same memory. "growth" reports the exponent, 1 for a cost in proportion to the
// queue. The memory of a waiting job is reported, too.
func BenchmarkQueue(b *testing.B) {
	for _, slots := range []int{1, 100} {
		for _, differ := range []string{"nothing", "estimates", "memory"} {
			if slots > 1 && differ == "memory" {
				continue // the profile keeps bounds for each request, whether its jobs wait or not
			}
			var costs []float64
			for _, waiting := range []int{1_000, 10_000, 100_000, 1_000_000} {
				name := fmt.Sprintf("slots=%d/differ=%s/waiting=%d", slots, differ, waiting)
				b.Run(name, func(b *testing.B) {
					before := heap()
					q := newLongQueue(b, slots, waiting, differ)
					q.next(b) // so that nothing is kept of the round in which they came
					bytes := float64(heap()-before) / float64(waiting)
					for b.Loop() {
						q.next(b)
					}
					costs = append(costs, float64(b.Elapsed())/float64(b.N))
					b.ReportMetric(bytes, "B/job")
				})
			}
			b.Run(fmt.Sprintf("slots=%d/differ=%s/growth", slots, differ), func(b *testing.B) {
				if len(costs) < 2 {
					b.Skip("needs the costs of several lengths")
				}
				decades := float64(len(costs) - 1)
				b.ReportMetric(math.Log10(costs[len(costs)-1]/costs[0])/decades, "exponent")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// heap returns the number of bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
