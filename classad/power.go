package classad

import "math"

// pow returns x to the power y. Unlike [math.Pow], whose last digits may be wrong, it nearly always
// returns the number nearest to the exact result, as C's pow does.
func pow(x, y float64) float64 {
	r := math.Pow(x, y)
	if r == 0 || math.IsInf(r, 0) || math.IsNaN(r) || y == 0 || math.Abs(x) == 1 {
		return r
	}
	m, exponent := logarithm(math.Abs(x)).times(sum{y, 0}).exponential()
	return math.Copysign(math.Ldexp(m.high, exponent), r)
}

// sum is the number high + low with twice the digits of a float64: low is less than half the last
// digit of high.
type sum struct{ high, low float64 }

var ln2 = sum{math.Ln2, 2.319046813846299558e-17}

// sumOf returns a + b without rounding; the absolute value of a must not be smaller than that of b.
func sumOf(a, b float64) sum {
	s := a + b
	return sum{s, b - (s - a)}
}

func (a sum) plus(b sum) sum {
	s := a.high + b.high
	v := s - a.high
	rest := (a.high - (s - v)) + (b.high - v)
	return sumOf(s, rest+a.low+b.low)
}

func (a sum) times(b sum) sum {
	p := a.high * b.high
	return sumOf(p, math.FMA(a.high, b.high, -p)+(a.high*b.low+a.low*b.high))
}

func (a sum) over(n float64) sum {
	q := a.high / n
	return sumOf(q, (math.FMA(-q, n, a.high)+a.low)/n)
}

// exponential returns e to the power a as m × 2^exponent, with m between 1/2 and 2.
func (a sum) exponential() (m sum, exponent int) {
	const terms, halvings = 11, 8
	n := math.Round(a.high / math.Ln2)
	a = a.plus(ln2.times(sum{-n, 0}))
	a = sum{math.Ldexp(a.high, -halvings), math.Ldexp(a.low, -halvings)}
	less := sum{} // e to the power a, minus 1
	for i := float64(terms); i > 0; i-- {
		less = a.over(i).times(less.plus(sum{1, 0}))
	}
	for range halvings {
		less = less.plus(less).plus(less.times(less))
	}
	return less.plus(sum{1, 0}), int(n)
}

// logarithm returns the logarithm of a positive number. It refines math.Log by one step of Newton's
// method, which doubles the number of correct digits.
func logarithm(x float64) sum {
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		exponent--
	}
	guess := math.Log(m)
	e, shift := sum{-guess, 0}.exponential()
	rest := sum{math.Ldexp(m, shift), 0}.times(e).plus(sum{-1, 0})
	rest = rest.plus(rest.times(rest).over(-2))
	return ln2.times(sum{float64(exponent), 0}).plus(sum{guess, 0}.plus(rest))
}
