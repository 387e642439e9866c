package metrics_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

var names = []string{
	"mean_wait", "median_wait", "p90_wait", "p95_wait", "p99_wait", "p999_wait", "longest_wait",
	"mean_wait_below_p99", "top5_wait", "top1_wait",
	"widest10_wait",
	"widest10_with_ties_wait", "narrowest50_wait", "area_weighted_wait", "mean_uwait", "mean_uwait_below_p99", "mean_response", "median_response", "p90_response",
	"p95_response", "p99_response", "area_weighted_response",
	"mean_slowdown", "mean_slowdown_below_p99", "mean_bounded_slowdown", "mean_bounded_slowdown_below_p99",
	"p95_bounded_slowdown", "widest10_bounded_slowdown", "narrowest50_bounded_slowdown", "processor_bounded_slowdown",
	"utilisation", "utilisation_memory", "loss_of_capacity",
	"makespan", "backfilled", "fairshare_unweighted", "fairshare_weighted", "users", "user_fairness",
	"worst_user_bounded_slowdown",
}

func TestAll(t *testing.T) {
	var got []string
	for name := range (metrics.Metrics{}).All() {
		got = append(got, name)
	}
	require.Equal(t, names, got)

	text, err := json.Marshal(metrics.Metrics{MeanWait: 1})
	require.NoError(t, err)
	var back map[string]float64
	require.NoError(t, json.Unmarshal(text, &back))
	require.Len(t, back, len(names))
	for name, value := range (metrics.Metrics{MeanWait: 7}).All() {
		require.Equal(t, "mean_wait", name)
		require.InDelta(t, 7, value, 0)
		break
	}
}

func TestNoJobs(t *testing.T) {
	require.Equal(t, metrics.Metrics{}, metrics.Compute(metrics.Machine{Processors: 4, Memory: 4}, nil))
}

// TestByHand has schedules whose metrics were worked out on paper.
func TestByHand(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine metrics.Machine
		jobs    []metrics.Job
		want    metrics.Metrics
	}{
		{
			name:    "one job without run time: no division by zero",
			machine: metrics.Machine{Processors: 4, Memory: 8},
			jobs:    []metrics.Job{{Submit: 3, Start: 3, Run: 0, Estimate: 1, Procs: 4, Memory: 8}},
			want: metrics.Metrics{
				MeanBoundedSlowdown: 1, P95BoundedSlowdown: 1, Widest10BoundedSlowdown: 1, Narrowest50BoundedSlowdown: 1,
				ProcessorBoundedSlowdown: 1,
			},
		},
		{
			name:    "one job that waited",
			machine: metrics.Machine{Processors: 4, Memory: 8},
			jobs:    []metrics.Job{{Submit: 10, Start: 30, Run: 20, Estimate: 40, Procs: 2, Memory: 4}},
			want: metrics.Metrics{
				MeanWait: 20, MeanResponse: 40, MeanSlowdown: 2, MeanBoundedSlowdown: 2, Top5Wait: 20, Top1Wait: 20,
				Widest10Wait: 20, Widest10WithTiesWait: 20, Utilisation: 0.25, Makespan: 40, MedianWait: 20,
				P90Wait: 20, P95Wait: 20, P99Wait: 20, P999Wait: 20, LongestWait: 20,
				MedianResponse: 40, P90Response: 40, P95Response: 40, P99Response: 40, P95BoundedSlowdown: 2,
				MeanUwait: 0.5, UtilisationMemory: 0.25, LossOfCapacity: 0.5, Narrowest50Wait: 20, AreaWeightedWait: 20,
				AreaWeightedResponse: 40, Widest10BoundedSlowdown: 2, Narrowest50BoundedSlowdown: 2, ProcessorBoundedSlowdown: 2,
			},
		},
		{
			// A runs 0–10 on all 4 processors. B (2) and C (1) arrive at 0; C
			// runs 10–14, before B, which runs 14–20. Unweighted rates are 4/3
			// until 10, then 1/2 for C until 14, then 2 for B alone:
			// A 40/3 < 40; B 40/3 + 2 + 12 − 12 = 46/3; C 10 (capped at 1) + 2 − 4 = 8.
			// Weighted rates per processor: 4/7, 1/3, 1:
			// B waits until 14, and 3 processors are idle for the last 4 s of that.
			// A 160/7 < 40; B 2·(40/7 + 4/3 + 6) − 12 = 296/21; C 40/7 + 4/3 − 4 = 64/21.
			name:    "three jobs, one backfilled",
			machine: metrics.Machine{Processors: 4},
			jobs: []metrics.Job{
				{Start: 0, Run: 10, Estimate: 10, Procs: 4, Memory: 9, User: "ann"},
				{Start: 14, Run: 6, Estimate: 7, Procs: 2, User: "bob"},
				{Start: 10, Run: 4, Estimate: 5, Procs: 1},
			},
			want: metrics.Metrics{
				MeanWait: 8, MeanResponse: 44.0 / 3, MeanSlowdown: (1 + 20.0/6 + 14.0/4) / 3,
				MeanBoundedSlowdown: (1 + 2 + 1.4) / 3,
				Top5Wait:            14, Top1Wait: 14, Widest10Wait: 0, Widest10WithTiesWait: 0,
				Utilisation: 56.0 / 80, Makespan: 20, Backfilled: 1,
				FairshareUnweighted: (46.0/3 + 8) / 3, FairshareWeighted: (296.0/21 + 64.0/21) / 3,
				MedianWait: 10, P90Wait: 14, P95Wait: 14, P99Wait: 14, P999Wait: 14, LongestWait: 14, MeanWaitBelowP99: 5,
				MeanUwait:         (0.0 + 2 + 2) / 3,
				MeanUwaitBelowP99: (0.0 + 2) / 2, MeanSlowdownBelowP99: (1 + 20.0/6) / 2,
				MeanBoundedSlowdownBelowP99: (1 + 1.4) / 2,
				MedianResponse:              14, P90Response: 20, P95Response: 20, P99Response: 20,
				P95BoundedSlowdown: 2, LossOfCapacity: 12.0 / 80, Users: 2,
				UserFairness: 9.0 / (2 * 5), WorstUserBoundedSlowdown: 2,
				// Areas 40, 12, 4; the narrowest two are C and B.
				Narrowest50Wait: 12, AreaWeightedWait: (12*14 + 4*10) / 56.0,
				AreaWeightedResponse: (40*10 + 12*20 + 4*14) / 56.0, ProcessorBoundedSlowdown: (4*1 + 2*2 + 1.4) / 7,
				Widest10BoundedSlowdown: 1, Narrowest50BoundedSlowdown: (2 + 1.4) / 2,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := metrics.Compute(c.machine, c.jobs)
			requireClose(t, c.want, got)
		})
	}
}

