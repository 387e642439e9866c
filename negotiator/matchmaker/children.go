package matchmaker

import (
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Startds list what each job on a partitionable slot has: ChildCpus, ChildMemory, ChildState and more.
// How long such a list is, and what its numbers are together, follows from the plan, which has the number
// of jobs and all that they take. So size(ChildCpus) is an amount of [Claims], and sum(ChildCpus) one of
// cpus. Whatever else is asked of a list is state that passes.

// Claims is the resource that says how many jobs a slot can host, of which each takes one. How many run
// there, which startds count in NumDynamicSlots, is what is taken of it.
const Claims = backfill.Claims

// Parts is a resource of which all slots have the same, and each job takes one. It is there where static slots
// and others are to be taken as a whole by the same jobs: Claims cannot say that, as a static slot has one and
// others have any number.
const Parts = "slotparts"

// IsCount reports whether a resource is not of the slots' own, but counts jobs.
func IsCount(resource string) bool { return resource == Claims || resource == Parts }

// numDynamicSlots counts the jobs on a slot, and the attributes that begin with children list something
// of each.
const (
	numDynamicSlots = "numdynamicslots"
	children        = "child"
	mostListed      = 1000 // as many jobs as that count as more
)

// Counts reports whether an attribute of a slot follows from which jobs run there.
func Counts(attr string) bool {
	attr = strings.ToLower(attr)
	return attr == numDynamicSlots || strings.HasPrefix(attr, children)
}

// list is an attribute of a slot that lists something of each job there, and what is asked of it.
type list struct {
	name     string // lower case
	sized    bool   // how long it is
	asked    bool   // what its elements are; the plan does not know
	summed   bool   // what its numbers are together,
	resource int    // which are amounts of this resource
}

// Vacant has a slot's ad say that nothing runs there, as matches are judged by what is there when all of
// the slot is free. Lists stay of which its Requirements ask more than a plan with these resources knows. If
// the ad does not say so already, set is called before it is changed, and returns the ad to change.
func Vacant(ad *classad.ClassAd, resources []string, set func() *classad.ClassAd) {
	var busy []string
	for name, e := range ad.All() {
		if Counts(name) && !isEmpty(e) {
			busy = append(busy, name)
		}
	}
	if len(busy) == 0 {
		return
	}
	nodes, m := mostNodes, new(Matchmaker)
	if !slices.Contains(resources, Claims) { // it is added when a slot asks for it
		resources = slices.Concat(resources, []string{Claims})
	}
	m.setAmounts(resources)
	a := asking{m: m, ad: ad, slot: true, met: map[string]bool{}, left: &nodes}
	a.attribute("Requirements")
	for _, name := range busy {
		if key := strings.ToLower(name); key == numDynamicSlots {
			set().SetInt(name, 0)
		} else if !a.single[key] {
			set().Set(name, listOf(0, 0))
		}
	}
}

// IsStatic reports whether a slot's ad is that of a static slot, which runs one job at a time and gives it
// all that it has: its SlotType says so, or neither that nor PartitionableSlot says that it divides itself.
func IsStatic(ad *classad.ClassAd) bool {
	kind, _ := ad.Text("SlotType")
	divides := strings.EqualFold(kind, "Partitionable") || ad.Eval("PartitionableSlot", nil).IsTrue()
	return strings.EqualFold(kind, "Static") || !divides
}

// SayVacant has the ad of a slot that divides itself for jobs say that none runs there, by these attributes
// as far as it is without them. Startds publish them; descriptions of slots mostly do not.
func SayVacant(ad *classad.ClassAd, counts []string) {
	if IsStatic(ad) {
		return
	}
	for _, name := range counts {
		if _, has := ad.Lookup(name); has {
			continue
		} else if name == numDynamicSlots {
			ad.SetInt("NumDynamicSlots", 0)
		} else {
			ad.Set(name, listOf(0, 0))
		}
	}
}

// isEmpty reports whether an expression is 0 or a list without elements.
func isEmpty(e *classad.Expr) bool {
	if l, ok := e.Tree().(*ast.List); ok {
		return len(l.Elems) == 0
	}
	return e.String() == "0"
}

// listOf returns a list of so many numbers, whose sum this is. A list without elements has the sum 0.
func listOf(length, sum int64) *classad.Expr {
	text := []byte("{")
	for i := range length {
		if i > 0 {
			text = append(text, ",0"...)
		} else {
			text = strconv.AppendInt(text, sum, 10)
		}
	}
	e, _ := classad.ParseExpr(string(append(text, '}')))
	return e
}

// listing is a list that was made: how long it is, and its sum.
type listing struct{ length, sum int64 }

// The lists that were made are kept for all pairs, up to so many elements together. costOfListed is how many
// elements count as a look; see mostLooks.
const (
	mostListings = 1 << 17
	costOfListed = 20
)

// listing returns a list as [listOf] does, and makes it once.
func (m *Matchmaker) listing(length, sum int64) *classad.Expr {
	key := listing{length, sum}
	if e, known := m.listings[key]; known {
		return e
	}
	if m.listed += length + 1; m.listings == nil || m.listed > mostListings {
		m.listings, m.listed = map[listing]*classad.Expr{}, length+1
	}
	m.looks += int(length / costOfListed)
	e := listOf(length, sum)
	m.listings[key] = e
	return e
}

// aggregate notes a call that asks how long a list of the slot is, or for its sum. It returns false if the
// call asks for anything else.
func (a *asking) aggregate(n *ast.Call) bool {
	if len(n.Args) != 1 || !slices.Contains([]string{"size", "sum", "islist", "isundefined"}, n.Key) {
		return false
	}
	name, ok := a.of(n.Args[0], a.slot)
	if name = strings.ToLower(name); !ok || !strings.HasPrefix(name, children) {
		a.sizes = a.sizes || n.Key == "size"
		return false
	}
	a.counts = append(a.counts, name)
	if n.Key[0] == 'i' { // it is there, however many jobs are
		return true
	}
	resource, known := a.m.amounts[Claims]
	l := list{name: name, sized: known}
	if n.Key == "sum" {
		resource, known = a.m.amounts[name[len(children):]]
		l = list{name: name, summed: known, resource: resource}
	}
	switch i := slices.IndexFunc(a.lists, func(o list) bool { return o.name == name }); {
	case !known:
		a.element(name)
		return true
	case i < 0:
		a.lists = append(a.lists, l)
	case l.summed:
		a.lists[i].summed, a.lists[i].resource = true, resource
	default:
		a.lists[i].sized = true
	}
	a.found |= 1 << resource
	return true
}

// needs returns what was found. Lists that are judged as they were published are not counted, unless how
// long they are is asked, too.
func (a *asking) needs() needs {
	claims, known := a.m.amounts[Claims]
	for name := range a.single {
		i := slices.IndexFunc(a.lists, func(l list) bool { return l.name == name })
		if i >= 0 {
			a.lists[i].asked = true
		} else if a.sizes && known && name != numDynamicSlots {
			a.lists = append(a.lists, list{name: name, sized: true, asked: true})
			a.found |= 1 << claims
		}
	}
	slices.SortFunc(a.lists, func(l, o list) int { return strings.Compare(l.name, o.name) })
	return needs{a.found, a.lists, a.asks, a.counts}
}

// Elements returns the lists, in lower case, of whose elements an attribute of a slot's ad, or a job's, asks: of
// what the jobs on a slot are like, which no plan with these resources knows.
func Elements(ad *classad.ClassAd, ofSlot bool, attr string, resources []string) map[string]bool {
	nodes, m := mostNodes, new(Matchmaker)
	m.setAmounts(slices.Concat(resources, []string{Claims}))
	a := asking{m: m, ad: ad, slot: ofSlot, met: map[string]bool{}, left: &nodes}
	a.attribute(attr)
	return a.single
}

// element notes that more is asked of a list of the slot than the plan knows.
func (a *asking) element(name string) {
	a.found |= unforetold
	if a.single == nil {
		a.single = map[string]bool{}
	}
	a.single[strings.ToLower(name)] = true
}

// setLists has the slot's ad list the jobs that are there with the levels that are asked about.
func (l *levels) setLists() {
	for _, one := range l.lists {
		var n, sum int64
		if one.summed {
			n, sum = 1, l.taken(one.resource)
		}
		if one.sized {
			n = min(l.taken(l.m.amounts[Claims]), mostListed)
		}
		if sum > 0 {
			n = max(n, 1)
		}
		listed := l.m.listing(n, sum)
		if one.asked {
			listed = l.published(one, n, listed)
		}
		l.ad.Set(one.name, listed)
	}
}

// published returns a list of so many elements of which more is asked: those that the startd has published,
// then unknown ones. Where their sum counts, it is otherwise if as many were not published.
func (l *levels) published(one list, length int64, otherwise *classad.Expr) *classad.Expr {
	e, _ := l.o.ad.Lookup(one.name)
	now, ok := treeOf(e).(*ast.List)
	if !ok || one.summed && int64(len(now.Elems)) != length {
		return otherwise
	}
	text := []byte("{")
	for i := range length {
		if i > 0 {
			text = append(text, ',')
		}
		if i < int64(len(now.Elems)) {
			text = ast.Append(text, now.Elems[i], ast.Canonical)
		} else {
			text = append(text, "undefined"...)
		}
	}
	l.m.looks += int(length / costOfListed)
	made, err := classad.ParseExpr(string(append(text, '}')))
	if err != nil {
		return otherwise
	}
	return made
}

// mixed reports whether the length of some list is asked, and its elements are, too.
func (l *levels) mixed() bool {
	return slices.ContainsFunc(l.lists, func(one list) bool { return one.asked })
}

// setPublished sets the levels to what is free beside as many jobs as a list was published of whose elements
// are asked. It returns false if there is none.
func (l *levels) setPublished() bool {
	for _, one := range l.lists {
		e, _ := l.o.ad.Lookup(one.name)
		now, ok := treeOf(e).(*ast.List)
		n := slices.Index(l.resources, l.m.amounts[Claims])
		if !one.asked || !ok || n < 0 {
			continue
		}
		copy(l.at, l.high)
		l.at[n] = max(l.low[n], l.high[n]-int64(len(now.Elems)))
		return true
	}
	return false
}

// taken returns how much of a resource jobs take on the slot.
func (l *levels) taken(resource int) int64 {
	if n := slices.Index(l.resources, resource); n >= 0 {
		return l.high[n] - l.at[n]
	}
	return 0
}

// Place has the ad of a partitionable slot say what its startd will once further jobs run there: less is
// free by what they take together, and they count and are listed.
func Place(ad *classad.ClassAd, resources []string, taken []int64, jobs int64) {
	for i, amount := range taken {
		name := resources[i]
		if name == Claims {
			continue
		}
		if free, given := ad.Real(name); given {
			ad.SetInt(name, max(0, int64(free)-amount))
		}
		e, listed := ad.Lookup(children + name)
		if l, ok := treeOf(e).(*ast.List); listed && ok {
			ad.Set(children+name, joined(l, jobs, amount))
		}
	}
	if n, counted := ad.Int(numDynamicSlots); counted {
		ad.SetInt(numDynamicSlots, n+jobs)
	}
}

// treeOf returns the tree of an expression; nil for none.
func treeOf(e *classad.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	return e.Tree()
}

// joined returns a list with so many further numbers, whose sum this is.
func joined(l *ast.List, length, sum int64) *classad.Expr {
	more := listOf(length, sum)
	if len(l.Elems) == 0 {
		return more
	}
	begin, end := string(ast.Append(nil, l, ast.Canonical)), more.String()
	e, err := classad.ParseExpr(strings.TrimSuffix(strings.TrimSpace(begin), "}") + "," + strings.TrimPrefix(end, "{"))
	if err != nil {
		return more
	}
	return e
}
