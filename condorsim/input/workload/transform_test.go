package workload_test

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func toy() *workload.Trace {
	return &workload.Trace{
		Name: "toy", Machine: workload.Machine{Processors: 10, Memory: 100},
		Cleaning: workload.Cleaning{JobsRead: 4, JobsLeft: 4},
		Jobs: []workload.Job{
			{ID: 1, Submit: 10, Run: 50, Estimate: 80, Procs: 1, Memory: 5},
			{ID: 2, Submit: 20, Run: 0, Estimate: 80, Procs: 5, Memory: 99},
			{ID: 3, Submit: 20, Run: 7, Estimate: 80, Procs: 10},
			{ID: 4, Submit: 35, Run: 9, Estimate: 9, Procs: 3, Memory: 30},
		},
	}
}

// TestEarliestStartsFollowTheSubmitTimes checks that a job may start as long after its submit time as
// before, if that moves.
func TestEarliestStartsFollowTheSubmitTimes(t *testing.T) {
	trace := toy()
	trace.Jobs[3].Release = 50
	release := func(j workload.Job) int64 { return j.Release }
	merged := workload.Merge("both", workload.Machine{}, trace, toy())
	require.ElementsMatch(t, []int64{0, 0, 0, 40, 0, 0, 0, 0}, column(merged, release))
	scaled, err := trace.Transform(workload.Transform{Load: 0.5})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 0, 0, 75}, column(scaled, release), "it was submitted at 60")
}

// column returns one number of each job.
func column(trace *workload.Trace, number func(workload.Job) int64) []int64 {
	var list []int64
	for _, j := range trace.Jobs {
		list = append(list, number(j))
	}
	return list
}

func id(j workload.Job) int64       { return j.ID }
func submit(j workload.Job) int64   { return j.Submit }
func procs(j workload.Job) int64    { return j.Procs }
func memory(j workload.Job) int64   { return j.Memory }
func estimate(j workload.Job) int64 { return j.Estimate }

func TestTransform(t *testing.T) {
	for _, c := range []struct {
		x      workload.Transform
		number func(workload.Job) int64
		want   []int64
		note   string
	}{
		{workload.Transform{}, id, []int64{1, 2, 3, 4}, ""},
		{
			workload.Transform{Load: 1, Widths: 1, Estimates: "given", Memory: "given", Seed: 9},
			id,
			[]int64{1, 2, 3, 4},
			"",
		},
		{workload.Transform{From: new(int64(20))}, id, []int64{2, 3, 4}, "from 20 s"},
		{workload.Transform{From: new(int64(11)), Until: new(int64(35))}, id, []int64{2, 3}, "from 11 s, until 35 s"},
		{workload.Transform{From: new(int64(11)), Max: 1}, id, []int64{2}, "from 11 s, first 1 jobs"},
		{workload.Transform{Max: 9}, id, []int64{1, 2, 3, 4}, "first 9 jobs"},
		{workload.Transform{From: new(int64(100))}, id, nil, "from 100 s"},
		{workload.Transform{Load: 2}, submit, []int64{10, 15, 15, 22}, "load × 2"},
		{workload.Transform{Load: 0.5, From: new(int64(20))}, submit, []int64{20, 20, 50}, "from 20 s, load × 0.5"},
		{workload.Transform{Widths: 0.5}, procs, []int64{1, 3, 5, 2}, "widths × 0.5"},
		{workload.Transform{Widths: 0.001}, procs, []int64{1, 1, 1, 1}, "widths × 0.001"},
		{workload.Transform{Widths: 3}, procs, []int64{3, 10, 10, 9}, "widths × 3"},
		{workload.Transform{Widths: 3}, memory, []int64{15, 100, 0, 90}, "widths × 3"},
		{workload.Transform{Memory: "per-cpu:4.5"}, memory, []int64{5, 23, 45, 14}, "memory per-cpu:4.5"},
		{workload.Transform{Memory: "per-cpu:20"}, memory, []int64{20, 100, 100, 60}, "memory per-cpu:20"},
		{workload.Transform{Memory: "lognormal:2:0"}, memory, []int64{2, 10, 20, 6}, "memory lognormal:2:0, seed 0"},
		{workload.Transform{Estimates: "accurate"}, estimate, []int64{50, 1, 7, 9}, "estimates accurate"},
		{workload.Transform{Estimates: "f:0", Seed: 3}, estimate, []int64{50, 1, 7, 9}, "estimates f:0, seed 3"},
	} {
		t.Run(c.x.String(), func(t *testing.T) {
			trace := toy()
			changed, err := trace.Transform(c.x)
			require.NoError(t, err)
			require.Equal(t, toy(), trace, "the trace stays as it is")
			require.Equal(t, c.want, column(changed, c.number))
			require.Equal(t, len(changed.Jobs), changed.Cleaning.JobsLeft)
			require.Equal(t, 4, changed.Cleaning.JobsLeft+changed.Cleaning.CutOut+changed.Cleaning.BeyondMax)
			require.Len(t, changed.Drops, changed.Cleaning.CutOut+changed.Cleaning.BeyondMax)
			require.Equal(t, c.note == "", c.x.IsZero() || c.note == "")
			if c.note == "" {
				require.Equal(t, trace, changed)
			} else {
				require.Equal(t, "transformed: "+c.note, changed.Header["Note"])
			}
		})
	}
	require.True(t, workload.Transform{Seed: 4}.IsZero())
	require.False(t, workload.Transform{Max: 4}.IsZero())
}

