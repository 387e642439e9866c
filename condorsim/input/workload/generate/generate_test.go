package generate_test

import (
	"cmp"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload/generate"
)

// moments are the numbers of a trace by which a model and its output can be compared.
type moments struct {
	serial, pow2  float64 // shares of jobs: one processor; a power of two above one
	logWidth      float64 // mean log2 of parallel jobs
	logRun, sdRun float64 // mean and standard deviation of the logarithm of run times
	wideRun       float64 // mean logarithm of the run times of jobs of half the machine and more
	gap, logGap   float64 // mean gap, mean of its logarithm
	load          float64
	hours         [24]float64 // shares of jobs submitted in each hour of the day
	runs, gaps    []int64     // sorted: run times, times between submissions
}

func momentsOf(t *workload.Trace) (m moments) {
	n := float64(len(t.Jobs))
	var parallel, wide, work, sum2 float64
	for i, j := range t.Jobs {
		x := math.Log(float64(max(j.Run, 1)))
		switch {
		case j.Procs == 1:
			m.serial += 1 / n
		case bits.OnesCount64(uint64(j.Procs)) == 1:
			m.pow2 += 1 / n
		}
		if j.Procs > 1 {
			parallel++
			m.logWidth += math.Log2(float64(j.Procs))
		}
		if 2*j.Procs >= t.Machine.Processors {
			wide++
			m.wideRun += x
		}
		m.logRun += x / n
		sum2 += x * x / n
		work += float64(j.Procs) * float64(j.Run)
		m.hours[j.Submit/3600%24] += 1 / n
		if i > 0 {
			gap := j.Submit - t.Jobs[i-1].Submit
			m.gaps = append(m.gaps, gap)
			m.logGap += math.Log(float64(max(gap, 1))) / (n - 1)
		}
		m.runs = append(m.runs, j.Run)
	}
	span := float64(t.Jobs[len(t.Jobs)-1].Submit - t.Jobs[0].Submit)
	m.sdRun = math.Sqrt(sum2 - m.logRun*m.logRun)
	m.logWidth /= parallel
	m.wideRun /= wide
	m.gap = span / (n - 1)
	m.load = work / float64(t.Machine.Processors) / span
	slices.Sort(m.runs)
	slices.Sort(m.gaps)
	return m
}

// kolmogorov returns the greatest distance between the distributions of two samples.
func kolmogorov(a, b []int64) (distance float64) {
	for _, x := range a {
		i, _ := slices.BinarySearch(a, x+1)
		k, _ := slices.BinarySearch(b, x+1)
		distance = max(distance, math.Abs(float64(i)/float64(len(a))-float64(k)/float64(len(b))))
	}
	return distance
}

// TestLublinAgainstTheAuthorsProgram compares with a trace of 10,000 jobs that the authors' program
// made for 256 nodes. Both are samples: the tolerances are about four standard errors of the
// difference of two such samples. The mean gap, and with it the load, depends on the few longest
// gaps of a heavy tail: it varies from 800 to 1,030 s with the seed. Quantiles say more.
func TestLublinAgainstTheAuthorsProgram(t *testing.T) {
	const path = "../../../../../shared/traces/lublin_256.swf.gz"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the model is not compared with its authors' program: %v", err)
	}
	theirs, err := workload.Open(path, workload.Options{})
	require.NoError(t, err)
	want := momentsOf(theirs)
	for seed := range uint64(3) {
		ours, err := generate.Lublin{Jobs: 10_000, Processors: 256, Seed: seed}.Trace("ours")
		require.NoError(t, err)
		got := momentsOf(ours)
		t.Logf("seed %d: %+v", seed, [...]float64{
			got.serial, got.pow2, got.logWidth, got.logRun, got.sdRun,
			got.wideRun, got.gap, got.logGap, got.load,
		})
		require.InDelta(t, want.serial, got.serial, 0.025)
		require.InDelta(t, want.pow2, got.pow2, 0.028)
		require.InDelta(t, want.logWidth, got.logWidth, 0.11)
		require.InDelta(t, want.logRun, got.logRun, 0.17)
		require.InDelta(t, want.sdRun, got.sdRun, 0.08)
		require.InDelta(t, want.wideRun, got.wideRun, 0.35)
		require.InDelta(t, want.logGap, got.logGap, 0.12)
		require.InEpsilon(t, want.gaps[5000], got.gaps[5000], 0.08)
		require.InEpsilon(t, want.gaps[9000], got.gaps[9000], 0.15)
		require.InEpsilon(t, want.gap, got.gap, 0.4)
		require.InEpsilon(t, want.load, got.load, 0.4)
		require.Less(t, kolmogorov(want.runs, got.runs), 0.028)
		for hour, share := range want.hours {
			require.InDelta(t, share, got.hours[hour], 0.02, "hour %d", hour)
		}
	}
}

