package condorsim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
)

// madeUp is a trace that keeps a machine of 128 processors four fifths busy: widths are
// powers of two, estimates up to ten times the run times.
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

// BenchmarkRun is the whole path of a trace: pool, negotiator, matchmaking,
// policy and checks; time is per run, of which each job is a fraction.
func BenchmarkRun(b *testing.B) {
	for _, jobs := range []int{1_000, 5_000} {
		trace := madeUp(jobs)
		for _, policy := range []string{"fcfs", "easy", "conservative", "ibb", "pc", "dc"} {
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