// TestShares checks ranks and ties on 101 jobs with the waits 0 to 100.
func TestShares(t *testing.T) {
	var jobs []metrics.Job
	for i := range int64(101) {
		jobs = append(jobs, metrics.Job{Start: i * 37 % 101, Run: 1, Estimate: 1, Procs: 1 + (i+50)/101*2})
	}
	got := metrics.Compute(metrics.Machine{Processors: 1000}, jobs)
	require.InDelta(t, (95+96+97+98+99+100)/6.0, got.Top5Wait, 1e-9)
	require.InDelta(t, 99.5, got.Top1Wait, 1e-9)
	require.InDelta(t, 50, got.MedianWait, 0)
	require.InDelta(t, 90, got.P90Wait, 0)
	require.InDelta(t, 95, got.P95Wait, 0)
	require.InDelta(t, 99, got.P99Wait, 0)
	require.InDelta(t, 100, got.P999Wait, 0)
	require.InDelta(t, 100, got.LongestWait, 0)
	require.InDelta(t, 51, got.MedianResponse, 0)
	require.InDelta(t, 100, got.P99Response, 0)
	require.InDelta(t, 49, got.MeanWaitBelowP99, 1e-9)
	require.InDelta(t, 49, got.MeanUwaitBelowP99, 1e-9)
	require.InDelta(t, 50, got.MeanSlowdownBelowP99, 1e-9)
	require.InDelta(t, (10*1.0+(11+99)*89/2.0/10)/99, got.MeanBoundedSlowdownBelowP99, 1e-9,
		"responses of 1 to 99 s, those below 10 s count as 1")

	var first11, all float64 // the 50 wide ones are jobs 51 to 100
	for i := 51; i < 101; i++ {
		wait := float64(jobs[i].Start)
		all += wait
		if i < 51+11 {
			first11 += wait
		}
	}
	require.InDelta(t, first11/11, got.Widest10Wait, 1e-9)
	require.InDelta(t, all/50, got.Widest10WithTiesWait, 1e-9)
}

// TestFairshareAgainstDefinition integrates second by second.
func TestFairshareAgainstDefinition(t *testing.T) {
	for seed := range uint64(50) {
		jobs := schedule(seed, 60, 8, 20)
		var unweighted, weighted float64
		for _, j := range jobs {
			var equal, byWidth float64
			for now := j.Submit; now < j.Start+j.Run; now++ {
				var inUse, active, wanted float64
				for _, k := range jobs {
					if k.Submit <= now && now < k.Start+k.Run {
						active++
						wanted += float64(k.Procs)
						if k.Start <= now {
							inUse += float64(k.Procs)
						}
					}
				}
				equal += min(inUse/active, float64(j.Procs))
				byWidth += min(float64(j.Procs)/wanted*inUse, float64(j.Procs))
			}
			unweighted += max(0, equal-float64(j.Procs*j.Run)) / float64(len(jobs))
			weighted += max(0, byWidth-float64(j.Procs*j.Run)) / float64(len(jobs))
		}
		got := metrics.Compute(metrics.Machine{Processors: 1000}, jobs)
		require.InEpsilon(t, unweighted, got.FairshareUnweighted, 1e-9)
		require.InEpsilon(t, weighted, got.FairshareWeighted, 1e-9)
	}
}

func TestSameBits(t *testing.T) {
	jobs := schedule(1, 5000, 64, 3000)
	before := slices.Clone(jobs)
	first := metrics.Compute(metrics.Machine{Processors: 64}, jobs)
	require.Equal(t, before, jobs, "the jobs are not changed")
	require.Equal(t, first, metrics.Compute(metrics.Machine{Processors: 64}, jobs))
}