func TestKinds(t *testing.T) {
	for kind, serial := range map[generate.Kind]float64{
		"": 0.244, generate.KindBatch: 0.2927,
		generate.KindInteractive: 0.1541,
	} {
		trace, err := generate.Lublin{Jobs: 8000, Processors: 128, Kind: kind, Seed: 1}.Trace("t")
		require.NoError(t, err)
		require.InDelta(t, serial, momentsOf(trace).serial, 0.02, kind)
	}
	both, err := generate.Lublin{Jobs: 8000, Processors: 128, Kind: generate.KindBoth, Seed: 1}.Trace("t")
	require.NoError(t, err)
	count := map[string]int{}
	var short float64
	for _, j := range both.Jobs {
		count[j.Queue]++
		if j.Queue == "0" {
			short = max(short, math.Log2(float64(j.Procs)))
		}
	}
	require.Greater(t, count["0"], 500)
	require.Greater(t, count["1"], 500)
	require.LessOrEqual(t, short, 5.6, "interactive jobs are not wider than 45 of 128 nodes")
}

func TestLublinErrors(t *testing.T) {
	_, err := generate.Lublin{Jobs: 0, Processors: 3, Kind: "odd"}.Trace("t")
	require.ErrorContains(t, err, `kind of jobs "odd": must be all, batch, interactive or both`)
	require.ErrorContains(t, err, "jobs: 0: must be from 1 to")
	require.ErrorContains(t, err, "cpus: 3: must be from 4 to")
}

// requireTrace checks what holds for every trace.
func requireTrace(t *rapid.T, trace *workload.Trace, jobs int) {
	require.Len(t, trace.Jobs, jobs)
	require.True(t, slices.IsSortedFunc(trace.Jobs,
		func(a, b workload.Job) int { return cmp.Compare(a.Submit, b.Submit) }))
	for i, j := range trace.Jobs {
		require.Equal(t, int64(i+1), j.ID)
		require.True(t, 1 <= j.Procs && j.Procs <= trace.Machine.Processors, "%+v", j)
		require.True(t, j.Run >= 0 && j.Estimate == max(j.Run, 1), "%+v", j)
	}
	var b strings.Builder
	require.NoError(t, trace.WriteSWF(&b))
	again, err := workload.ReadSWF(strings.NewReader(b.String()), trace.Name, workload.Options{})
	require.NoError(t, err)
	require.Equal(t, trace.Jobs, again.Jobs)
	require.Equal(t, trace.Machine, again.Machine)
}

func TestEveryLublinTraceIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := generate.Lublin{
			Jobs: rapid.IntRange(1, 200).Draw(t, "jobs"), Processors: rapid.Int64Range(4, 1<<20).Draw(t, "processors"),
			Kind: rapid.SampledFrom([]generate.Kind{"", "all", "batch", "interactive", "both"}).Draw(t, "kind"),
			Seed: rapid.Uint64().Draw(t, "seed"),
		}
		trace, err := l.Trace("t")
		require.NoError(t, err)
		requireTrace(t, trace, l.Jobs)
		same, err := l.Trace("t")
		require.NoError(t, err)
		require.Equal(t, trace, same)
	})
}

