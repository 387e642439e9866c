package intervals

import "math"

// Batches assigns jobs to the batches of [OfMean] and [OfPairedWeeks]. It gets the week of each job, in
// ascending order, and returns the number of each job's batch, from 0, and how many there are.
func Batches(weeks []int64) (batches []int, count int) {
	different := 0
	for i := range weeks {
		if i == 0 || weeks[i] != weeks[i-1] {
			different++
		}
	}
	size := max(batchSize(different), 1)
	batches = make([]int, len(weeks))
	different = 0
	for i := range weeks {
		if i > 0 && weeks[i] != weeks[i-1] {
			different++
		}
		batches[i] = different / size
		count = batches[i] + 1
	}
	return batches, count
}

// OfLeftOut returns half the width of the 95 % interval of a figure that is no mean, such as the
// difference of two percentiles, by what it is without each batch in turn; false if the batches are
// fewer than 4.
//
// It is the grouped jackknife (Efron, The Jackknife, the Bootstrap and Other Resampling Plans, 1982,
// section 2.2), with Student's t as for batch means: of the mean of equal batches it gives the same.
// Percentiles of each batch by itself would be biased: the 99th of a week with fewer than a hundred jobs
// is its longest wait.
func OfLeftOut(without []float64) (float64, bool) {
	if len(without) == 0 {
		return 0, false
	}
	k, sum := float64(len(without)), 0.0
	for _, v := range without {
		sum += v
	}
	offs := make([]float64, len(without))
	for i, v := range without {
		offs[i] = (v - sum/k) * (k - 1) / k
	}
	half, ok := halfOf(offs)
	return half, ok && !math.IsNaN(half)
}
