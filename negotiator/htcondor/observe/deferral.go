package observe

import (
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Deferral is when a job begins to run that has a time of its own (DeferralTime): at Time, or up to
// Window seconds later. Its slot may be claimed Prep seconds earlier, and is idle until Time. The
// zero Deferral is that of a job without such a time.
type Deferral struct{ Time, Prep, Window backfill.Time }

// Idle returns for how long a claim that begins at a time is idle until the job begins to run. Users
// choose the time, so the result is bounded: an estimate to which it is added can be planned with.
func (d Deferral) Idle(from backfill.Time) backfill.Time {
	return max(0, min(d.Time-from, backfill.MaxTime/4))
}

// stopClock replaces time() in the Requirements of a job that is deferred by the second before its
// DeferralTime. When such a job is planned with is decided by its [Deferral]; where it can run must
// not depend on the clock, since jobs are matched once and not in each cycle. condor_submit has the
// Requirements say that it is DeferralPrepTime before DeferralTime, and not yet DeferralWindow
// after it, which both are true in that second.
func (o *Observer) stopClock(ad *classad.ClassAd) {
	at, deferred := o.value(ad, "DeferralTime").Number()
	e, given := ad.Lookup("Requirements")
	if inRange := at >= 1 && at <= maxUnix; !deferred || !given || !inRange { // NaN is not in range
		return
	}
	text := e.String()
	o.again += classad.Tokens([]byte("=" + text))
	again, err := classad.ParseExpr(text)
	if err != nil {
		return
	}
	var stopped strings.Builder
	end := 0
	for _, n := range clocks(again.Tree(), nil) {
		stopped.WriteString(text[end:n.Pos()] + strconv.FormatInt(int64(at)-1, 10))
		end = int(n.Pos()) + len("time()")
	}
	if end > 0 {
		_ = ad.SetExpr("Requirements", stopped.String()+text[end:]) // a number in place of a call: it can be parsed
	}
}

// maxUnix is beyond all times in seconds since 1970.
const maxUnix = 1 << 50

// clocks appends the calls of time() in a tree, from left to right.
func clocks(e ast.Expr, found []*ast.Call) []*ast.Call {
	if n, ok := e.(*ast.Call); ok && n.Key == "time" && len(n.Args) == 0 {
		return append(found, n)
	}
	for _, child := range ast.Children(e) {
		found = clocks(child, found)
	}
	return found
}
