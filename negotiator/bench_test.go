package negotiator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// BenchmarkFirstCycle is the first cycle on 10,000 idle slots of one core with as many jobs, of 20
// autoclusters and 20 estimates. Each job has its own ad, as schedds send them. In "none" no slot
// has the memory that the jobs request.
func BenchmarkFirstCycle(b *testing.B) {
	const many = 10_000
	for _, policy := range []string{"easy", "conservative"} {
		for _, name := range []string{"all", "none"} {
			b.Run(policy+"/"+name, func(b *testing.B) {
				d := firstCycle(b, many, map[string]int{"all": 1024, "none": 8192}[name])
				for b.Loop() {
					n, err := New(configured(b, policy, "fcfs"))
					require.NoError(b, err)
					r := cycle(b, n, d)
					require.Equal(b, many, len(r.Matches)+len(r.Held))
				}
			})
		}
	}
}

// firstCycle is the delta: each job requests at least this much memory, and each slot has 4096.
func firstCycle(b *testing.B, many, memory int) (d Delta) {
	b.Helper()
	for i := range many {
		d.SlotsUp = append(d.SlotsUp, newSlot(b, fmt.Sprintf("slot%d@node%04d.example.org", 1+i%64, i/64), 1,
			`Memory = 4096; Arch = "X86_64"; OpSys = "LINUX"; HasFileTransfer = true; Start = true; `+
				`WithinResourceLimits = MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory `+
				`<= MY.Memory; `+
				`Requirements = Start && WithinResourceLimits`))
		d.Submitted = append(d.Submitted, newJob(b, i+1, 1, fmt.Sprintf(
			`RequestMemory = %d; EstimatedRunTime = %d; Owner = "user%d"; Cmd = "/bin/sleep"; Rank = 0.0; `+
				`Requirements = TARGET.Arch == "X86_64" && TARGET.OpSys == "LINUX" && TARGET.Memory >= RequestMemory `+
				`&& TARGET.HasFileTransfer`,
			memory+128*(i%20), 600*(1+i/20%20), i%7)))
	}
	return d
}

// benchEstimators have learned from 10,000 jobs; nil for "".
func benchEstimators(b *testing.B, spec string) *estimate.Set {
	b.Helper()
	if spec == "" {
		return nil
	}
	set := estimators(b, "easy", estimate.Settings{All: spec})
	for i := range 10_000 {
		set.Learn(estimate.Ended{
			Job: estimate.Job{Requested: 1000, Labels: benchLabels(i)}, Ran: backfill.Time(100 + i*7%800),
			At: backfill.Time(i - 10_000),
		})
	}
	return set
}

func benchLabels(i int) map[string]string {
	return map[string]string{"owner": fmt.Sprint("user", i%50), "project": fmt.Sprint("project", i%7)}
}

// BenchmarkCycle is a cycle in which one job ends and one arrives while 2,000 wait, under an order
// whose keys change with time.
func BenchmarkCycle(b *testing.B) {
	const waiting = 2000
	text := ad(b, "RequestCpus = 1; Requirements = true")
	for _, policy := range []string{"easy", "conservative"} {
		for _, spec := range []string{"", "combined"} {
			b.Run(policy+"/"+spec, func(b *testing.B) {
				c := configured(b, policy, "wfp")
				c.Estimates = benchEstimators(b, spec)
				n, err := New(c)
				require.NoError(b, err)
				last := 0
				arrive := func(now backfill.Time) *Job {
					last++
					return &Job{
						ID: backfill.JobID(last), Name: "1", Submit: now,
						Position: backfill.QueuePosition{Proc: int64(last)}, Nodes: 1,
						Estimate: backfill.Time(500 + last%500), Labels: benchLabels(last), Ad: text,
					}
				}
				d := Delta{SlotsUp: []*Slot{newSlot(b, "a", 8, "")}}
				for range waiting {
					d.Submitted = append(d.Submitted, arrive(0))
				}
				running := cycle(b, n, d).Matches[0].Job.ID
				for b.Loop() {
					d = Delta{
						Now: d.Now + 1, Completed: []backfill.JobID{running},
						Submitted: []*Job{arrive(d.Now + 1)},
					}
					r := cycle(b, n, d)
					running = r.Matches[0].Job.ID
				}
			})
		}
	}
}

// BenchmarkPrediction is what a job costs in addition if there are estimators: it is predicted,
// planned, ordered, learned from and forgotten.
func BenchmarkPrediction(b *testing.B) {
	for _, spec := range []string{"", "combined", "tsafrir"} {
		b.Run(spec, func(b *testing.B) {
			c := configured(b, "easy", "fcfs")
			c.Estimates = benchEstimators(b, spec)
			n, err := New(c)
			require.NoError(b, err)
			p := n.predictions
			labels := make([]map[string]string, 350)
			for i := range labels {
				labels[i] = benchLabels(i)
			}
			var spec backfill.Job
			for i := 0; b.Loop(); i++ {
				job := Job{ID: backfill.JobID(i), Estimate: 1000, Labels: labels[i%len(labels)]}
				p.predict(&job)
				spec = backfill.Job{ID: job.ID}
				p.plan(&spec, &job)
				p.ordered(&spec)
				if p.set != nil {
					p.set.Learn(estimate.Ended{
						Job: p.describe(&job), Ran: backfill.Time(i % 1000),
						At: backfill.Time(i),
					})
				}
				p.forget(job.ID)
			}
		})
	}
}
