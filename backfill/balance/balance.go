// Package balance holds what the bb and ibb policies share: how evenly the resources of a pool are
// used, in exact fractions (balance.go), and EASY's reservation for the head of the queue with a
// choice of the jobs behind it (policy.go).
package balance

import (
	"math/big"
	"math/bits"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Scale brings the utilisation of each balanced resource to a common denominator, the product of
// the capacities, so that utilisations are whole numbers.
type Scale struct {
	index  []int      // of the balanced resources in the pool's order
	weight []*big.Int // of one unit of each balanced resource
	whole  *big.Int   // the utilisation of a resource that is all in use
	small  []uint64   // the weights if every utilisation fits into 62 bits, else nil
}

// NewScale returns the scale for a pool as it is now. It leaves out names of resources that the
// pool does not have, and resources without capacity.
func NewScale(c *backfill.Cycle, resources []string) Scale {
	s := Scale{whole: big.NewInt(1)}
	for i, name := range c.State().Resources() {
		if slices.Contains(resources, name) && c.Capacity()[i] > 0 {
			s.index = append(s.index, i)
			s.whole.Mul(s.whole, big.NewInt(c.Capacity()[i]))
		}
	}
	for _, i := range s.index {
		s.weight = append(s.weight, new(big.Int).Quo(s.whole, big.NewInt(c.Capacity()[i])))
	}
	if s.whole.BitLen()+bits.Len(uint(len(s.index))) <= 62 {
		for _, w := range s.weight {
			s.small = append(s.small, w.Uint64())
		}
	}
	return s
}

// Utilisation is how much of the balanced resources is in use: the highest and the sum of their
// utilisations, in units of the scale.
type Utilisation struct {
	highest, sum *big.Int
	all          *big.Int // what sum would be if everything was in use
}

// Of returns the utilisation if the given amounts are in use.
func (s Scale) Of(use backfill.Vector) Utilisation {
	u := Utilisation{highest: new(big.Int), sum: new(big.Int)}
	u.all = new(big.Int).Mul(s.whole, big.NewInt(int64(len(s.index))))
	for n, i := range s.index {
		x := new(big.Int).Mul(big.NewInt(use[i]), s.weight[n])
		u.sum.Add(u.sum, x)
		if x.Cmp(u.highest) > 0 {
			u.highest = x
		}
	}
	return u
}

// With returns the utilisation if, besides what is in use, the given number of equal chunks run.
func (s Scale) With(use, chunk backfill.Vector, nodes int) Utilisation {
	sum := slices.Clone(use)
	sum.AddScaled(chunk, int64(nodes))
	return s.Of(sum)
}

// CompareImbalance compares the imbalance max/mean of two utilisations: the result is positive if u
// is less balanced than v. If nothing is in use in one of them, the result is -1, so that ibb,
// which skips a job that makes the imbalance larger, skips none.
func (u Utilisation) CompareImbalance(v Utilisation) int {
	switch {
	case v.sum.Sign() == 0:
		return -1
	case u.sum.Sign() == 0:
		return -1
	}
	// u.highest/u.sum is compared with v.highest/v.sum: the number of resources cancels out.
	a := new(big.Int).Mul(u.highest, v.sum)
	return a.Cmp(new(big.Int).Mul(v.highest, u.sum))
}

// Worsens reports whether the imbalance is larger than that of the utilisation before if, besides
// what is in use, the given number of equal chunks run. It gives the same answer as
// [Utilisation.CompareImbalance], mostly without large numbers: ibb calls it for every waiting job.
func (s Scale) Worsens(use, chunk backfill.Vector, nodes int, before Utilisation) bool {
	if s.small == nil || !before.sum.IsUint64() {
		return s.With(use, chunk, nodes).CompareImbalance(before) > 0
	}
	var highest, sum uint64
	for n, i := range s.index {
		used := uint64(use[i] + chunk[i]*int64(nodes))
		high, x := bits.Mul64(used, s.small[n])
		if high != 0 || x >= 1<<62 || sum+x >= 1<<62 { // more is in use than the pool has
			return s.With(use, chunk, nodes).CompareImbalance(before) > 0
		}
		sum += x
		highest = max(highest, x)
	}
	if sum == 0 || before.sum.Sign() == 0 {
		return false
	}
	high, low := bits.Mul64(highest, before.sum.Uint64())
	highBefore, lowBefore := bits.Mul64(before.highest.Uint64(), sum)
	return high > highBefore || high == highBefore && low > lowBefore
}

// CompareScore compares BB's score max/mean · (1 − mean) of two utilisations: the result is
// negative if that of u is lower, which is better. The score is 0 if nothing is in use.
func (u Utilisation) CompareScore(v Utilisation) int {
	// The score is highest·(all − sum)/sum; constant factors cancel out.
	un, ud := u.score()
	vn, vd := v.score()
	return un.Mul(un, vd).Cmp(vn.Mul(vn, ud))
}

// score returns BB's score as a fraction, up to a constant factor.
func (u Utilisation) score() (numerator, denominator *big.Int) {
	if u.sum.Sign() == 0 {
		return new(big.Int), big.NewInt(1)
	}
	numerator = new(big.Int).Sub(u.all, u.sum)
	return numerator.Mul(numerator, u.highest), u.sum
}