func TestOneImplementationOfLoad(t *testing.T) {
	text := synthetic(500)
	all, err := read(t, text, workload.Options{}).Transform(workload.Transform{Load: 1.37, Max: 200})
	require.NoError(t, err)
	require.Equal(t, read(t, text, workload.Options{Load: 1.37, Max: 200}).Jobs, all.Jobs)
}

func TestTransformErrors(t *testing.T) {
	for _, c := range []struct {
		x    workload.Transform
		want string
	}{
		{workload.Transform{Load: math.NaN()}, "load: NaN: must be 0 (as it is) or from 0.001 to 1000"},
		{workload.Transform{Load: math.Inf(1)}, "load: +Inf"},
		{workload.Transform{Load: -1}, "load: -1"},
		{workload.Transform{Widths: math.NaN()}, "scale-widths: NaN: must be 0 (as they are) or from 0.001 to 1000"},
		{workload.Transform{Widths: -2}, "scale-widths: -2"},
		{workload.Transform{From: new(int64(5)), Until: new(int64(5))}, "until: 5: must be later than from, 5"},
		{workload.Transform{Max: -1}, "jobs: -1"},
		{workload.Transform{Estimates: "best"}, `estimate model "best": must be given, accurate, f:F`},
		{workload.Transform{Estimates: "f:nan"}, `estimate model "f:nan"`},
		{workload.Transform{Estimates: "f:-1"}, `estimate model "f:-1"`},
		{workload.Transform{Estimates: "f:"}, `estimate model "f:"`},
		{workload.Transform{Estimates: "accurate:1"}, `estimate model "accurate:1"`},
		{workload.Transform{Estimates: "tsafrir:60"}, `estimate model "tsafrir:60"`},
		{workload.Transform{Estimates: "tsafrir:"}, `estimate model "tsafrir:"`},
		{workload.Transform{Estimates: "tsafrir:3600.5"}, `estimate model "tsafrir:3600.5"`},
		{workload.Transform{Memory: "much"}, `memory model "much": must be used, requested, given (as used), per-cpu:MIB`},
		{workload.Transform{Memory: "per-cpu:inf"}, `memory model "per-cpu:inf"`},
		{workload.Transform{Memory: "lognormal:5"}, `memory model "lognormal:5"`},
		{workload.Transform{Memory: "lognormal:5:nan"}, `memory model "lognormal:5:nan"`},
	} {
		changed, err := toy().Transform(c.x)
		require.Nil(t, changed)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, c.x.Validate(), err)
	}
	trace := toy()
	trace.Machine.Memory = 0
	_, err := trace.Transform(workload.Transform{Memory: "per-cpu:1"})
	require.EqualError(t, err, `memory model "per-cpu:1": the machine of toy has no memory, so no job would need any; `+
		`say how much it has with --memory MIB`)
	trace.Jobs[3].Run = 3601
	_, err = trace.Transform(workload.Transform{Estimates: "tsafrir:3600"})
	require.EqualError(t, err, "estimate model tsafrir:3600: job 4 of toy ran for 3601 s; allow estimates "+
		"as long as that")
}

// anyTransform draws a transform of any kind.
func anyTransform(t *rapid.T) workload.Transform {
	return workload.Transform{
		From: new(rapid.Int64Range(0, 100).Draw(t, "from")), Max: rapid.IntRange(0, 30).Draw(t, "max"),
		Widths: rapid.Float64Range(0.001, 1000).Draw(t, "widths"),
		Load:   rapid.Float64Range(0.001, 1000).Draw(t, "load"),
		Seed:   rapid.Uint64().Draw(t, "seed"),
		Estimates: rapid.SampledFrom([]workload.EstimateModel{
			"", "given", "accurate", "f:3", "f:0.1",
			"tsafrir",
		}).Draw(t, "estimates"),
		Memory: rapid.SampledFrom([]workload.MemoryModel{"", "per-cpu:7", "lognormal:100:2"}).Draw(t, "memory"),
	}
}

