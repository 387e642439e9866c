package matchmaker

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Some state of a slot cannot be foretold, such as whether its owner is away. For a start now it counts
// as the startd published it. Where a pair does not match for nothing but such state, the slot is a
// candidate whose only window is [backfill.Unforeseen]: its jobs are not held, have no reservation there,
// and start in the first round in which the state that is published allows it.

// owners is state that tells whether a machine's owner uses it, others is further state; in lower case.
var (
	owners = namesOf(`keyboardidle consoleidle loadavg condorloadavg totalloadavg totalcondorloadavg
		cpubusy cpubusytime cpuisbusy totaltimeowneridle state activity`)
	others = namesOf(`enteredcurrentstate enteredcurrentactivity jobid jobstart globaljobid remoteuser
		remoteowner totaltimeunclaimedidle totaltimeclaimedbusy totaltimeclaimedidle`)
)

func namesOf(text string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		all[name] = true
	}
	return all
}

// Passes reports whether an attribute of a slot is state that passes, and that nobody can foretell: who
// uses the machine, and what it is doing.
func Passes(attr string) bool {
	attr = strings.ToLower(attr)
	return owners[attr] || others[attr]
}

// How much is looked at to find out whether other state would do for one pair: nodes of expressions, names
// that lead to each other, and expressions that are evaluated. costOfFavour is what that counts as, in
// looks (see mostLooks), and renewFavour how long it holds for, in seconds, if it depends on the clock.
const (
	mostNodes    = 4000
	mostNested   = 30
	mostParts    = 100
	costOfFavour = 10
	renewFavour  = 3600
)

// unforeseen is the list of windows of all candidates that are closed by their state.
var unforeseen = []backfill.Window{backfill.Unforeseen()}

// keepFavour reports whether a pair that does not match would with other state of the slot, and notes
// that. If there was too much to look at it says no, and the next Match goes on.
func (s *search) keepFavour(o offer, class int) bool {
	c, now := s.c, s.m.clock.now
	if s.dependsOn(o, class).amounts&unforetold == 0 {
		return false
	}
	h, has := c.holds[class]
	if !has {
		h = hold{until: never, wakes: never}
	}
	if s.m.looks >= mostLooks {
		s.putLater(class)
		return false
	}
	s.m.clock.begin(c.ad, o.ad)
	would, waits := s.favours(o)
	if s.m.clock.read {
		if !would {
			would, waits = s.favoursLater(o)
		}
		h.until = min(h.until, now+renewFavour)
		c.keep(class, h)
	}
	if would {
		h.windows, h.awaits = unforeseen, waits
		c.keep(class, h)
	}
	return would
}

// favours says whether a pair would match with other state of the slot, and for what it waits.
func (s *search) favours(o offer) (would bool, waits string) {
	s.m.looks += costOfFavour
	left := mostNodes
	f := favour{trial: &s.trial, slot: o.ad, job: s.c.ad, nodes: &left}
	would = f.attribute("Requirements", true, true) && f.attribute("Requirements", false, true) && left > 0
	return would, f.waits
}

// favoursLater is favours at other instants, for pairs that also ask the clock: at each hour of a week.
func (s *search) favoursLater(o offer) (would bool, waits string) {
	defer func() { s.host = nil }()
	host := *s.m.host
	s.host = &host
	for at := s.m.clock.now; at < s.m.clock.now+horizon && !would; {
		at += renewFavour
		if s.m.looks >= mostLooks || s.steps() >= s.most {
			break
		}
		host.Now = func() int64 { return at }
		would, waits = s.favours(o)
	}
	return would, waits
}

// putLater has the next Match go on with a class, as there was too much to look at in this one.
func (s *search) putLater(class int) {
	h, has := s.c.holds[class]
	if !has {
		h = hold{until: never, wakes: never}
	}
	s.c.later, s.m.open = true, true
	h.until = min(h.until, s.m.clock.now+1)
	s.c.keep(class, h)
}

// favour finds out whether expressions of a slot and a job may be true, or false, with some other state of
// the slot. It looks at operands of && and the like one by one, as if each had a state of its own.
type favour struct {
	*trial
	slot, job *classad.ClassAd
	nodes     *int // how many further nodes it looks at
	nested    int  // names that have led to where it is
	parts     int  // how many it has evaluated
	waits     string
}