func anySimple(t *rapid.T) generate.Simple {
	s := generate.Simple{
		Jobs: rapid.IntRange(2, 200).Draw(t, "jobs"), Processors: rapid.Int64Range(1, 5000).Draw(t, "processors"),
		Memory: rapid.Int64Range(0, 1e6).Draw(t, "memory"), Seed: rapid.Uint64().Draw(t, "seed"),
		Load:      rapid.Float64Range(0.1, 2).Draw(t, "load"),
		Shape:     rapid.SampledFrom([]float64{0, 1, 0.5, 2}).Draw(t, "shape"),
		Widths:    rapid.SampledFrom([]generate.Widths{"", "powers", "uniform"}).Draw(t, "widths"),
		RunMedian: rapid.Float64Range(1, 1e5).Draw(t, "median"), RunSigma: rapid.Float64Range(0, 4).Draw(t, "sigma"),
		Users: rapid.IntRange(0, 50).Draw(t, "users"),
	}
	s.Widest = rapid.Int64Range(0, s.Processors).Draw(t, "widest")
	return s
}

func TestEverySimpleTraceIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySimple(t)
		trace, err := s.Trace("t")
		require.NoError(t, err)
		requireTrace(t, trace, s.Jobs)
		same, err := s.Trace("t")
		require.NoError(t, err)
		require.Equal(t, trace, same)
		for _, j := range trace.Jobs {
			require.True(t, s.Widest == 0 || j.Procs <= s.Widest)
			require.Equal(t, s.Users == 0, j.User == "")
			require.True(t, s.Widths == generate.WidthsUniform || bits.OnesCount64(uint64(j.Procs)) == 1)
		}
		if span := trace.Jobs[s.Jobs-1].Submit; span > 1000 {
			require.InEpsilon(t, s.Load, momentsOf(trace).load, 0.01, "the load that was asked for")
		}
	})
}

func TestSimpleDistributions(t *testing.T) {
	s := generate.Simple{
		Jobs: 20_000, Processors: 64, Load: 0.9, RunMedian: 600, RunSigma: 1.5, Users: 10,
		ZipfExponent: 1, Seed: 5,
	}
	trace, err := s.Trace("t")
	require.NoError(t, err)
	m := momentsOf(trace)
	require.InEpsilon(t, 600, m.runs[10_000], 0.05, "the median")
	require.InDelta(t, 1.5, m.sdRun, 0.03)
	require.InDelta(t, 1.0/7, m.serial, 0.01, "1, 2, 4, 8, 16, 32 and 64 as often")
	users := map[string]float64{}
	var gaps, gaps2 float64
	for i, j := range trace.Jobs {
		users[j.User]++
		if i > 0 {
			gap := float64(j.Submit - trace.Jobs[i-1].Submit)
			gaps, gaps2 = gaps+gap, gaps2+gap*gap
		}
	}
	require.InEpsilon(t, 2, users["1"]/users["2"], 0.1, "Zipf's law")
	require.InEpsilon(t, 10, users["1"]/users["10"], 0.15)
	variation := func(sum, squares float64) float64 {
		return math.Sqrt(20_000*squares/(sum*sum) - 1)
	}
	require.InDelta(t, 1, variation(gaps, gaps2), 0.05, "a Poisson process")
	require.InDelta(t, 0.9, m.load, 0.001)

	s.Shape = 0.5
	bursts, err := s.Trace("t")
	require.NoError(t, err)
	gaps, gaps2 = 0, 0
	for i, j := range bursts.Jobs[1:] {
		gap := float64(j.Submit - bursts.Jobs[i].Submit)
		gaps, gaps2 = gaps+gap, gaps2+gap*gap
	}
	require.InDelta(t, math.Sqrt(5), variation(gaps, gaps2), 0.25, "of a Weibull distribution of shape 1/2")
}

func TestSimpleErrors(t *testing.T) {
	_, err := generate.Simple{
		Jobs: 1, Load: math.NaN(), Shape: -1, Widths: "odd", Widest: 5, RunSigma: -1,
		RunLongest: -1, Users: -1, ZipfExponent: -1, Memory: -1,
	}.Trace("t")
	for _, want := range []string{
		"cpus: 0", "jobs: 1: must be at least 2", "load: NaN", "shape: -1", `widths: "odd"`,
		"widest: 5", "run-median: 0",
		"run-sigma: -1", "run-longest: -1", "users: -1", "zipf: -1", "memory: -1",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = generate.Simple{Jobs: 1_000_000, Processors: 1, Load: 0.001, RunMedian: 1e9, RunLongest: 1e9}.Trace("t")
	require.ErrorContains(t, err, "ask for more load, fewer jobs or shorter ones")
}
