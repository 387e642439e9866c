package policies_test

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
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
	running []ending // the next to end is the first
}

// ending is a running job and when it will have run for its estimate.
type ending struct {
	at  backfill.Time
	job backfill.JobID
}

// alikeRequest is what jobs that are alike share, as those of an autocluster do.
var alikeRequest = v(4, 2048)

// job returns the next job. They are alike, or differ in their estimates and a little in their
// cpus, or no two ask for the same.
func (q *longQueue) job(now backfill.Time) *backfill.Job {
	q.jobs++
	i := int64(q.jobs)
	j := &backfill.Job{
		ID: backfill.JobID(i), Submit: now, Position: backfill.QueuePosition{Cluster: i}, Nodes: 1,
		Request: alikeRequest, Estimate: 3600,
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
func newLongQueue(b *testing.B, policy, order string, slots, waiting int, differ string) *longQueue {
	b.Helper()
	q := &longQueue{differ: differ}
	q.host = orderedBench(b, backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), policy, queueOrder(b, order))
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
		e := ending{d.Now + s.Job.Estimate, s.Job.ID}
		i, _ := slices.BinarySearchFunc(q.running, e, func(a, b ending) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job))
		})
		q.running = slices.Insert(q.running, i, e)
	}
}

// next runs a cycle in which a job has ended, the one that would end first, so that none runs for
// longer than its estimate, and another has arrived.
func (q *longQueue) next(b *testing.B) {
	b.Helper()
	now := q.host.State.Now() + 1
	ended := q.running[0].job
	q.running = q.running[1:]
	q.decide(b, backfill.Round{Now: now, Events: []backfill.Event{
		{Kind: backfill.Completed, JobID: ended}, {Kind: backfill.Submitted, Job: q.job(now)},
	}})
}

// queueOrder returns an order by its name. Under fairshare the keys of one user's jobs, of a hundred users,
// change each second.
func queueOrder(b *testing.B, name string) backfill.Order {
	b.Helper()
	if name == "fairshare" {
		const users = 100
		return func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
			return float64(at.Now - (at.Now+backfill.Time(j.ID))%users), backfill.Moves{WithTime: true}
		}
	}
	order, err := backfill.OrderNamed(name)
	require.NoError(b, err)
	return order
}

// BenchmarkQueue measures how a cycle, in which a job has ended and another has arrived, grows with
// the number of waiting jobs: under easy, and under slack up to the length of its plan on a real
// pool. The jobs differ in nothing, in their estimates and cpus, or no two ask for the same memory.
// Orders whose keys change with time are measured where jobs differ in their estimates on one slot.
// "growth" reports the exponent, 1 for a cost in proportion to the queue. The memory of a waiting
// job is reported, too.
func BenchmarkQueue(b *testing.B) {
	lengths := map[string][]int{"easy": {1_000, 10_000, 100_000, 1_000_000}, "slack": {100, 1_000, 10_000}}
	for _, policy := range []string{"easy", "slack"} {
		for _, order := range []string{"wfp", "xfactor", "fairshare"} {
			name := fmt.Sprintf("policy=%s/order=%s/slots=1/differ=estimates", policy, order)
			benchmarkQueue(b, name, []int{100, 1_000, 10_000}, func(b *testing.B, waiting int) *longQueue {
				b.Helper()
				return newLongQueue(b, policy, order, 1, waiting, "estimates")
			})
		}
		for _, slots := range []int{1, 100} {
			for _, differ := range []string{"nothing", "estimates", "memory"} {
				if slots > 1 && differ == "memory" {
					continue // the profile keeps bounds for each request, whether its jobs wait or not
				}
				name := fmt.Sprintf("policy=%s/order=fixed/slots=%d/differ=%s", policy, slots, differ)
				benchmarkQueue(b, name, lengths[policy], func(b *testing.B, waiting int) *longQueue {
					b.Helper()
					return newLongQueue(b, policy, "fcfs", slots, waiting, differ)
				})
			}
		}
	}
}

func benchmarkQueue(b *testing.B, name string, lengths []int, queue func(b *testing.B, waiting int) *longQueue) {
	b.Helper()
	var costs []float64
	for _, waiting := range lengths {
		b.Run(fmt.Sprintf("%s/waiting=%d", name, waiting), func(b *testing.B) {
			before := heap()
			q := queue(b, waiting)
			q.next(b) // so that nothing is kept of the round in which they came
			bytes := float64(heap()-before) / float64(waiting)
			for b.Loop() {
				q.next(b)
			}
			costs = append(costs, float64(b.Elapsed())/float64(b.N))
			b.ReportMetric(bytes, "B/job")
		})
	}
	b.Run(name+"/growth", func(b *testing.B) {
		if len(costs) < 2 {
			b.Skip("needs the costs of several lengths")
		}
		decades := math.Log10(float64(lengths[len(lengths)-1]) / float64(lengths[0]))
		b.ReportMetric(math.Log10(costs[len(costs)-1]/costs[0])/decades, "exponent")
		b.ReportMetric(0, "ns/op")
	})
}

// heap returns the number of bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