// attribute says whether the value of an attribute of the slot, else of the job, may be this.
func (f *favour) attribute(name string, ofSlot, want bool) bool {
	ad := f.job
	if ofSlot {
		ad = f.slot
	}
	e, has := ad.Lookup(name)
	if !has || f.nested >= mostNested {
		return false
	}
	f.nested++
	defer func() { f.nested-- }()
	return f.may(e.Tree(), ofSlot, want)
}

// may says whether an expression of the slot, else of the job, may be true or false.
func (f *favour) may(e ast.Expr, ofSlot, want bool) bool {
	if *f.nodes--; *f.nodes <= 0 {
		return false
	}
	switch n := ast.Bare(e).(type) {
	case *ast.Unary:
		if n.Op == ast.Not {
			return f.may(n.X, ofSlot, !want)
		}
	case *ast.Binary:
		if n.Op == ast.And || n.Op == ast.Or {
			x := f.may(n.X, ofSlot, want)
			if all := (n.Op == ast.And) == want; x != all {
				return x
			}
			return f.may(n.Y, ofSlot, want)
		}
	case *ast.Cond:
		if n.Then != nil {
			return f.chooses(n.If, n.Then, n.Else, ofSlot, want)
		}
	case *ast.Call:
		if n.Key == "ifthenelse" && len(n.Args) == 3 {
			return f.chooses(n.Args[0], n.Args[1], n.Args[2], ofSlot, want)
		}
	case *ast.Attr, *ast.Select:
		if name, slots, ok := f.named(n, ofSlot); ok && (!slots || !Passes(name)) {
			return f.attribute(name, slots, want)
		}
	default:
	}
	return f.part(e, ofSlot, want)
}

// chooses is may for a conditional.
func (f *favour) chooses(condition, then, otherwise ast.Expr, ofSlot, want bool) bool {
	return f.may(condition, ofSlot, true) && f.may(then, ofSlot, want) ||
		f.may(condition, ofSlot, false) && f.may(otherwise, ofSlot, want)
}

// named returns which attribute an expression names that one of the ads has.
func (f *favour) named(e ast.Expr, ofSlot bool) (name string, slots, ok bool) {
	own, other := asking{ad: f.job}, f.slot
	if ofSlot {
		own.ad, other = f.slot, f.job
	}
	if name, ok = own.of(e, true); ok {
		_, ok = own.ad.Lookup(name)
		return name, ofSlot, ok
	}
	if name, ok = own.of(e, false); ok {
		_, ok = other.Lookup(name)
	}
	return name, !ofSlot, ok
}

// part says whether an expression that has no parts may be true or false: it may be anything if it depends
// on state that passes.
func (f *favour) part(e ast.Expr, ofSlot, want bool) bool {
	my, target := f.job, f.slot
	if ofSlot {
		my, target = f.slot, f.job
	}
	if f.parts++; f.parts > mostParts {
		return false
	}
	text := string(ast.Append(nil, e, ast.Canonical))
	parsed, err := classad.ParseExpr(text)
	if err != nil {
		return false
	}
	v := parsed.Eval(classad.Scope{My: my, Target: target, Host: f.supplier(), MaxSteps: f.limit, Meter: &f.meter})
	isSo := v.IsTrue()
	if !want {
		isSo = v.Kind() != classad.Undefined && v.Kind() != classad.Error && !isSo
	}
	if isSo {
		return true
	}
	a := asking{m: f.m, ad: my, slot: ofSlot, met: map[string]bool{}, left: f.nodes}
	if a.walk(e); a.found&unforetold == 0 {
		return false
	}
	if f.waits == "" {
		f.waits = a.awaits(strings.TrimSpace(string(ast.AppendStart(nil, ast.Bare(e), longestClause))), want)
	}
	return true
}

// awaits says for what a slot is closed whose state is to make a part true or false: a text that can stand
// behind "is".
func (a *asking) awaits(text string, want bool) string {
	if !want {
		text = "!(" + text + ")"
	}
	text = backfill.Printable(text, longestQuoted)
	if a.owners {
		return "open only if its owner is away: " + text
	}
	return "open only in another state: " + text
}
