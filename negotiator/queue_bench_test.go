package negotiator

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// longQueue is a pool with more jobs than slots. Each slot has one core, so it hosts one job. Jobs come
// in clusters of 100 procs, which share their ad and so their autocluster.
type longQueue struct {
	n       *Negotiator
	kinds   []*Job // one of each autocluster, with its ad
	last    int
	now     backfill.Time
	running []backfill.JobID // in the order in which they started
}

// Act notes what was started.
func (q *longQueue) Act(_ context.Context, matches []Match) error {
	for _, m := range matches {
		q.running = append(q.running, m.Job.ID)
	}
	return nil
}

// newLongQueue is a negotiator without slots and jobs, and autoclusters that differ in what they request.
func newLongQueue(b *testing.B, policy, order string, autoclusters int) *longQueue {
	b.Helper()
	n, err := New(configured(b, policy, order))
	require.NoError(b, err)
	q := &longQueue{n: n}
	for i := range autoclusters {
		q.kinds = append(q.kinds, newJob(b, i+1, 1, fmt.Sprintf(
			`RequestMemory = %d; Owner = "user%d"; Cmd = "/bin/sleep"; Rank = 0.0; Requirements = TARGET.Arch == "X86_64" && `+
				`TARGET.Memory >= RequestMemory`, 3000-i%2900, i%50)))
	}
	return q
}

// arrive returns the next job.
func (q *longQueue) arrive() *Job {
	q.last++
	j := *q.kinds[q.last/100%len(q.kinds)]
	j.ID, j.Name, j.Submit = backfill.JobID(q.last), fmt.Sprintf("1.%d", q.last), q.now
	j.Position.Proc, j.Estimate = int64(q.last), backfill.Time(3600*(1+q.last%24))
	return &j
}

// first is the delta in which all slots and jobs come.
func (q *longQueue) first(b *testing.B, slots, jobs int) (d Delta) {
	b.Helper()
	for i := range slots {
		d.SlotsUp = append(d.SlotsUp, newSlot(b, fmt.Sprintf("slot1@node%05d.example.org", i), 1,
			`Memory = 3000; Arch = "X86_64"; Requirements = TARGET.RequestMemory <= MY.Memory`))
	}
	for range jobs {
		d.Submitted = append(d.Submitted, q.arrive())
	}
	return d
}

// step runs a cycle.
func (q *longQueue) step(b *testing.B, d Delta) {
	b.Helper()
	report, err := Decide(context.Background(), q.n, d)
	require.NoError(b, err)
	require.NoError(b, q.Act(context.Background(), report.Matches))
}

// BenchmarkLongQueue is what it costs that a queue is long: the first cycle, and the next ones, in which
// 50 jobs end and 50 arrive, on 10,000 slots with jobs of 2,000 autoclusters. Under fcfs a cycle looks at
// the queue's first jobs only, so what grows with the queue is the negotiator's and not the policy's.
func BenchmarkLongQueue(b *testing.B) {
	for _, policy := range []string{"fcfs", "easy"} {
		for _, jobs := range []int{10_000, 100_000, 1_000_000} {
			name := fmt.Sprintf("%s/%d", policy, jobs)
			b.Run("first/"+name, func(b *testing.B) { benchFirst(b, policy, jobs) })
			b.Run("next/"+name, func(b *testing.B) { benchNext(b, policy, jobs) })
		}
	}
}

const longQueueSlots, longQueueKinds = 10_000, 2000

func benchFirst(b *testing.B, policy string, jobs int) {
	b.Helper()
	for b.Loop() {
		b.StopTimer()
		q := newLongQueue(b, policy, "fcfs", longQueueKinds)
		d := q.first(b, longQueueSlots, longQueueSlots+jobs)
		b.StartTimer()
		q.step(b, d)
	}
}

func benchNext(b *testing.B, policy string, jobs int) {
	b.Helper()
	const events = 50
	q := newLongQueue(b, policy, "fcfs", longQueueKinds)
	q.step(b, q.first(b, longQueueSlots, longQueueSlots))
	empty := heap()
	q.step(b, q.first(b, 0, jobs))
	for b.Loop() {
		q.now++
		d := Delta{Now: q.now, Completed: slices.Clone(q.running[:events])}
		q.running = q.running[events:]
		for range events {
			d.Submitted = append(d.Submitted, q.arrive())
		}
		q.step(b, d)
	}
	b.ReportMetric(float64(heap()-empty)/float64(jobs), "B/job")
	runtime.KeepAlive(q)
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