// TestExamples recomputes the metrics of the example instances from their
// expected start times, for every policy.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../../../shared/sim-examples/*.json")
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the metrics of the example instances are not compared: ../../../shared/sim-examples is not there")
	}
	compared := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var instance struct {
			Processors, Memory int64
			Jobs               []metrics.Job
			Expected           map[string]struct {
				Start   []int64
				Metrics map[string]float64
			}
		}
		require.NoError(t, json.Unmarshal(text, &instance))
		for policy, expected := range instance.Expected {
			for i, start := range expected.Start {
				instance.Jobs[i].Start = start
			}
			got := metrics.Compute(metrics.Machine{Processors: instance.Processors, Memory: instance.Memory},
				instance.Jobs)
			for name, value := range got.All() {
				want, known := expected.Metrics[name]
				if !known {
					continue
				}
				compared++
				require.InDelta(t, want, value, 1e-6*max(want, -want, 1e-300), "%s %s %s",
					filepath.Base(path), policy, name)
			}
		}
	}
	t.Logf("%d metrics agree", compared)
	require.Equal(t, 15*17*13, compared, "instances × policies × metrics")
}

// schedule makes random jobs in order of jobs, for no particular machine.
func schedule(seed uint64, n int, widest, longest int64) []metrics.Job {
	random := rand.New(rand.NewPCG(seed, 7))
	jobs := make([]metrics.Job, n)
	var now int64
	for i := range jobs {
		now += random.Int64N(max(longest/8, 1))
		run := random.Int64N(longest)
		jobs[i] = metrics.Job{
			Submit: now, Start: now + random.Int64N(4*longest), Run: run, Estimate: run + 1,
			Procs: 1 + random.Int64N(widest), Memory: random.Int64N(1000), User: string(rune('a' + random.Int64N(26))),
		}
	}
	return jobs
}

func TestBound(t *testing.T) {
	jobs := []metrics.Job{
		{Start: 30, Run: 10, Estimate: 10, Procs: 1, User: "ann"},
		{Start: 0, Run: 1, Estimate: 1, Procs: 1, User: "bob"},
	}
	for bound, want := range map[int64]float64{1: 4, 10: 4, 20: 2, 1000: 1} {
		got := metrics.ComputeBounded(metrics.Machine{Processors: 8}, jobs, bound)
		require.InDelta(t, (want+1)/2, got.MeanBoundedSlowdown, 1e-12)
		require.InDelta(t, want, got.P95BoundedSlowdown, 1e-12)
		require.InDelta(t, want, got.WorstUserBoundedSlowdown, 1e-12)
		require.InDelta(t, 20.5, got.MeanSlowdown, 20, "has no bound")
	}
}

func TestByUser(t *testing.T) {
	jobs := []metrics.Job{
		{Start: 30, Run: 10, Procs: 2, User: "bob"},
		{Start: 5, Run: 10, Procs: 1, User: "ann"},
		{Start: 99, Run: 9, Procs: 1},
		{Start: 10, Run: 20, Procs: 3, User: "bob"},
	}
	require.Equal(t, []metrics.User{
		{Name: "ann", Jobs: 1, CPUSeconds: 10, MeanWait: 5, MeanBoundedSlowdown: 1.5},
		{Name: "bob", Jobs: 2, CPUSeconds: 80, MeanWait: 20, MeanBoundedSlowdown: 2.75},
	}, metrics.ByUser(jobs, 10))
	require.Empty(t, metrics.ByUser(jobs[2:3], 10))
	require.Zero(t, metrics.Compute(metrics.Machine{Processors: 4}, jobs[2:3]).UserFairness, "nobody is known")
}

// TestLossOfCapacityAgainstDefinition adds up second by second.
func TestLossOfCapacityAgainstDefinition(t *testing.T) {
	for seed := range uint64(20) {
		jobs := schedule(seed, 40, 8, 20)
		var lost, first, last int64
		first = jobs[0].Submit
		for _, j := range jobs {
			last = max(last, j.Start+j.Run)
		}
		for now := first; now < last; now++ {
			idle, waits := int64(400), false
			for _, j := range jobs {
				waits = waits || j.Submit <= now && now < j.Start
				if j.Start <= now && now < j.Start+j.Run {
					idle -= j.Procs
				}
			}
			if waits {
				lost += idle
			}
		}
		got := metrics.Compute(metrics.Machine{Processors: 400}, jobs)
		require.InEpsilon(t, float64(lost)/float64(400*(last-first)), got.LossOfCapacity, 1e-12)
	}
}

func requireClose(t *testing.T, want, got metrics.Metrics) {
	t.Helper()
	values := maps.Collect(want.All())
	for name, value := range got.All() {
		require.InDelta(t, values[name], value, 1e-9, name)
	}
}

func BenchmarkCompute(b *testing.B) {
	jobs := schedule(1, 200_000, 1024, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		metrics.Compute(metrics.Machine{Processors: 1024}, jobs)
	}
}
