package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// matchAd has the attributes of the ad around the two sides of every match.
var matchAd = newMatchAd()

func newMatchAd() *ast.Record {
	of := func(side, name string) ast.Expr { return ast.NewSelect(0, ast.NewAttr(0, side, false), name) }
	r := ast.NewRecord(0)
	r.Set("symmetricMatch", ast.NewBinary(0, ast.And, of("RIGHT", "requirements"), of("LEFT", "requirements")))
	r.Set("leftMatchesRight", of("RIGHT", "requirements"))
	r.Set("rightMatchesLeft", of("LEFT", "requirements"))
	r.Set("leftRankValue", of("LEFT", "rank"))
	r.Set("rightRankValue", of("RIGHT", "rank"))
	return r
}

// Match tells whether two ads match: the Requirements of both are true, or a number that is not zero, with the other ad
// as TARGET. Those of right are evaluated first. Missing Requirements, undefined and error are no match. By convention
// the job is left and the slot right. Neither ad is changed.
func Match(left, right *ClassAd) bool {
	m := newMatching(left, right)
	return m.accepts(&m.right) && m.accepts(&m.left)
}

// Accepts tells whether the Requirements of ad are true with other as TARGET: half of [Match].
func Accepts(ad, other *ClassAd) bool {
	m := newMatching(ad, other)
	return m.accepts(&m.left)
}

// Rank is the Rank of left with right as TARGET as the number by which HTCondor sorts: an integer, a real or 0 and 1
// for a boolean; anything else counts 0. If left has no Rank, that of right is found, as for any name.
func Rank(left, right *ClassAd) float64 {
	m := newMatching(left, right)
	v := m.run(func(ev *evaluator) Value { return ev.name(&m.left, "rank") })
	if b, ok := v.Bool(); ok {
		return float64(boolean(b).bits)
	}
	n, _ := v.Number()
	return n
}

// matching is an evaluator with the two ads it works on, in one piece of memory.
type matching struct {
	evaluator
	pairing
}

func newMatching(left, right *ClassAd) *matching {
	m := &matching{evaluator: evaluator{functions: builtins}}
	m.init(left, right)
	return m
}

func (m *matching) accepts(side *frame) bool {
	m.reset()
	v := m.selected(side, "requirements")
	return !m.failed && v.IsTrue()
}
