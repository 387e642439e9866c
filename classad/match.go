package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// The ads around the two sides of every match. Evaluation finds the sides through [frame.bound];
// these definitions serve code that looks at the ads themselves.
var (
	matchAd      = newMatchAd()
	leftContext  = newContext("LEFT", "RIGHT")
	rightContext = newContext("RIGHT", "LEFT")
)

func newMatchAd() record {
	attribute := func(side, name string) ast.Expr { return ast.NewSelect(0, ast.NewAttr(0, side, false), name) }
	t := ast.NewRecord(0)
	t.Set("symmetricMatch", ast.NewBinary(0, ast.And, attribute("RIGHT", "requirements"), attribute("LEFT", "requirements")))
	t.Set("leftMatchesRight", attribute("RIGHT", "requirements"))
	t.Set("rightMatchesLeft", attribute("LEFT", "requirements"))
	t.Set("leftRankValue", attribute("LEFT", "rank"))
	t.Set("rightRankValue", attribute("RIGHT", "rank"))
	return recordOf(t)
}

func newContext(mine, theirs string) record {
	t := ast.NewRecord(0)
	for _, a := range []struct{ name, side string }{{"my", mine}, {"target", theirs}, {"ad", mine}, {"other", theirs}} {
		t.Set(a.name, ast.NewAttr(0, a.side, true))
	}
	return recordOf(t)
}

var rank = newName("Rank")

// Pair is two ads that are matched, by convention a job on the left and a slot on the right. An
// ad's Requirements are met if they are true, or a number other than zero, with the other ad as
// TARGET; missing Requirements, undefined and error are no match. Neither ad is changed.
type Pair struct {
	Left, Right *ClassAd
	Host        *Host  // see [Scope]
	Strict      bool   // see [Scope]
	MaxSteps    int    // for the Requirements or Rank of one of the ads; see [Scope]
	Meter       *Meter // see [Scope]
}

func (p Pair) begin() *matching {
	return newMatching(Scope{
		My: p.Left, Target: orEmpty(p.Right), Host: p.Host, Strict: p.Strict, MaxSteps: p.MaxSteps,
		Meter: p.Meter,
	})
}

// empty stands for a missing side of a match.
var empty = New()

func orEmpty(ad *ClassAd) *ClassAd {
	if ad == nil {
		return empty
	}
	return ad
}

// Match reports whether the Requirements of both ads hold. Those of the right ad are evaluated
// first.
func (p Pair) Match() bool {
	m := p.begin()
	matches := m.accepts(&m.right) && m.accepts(&m.left)
	m.recycle()
	return matches
}

// LeftMatchesRight reports whether the left ad meets the Requirements of the right one.
func (p Pair) LeftMatchesRight() bool {
	m := p.begin()
	matches := m.accepts(&m.right)
	m.recycle()
	return matches
}

// RightMatchesLeft reports whether the right ad meets the Requirements of the left one.
func (p Pair) RightMatchesLeft() bool {
	m := p.begin()
	matches := m.accepts(&m.left)
	m.recycle()
	return matches
}

// LeftRank returns how much the left ad prefers the right one: its Rank as a number, as HTCondor
// sorts by it. Booleans count as 0 and 1, anything else that is not a number as 0. If the left ad
// has no Rank, that of the right ad counts, because any missing name is looked up there.
func (p Pair) LeftRank() float64 {
	if v, ok := p.Left.attributes().find(&rank); ok && v.kind != deferred {
		return numberOf(v) // usually 0
	}
	m := p.begin()
	return m.rank(&m.left)
}

// RightRank returns how much the right ad prefers the left one; see [Pair.LeftRank].
func (p Pair) RightRank() float64 {
	if v, ok := p.Right.attributes().find(&rank); ok && v.kind != deferred {
		return numberOf(v)
	}
	m := p.begin()
	return m.rank(&m.right)
}

// Match reports whether two ads match each other; see [Pair].
func Match(left, right *ClassAd) bool { return Pair{Left: left, Right: right}.Match() }

// Accepts reports whether other meets the Requirements of ad: one half of [Match].
func Accepts(ad, other *ClassAd) bool { return Pair{Left: ad, Right: other}.RightMatchesLeft() }

// Rank returns how much ad prefers other; see [Pair.LeftRank].
func Rank(ad, other *ClassAd) float64 { return Pair{Left: ad, Right: other}.LeftRank() }

func (m *matching) accepts(side *frame) bool {
	m.reset()
	requirements := &m.leftRequirements
	if side == &m.right {
		requirements = &m.rightRequirements
		m.fetched = side.ad.fetch()
	}
	v := m.selected(side, requirements)
	m.metered()
	return !m.failed && v.IsTrue()
}

// rank returns the Rank of a side as a number, and recycles the matching.
func (m *matching) rank(side *frame) float64 {
	in := side
	if _, ok := side.ad.find(&rank); !ok {
		in = side.theirs // even if strict
	}
	v := undefined
	if found, ok := in.ad.find(&rank); ok {
		v = m.use(found, in)
	}
	m.metered()
	if m.failed {
		v = errorValue
	}
	m.recycle()
	return numberOf(v)
}

// numberOf returns the number that a value of Rank counts as.
func numberOf(v Value) float64 {
	if v.kind == Boolean {
		return float64(v.bits)
	}
	n, _ := v.Number()
	return n
}
