package matchmaker

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// This file says which pairs depend on how much is free on a slot when the job begins, by what their
// Requirements refer to. That a slot has enough for the job itself is seen to by the plan, so a pair
// depends on amounts only beyond that; mostly none does, and costs nothing. least.go says how much
// must be free.

// withinLimits is the attribute by which startds say that they have enough for a job.
const withinLimits = "withinresourcelimits"

// amounts are resources that matter, a bit for each in the pool's order, and one for other state.
type amounts uint64

func (a amounts) has(resource int) bool { return resource < mostAmounts && a>>resource&1 != 0 }

// mostAmounts is how many resources are heeded; unforetold says that state matters which nobody foretells,
// see favour.go.
const (
	mostAmounts = 62
	unforetold  = amounts(1) << mostAmounts
)

// amountOf returns the resource whose amount a slot's attribute holds.
func (m *Matchmaker) amountOf(attr string) (resource int, ok bool) {
	if attr = strings.ToLower(attr); attr == numDynamicSlots {
		attr = Claims
	}
	resource, ok = m.amounts[attr]
	return resource, ok
}

// setAmounts says which attributes of slots hold the amounts of the pool's resources.
func (m *Matchmaker) setAmounts(resources []string) {
	m.resources, m.amounts = resources, map[string]int{}
	for i, name := range resources[:min(len(resources), mostAmounts)] {
		m.amounts[strings.ToLower(name)] = i
	}
}

// asking finds the amounts to which an expression refers.
type asking struct {
	m      *Matchmaker
	ad     *classad.ClassAd // in which the expression stands
	slot   bool             // that is the slot's ad
	met    map[string]bool  // attributes of the ad that were followed
	found  amounts
	asks   []string        // attributes of the other ad, which may lead to further amounts
	counts []string        // attributes that count jobs
	lists  []list          // of which the plan knows what is asked
	single map[string]bool // lists of which it does not know
	sizes  bool            // some expression asks how long a list is that it makes
	owners bool            // some of what was found tells whether the machine's owner uses it
	left   *int            // how many further nodes are looked at; nil: all
}

// needs is what a pair depends on beyond what a job takes.
type needs struct {
	amounts
	lists  []list   // by which the amounts are told
	asks   []string // attributes of the other ad, see [side]
	counts []string // the attributes of the slot that count jobs and were asked for
}

// asked returns on what an attribute of a slot or of a job depends beyond what the job takes.
func (m *Matchmaker) asked(ad *classad.ClassAd, slot bool, name string) needs {
	a := asking{m: m, ad: ad, slot: slot, met: map[string]bool{}}
	if slot {
		a.met[withinLimits] = true
	}
	a.attribute(name)
	return a.needs()
}

// and returns what either depends on.
func (n needs) and(o needs) needs {
	n.amounts |= o.amounts
	if len(o.lists) > 0 {
		n.lists = slices.Concat(n.lists, o.lists)
	}
	if len(o.counts) > 0 {
		n.counts = slices.Concat(n.counts, o.counts)
	}
	return n
}

// attribute follows an attribute of the ad, once.
func (a *asking) attribute(name string) {
	key := strings.ToLower(name)
	if a.met[key] {
		return
	}
	a.met[key] = true
	if e, has := a.ad.Lookup(name); has {
		a.walk(e.Tree())
	}
}

// walk notes the amounts to which an expression of the ad refers.
func (a *asking) walk(e ast.Expr) {
	if a.left != nil {
		if *a.left--; *a.left <= 0 {
			return
		}
	}
	switch n := e.(type) {
	case *ast.Attr:
		a.name(n.Name)
	case *ast.Select:
		switch scopeOf(n.X) {
		case "my", "self":
			a.own(n.Name)
		case "target", "other":
			a.other(n.Name)
		default:
			a.walk(n.X)
		}
	case *ast.Index:
		if text, ok := textOf(n.Key); ok && scopes[scopeOf(n.X)] {
			a.walk(ast.NewSelect(n.Pos(), n.X, text))
		} else if scopes[scopeOf(n.X)] {
			a.hidden()
		} else {
			a.walk(n.X)
			a.walk(n.Key)
		}
	case *ast.Call:
		if n.Key == "eval" {
			a.evaluated(n)
		} else if !a.aggregate(n) {
			for _, arg := range n.Args {
				a.walk(arg)
			}
		}
	case *ast.Binary:
		if !a.suffices(n) {
			a.walk(n.X)
			a.walk(n.Y)
		}
	default:
		for _, child := range ast.Children(e) {
			a.walk(child)
		}
	}
}

// scopes are the names by which expressions reach the ads of a pair, in lower case.
var scopes = namesOf("my self target other")

// textOf returns the text that an expression is, if it is one.
func textOf(e ast.Expr) (text string, ok bool) {
	l, ok := ast.Bare(e).(*ast.Literal)
	if !ok || l.Kind != ast.String {
		return "", false
	}
	return l.Text, true
}

