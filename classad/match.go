package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// matchAd has the attributes of the ad around the two sides of every match.
var matchAd = newMatchAd()

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

var (
	requirements = newName("Requirements")
	rank         = newName("Rank")
)

// Match tells whether two ads match: the Requirements of both are true, or a number that is not zero, with the other ad
// as TARGET. Those of right are evaluated first. Missing Requirements, undefined and error are no match. By convention
// the job is left and the slot right. Neither ad is changed.
func Match(left, right *ClassAd) bool {
	m := newMatching(Scope{My: left, Target: orEmpty(right)})
	matches := m.accepts(&m.right) && m.accepts(&m.left)
	m.recycle()
	return matches
}

// Accepts tells whether the Requirements of ad are true with other as TARGET: half of [Match].
func Accepts(ad, other *ClassAd) bool {
	m := newMatching(Scope{My: ad, Target: orEmpty(other)})
	accepts := m.accepts(&m.left)
	m.recycle()
	return accepts
}

// Rank is the Rank of left with right as TARGET as the number by which HTCondor sorts: an integer, a real or 0 and 1
// for a boolean; anything else counts 0. If left has no Rank, that of right is found, as for any name.
func Rank(left, right *ClassAd) float64 {
	m := newMatching(Scope{My: left, Target: orEmpty(right)})
	v := m.name(&m.left, &rank)
	if m.failed {
		v = errorValue
	}
	m.recycle()
	if v.kind == Boolean {
		return float64(v.bits)
	}
	n, _ := v.Number()
	return n
}

// empty is what a missing side of a match is.
var empty = New()

func orEmpty(ad *ClassAd) *ClassAd {
	if ad == nil {
		return empty
	}
	return ad
}

func (m *matching) accepts(side *frame) bool {
	m.reset()
	v := m.selected(side, &requirements)
	return !m.failed && v.IsTrue()
}
