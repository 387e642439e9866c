package intervals

import (
	"cmp"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// Difference is how far a mean is above another one of the same workload, and half the width of the
// 95 % interval of that.
type Difference struct {
	Mean float64
	Half float64
	// Pairs is how many pairs it is made of, each of a week or of a seed, as Sample says.
	Pairs  int
	Sample Sample
}

// Sample is what pairs are made of.
type Sample string

// The samples.
const (
	Weeks Sample = "weeks"
	Seeds Sample = "seeds"
)

// Sure reports whether the interval is on one side of 0.
func (d Difference) Sure() bool { return math.Abs(d.Mean) > d.Half }

// OfPairedValues returns the difference of the means of two measures under the same seeds, which are
// in the same order in both; false if they are fewer than 4.
//
// It is the paired-t confidence interval (Law, Simulation Modeling and Analysis, section 10.2.1):
// Student's t for the mean of the differences. What both have in common, such as a hard week or an
// unlucky draw, is not in the differences, so the interval is narrower than those of the two means
// together, which may overlap although one of them is always the lower. It needs neither equal
// variances nor that the two be independent. Each interval is right in 95 of 100 cases by itself; of
// many together more than one may be wrong (section 10.2, the Bonferroni inequality).
func OfPairedValues(own, other []float64) (Difference, bool) {
	differences := make([]float64, min(len(own), len(other)))
	sum := 0.0
	for i := range differences {
		differences[i] = own[i] - other[i]
		sum += differences[i]
	}
	half, ok := OfValues(differences)
	return Difference{sum / float64(len(differences)), half, len(differences), Seeds}, ok
}

// OfPairedWeeks returns the difference of the means of two schedules of the same workload; false if
// there are fewer than 4 weeks, or if the weeks have no sums of it. The mean is named as in
// [metrics.Metrics].
//
// It is the paired-t confidence interval of [OfPairedValues], where a pair is a batch of the same
// weeks in both, put together as for [OfMean]. A mean is a ratio of sums, and the schedules may have
// different jobs in a week if one of them could not run some; so what a week adds to the interval is
// by how much it moves the one mean less by how much it moves the other one. Where both have the same
// jobs that is what it does to the mean of the jobs' differences.
func OfPairedWeeks(own, other metrics.Weeks, mean string) (Difference, bool) {
	var pairs []pair
	for _, side := range []struct {
		weeks metrics.Weeks
		batch func(*pair) *batch
	}{{own, func(p *pair) *batch { return &p.own }}, {other, func(p *pair) *batch { return &p.other }}} {
		for i := range side.weeks {
			w := &side.weeks[i]
			sum, size, known := w.Sum(mean)
			if !known {
				return Difference{}, false
			}
			at, found := slices.BinarySearchFunc(pairs, w.Week, func(p pair, week int64) int {
				return cmp.Compare(p.week, week)
			})
			if !found {
				pairs = slices.Insert(pairs, at, pair{week: w.Week})
			}
			side.batch(&pairs[at]).add(batch{sum, size})
		}
	}
	var all pair
	for _, p := range pairs {
		all.own.add(p.own)
		all.other.add(p.other)
	}
	if !(all.own.size > 0 && all.other.size > 0) {
		return Difference{}, false
	}
	var offs []float64
	size := batchSize(len(pairs))
	for together := range slices.Chunk(pairs, max(size, 1)) {
		var own, other batch
		for _, p := range together {
			own.add(p.own)
			other.add(p.other)
		}
		offs = append(offs, all.own.off(own)-all.other.off(other))
	}
	half, ok := halfOf(offs)
	return Difference{all.own.sum/all.own.size - all.other.sum/all.other.size, half, len(pairs), Weeks}, ok
}

// pair is what two schedules did in a week.
type pair struct {
	week       int64
	own, other batch
}

func (b *batch) add(other batch) {
	b.sum += other.sum
	b.size += other.size
}
