package observe

import (
	"math"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// policies are the job attributes by which HTCondor ends a run: the job is removed or put on hold
// when the expression becomes true.
var policies = []string{"PeriodicRemove", "PeriodicHold"}

// boundAttribute is the attribute of a job's ad that stands for its policies, in seconds of run
// time, so that jobs are planned by the bound and not by the texts, which refer to what changes all
// the time.
const boundAttribute = "BackfillRunBound"

// takeBound replaces a job's policies by the run time at which they end it, if they are understood.
func (o *Observer) takeBound(ad *classad.ClassAd) {
	bound := backfill.Forever
	for _, name := range policies {
		if e, given := ad.Lookup(name); given {
			bound = min(bound, o.boundOf(e.Tree(), ad))
			ad.Delete(name)
		}
	}
	if o.systemRemove != nil {
		bound = min(bound, o.boundOf(o.systemRemove.Tree(), ad))
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
// [backfill.Forever] if that is not understood. One part of an "or" is enough if none before it can
// be an error, which the whole would be then; an "and" needs all.
func (o *Observer) boundOf(e ast.Expr, ad *classad.ClassAd) backfill.Time {
	r := boundReader{
		ad: ad, left: maxBoundNodes, latest: float64(o.now().Add(clocksDiffer).Unix()), asked: o.jobAttributes.base,
	}
	bound := r.bound(e)
	if r.left < 0 {
		return backfill.Forever
	}
	return bound
}

// clocksDiffer is by how much a schedd's clock may be ahead of ours.
const clocksDiffer = time.Hour

type boundReader struct {
	ad     *classad.ClassAd
	left   int             // nodes that may still be looked at
	latest float64         // no run has begun later
	asked  map[string]bool // attributes that the ad has if the job has them
}

// bound returns 0 for what is true of every running job.
func (r *boundReader) bound(e ast.Expr) backfill.Time {
	if r.left--; r.left < 0 {
		return backfill.Forever
	}
	b, binary := ast.Bare(e).(*ast.Binary)
	if !binary {
		return backfill.Forever
	}
	switch b.Op {
	case ast.Or:
		bound := r.bound(b.X)
		if r.isTruth(b.X) {
			bound = min(bound, r.bound(b.Y))
		}
		return bound
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
	e = ast.Bare(e)
	if attribute(e) == "remotewallclocktime" {
		return r.within("RemoteWallClockTime", 0, backfill.MaxTime)
	}
	b, binary := e.(*ast.Binary)
	if !binary || b.Op != ast.Subtract || !began[attribute(b.Y)] || !r.within(attribute(b.Y), math.Inf(-1), r.latest) {
		return false
	}
	call, isCall := ast.Bare(b.X).(*ast.Call)
	_, defined := r.ad.Lookup("CurrentTime") // by the user
	return attribute(b.X) == "currenttime" && !defined || isCall && call.Key == "time" && len(call.Args) == 0
}

// within reports that an attribute which the schedd keeps is none of the ad's, or a number that it
// may be: the schedd leaves some that a user has set as they are.
func (r *boundReader) within(name string, least, most float64) bool {
	if _, given := r.ad.Lookup(name); !given {
		return true
	}
	n, known := r.number(ast.NewAttr(0, name, false))
	return known && n >= least && n <= most
}

// isTruth reports that an expression is true, false or undefined, whatever happens.
func (r *boundReader) isTruth(e ast.Expr) bool {
	if r.left--; r.left < 0 {
		return false
	}
	switch e := ast.Bare(e).(type) {
	case *ast.Literal:
		return e.Kind == ast.Boolean || e.Kind == ast.Undefined
	case *ast.Binary:
		switch e.Op {
		case ast.Or, ast.And:
			return r.isTruth(e.X) && r.isTruth(e.Y)
		case ast.Is, ast.Isnt:
			return true
		case ast.Greater, ast.GreaterEqual, ast.Less, ast.LessEqual, ast.Equal, ast.NotEqual:
			x, y := r.kind(e.X), r.kind(e.Y)
			return x != ast.Error && (x == y || x == ast.Undefined) || y == ast.Undefined && x != ast.Error
		default:
		}
	default:
	}
	return false
}

// kind returns what an expression evaluates to, if not to undefined: Real for all numbers, or
// String; Error if it may be anything.
func (r *boundReader) kind(e ast.Expr) ast.LiteralKind {
	if r.left--; r.left < 0 {
		return ast.Error
	}
	switch e := ast.Bare(e).(type) {
	case *ast.Literal:
		return literalKind(e)
	case *ast.Attr:
		value, given := r.ad.Lookup(e.Name)
		if !given {
			return r.absent(e.Name)
		}
		if literal, isLiteral := ast.Bare(value.Tree()).(*ast.Literal); isLiteral {
			return literalKind(literal)
		}
	case *ast.Call:
		if e.Key == "time" && len(e.Args) == 0 {
			return ast.Real
		}
	case *ast.Binary:
		if arithmetic := e.Op == ast.Add || e.Op == ast.Subtract || e.Op == ast.Multiply; arithmetic &&
			r.kind(e.X) == ast.Real && r.kind(e.Y) == ast.Real {
			return ast.Real
		}
	default:
	}
	return ast.Error
}

func literalKind(e *ast.Literal) ast.LiteralKind {
	switch e.Kind {
	case ast.Integer, ast.Real:
		return ast.Real
	case ast.String, ast.Undefined:
		return e.Kind
	default:
		return ast.Error
	}
}

// absent returns the kind of an attribute that an ad lacks: the schedd gives numbers to those of
// how a job runs, when it does, and others are undefined if they were asked for.
func (r *boundReader) absent(name string) ast.LiteralKind {
	switch name = strings.ToLower(name); {
	case began[name] || name == "jobstatus" || name == "currenttime":
		return ast.Real
	case r.asked[name]:
		return ast.Undefined
	}
	return ast.Error
}

// number returns the value of a number, of an attribute that is one, and of products and sums of
// them.
func (r *boundReader) number(e ast.Expr) (n float64, ok bool) {
	if r.left--; r.left < 0 {
		return 0, false
	}
	switch e := ast.Bare(e).(type) {
	case *ast.Literal:
		return float64(e.Int) + e.Real, e.Kind == ast.Integer || e.Kind == ast.Real
	case *ast.Attr:
		value, given := r.ad.Lookup(e.Name)
		if !given {
			return 0, false
		}
		literal, isLiteral := ast.Bare(value.Tree()).(*ast.Literal)
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

// attribute returns the name of a job's own attribute, in lower case; "" if the expression is none.
func attribute(e ast.Expr) string {
	switch e := ast.Bare(e).(type) {
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