// evaluated notes the amounts to which the argument of eval refers: what it is, if that can be seen.
func (a *asking) evaluated(n *ast.Call) {
	for _, arg := range n.Args {
		text, ok := textOf(arg)
		e, err := classad.ParseExpr(text)
		if !ok || err != nil {
			a.hidden()
			return
		}
		a.walk(e.Tree())
	}
}

// hidden notes that it cannot be seen to which amounts an expression refers: it may be all.
func (a *asking) hidden() {
	a.found |= 1<<min(len(a.m.resources), mostAmounts) - 1
	a.counts = append(a.counts, numDynamicSlots)
}

// scopeOf returns a name that stands before a dot, in lower case; "" if that is none.
func scopeOf(e ast.Expr) string {
	if n, ok := ast.Bare(e).(*ast.Attr); ok {
		return strings.ToLower(n.Name)
	}
	return ""
}

// name notes a name without a scope: the ad's, else that of the other ad.
func (a *asking) name(name string) {
	if _, has := a.ad.Lookup(name); has {
		a.own(name)
		return
	}
	if a.slot && Counts(name) { // it is the slot's, though its ad is without it
		a.counts = append(a.counts, strings.ToLower(name))
	}
	a.other(name)
}

func (a *asking) own(name string) {
	if !a.slot || !a.state(name) {
		a.attribute(name)
	}
}

func (a *asking) other(name string) {
	if !a.slot && a.state(name) {
		return
	}
	if key := strings.ToLower(name); !slices.Contains(a.asks, key) {
		a.asks = append(a.asks, key)
	}
}

// state notes a reference to an attribute of the slot, if that is state.
func (a *asking) state(name string) bool {
	if Counts(name) {
		a.counts = append(a.counts, strings.ToLower(name))
	}
	if i, ok := a.m.amountOf(name); ok {
		a.found |= 1 << i
	} else if Counts(name) {
		a.element(name)
	} else if Passes(name) {
		a.passes(name)
	} else {
		return false
	}
	return true
}

// passes notes a reference to state that nobody foretells.
func (a *asking) passes(name string) {
	a.found |= unforetold
	a.owners = a.owners || owners[strings.ToLower(name)]
}

// suffices reports whether a comparison says only that the slot has as much of a resource as the job
// requests, or less, as condor_submit writes it: TARGET.Cpus >= RequestCpus.
func (a *asking) suffices(n *ast.Binary) bool {
	less, more := n.X, n.Y
	switch n.Op {
	case ast.LessEqual:
	case ast.GreaterEqual:
		less, more = more, less
	default:
		return false
	}
	resource, ok := a.amount(more)
	if !ok {
		return false
	}
	request := "request" + strings.ToLower(a.m.resources[resource])
	if asked, ok := a.of(less, !a.slot); ok {
		return strings.EqualFold(asked, request)
	}
	return !a.slot && a.atMost(less, request)
}

// amount returns the resource of the slot of which an expression is the amount.
func (a *asking) amount(e ast.Expr) (resource int, ok bool) {
	if name, ok := a.of(e, a.slot); ok {
		return a.m.amountOf(name)
	}
	return 0, false
}

// of returns the name of an attribute that an expression stands for, of the ad itself or of the other
// one.
func (a *asking) of(e ast.Expr, own bool) (name string, ok bool) {
	switch n := ast.Bare(e).(type) {
	case *ast.Attr:
		_, has := a.ad.Lookup(n.Name)
		return n.Name, has == own
	case *ast.Select:
		switch scopeOf(n.X) {
		case "my", "self":
			return n.Name, own
		case "target", "other":
			return n.Name, !own
		}
	default:
	}
	return "", false
}

// atMost reports whether an expression of the job's, in which nothing but what the job itself has used
// so far is not in its ad, is no more than it requests.
func (a *asking) atMost(e ast.Expr, request string) bool {
	text := string(ast.Append(nil, e, ast.Canonical))
	parsed, err := classad.ParseExpr(text)
	if err != nil {
		return false
	}
	_, external, err := parsed.Refs(a.ad)
	used := func(name string) bool {
		return slices.Contains([]string{"memoryusage", "diskusage"}, strings.ToLower(name))
	}
	if err != nil || slices.ContainsFunc(external, func(name string) bool { return !used(name) }) {
		return false
	}
	scope := classad.Scope{My: a.ad, MaxSteps: classad.FewSteps}
	least, isNumber := parsed.Eval(scope).Number()
	asked, given := scope.Attr(request).Number()
	return isNumber && given && least <= asked
}

// requests returns how much of a resource each chunk of the autocluster's jobs takes on an offer.
func (s *search) requests(o offer, resource int) int64 {
	m, ad := s.m, s.c.ad
	if s.c.depends {
		if v, _ := s.requestOn(o, ad); v != nil {
			return v[resource]
		}
	}
	n, given := ad.Int("Request" + m.resources[resource])
	if !given && IsCount(m.resources[resource]) {
		n = 1
	}
	return max(0, n)
}

// whole returns how much of a resource a slot has, as its ad says.
func (m *Matchmaker) whole(ad *classad.ClassAd, resource int) int64 {
	n, _ := ad.Int(m.resources[resource])
	return min(max(0, n), backfill.MaxAmount)
}
