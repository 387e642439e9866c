package estimate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// crowd returns jobs of so many users, and a tenth as many projects, with random run times.
func crowd(users int) []estimate.Ended {
	random := rand.New(rand.NewPCG(1, 2))
	labels := make([]map[string]string, users)
	for i := range labels {
		labels[i] = map[string]string{"owner": fmt.Sprint("user", i), "project": fmt.Sprint("project", i/10)}
	}
	jobs := make([]estimate.Ended, 1<<17)
	for i := range jobs {
		requested := backfill.Time(600 * (1 + random.IntN(144)))
		jobs[i] = estimate.Ended{
			Job: estimate.Job{Requested: requested, Labels: labels[random.IntN(users)]},
			Ran: backfill.Time(random.Int64N(int64(requested) + 1)), At: backfill.Time(i),
		}
	}
	return jobs
}

// BenchmarkEstimate measures a prediction, and learning from a job, with a full history of 100,000
// jobs of one user or of a thousand users.
func BenchmarkEstimate(b *testing.B) {
	for _, users := range []int{1, 1000} {
		jobs := crowd(users)
		for _, spec := range append([]string{"requested", "accurate", "mix:0.5", "selective"}, learned...) {
			set := made(b, estimate.Settings{All: spec}, nil)
			for _, e := range jobs {
				set.Learn(e)
			}
			b.Run(fmt.Sprintf("predict/%s/users=%d", spec, users), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					set.Estimate(&jobs[i%len(jobs)].Job, 0)
					i++
				}
			})
			b.Run(fmt.Sprintf("learn/%s/users=%d", spec, users), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					set.Learn(jobs[i%len(jobs)])
					i++
				}
			})
		}
	}
}
