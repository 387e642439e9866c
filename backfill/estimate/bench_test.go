package estimate_test

import (
	"fmt"
	"maps"
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

// BenchmarkLearned measures a prediction of a set that has learned 100,000 jobs of a thousand users with ten
// programs each, and learning from a job, while none or a thousand jobs run.
func BenchmarkLearned(b *testing.B) {
	jobs := crowd(1000)
	for i := range jobs {
		labels := maps.Clone(jobs[i].Labels)
		labels["executable"] = fmt.Sprint("program", i%10)
		jobs[i].Labels, jobs[i].Cpus = labels, int64(1+i%3)
	}
	for _, running := range []int{0, 1000} {
		set := made(b, estimate.Settings{All: "learned"}, nil)
		for _, e := range jobs {
			set.Learn(e)
		}
		for i, e := range jobs[:running] {
			set.Started(run(e.Job, backfill.JobID(i), e.At))
		}
		i := 0
		b.Run(fmt.Sprintf("predict/running=%d", running), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Estimate(&jobs[i%len(jobs)].Job, 1<<17)
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "predictions/s")
		})
		b.Run(fmt.Sprintf("learn/running=%d", running), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Learn(jobs[i%len(jobs)])
				i++
			}
		})
	}
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
