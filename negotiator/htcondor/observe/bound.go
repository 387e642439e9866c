package observe

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// policies are the job attributes by which HTCondor ends a run: the job is removed or put on hold when
// the expression becomes true.
var policies = []string{"PeriodicRemove", "PeriodicHold"}

// boundAttribute is the attribute of a job's ad that stands for its policies, in seconds of run time,
// so that jobs are planned by the bound and not by the texts, which refer to what changes all the time.
const boundAttribute = "BackfillRunBound"

// takeBound replaces a job's policies by the run time at which they end it, if they are understood.
func (o *Observer) takeBound(ad *classad.ClassAd) {
	bound := backfill.Forever
	for _, name := range policies {
		if e, given := ad.Lookup(name); given {
			bound = min(bound, boundOf(e.Tree(), ad, maxBoundNodes))
			ad.Delete(name)
		}
	}
	if o.systemRemove != nil {
		bound = min(bound, boundOf(o.systemRemove.Tree(), ad, maxBoundNodes))
	}
	if bound > 0 && bound <= backfill.MaxTime/2 {
		ad.SetInt(boundAttribute, int64(bound))
	} else {
		ad.Delete(boundAttribute) // a user's
	}
}

// maxBoundNodes is how many nodes of a policy are looked at. One that has more bounds nothing.
const maxBoundNodes = 100

// boundOf returns the run time after which an expression is true of a running job at the latest;
// [backfill.Forever] if that is not understood. One part of an "or" is enough, and an "and" needs all.
func boundOf(e ast.Expr, ad *classad.ClassAd, most int) backfill.Time {
	r := boundReader{ad: ad, left: most}
	bound := r.bound(e)
	if r.left < 0 {
		return backfill.Forever
	}
	return bound
}

type boundReader struct {
	ad   *classad.ClassAd
	left int // nodes that may still be looked at
}

// bound returns 0 for what is true of every running job.
func (r *boundReader) bound(e ast.Expr) backfill.Time {
	if r.left--; r.left < 0 {
		return backfill.Forever
	}
	b, binary := bare(e).(*ast.Binary)
	if !binary {
		return backfill.Forever
	}
	switch b.Op {
	case ast.Or:
		return min(r.bound(b.X), r.bound(b.Y))
	case ast.And:
		return max(r.bound(b.X), r.bound(b.Y))
	case ast.Greater, ast.GreaterEqual:
		return r.beyond(b.X, b.Y)
	case ast.Less, ast.LessEqual:
		return r.beyond(b.Y, b.X)
	case ast.Equal, ast.Is:
		if r.runs(b.X, b.Y) || r.runs(b.Y, b.X) {
			return 0
		}
	default:
	}
	return backfill.Forever
}

// runs reports whether this is JobStatus == 2.
func (r *boundReader) runs(x, y ast.Expr) bool {
	status, isNumber := r.number(y)
	return attribute(x) == "jobstatus" && isNumber && status == 2
}

// beyond returns the bound of run time > limit.
func (r *boundReader) beyond(x, limit ast.Expr) backfill.Time {
	n, isNumber := r.number(limit)
	if !isNumber || n <= 0 || n > backfill.MaxTime/2 || !r.runTime(x) {
		return backfill.Forever
	}
	return backfill.Time(ceil(n))
}

// began are the attributes since when a job runs, or has run before, or is in its state.
var began = set("JobCurrentStartDate", "JobCurrentStartExecutingDate", "JobStartDate", "EnteredCurrentStatus", "ShadowBday")

// runTime reports whether an expression is for how long a job has run, or longer: the time since it
// began, or RemoteWallClockTime, which the shadow keeps up to date for its policies.
func (r *boundReader) runTime(e ast.Expr) bool {
	if r.left--; r.left < 0 {
		return false
	}
	e = bare(e)
	if attribute(e) == "remotewallclocktime" {
		return true
	}
	b, binary := e.(*ast.Binary)
	if !binary || b.Op != ast.Subtract || !began[attribute(b.Y)] {
		return false
	}
	call, isCall := bare(b.X).(*ast.Call)
	return attribute(b.X) == "currenttime" || isCall && call.Key == "time" && len(call.Args) == 0
}

// number returns the value of a number, of an attribute that is one, and of products and sums of them.
func (r *boundReader) number(e ast.Expr) (n float64, ok bool) {
	if r.left--; r.left < 0 {
		return 0, false
	}
	switch e := bare(e).(type) {
	case *ast.Literal:
		return float64(e.Int) + e.Real, e.Kind == ast.Integer || e.Kind == ast.Real
	case *ast.Attr:
		value, given := r.ad.Lookup(e.Name)
		if !given {
			return 0, false
		}
		literal, isLiteral := bare(value.Tree()).(*ast.Literal)
		if !isLiteral {
			return 0, false
		}
		return r.number(literal)
	case *ast.Binary:
		x, known := r.number(e.X)
		y, knownToo := r.number(e.Y)
		switch ok = known && knownToo; e.Op {
		case ast.Multiply:
			return x * y, ok
		case ast.Add:
			return x + y, ok
		default:
		}
	default:
	}
	return 0, false
}

// bare returns an expression without the parentheses around it.
func bare(e ast.Expr) ast.Expr {
	for {
		p, parenthesised := e.(*ast.Paren)
		if !parenthesised {
			return e
		}
		e = p.X
	}
}

// attribute returns the name of a job's own attribute, in lower case; "" if the expression is none.
func attribute(e ast.Expr) string {
	switch e := bare(e).(type) {
	case *ast.Attr:
		return strings.ToLower(e.Name)
	case *ast.Select:
		if scope, isAttr := e.X.(*ast.Attr); isAttr && scope.Key == ast.Fold("MY") {
			return strings.ToLower(e.Name)
		}
	default:
	}
	return ""
}