// TestEveryTransformGivesATrace that a simulation can take.
func TestEveryTransformGivesATrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := anyTrace(t)
		trace.Machine.Memory++
		x := anyTransform(t)
		changed, err := trace.Transform(x)
		require.NoError(t, err)
		same, err := trace.Transform(x)
		require.NoError(t, err)
		require.Equal(t, changed, same, "the same seed, the same trace")
		for i, j := range changed.Jobs {
			require.True(t, 1 <= j.Procs && j.Procs <= trace.Machine.Processors, "%+v", j)
			require.True(t, 0 <= j.Memory && j.Memory <= trace.Machine.Memory, "%+v", j)
			require.GreaterOrEqual(t, j.Estimate, max(j.Run, 1), "%+v", j)
			require.True(t, i == 0 || changed.Jobs[i-1].Submit <= j.Submit)
		}
		if len(changed.Jobs) == 0 {
			return
		}
		again := back(t, changed)
		require.Len(t, again.Jobs, len(changed.Jobs), "it can be written")
		for i, j := range changed.Jobs {
			require.InDelta(t, j.Memory, again.Jobs[i].Memory, float64(j.Procs)/1024)
			again.Jobs[i].Memory = j.Memory
		}
		require.Equal(t, changed.Jobs, again.Jobs)
	})
}

func TestTheFModel(t *testing.T) {
	trace := &workload.Trace{Machine: workload.Machine{Processors: 1}}
	for range 20_000 {
		trace.Jobs = append(trace.Jobs, workload.Job{Run: 100, Procs: 1, Estimate: 1000})
	}
	changed, err := trace.Transform(workload.Transform{Estimates: "f:3", Seed: 1})
	require.NoError(t, err)
	list := column(changed, estimate)
	sum := int64(0)
	for _, e := range list {
		sum += e
	}
	require.InDelta(t, 250, float64(sum)/20_000, 5, "uniform from 100 to 400")
	require.Equal(t, int64(100), slices.Min(list))
	require.Equal(t, int64(400), slices.Max(list))
	other, err := trace.Transform(workload.Transform{Estimates: "f:3", Seed: 2})
	require.NoError(t, err)
	require.NotEqual(t, list, column(other, estimate))
}

func TestLognormalMemory(t *testing.T) {
	trace := &workload.Trace{Machine: workload.Machine{Processors: 8, Memory: 1 << 30}}
	for range 20_000 {
		trace.Jobs = append(trace.Jobs, workload.Job{Procs: 2, Estimate: 1})
	}
	changed, err := trace.Transform(workload.Transform{Memory: "lognormal:512:0.7", Seed: 1})
	require.NoError(t, err)
	list := column(changed, memory)
	slices.Sort(list)
	require.InEpsilon(t, 1024, list[10_000], 0.03, "the median")
	require.InEpsilon(t, 1024*math.Exp(0.7), list[16_827], 0.03, "one standard deviation above")
}

func TestTheTsafrirModel(t *testing.T) {
	for _, name := range []string{"CTC-SP2-1996-3.1-cln", "KTH-SP2-1996-2", "lublin_256"} {
		path := "../../../../shared/traces/" + name + ".swf.gz"
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the model of estimates is not tried on %s: %v", name, err)
		}
		trace, err := workload.Open(path, workload.Options{})
		require.NoError(t, err)
		given := column(trace, estimate)
		changed, err := trace.Transform(workload.Transform{Estimates: "tsafrir", Seed: 7})
		require.NoError(t, err)
		top, all := popularity(column(changed, estimate))
		t.Logf("%s: %d distinct, %v", name, all, top)
		require.InDelta(t, 0.89, sumOf(top), 0.08, "20 estimates make nine tenths")
		longest := (slices.Max(given) + 3599) / 3600 * 3600
		require.Equal(t, longest, slices.Max(column(changed, estimate)))
		require.Equal(t, longest, top[0].seconds, "the longest is the most popular one")
		require.Less(t, all, 600)
		if name == "CTC-SP2-1996-3.1-cln" { // one of the logs that the model is based on
			require.InDelta(t, accuracy(trace), accuracy(changed), 0.1)
		}
	}
}

type used struct {
	seconds int64
	part    float64
}

// popularity returns the 20 most popular estimates and the number of distinct ones.
func popularity(list []int64) (top []used, distinct int) {
	count := map[int64]int{}
	for _, e := range list {
		count[e]++
	}
	for e, n := range count {
		top = append(top, used{e, float64(n) / float64(len(list))})
	}
	slices.SortFunc(top, func(a, b used) int {
		return int(1e6*(b.part-a.part)) + int(min(max(a.seconds-b.seconds, -1), 1))
	})
	return top[:min(20, len(top))], len(top)
}

func sumOf(top []used) (sum float64) {
	for _, u := range top {
		sum += u.part
	}
	return sum
}

// accuracy returns the mean of run time over estimate.
func accuracy(trace *workload.Trace) float64 {
	sum := 0.0
	for _, j := range trace.Jobs {
		sum += min(1, float64(j.Run)/float64(j.Estimate))
	}
	return sum / float64(len(trace.Jobs))
}
