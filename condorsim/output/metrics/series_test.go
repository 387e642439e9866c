package metrics_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

func TestSeriesOfNothing(t *testing.T) {
	require.Equal(t, metrics.Series{}, metrics.ComputeSeries(metrics.Machine{Processors: 4}, nil))
	one := metrics.ComputeSeries(metrics.Machine{Processors: 4},
		[]metrics.Job{{Submit: 7, Start: 7, Estimate: 1, Procs: 4}})
	accuracy := make([]int, 100)
	accuracy[0] = 1
	require.Equal(t, metrics.Series{
		WaitQuantiles: []float64{0}, Begin: 7, Step: 1, Utilisation: []float64{}, Queue: []float64{}, QueueMax: []float64{},
		Accuracy:   accuracy,
		Categories: []metrics.Category{{Width: "2-4", Length: "<1m", Jobs: 1, MeanBoundedSlowdown: 1}},
	}, one)
}

// TestSeriesByHand has 1000 s, two for each bin. A runs 0–999 on half the machine; B waits from 3
// to 5 and runs until 6 on the other half.
func TestSeriesByHand(t *testing.T) {
	s := metrics.ComputeSeries(metrics.Machine{Processors: 4}, []metrics.Job{
		{Submit: 0, Start: 0, Run: 999, Estimate: 999, Procs: 2}, {Submit: 3, Start: 5, Run: 1, Estimate: 1, Procs: 2},
	})
	require.Equal(t, int64(0), s.Begin)
	require.Equal(t, int64(2), s.Step)
	require.Len(t, s.Utilisation, 500)
	require.Equal(t, []float64{0.5, 0.5, 0.75, 0.5}, s.Utilisation[:4])
	require.InDelta(t, 0.25, s.Utilisation[499], 0, "the last bin reaches a second beyond the end")
	require.Equal(t, []float64{0, 0.5, 0.5, 0}, s.Queue[:4])
	require.Equal(t, []float64{0, 1, 1, 0}, s.QueueMax[:4])
	require.Equal(t, []float64{0, 2}, s.WaitQuantiles)
}

// TestSeriesAgainstDefinition adds up second by second.
func TestSeriesAgainstDefinition(t *testing.T) {
	for seed := range uint64(10) {
		jobs := schedule(seed, 300, 8, 40)
		s := metrics.ComputeSeries(metrics.Machine{Processors: 300}, jobs)
		require.LessOrEqual(t, len(s.Queue), 500)
		require.Len(t, s.Utilisation, len(s.Queue))
		require.Len(t, s.QueueMax, len(s.Queue))
		for bin := range s.Queue {
			var waiting, inUse, most int64
			for now := s.Begin + int64(bin)*s.Step; now < s.Begin+int64(bin+1)*s.Step; now++ {
				before := waiting
				for _, j := range jobs {
					if j.Submit <= now && now < j.Start {
						waiting++
					}
					if j.Start <= now && now < j.Start+j.Run {
						inUse += j.Procs
					}
				}
				most = max(most, waiting-before)
			}
			require.InDelta(t, float64(most), s.QueueMax[bin], 0)
			require.InDelta(t, float64(waiting)/float64(s.Step), s.Queue[bin], 1e-12)
			require.InDelta(t, float64(inUse)/float64(300*s.Step), s.Utilisation[bin], 1e-12)
		}
	}
}

func TestQuantiles(t *testing.T) {
	for _, n := range []int{1, 2, 399, 400, 401, 1000, 1003} {
		var jobs []metrics.Job
		var waits []float64
		for i := range n {
			wait := int64(i * 7919 % 1009)
			jobs = append(jobs, metrics.Job{Submit: int64(i), Start: int64(i) + wait, Run: 1, Procs: 1})
			waits = append(waits, float64(wait))
		}
		slices.Sort(waits)
		got := metrics.ComputeSeries(metrics.Machine{Processors: 9}, jobs).WaitQuantiles
		require.Len(t, got, min(n, 400))
		for i, wait := range got {
			share := float64(i+1) / float64(len(got))
			smallest := slices.IndexFunc(waits, func(w float64) bool {
				not := 0 // exceeding it
				for _, other := range waits {
					if other <= w {
						not++
					}
				}
				return float64(not) >= share*float64(n)-1e-6
			})
			require.InDelta(t, waits[smallest], wait, 0, "%d of %d", i, n)
			if n > 401 && i > 50 { // enough of them
				break
			}
		}
	}
}

// TestAccuracy has jobs on both sides of the bounds of bins.
func TestAccuracy(t *testing.T) {
	for _, c := range []struct {
		run, estimate int64
		bin           int
	}{
		{0, 1000, 0},
		{1, 1000, 0},
		{10, 1000, 0},
		{11, 1000, 1},
		{290, 1000, 28},
		{291, 1000, 29},
		{7, 100, 6},
		{990, 1000, 98},
		{991, 1000, 99},
		{1000, 1000, 99},
		{1001, 1000, 99},
		{1 << 62, 1<<63 - 1, 49},
		{5, 0, 99},
		{0, 0, 0},
	} {
		got := metrics.ComputeSeries(metrics.Machine{Processors: 1},
			[]metrics.Job{{Run: c.run, Estimate: c.estimate}}).Accuracy
		require.Len(t, got, 100)
		require.Equal(t, 1, got[c.bin], "%d of %d: %v", c.run, c.estimate, got)
	}
}

func TestCategories(t *testing.T) {
	for _, c := range []struct {
		procs, run    int64
		width, length string
	}{
		{1, 0, "1", "<1m"},
		{2, 59, "2-4", "<1m"},
		{4, 60, "2-4", "1-10m"},
		{5, 599, "5-8", "1-10m"},
		{8, 600, "5-8", "10m-1h"},
		{9, 3599, "9-16", "10m-1h"},
		{16, 3600, "9-16", "1-6h"},
		{17, 21599, "17-32", "1-6h"},
		{64, 21600, "33-64", "6-24h"},
		{65, 86399, "65-128", "6-24h"},
		{1024, 86400, "513-1024", ">24h"},
		{1 << 40, 1 << 40, fmt.Sprintf("%d-%d", int64(1<<39+1), int64(1<<40)), ">24h"},
	} {
		got := metrics.ComputeSeries(metrics.Machine{Processors: 1 << 41}, []metrics.Job{
			{Start: 5, Run: c.run, Procs: c.procs, Estimate: 2}, {Start: 15, Run: c.run, Procs: c.procs, Estimate: 5},
		}).Categories
		require.Len(t, got, 1)
		require.Equal(t, [2]string{c.width, c.length}, [2]string{got[0].Width, got[0].Length})
		require.Equal(t, 2, got[0].Jobs)
		require.InDelta(t, 10, got[0].MeanWait, 0)
		require.InDelta(t, (2.5+3)/2, got[0].MeanUwait, 1e-12)
	}
	mixed := metrics.ComputeSeries(metrics.Machine{Processors: 8},
		[]metrics.Job{{Procs: 5, Run: 60}, {Procs: 1, Run: 7200}, {Procs: 5}, {Procs: 1}}).Categories
	var order []string
	for _, c := range mixed {
		order = append(order, c.Width+" "+c.Length)
	}
	require.Equal(t, []string{"1 <1m", "1 1-6h", "5-8 <1m", "5-8 1-10m"}, order)
}

func BenchmarkComputeSeries(b *testing.B) {
	jobs := schedule(1, 200_000, 1024, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		metrics.ComputeSeries(metrics.Machine{Processors: 1024}, jobs)
	}
}
