package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// The ads around the two sides of every match. Their scopes are bound by the frames; what stands here is for those who
// look at the ads themselves.
var (
	matchAd      = newMatchAd()
	leftContext  = newContext("LEFT", "RIGHT")
	rightContext = newContext("RIGHT", "LEFT")
)

func newMatchAd() record {
	of := func(side, name string) ast.Expr { return ast.NewSelect(0, ast.NewAttr(0, side, false), name) }
	t := ast.NewRecord(0)
	t.Set("symmetricMatch", ast.NewBinary(0, ast.And, of("RIGHT", "requirements"), of("LEFT", "requirements")))
	t.Set("leftMatchesRight", of("RIGHT", "requirements"))
	t.Set("rightMatchesLeft", of("LEFT", "requirements"))
	t.Set("leftRankValue", of("LEFT", "rank"))
	t.Set("rightRankValue", of("RIGHT", "rank"))
	return recordOf(t)
}

func newContext(mine, theirs string) record {
	t := ast.NewRecord(0)
	for _, a := range []struct{ name, side string }{{"my", mine}, {"target", theirs}, {"ad", mine}, {"other", theirs}} {
		t.Set(a.name, ast.NewAttr(0, a.side, true))
	}
	return recordOf(t)
}

var (
	requirements = newName("Requirements")
	rank         = newName("Rank")
)

// Pair is two ads that are matched, by convention a job on the left and a slot on the right. What Requirements ask for
// is that they are true, or a number that is not zero, with the other ad as TARGET; missing Requirements, undefined and
// error are no match. Neither ad is changed.
type Pair struct {
	Left, Right *ClassAd
	Strict      bool // see [Scope]
	MaxSteps    int  // see [Scope]
}

func (p Pair) begin() *matching {
	return newMatching(Scope{My: p.Left, Target: orEmpty(p.Right), Strict: p.Strict, MaxSteps: p.MaxSteps})
}

// empty is what a missing side of a match is.
var empty = New()

func orEmpty(ad *ClassAd) *ClassAd {
	if ad == nil {
		return empty
	}
	return ad
}

// Match tells whether the Requirements of both ads hold. Those of the right ad are evaluated first.
func (p Pair) Match() bool {
	m := p.begin()
	matches := m.accepts(&m.right) && m.accepts(&m.left)
	m.recycle()
	return matches
}

// LeftMatchesRight tells whether the left ad is what the right one requires.
func (p Pair) LeftMatchesRight() bool {
	m := p.begin()
	matches := m.accepts(&m.right)
	m.recycle()
	return matches
}

// RightMatchesLeft tells whether the right ad is what the left one requires.
func (p Pair) RightMatchesLeft() bool {
	m := p.begin()
	matches := m.accepts(&m.left)
	m.recycle()
	return matches
}

// LeftRank is how much the left ad likes the right one: its Rank as the number by which HTCondor sorts, which is an
// integer, a real or 0 and 1 for a boolean; anything else counts 0. If it has no Rank, that of the other is found, as
// for any name.
func (p Pair) LeftRank() float64 {
	if v, ok := p.Left.attributes().find(&rank); ok && v.kind != deferred {
		return numberOf(v) // mostly it is 0
	}
	m := p.begin()
	return m.rank(&m.left)
}

// RightRank is how much the right ad likes the left one; see [Pair.LeftRank].
func (p Pair) RightRank() float64 {
	if v, ok := p.Right.attributes().find(&rank); ok && v.kind != deferred {
		return numberOf(v)
	}
	m := p.begin()
	return m.rank(&m.right)
}

// Match tells whether two ads match each other; see [Pair].
func Match(left, right *ClassAd) bool { return Pair{Left: left, Right: right}.Match() }

// Accepts tells whether other is what ad requires: half of [Match].
func Accepts(ad, other *ClassAd) bool { return Pair{Left: ad, Right: other}.RightMatchesLeft() }

// Rank is how much ad likes other; see [Pair.LeftRank].
func Rank(ad, other *ClassAd) float64 { return Pair{Left: ad, Right: other}.LeftRank() }

func (m *matching) accepts(side *frame) bool {
	m.reset()
	v := m.selected(side, &requirements)
	return !m.failed && v.IsTrue()
}

// rank ends the matching.
func (m *matching) rank(side *frame) float64 {
	in := side
	if _, ok := side.ad.find(&rank); !ok {
		in = side.theirs // even if strict
	}
	v := undefined
	if found, ok := in.ad.find(&rank); ok {
		v = m.use(found, in)
	}
	if m.failed {
		v = errorValue
	}
	m.recycle()
	return numberOf(v)
}

// numberOf is the number that a Rank counts.
func numberOf(v Value) float64 {
	if v.kind == Boolean {
		return float64(v.bits)
	}
	n, _ := v.Number()
	return n
}
