package metrics_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

func TestWeightedByHand(t *testing.T) {
	type job = metrics.Job
	for _, c := range []struct {
		name string
		jobs []job
		want metrics.Metrics // what is weighted, and of widths
	}{
		{
			// Areas 4·100 = 400 and 1·20 = 20, waits 10 and 100, responses 110 and 120, bounded slowdowns
			// 1.1 and 6. The narrow one is both the narrowest half and, as the order has it, not the widest.
			name: "a large job and a small one",
			jobs: []job{{Start: 10, Run: 100, Procs: 4}, {Submit: 5, Start: 105, Run: 20, Procs: 1}},
			want: metrics.Metrics{
				AreaWeightedWait: (400*10 + 20*100) / 420.0, AreaWeightedResponse: (400*110 + 20*120) / 420.0,
				ProcessorBoundedSlowdown: (4*1.1 + 6) / 5, Widest10Wait: 10, Widest10WithTiesWait: 10, Narrowest50Wait: 100,
				Widest10BoundedSlowdown: 1.1, Narrowest50BoundedSlowdown: 6,
			},
		},
		{
			name: "work that was saved counts as area, and not as wait",
			jobs: []job{{Start: 50, Run: 10, Saved: 30, Procs: 2}, {Submit: 60, Start: 60, Run: 20, Procs: 1}},
			want: metrics.Metrics{ // areas 80 and 20, waits 20 and 0, responses 60 and 20
				AreaWeightedWait: 16, AreaWeightedResponse: 52, ProcessorBoundedSlowdown: (2*1.5 + 1) / 3,
				Widest10Wait: 20, Widest10WithTiesWait: 20, Widest10BoundedSlowdown: 1.5, Narrowest50BoundedSlowdown: 1,
			},
		},
		{
			name: "no job ran for a second: nothing to weight with",
			jobs: []job{{Start: 10, Procs: 4}, {Start: 20, Procs: 1}},
			want: metrics.Metrics{
				ProcessorBoundedSlowdown: (4*1 + 2) / 5.0, Widest10Wait: 10, Widest10WithTiesWait: 10, Narrowest50Wait: 20,
				Widest10BoundedSlowdown: 1, Narrowest50BoundedSlowdown: 2,
			},
		},
		{
			name: "no processors: nothing to weight with",
			jobs: []job{{Start: 20, Run: 10}},
			want: metrics.Metrics{
				Widest10Wait: 20, Widest10WithTiesWait: 20, Narrowest50Wait: 20,
				Widest10BoundedSlowdown: 3, Narrowest50BoundedSlowdown: 3,
			},
		},
		{
			// Of five jobs the narrowest 50 % are three: the two of 1 processor, and the first of the two of 2.
			name: "ties of widths go to the first",
			jobs: []job{
				{Start: 4, Run: 10, Procs: 2},
				{Start: 40, Run: 10, Procs: 2},
				{Start: 1, Run: 10, Procs: 1},
				{Start: 10, Run: 10, Procs: 9},
				{Start: 7, Run: 10, Procs: 1},
			},
			want: metrics.Metrics{
				AreaWeightedWait: (8 + 80 + 1 + 90 + 7) / 15.0, AreaWeightedResponse: (8+80+1+90+7)/15.0 + 10,
				ProcessorBoundedSlowdown: (2*1.4 + 2*5 + 1.1 + 9*2 + 1.7) / 15,
				Widest10Wait:             10, Widest10WithTiesWait: 10, Widest10BoundedSlowdown: 2,
				Narrowest50Wait: 4, Narrowest50BoundedSlowdown: 1.4,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := metrics.Compute(metrics.Machine{Processors: 16}, c.jobs)
			requireClose(t, c.want, metrics.Metrics{
				AreaWeightedWait: m.AreaWeightedWait, AreaWeightedResponse: m.AreaWeightedResponse,
				ProcessorBoundedSlowdown: m.ProcessorBoundedSlowdown, Widest10Wait: m.Widest10Wait,
				Widest10WithTiesWait: m.Widest10WithTiesWait, Narrowest50Wait: m.Narrowest50Wait,
				Widest10BoundedSlowdown: m.Widest10BoundedSlowdown, Narrowest50BoundedSlowdown: m.Narrowest50BoundedSlowdown,
			})
		})
	}
}

