package condorsim

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestUseOfLimits compares the use of a limit with what each second says.
func TestUseOfLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const height, until = 4, 60
		r := &Result{Workload: &Workload{Limits: []negotiator.Limit{{Name: "sw", Height: height * negotiator.LimitUnit}}}}
		wants := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 8).Draw(t, "wants")
		var used [until]int
		first, last := until, 0
		for i, want := range wants {
			submit := rapid.IntRange(0, 20).Draw(t, "submit")
			start := submit + rapid.IntRange(0, 15).Draw(t, "wait")
			end := start + rapid.IntRange(1, 20).Draw(t, "run")
			first, last = min(first, submit), max(last, end)
			j := &negotiator.Job{ID: backfill.JobID(i), Submit: backfill.Time(submit)}
			if want > 0 {
				j.Takes = []negotiator.Take{{Limit: "sw", Amount: int64(want) * negotiator.LimitUnit}}
			}
			for at := start; at < end; at++ {
				used[at] += want
			}
			r.Workload.Jobs = append(r.Workload.Jobs, Job{Job: j})
			o := Outcome{Start: backfill.Time(start), End: backfill.Time(end), Started: true, Ended: true}
			r.Outcomes = append(r.Outcomes, o)
		}
		want := LimitUse{Name: "sw", Height: height}
		sum := 0
		for _, n := range used {
			sum, want.Most = sum+n, max(want.Most, float64(n))
			if n >= height {
				want.Full++
			}
		}
		want.Mean, want.FullShare = float64(sum)/float64(last-first), float64(want.Full)/float64(last-first)
		for i, o := range r.Outcomes {
			if wants[i] == 0 {
				continue
			}
			want.Jobs++
			for at := r.Workload.Jobs[i].Submit; at < o.Start; at++ {
				if used[at]+wants[i] > height {
					want.Waited++
					break
				}
			}
		}
		got := r.Limits()[0]
		require.InDelta(t, want.Mean, got.Mean, 1e-9)
		got.Mean = want.Mean
		require.Equal(t, want, got)
	})
}
