package maui

import (
	"cmp"
	"math/bits"
)

// amount is a number of at least 0 that sums of processor seconds cannot
// overflow.
type amount struct{ high, low uint64 }

// product multiplies two numbers of at least 0.
func product(a, b int64) amount {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return amount{high, low}
}

func (a amount) plus(b amount) amount {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, _ := bits.Add64(a.high, b.high, carry)
	return amount{high, low}
}

// minus is the difference to an amount that is not larger.
func (a amount) minus(b amount) amount {
	low, borrow := bits.Sub64(a.low, b.low, 0)
	high, _ := bits.Sub64(a.high, b.high, borrow)
	return amount{high, low}
}

func (a amount) compare(b amount) int {
	return cmp.Or(cmp.Compare(a.high, b.high), cmp.Compare(a.low, b.low))
}