// TestP999IsTheNearestRank: of n waits it is the ⌈0.999·n⌉-th smallest.
func TestP999IsTheNearestRank(t *testing.T) {
	for n, want := range map[int64]float64{1: 1, 999: 999, 1000: 999, 1001: 1000, 2000: 1998, 2001: 1999} {
		var jobs []metrics.Job
		for i := range n {
			jobs = append(jobs, metrics.Job{Start: n - i, Run: 1, Procs: 1})
		}
		got := metrics.Compute(metrics.Machine{Processors: 1}, jobs)
		require.InDelta(t, want, got.P999Wait, 0, "of %d", n)
		require.InDelta(t, n, got.LongestWait, 0)
	}
}

// anySchedule draws jobs in order of jobs; where all are alike, with one shape.
func anySchedule(t *rapid.T, alike bool) []metrics.Job {
	jobs := make([]metrics.Job, rapid.IntRange(1, 60).Draw(t, "jobs"))
	submit := int64(0)
	run, procs := rapid.Int64Range(0, 1e5), rapid.Int64Range(1, 1<<20)
	oneRun, oneProcs := rapid.Int64Range(1, 1e5).Draw(t, "one run"), procs.Draw(t, "one width")
	for i := range jobs {
		submit += rapid.Int64Range(0, week/4).Draw(t, "gap")
		j := metrics.Job{Submit: submit, Run: oneRun, Procs: oneProcs, Estimate: 1e5}
		if !alike {
			j.Run, j.Procs, j.Saved = run.Draw(t, "run"), procs.Draw(t, "procs"), rapid.Int64Range(0, 9).Draw(t, "saved")
		}
		j.Start = submit + j.Saved + rapid.Int64Range(0, 1e6).Draw(t, "wait")
		jobs[i] = j
	}
	return jobs
}

// TestWeightedAgainstDefinition: the sums in whole numbers and fractions give the same.
func TestWeightedAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := anySchedule(t, false)
		var waits, responses, areas, slowdowns, procs big.Rat
		whole := func(x int64) *big.Rat { return new(big.Rat).SetInt64(x) }
		times := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
		for _, j := range jobs {
			work := j.Saved + j.Run
			response := j.Start + j.Run - j.Submit
			area := times(whole(j.Procs), whole(work))
			areas.Add(&areas, area)
			waits.Add(&waits, times(area, whole(response-work)))
			responses.Add(&responses, times(area, whole(response)))
			slowdown := big.NewRat(response, max(work, 10))
			if slowdown.Cmp(whole(1)) < 0 {
				slowdown = whole(1)
			}
			procs.Add(&procs, whole(j.Procs))
			slowdowns.Add(&slowdowns, times(whole(j.Procs), slowdown))
		}
		over := func(sum, weights *big.Rat) float64 {
			if weights.Sign() == 0 {
				return 0
			}
			f, _ := new(big.Rat).Quo(sum, weights).Float64()
			return f
		}
		m := metrics.Compute(metrics.Machine{Processors: 1 << 30}, jobs)
		require.InEpsilon(t, 1+over(&waits, &areas), 1+m.AreaWeightedWait, 1e-12)
		require.InEpsilon(t, 1+over(&responses, &areas), 1+m.AreaWeightedResponse, 1e-12)
		require.InEpsilon(t, over(&slowdowns, &procs), m.ProcessorBoundedSlowdown, 1e-12)
	})
}

// TestEqualWeightsMakePlainMeans: where jobs are alike, what is weighted is what is not.
func TestEqualWeightsMakePlainMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := metrics.Compute(metrics.Machine{Processors: 1 << 30}, anySchedule(t, true))
		require.InEpsilon(t, 1+m.MeanWait, 1+m.AreaWeightedWait, 1e-12)
		require.InEpsilon(t, m.MeanResponse, m.AreaWeightedResponse, 1e-12)
		require.InEpsilon(t, m.MeanBoundedSlowdown, m.ProcessorBoundedSlowdown, 1e-12)
	})
}

