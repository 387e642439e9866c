package matchmaker

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Mostly it shows in the text of Requirements that more is never worse, as in Cpus >= 6 &&
// NumDynamicSlots < 2. Then nothing is looked at to find that out; see varied.go for the others.

// direction is where the value of an expression goes as more becomes free.
type direction int8

const (
	steady  direction = 0
	rises   direction = 1
	falls   direction = -1
	unclear direction = 2
)

// and returns the direction of what goes where both go.
func (d direction) and(o direction) direction {
	switch {
	case d == steady || d == o:
		return o
	case o == steady:
		return d
	default:
		return unclear
	}
}

func (d direction) turned() direction {
	if d == unclear {
		return d
	}
	return -d
}

// course finds directions by what expressions of a slot and a job say.
type course struct {
	m         *Matchmaker
	slot, job *classad.ClassAd
	nodes     int // how many further ones it looks at
	nested    int // names that have led to where it is
}

// rises reports whether more is never worse for a pair, as far as its text shows.
func (s *search) rises(slot *classad.ClassAd) bool {
	c := course{m: s.m, slot: slot, job: s.c.ad, nodes: mostNodes}
	d := c.attribute("Requirements", true).and(c.attribute("Requirements", false))
	return d == steady || d == rises
}

// attribute returns the direction of an attribute of the slot, else of the job.
func (c *course) attribute(name string, ofSlot bool) direction {
	ad := c.job
	if ofSlot {
		if _, amount := c.m.amountOf(name); amount {
			if strings.EqualFold(name, numDynamicSlots) {
				return falls
			}
			return rises
		}
		if strings.EqualFold(name, withinLimits) {
			return steady // the plan sees to that
		}
		if strings.HasPrefix(strings.ToLower(name), children) {
			return unclear
		}
		ad = c.slot
	}
	e, has := ad.Lookup(name)
	if !has {
		return steady
	}
	if c.nested >= mostNested {
		return unclear
	}
	c.nested++
	defer func() { c.nested-- }()
	return c.of(e.Tree(), ofSlot)
}

// of returns the direction of an expression of the slot, else of the job.
func (c *course) of(e ast.Expr, ofSlot bool) direction {
	if c.nodes--; c.nodes <= 0 {
		return unclear
	}
	own := asking{m: c.m, ad: c.job, slot: ofSlot}
	if ofSlot {
		own.ad = c.slot
	}
	switch n := ast.Bare(e).(type) {
	case *ast.Literal:
		return steady
	case *ast.Attr, *ast.Select:
		if name, ok := own.of(n, true); ok {
			return c.attribute(name, ofSlot)
		} else if name, ok := own.of(n, false); ok {
			return c.attribute(name, !ofSlot)
		}
	case *ast.Unary:
		if n.Op == ast.Not {
			return c.of(n.X, ofSlot).turned()
		}
	case *ast.Binary:
		if own.suffices(n) {
			return steady
		}
		return combined(n.Op, c.of(n.X, ofSlot), c.of(n.Y, ofSlot))
	case *ast.Cond:
		if n.Then != nil && c.of(n.If, ofSlot) == steady {
			return c.of(n.Then, ofSlot).and(c.of(n.Else, ofSlot))
		}
	case *ast.Call:
		if d, known := c.call(n, &own, ofSlot); known {
			return d
		}
	default:
	}
	for _, child := range ast.Children(e) {
		if c.of(child, ofSlot) != steady {
			return unclear
		}
	}
	return steady
}

// call returns the direction of a call of a function that is known here.
func (c *course) call(n *ast.Call, own *asking, ofSlot bool) (d direction, known bool) {
	if n.Key == "ifthenelse" && len(n.Args) == 3 && c.of(n.Args[0], ofSlot) == steady {
		return c.of(n.Args[1], ofSlot).and(c.of(n.Args[2], ofSlot)), true
	}
	if len(n.Args) == 1 && (n.Key == "size" || n.Key == "sum") {
		name, ok := own.of(n.Args[0], ofSlot)
		return falls, ok && strings.HasPrefix(strings.ToLower(name), children)
	}
	return unclear, false
}

// combined returns the direction of an operation on values of which the directions are known.
func combined(op ast.Op, x, y direction) direction {
	if x == steady && y == steady {
		return steady
	}
	switch op {
	case ast.And, ast.Or, ast.Add:
		return x.and(y)
	case ast.Subtract, ast.Greater, ast.GreaterEqual:
		return x.and(y.turned())
	case ast.Less, ast.LessEqual:
		return x.turned().and(y)
	default:
		return unclear
	}
}
