package auto

import (
	"fmt"
	"math"
	"strings"
)

// scores say how the candidates did in the periods so far, beside one of them: each has a mean of
// the logarithms of the ratios of their objectives, in which a period counts for less the longer it is
// ago. The least is the best.
type scores struct {
	sums    []float64
	periods float64 // the sum of their weights
}

const (
	// discount is what a period counts beside the next one.
	discount = 0.9
	// alike is how many periods in which all did alike are taken to be known at first, so that the first
	// ones decide nothing. They fade as others do.
	alike = 2
	// mostOfPeriod bounds what one period counts: some are all chance. A lift above 1-1/e is never reached.
	mostOfPeriod = 1.0
	// leastValue is what a value counts as at least, as a share of the greatest one: zero has no logarithm.
	leastValue = 1e-6
	// baseGain is by which share a base must be better than the last one, or two would take turns.
	baseGain = 0.05
)

func newScores(n int) scores { return scores{sums: make([]float64, n), periods: alike} }

// means returns the means, by candidate.
func (s *scores) means() []float64 {
	all := make([]float64, len(s.sums))
	for i, sum := range s.sums {
		all[i] = sum / s.periods
	}
	return all
}

// add adds a period of the given weight, by the values of the objective; infinite: a candidate has none,
// and is taken to have done as the first that has one. It returns false if one value is above 0 and
// another one below.
func (s *scores) add(values []float64, weight float64) bool {
	first, least, most := math.NaN(), 0.0, 0.0
	for _, v := range values {
		if math.IsInf(v, 0) {
			continue
		}
		if math.IsNaN(first) {
			first = v
		}
		least, most = min(least, v), max(most, v)
	}
	if least < 0 && most > 0 {
		return false
	}
	s.periods = discount*s.periods + weight
	size := func(v float64) float64 { return max(math.Abs(v), leastValue*(most-least)) }
	for i, v := range values {
		var ratio float64
		switch {
		case math.IsInf(v, 0), v == first:
		case most > 0:
			ratio = math.Log(size(v) / size(first))
		default: // the less the better, so the larger number
			ratio = math.Log(size(first) / size(v))
		}
		s.sums[i] = discount*s.sums[i] + weight*max(-mostOfPeriod, min(mostOfPeriod, ratio))
	}
	return true
}

// best returns who is to be the base instead of the given one; if that has failed, the best of the others
// is. The callback says which candidates may be, and by which share they must be better.
func (s *scores) best(base int, failed bool, may func(i int) (gain float64, ok bool)) int {
	best, means := base, s.means()
	least, bar := means[base], means[base]
	if failed {
		least, bar = math.Inf(1), math.Inf(1)
	}
	for i, mean := range means {
		gain, ok := may(i)
		if ok && i != base && mean < least && mean <= bar+math.Log1p(-min(gain, 1)) {
			best, least = i, mean
		}
	}
	return best
}

// text returns how many times the first one's the objective of each candidate was, the best first.
func (s *scores) text(names []string) string {
	var text strings.Builder
	means := s.means()
	for n, i := range ranked(means) {
		if n > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %.3g", names[i], math.Exp(means[i]))
	}
	return text.String()
}
