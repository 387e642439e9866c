package metrics

import (
	"math"
	"math/bits"
	"strconv"
)

// Series is the data of charts: a schedule over time and over the jobs, in a few hundred numbers
// whatever the length of the trace.
type Series struct {
	// WaitQuantiles are the waits, in seconds, at evenly spaced shares of the jobs: entry i is the
	// smallest wait that the share (i+1)/len of the jobs does not exceed.
	WaitQuantiles []float64 `json:"wait_quantiles"`
	// Begin and Step divide time into bins, in whole seconds: bin i is
	// [Begin + i·Step, Begin + (i+1)·Step).
	Begin int64 `json:"begin"`
	Step  int64 `json:"step"`
	// Utilisation is the mean share of the processors in use in each bin, 0 to 1.
	Utilisation []float64 `json:"utilisation"`
	// Queue is the mean number of waiting jobs in each bin. QueueMax is how many wait at once at most:
	// a mean tells too little of a bin of days. Older results lack it.
	Queue    []float64 `json:"queue"`
	QueueMax []float64 `json:"queue_max,omitempty"`
	// Accuracy counts the jobs by the accuracy of their estimates, R = run time over estimate, in
	// 100 equal bins: bin i is for R above i/100 up to (i+1)/100. R = 0 is in the first bin, R > 1
	// in the last.
	Accuracy []int `json:"accuracy"`
	// Categories are the jobs by width and length, narrow and short ones first.
	Categories []Category `json:"categories"`
}

// Category is the jobs of a class of widths and a class of lengths.
type Category struct {
	Width               string  `json:"width"`  // such as "5-8": processors
	Length              string  `json:"length"` // such as "10m-1h": run time
	Jobs                int     `json:"jobs"`
	MeanWait            float64 `json:"mean_wait"`
	MeanUwait           float64 `json:"mean_uwait"`
	MeanBoundedSlowdown float64 `json:"mean_bounded_slowdown"`
}

// The greatest numbers of values that a run keeps for each chart.
const (
	maxQuantiles = 400
	maxBins      = 500
	accuracyBins = 100
)

// ComputeSeries condenses a schedule for charts; the jobs must be as for [Compute]. What is drawn
// over time is integrated exactly, second by second, into the bins; the last bin counts time after
// the schedule as idle. The slowdowns of the categories have the usual bound.
func ComputeSeries(machine Machine, jobs []Job) Series {
	if len(jobs) == 0 {
		return Series{}
	}
	s := Series{
		WaitQuantiles: quantiles(sorted(values(jobs, (*Job).wait))), Accuracy: accuracies(jobs),
		Categories: categories(jobs),
	}
	list := events(jobs)
	s.Begin = list[0].time
	length := list[len(list)-1].time - s.Begin
	s.Step = max(1, (length+maxBins-1)/maxBins)
	bins := (length + s.Step - 1) / s.Step
	s.Utilisation, s.Queue, s.QueueMax = make([]float64, bins), make([]float64, bins), make([]float64, bins)
	loads(jobs, list, func(from, to int64, l load) {
		for from < to {
			bin := (from - s.Begin) / s.Step
			end := min(to, s.Begin+(bin+1)*s.Step)
			s.Utilisation[bin] += float64(l.inUse) * float64(end-from)
			s.Queue[bin] += float64(l.waiting) * float64(end-from)
			s.QueueMax[bin] = max(s.QueueMax[bin], float64(l.waiting))
			from = end
		}
	})
	for i := range bins {
		s.Utilisation[i] = ratio(s.Utilisation[i], float64(machine.Processors)*float64(s.Step))
		s.Queue[i] /= float64(s.Step)
	}
	return s
}

// quantiles returns maxQuantiles of the values, which are in ascending order, at evenly spaced
// ranks; all values if there are no more.
func quantiles(ascending []float64) []float64 {
	n := len(ascending)
	all := make([]float64, min(maxQuantiles, n))
	for i := range all {
		rank := ((i+1)*n + len(all) - 1) / len(all)
		all[i] = ascending[rank-1]
	}
	return all
}

// accuracies counts the jobs in bins of R, run time over estimate; see Series.Accuracy.
func accuracies(jobs []Job) []int {
	counts := make([]int, accuracyBins)
	for _, j := range jobs {
		estimate := max(j.Estimate, 1)
		part := accuracyBins * float64(min(j.work(), estimate)) / float64(estimate)
		counts[max(0, int(math.Ceil(part))-1)]++
	}
	return counts
}

// lengths are the classes of run times. Each ends before a number of seconds, where the next one
// begins.
var lengths = [...]struct {
	below int64
	label string
}{{60, "<1m"}, {600, "1-10m"}, {3600, "10m-1h"}, {6 * 3600, "1-6h"}, {24 * 3600, "6-24h"}, {1<<63 - 1, ">24h"}}

// WidthClass names the class of a width as [Category] does, such as "5-8".
func WidthClass(procs int64) string { return widthLabel(widthClass(procs)) }

// widthClass returns the number of a width's class: 0 for 1 processor, 1 for 2 to 4, and then one
// for each further power of two, such as 2 for 5 to 8.
func widthClass(procs int64) int {
	if procs <= 1 {
		return 0
	}
	return max(1, bits.Len64(uint64(procs-1))-1)
}

func widthLabel(class int) string {
	switch class {
	case 0:
		return "1"
	case 1:
		return "2-4"
	default:
		return strconv.FormatUint(1<<class+1, 10) + "-" + strconv.FormatUint(1<<(class+1), 10)
	}
}

// categories returns the classes of width and length that have jobs, with the means of their jobs.
func categories(jobs []Job) []Category {
	const widest = 64
	var all [widest][len(lengths)]Category
	for _, j := range jobs {
		length := 0
		for j.work() >= lengths[length].below {
			length++
		}
		c := &all[widthClass(j.Procs)][length]
		c.Jobs++
		c.MeanWait += j.wait()
		c.MeanUwait += j.uwait()
		c.MeanBoundedSlowdown += j.boundedSlowdown(DefaultBound)
	}
	var found []Category
	for width := range all {
		for length, c := range all[width] {
			if c.Jobs == 0 {
				continue
			}
			c.Width, c.Length = widthLabel(width), lengths[length].label
			c.MeanWait /= float64(c.Jobs)
			c.MeanUwait /= float64(c.Jobs)
			c.MeanBoundedSlowdown /= float64(c.Jobs)
			found = append(found, c)
		}
	}
	return found
}
