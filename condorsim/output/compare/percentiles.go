package compare

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
)

// percentiles are the waits of both sides in ascending order, with the batch of weeks of each.
type percentiles struct {
	sides [2][]batched
	sizes []int // of the batches
	weeks int
}

type batched struct {
	wait  int64
	batch int32
}

// leastAbove is how many waits of each batch must be above a percentile in the mean: with fewer, the interval
// would be too narrow; see [intervals.OfLeftOut].
const leastAbove = 5

func (s *sides) percentiles() *percentiles {
	p, n := &percentiles{}, len(s.pairs)
	weeks := make([]int64, n)
	for i := range weeks {
		weeks[i] = s.week(i)
		if i == 0 || weeks[i] != weeks[i-1] {
			p.weeks++
		}
	}
	batches, count := intervals.Batches(weeks)
	p.sizes = make([]int, count)
	p.sides = [2][]batched{make([]batched, n), make([]batched, n)}
	for i, one := range s.pairs {
		batch := int32(batches[i]) //nolint:gosec // at most 30
		p.sizes[batch]++
		p.sides[0][i], p.sides[1][i] = batched{wait(&s.a[one.a]), batch}, batched{wait(&s.b[one.b]), batch}
	}
	for _, waits := range p.sides {
		slices.SortFunc(waits, func(x, y batched) int { return cmp.Compare(x.wait, y.wait) })
	}
	return p
}

// interval returns the difference of a percentile of waits with its interval; false if there is none.
func (p *percentiles) interval(name string) (intervals.Difference, bool) {
	percent, known := map[string]int{"median_wait": 50, "p90_wait": 90, "p99_wait": 99}[name]
	n := len(p.sides[0])
	if !known || n*(100-percent) < 100*leastAbove*len(p.sizes) {
		return intervals.Difference{}, false
	}
	a, b := p.without(0, percent), p.without(1, percent)
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = float64(b[i] - a[i])
	}
	half, ok := intervals.OfLeftOut(differences)
	return intervals.Difference{Half: half, Pairs: p.weeks, Sample: intervals.Weeks}, ok
}

// without returns a percentile of the waits of a side without each batch in turn.
func (p *percentiles) without(side, percent int) []int64 {
	found := make([]int64, len(p.sizes))
	ranks, seen := make([]int, len(p.sizes)), make([]int, len(p.sizes))
	n, least := len(p.sides[side]), len(p.sides[side])
	for i, size := range p.sizes {
		ranks[i] = ((n-size)*percent + 99) / 100
		least = min(least, ranks[i])
	}
	for i, one := range p.sides[side] {
		seen[one.batch]++
		if i+1 < least {
			continue
		}
		for batch, rank := range ranks {
			if int(one.batch) != batch && i+1-seen[batch] == rank {
				found[batch] = one.wait
			}
		}
	}
	return found
}