// TestWeightedInvariances: a job of k times the processors counts as k jobs; units of width do not
// matter; and the response is the wait and the run time, both weighted alike.
func TestWeightedInvariances(t *testing.T) {
	same := func(t *rapid.T, a, b metrics.Metrics) {
		require.InEpsilon(t, 1+a.AreaWeightedWait, 1+b.AreaWeightedWait, 1e-12)
		require.InEpsilon(t, 1+a.AreaWeightedResponse, 1+b.AreaWeightedResponse, 1e-12)
		require.InEpsilon(t, a.ProcessorBoundedSlowdown, b.ProcessorBoundedSlowdown, 1e-12)
	}
	rapid.Check(t, func(t *rapid.T) {
		jobs := anySchedule(t, false)
		machine := metrics.Machine{Processors: 1 << 40}
		m := metrics.Compute(machine, jobs)
		k := rapid.Int64Range(2, 5).Draw(t, "k")
		wider, divided := slices.Clone(jobs), []metrics.Job(nil)
		var area, runs float64
		for i, j := range jobs {
			wider[i].Procs *= k
			for range k {
				divided = append(divided, j)
			}
			area += float64(j.Procs * (j.Run + j.Saved))
			runs += float64(j.Procs*(j.Run+j.Saved)) * float64(j.Run+j.Saved)
		}
		same(t, m, metrics.Compute(machine, wider))
		same(t, m, metrics.Compute(machine, divided))
		if area > 0 {
			require.InEpsilon(t, m.AreaWeightedWait+runs/area, m.AreaWeightedResponse, 1e-12)
		}
	})
}

// TestOrderDoesNotMatterByArea: of jobs of one width that run one after another, whichever order
// leaves the response by area as it is, while the mean response changes.
func TestOrderDoesNotMatterByArea(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := anySchedule(t, false)
		oneAfterAnother := func() metrics.Metrics {
			now := int64(0)
			for i := range jobs {
				j := &jobs[i]
				*j = metrics.Job{Start: now, Run: j.Run, Procs: 4, Estimate: 1}
				now += j.Run
			}
			return metrics.Compute(metrics.Machine{Processors: 4}, jobs)
		}
		before := oneAfterAnother()
		slices.SortFunc(jobs, func(a, b metrics.Job) int { return int(a.Run - b.Run) })
		after := oneAfterAnother()
		require.InEpsilon(t, 1+before.AreaWeightedResponse, 1+after.AreaWeightedResponse, 1e-12)
		require.LessOrEqual(t, after.MeanResponse, before.MeanResponse+1e-6, "shortest first")
	})
}

// TestNarrowestAgainstDefinition: by sorting jobs by width, and by place among equals.
func TestNarrowestAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := anySchedule(t, false)
		for i := range jobs {
			jobs[i].Procs = 1 + jobs[i].Procs%4
		}
		m := metrics.Compute(metrics.Machine{Processors: 1 << 30}, jobs)
		mean := func(jobs []metrics.Job) (wait, slowdown float64) {
			for _, j := range jobs {
				waited := float64(j.Start - j.Saved - j.Submit)
				wait += waited / float64(len(jobs))
				slowdown += max(1, (waited+float64(j.Run+j.Saved))/max(10, float64(j.Run+j.Saved))) / float64(len(jobs))
			}
			return wait, slowdown
		}
		byWidth := slices.Clone(jobs)
		slices.SortStableFunc(byWidth, func(a, b metrics.Job) int { return int(a.Procs - b.Procs) })
		wait, slowdown := mean(byWidth[:(len(jobs)+1)/2])
		require.InEpsilon(t, 1+wait, 1+m.Narrowest50Wait, 1e-9)
		require.InEpsilon(t, slowdown, m.Narrowest50BoundedSlowdown, 1e-9)
		byWidth = slices.Clone(jobs)
		slices.SortStableFunc(byWidth, func(a, b metrics.Job) int { return int(b.Procs - a.Procs) })
		wait, slowdown = mean(byWidth[:int(math.Ceil(float64(len(jobs))/10))])
		require.InEpsilon(t, 1+wait, 1+m.Widest10Wait, 1e-9)
		require.InEpsilon(t, slowdown, m.Widest10BoundedSlowdown, 1e-9)
	})
}
