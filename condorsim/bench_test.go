package condorsim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// madeUp is a trace that uses 80 % of a machine of 128 processors. Widths are powers of two,
// estimates up to ten times the run times.
func madeUp(jobs int) *workload.Trace {
	random := rand.New(rand.NewPCG(1, 2))
	t := &workload.Trace{Name: "made up", Machine: workload.Machine{Processors: 128}}
	var now int64
	for i := range jobs {
		now += random.Int64N(220)
		run := 1 + random.Int64N(3600)
		t.Jobs = append(t.Jobs, workload.Job{
			ID: int64(i), Submit: now, Run: run, Estimate: run * (1 + random.Int64N(10)), Procs: 1 << random.IntN(5),
		})
	}
	return t
}

// BenchmarkRun runs a whole trace: pool, negotiator, matchmaking, policy and checks. The time is
// per run of all jobs.
func BenchmarkRun(b *testing.B) {
	for _, jobs := range []int{1_000, 5_000} {
		trace := madeUp(jobs)
		for _, policy := range []string{"fcfs", "easy", "conservative", "ibb", "pc", "dc", "slack"} {
			b.Run(fmt.Sprintf("%s/%d jobs", policy, jobs), func(b *testing.B) {
				for b.Loop() {
					w, err := condorsim.FromTrace(trace, nil)
					require.NoError(b, err)
					_, err = condorsim.Run(b.Context(), w, link(b, policy, nil), nil)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*jobs), "ns/job")
			})
		}
	}
}

// BenchmarkFailures runs few jobs on a pool of 10,000 slots, without failures and with about one a
// minute: the difference is what failures cost.
func BenchmarkFailures(b *testing.B) {
	const text = "classes:\n  - {name: node, count: 10000, cpus: 32, memory: 128GiB}\npack: {chunk_cpus: 32}\n"
	for _, c := range []struct{ name, failures string }{
		{"none", ""},
		{"often", "failures:\n  - {mtbf: 7d, mttr: 4h}\n"},
		{"drains", "drains:\n  - {slots: [node1?], at: 1h, for: 1h}\n"},
	} {
		pool, err := pools.Read(strings.NewReader(text+c.failures), "bench.yaml")
		require.NoError(b, err)
		trace := madeUp(1000)
		b.Run(c.name, func(b *testing.B) {
			turns := 0
			for b.Loop() {
				w, err := condorsim.OnPool(trace, pool)
				require.NoError(b, err)
				_, err = condorsim.Run(b.Context(), w, link(b, "easy", nil), nil,
					sink(func(r *negotiator.Report) error {
						turns += len(r.Delta.SlotsUp) + len(r.Delta.SlotsDown)
						return nil
					}))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(turns)/float64(b.N)-10_000, "turns")
		})
	}
}

// BenchmarkRunFair finds both fair start times of every job. It uses one worker, so that the time
// includes the work of the copies.
func BenchmarkRunFair(b *testing.B) {
	trace := madeUp(1_000)
	for _, policy := range []string{"easy", "conservative", "pc"} {
		b.Run(policy, func(b *testing.B) {
			for b.Loop() {
				w, err := condorsim.FromTrace(trace, nil)
				require.NoError(b, err)
				_, err = condorsim.RunFair(b.Context(), w, link(b, policy, nil),
					condorsim.Fair{Strict: true, Relaxed: true, Workers: 1})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(trace.Jobs)), "ns/job")
		})
	}
}
