package survey

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// bound ends a class, which has the values up to most that are above the bound before.
type bound struct {
	most  float64
	label string
}

// sample gathers a number of each job, and counts jobs and work by its class.
type sample struct {
	bounds []bound
	bins   []Bin
	values []float64
	sum    float64
}

func newSample(bounds []bound) *sample {
	s := &sample{bounds: bounds}
	for _, b := range bounds {
		s.bins = append(s.bins, Bin{Label: b.label})
	}
	return s
}

func (s *sample) add(value, work float64) {
	s.values = append(s.values, value)
	s.sum += value
	i, _ := slices.BinarySearchFunc(s.bounds, value, func(b bound, v float64) int {
		if b.most < v {
			return -1
		}
		return 1
	})
	i = min(i, len(s.bins)-1)
	s.bins[i].Jobs++
	s.bins[i].Work += work
}

// addKB adds an amount of memory; 0 is unknown.
func (s *sample) addKB(kb int64, work float64) {
	if kb > 0 {
		s.add(float64(kb)/1024, work)
	}
}

// numbers sums up the sample. It leaves out empty classes at either end.
func (s *sample) numbers() Numbers {
	n := len(s.values)
	if n == 0 {
		return Numbers{Bins: []Bin{}}
	}
	slices.Sort(s.values)
	rank := func(p float64) float64 { return s.values[int(math.Ceil(p*float64(n)))-1] }
	used := func(b Bin) bool { return b.Jobs > 0 }
	first := slices.IndexFunc(s.bins, used)
	last := len(s.bins)
	for !used(s.bins[last-1]) {
		last--
	}
	return Numbers{
		Least: s.values[0], Median: rank(0.5), Mean: s.sum / float64(n), P90: rank(0.9), P99: rank(0.99),
		Most: s.values[n-1],
		Bins: s.bins[first:last],
	}
}

// widthBounds returns the classes of widths: 1, 2, 3–4, 5–8 and so on, until they reach the
// machine's processors.
func widthBounds(processors int64) []bound {
	bounds := []bound{{1, "1"}}
	for low := int64(2); low <= processors; {
		high := low
		if low > 2 {
			high = 2*low - 2
		}
		label := strconv.FormatInt(low, 10)
		if high > low {
			label += "–" + strconv.FormatInt(high, 10)
		}
		bounds = append(bounds, bound{float64(high), label})
		low = high + 1
	}
	return bounds
}

func runBounds() []bound {
	const minute, hour, day = 60, 3600, 86400
	return []bound{
		{0, "0 s"},
		{10, "≤ 10 s"},
		{minute, "≤ 1 min"},
		{5 * minute, "≤ 5 min"},
		{15 * minute, "≤ 15 min"},
		{hour, "≤ 1 h"},
		{3 * hour, "≤ 3 h"},
		{6 * hour, "≤ 6 h"},
		{12 * hour, "≤ 12 h"},
		{day, "≤ 1 d"},
		{2 * day, "≤ 2 d"},
		{7 * day, "≤ 7 d"},
		{math.Inf(1), "longer"},
	}
}

// rBounds returns the classes of R, run time over estimate: tenths below 1, and 1.
func rBounds() []bound {
	var bounds []bound
	for i := 1; i <= 9; i++ {
		bounds = append(bounds, bound{float64(i) / 10, fmt.Sprintf("≤ 0.%d", i)})
	}
	return append(bounds, bound{math.Nextafter(1, 0), "< 1"}, bound{math.Inf(1), "1"})
}

// memoryBounds returns the classes of memory: each up to a power of two, in MiB.
func memoryBounds() []bound {
	bounds := []bound{{1, "≤ 1"}}
	for mib := int64(2); mib <= 1<<30; mib *= 2 {
		label, unit := mib, "MiB"
		if mib >= 1<<10 {
			label, unit = mib>>10, "GiB"
		}
		if mib >= 1<<20 {
			label, unit = mib>>20, "TiB"
		}
		bounds = append(bounds, bound{float64(mib), fmt.Sprintf("≤ %d %s", label, unit)})
	}
	bounds[0].label = "≤ 1 MiB"
	return append(bounds, bound{math.Inf(1), "more"})
}
