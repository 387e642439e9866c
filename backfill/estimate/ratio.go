package estimate

import (
	"math/bits"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// ratio is a job's accuracy R: its actual run time over the requested one, at most 1.
// It is kept as the two, so that nothing is rounded before the end.
type ratio struct{ ran, requested uint64 }

// one is the accuracy that adjusts nothing.
var one = ratio{1, 1}

// accuracyOf is R of a job of the history.
func accuracyOf(e *Ended) ratio {
	return ratio{uint64(min(e.Ran, e.Requested)), uint64(e.Requested)}
}

func (r ratio) isOne() bool { return r.ran == r.requested }

// less compares as numbers.
func (r ratio) less(s ratio) bool {
	high, low := bits.Mul64(r.ran, s.requested)
	high2, low2 := bits.Mul64(s.ran, r.requested)
	return high < high2 || high == high2 && low < low2
}

// of is so much of a time, rounded up.
func (r ratio) of(t backfill.Time) backfill.Time {
	whole, rest := r.split(t)
	if rest > 0 {
		whole++
	}
	return backfill.Time(whole)
}

// split is so much of a time: whole seconds, and a rest of a second in parts of
// r.requested.
func (r ratio) split(t backfill.Time) (whole, rest uint64) {
	high, low := bits.Mul64(uint64(max(t, 0)), r.ran)
	return bits.Div64(high, low, r.requested) // the quotient is at most t
}

// meanOf is the mean of r and s of a time, rounded up.
func meanOf(r, s ratio, t backfill.Time) backfill.Time {
	wholeR, restR := r.split(t)
	wholeS, restS := s.split(t)
	sum := wholeR + wholeS
	if restR > 0 || restS > 0 {
		sum++
		if (ratio{s.requested - restS, s.requested}).less(ratio{restR, r.requested}) { // more than a second in all
			sum++
		}
	}
	return backfill.Time((sum + 1) / 2) // to round up twice is to round up once
}
