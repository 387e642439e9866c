package accountant

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// group is a node of the tree of groups.
type group struct {
	Group
	parent   *group
	children []*group
	// The results of Update and Divide, in slot weight: the use of the group's own submitters and
	// of the whole subtree; the quota of the subtree and the group's own part of it; the total
	// wanted; and the amount granted, surplus included.
	used, subtreeUsed   float64
	subtreeQuota, quota float64
	requested           float64
	allocated           float64
	// missing is how much more the group's own submitters want than was granted; subtreeMissing
	// adds what its subgroups that accept surplus miss.
	missing, subtreeMissing float64
}

// tree holds all groups. The root stands for submitters that belong to no group.
type tree struct {
	root   *group
	all    []*group // breadth first
	byName map[string]*group
	sort   *classad.Expr // GROUP_SORT_EXPR; nil for the default
}

func newTree(groups []Group, sort string) (*tree, error) {
	root := &group{Group: Group{Name: rootGroup, AcceptSurplus: true}}
	expr, err := parseSort(sort)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, byName: map[string]*group{rootGroup: root}, sort: expr}
	sorted := slices.Clone(groups)
	slices.SortFunc(sorted, func(a, b Group) int { return compareNames(a.Name, b.Name) })
	for _, g := range sorted {
		lower, parent := strings.ToLower(g.Name), root
		if path, _, nested := cutLast(lower, '.'); nested {
			parent = t.byName[path]
		}
		switch {
		case parent == nil:
			return nil, fmt.Errorf("accounting group %q: its parent is no group", g.Name)
		case lower == rootGroup:
			return nil, fmt.Errorf("accounting group %q: this is the name of all that is in no group", g.Name)
		case t.byName[lower] != nil:
			return nil, fmt.Errorf("accounting group %q: it is there twice; capital letters make no difference", g.Name)
		}
		node := &group{Group: g, parent: parent}
		parent.children = append(parent.children, node)
		t.byName[lower] = node
		root.Autoregroup = root.Autoregroup || g.Autoregroup
	}
	t.all = []*group{root}
	for i := 0; i < len(t.all); i++ {
		t.all = append(t.all, t.all[i].children...)
	}
	return t, nil
}

// CheckGroups returns an error unless the groups have good names and are a tree: parents are there, and
// each group once.
func CheckGroups(s Settings) error {
	for _, g := range s.Groups {
		if err := CheckName(g.Name); err != nil {
			return err
		}
		if strings.Contains(g.Name, "@") || strings.HasPrefix(g.Name, ".") || strings.HasSuffix(g.Name, ".") {
			return badName(g.Name, "a group has no @, and dots only between it and its subgroup")
		}
	}
	_, err := newTree(s.Groups, s.GroupSort)
	return err
}

// assigned returns the group of a submitter: the deepest group on the path before its user's name,
// or the root if there is none. A name without @ is that of a group itself; g is nil if that group
// is not (or no longer) configured.
func (t *tree) assigned(name string) (g *group, isGroup bool) {
	local, _, isSubmitter := cutLast(strings.ToLower(name), '@')
	if !isSubmitter {
		return t.byName[local], true
	}
	for {
		path, _, nested := cutLast(local, '.')
		if !nested {
			return t.root, false
		}
		if g := t.byName[path]; g != nil {
			return g, false
		}
		local = path
	}
}

// assign divides a quota, in slot weight, among a group and its subgroups. Static quotas are served
// first; dynamic quotas are fractions of the rest. With oversubscribe, static quotas count in full
// even if their sum exceeds the quota, and a group other than the root keeps the whole quota beside
// them.
func (g *group) assign(quota float64, oversubscribe bool) {
	g.subtreeQuota = quota
	static, dynamic := 0.0, 0.0
	for _, child := range g.children {
		if child.Static {
			static += child.Quota
		} else {
			dynamic += child.Quota
		}
	}
	forStatic := min(static, quota)
	if oversubscribe && quota > 0 {
		forStatic = static
	}
	rest, given := max(0, quota-forStatic), 0.0
	for _, child := range g.children {
		q := child.Quota * rest / max(1, dynamic)
		if child.Static {
			q = 0
			if static > 0 {
				q = child.Quota * (forStatic / static)
			}
		}
		child.assign(q, oversubscribe)
		given += q
	}
	g.quota = quota
	if !oversubscribe || g.parent == nil { // the root's quota is the whole pool and must not count twice
		g.quota = max(0, quota-given)
	}
}

// grant gives each group of the subtree what it wants within its quota, then shares what is left of
// the quotas (the surplus), and returns the rest.
func (g *group) grant() (surplus float64) {
	g.allocated = min(g.requested, g.quota)
	g.missing = g.requested - g.allocated
	g.subtreeMissing = g.missing
	surplus = g.quota - g.allocated
	for _, child := range g.children {
		surplus += child.grant()
		if child.AcceptSurplus {
			g.subtreeMissing += child.subtreeMissing
		}
	}
	if len(g.children) == 0 {
		return surplus
	}
	return g.share(surplus)
}

// share gives the surplus to the group and to those subgroups that accept surplus, in proportion to
// their quotas, and the rest in equal parts to those without a quota. It returns what nobody wants.
func (g *group) share(surplus float64) (left float64) {
	if surplus <= 0 || g.subtreeMissing <= 0 {
		return max(0, surplus)
	}
	takers := []taker{{quota: g.quota, wants: g.missing}}
	for _, child := range g.children {
		t := taker{quota: child.subtreeQuota}
		if child.AcceptSurplus {
			t.wants = child.subtreeMissing
		}
		takers = append(takers, t)
	}
	surplus = pour(takers, surplus, func(t taker) float64 { return t.quota })
	surplus = pour(takers, surplus, func(taker) float64 { return 1 })
	g.allocated += takers[0].got
	g.missing -= takers[0].got
	for i, child := range g.children {
		child.share(takers[i+1].got)
		g.subtreeMissing -= takers[i+1].got
	}
	g.subtreeMissing -= takers[0].got
	return surplus
}

// taker is a group that wants part of a surplus: its quota, and what it still wants and has got.
type taker struct{ quota, wants, got float64 }

// pour shares a surplus in proportion to weights until nobody with a weight wants more, and returns
// the rest.
func pour(takers []taker, surplus float64, weight func(taker) float64) float64 {
	for surplus > 0 {
		total := 0.0
		for _, t := range takers {
			if t.wants > 0 {
				total += weight(t)
			}
		}
		if total <= 0 {
			return surplus
		}
		before, filled := surplus, false
		for i := range takers {
			t := &takers[i]
			if t.wants <= 0 {
				continue
			}
			part := before * weight(*t) / total
			if part >= t.wants {
				part, filled = t.wants, true
			}
			t.got += part
			t.wants -= part
			surplus -= part
		}
		if !filled {
			return 0 // everything is shared, up to rounding
		}
	}
	return 0
}

// limit returns the slot weight that the group may use in total: its quota, or what it was granted
// if that is more. It is less if the group, or a group above it, accepts no surplus and would
// exceed its quota, unless quotas are loose.
func (g *group) limit(loose bool) float64 {
	most := max(g.allocated, g.quota)
	if loose {
		return most
	}
	for above := g; above != nil; above = above.parent {
		if !above.AcceptSurplus {
			most = min(most, g.used+max(0, above.subtreeQuota-above.subtreeUsed))
		}
	}
	return most
}

// parseSort parses GROUP_SORT_EXPR; nil if it is empty.
func parseSort(text string) (*classad.Expr, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	return classad.ParseExpr(text)
}

// sortKey returns the value of GROUP_SORT_EXPR for a group at an instant, as a Unix time, with what the
// group uses now. If that is no number the group comes last.
func (t *tree) sortKey(g *group, now int64) float64 {
	switch {
	case t.sort != nil:
		ad, host := classad.New(), &classad.Host{Now: func() int64 { return now }}
		ad.SetString("AccountingGroup", g.Name)
		ad.SetReal("GroupQuota", g.quota)
		ad.SetReal("GroupResourcesInUse", g.used)
		ad.SetReal("GroupResourcesAllocated", g.allocated)
		key, ok := t.sort.Eval(classad.Scope{My: ad, Host: host, MaxSteps: classad.FewSteps}).Number()
		if ok && !math.IsNaN(key) {
			return key
		}
		return math.MaxFloat32
	case g.parent == nil:
		return 3.4e38
	case g.quota > 0:
		return g.used / g.quota
	}
	return 3.3e38
}

// turns returns whose turn it is first, second and so on by GROUP_SORT_EXPR at an instant; nil by
// default. If a group regroups automatically, those who are in no group come last.
func (t *tree) turns(now int64) map[*group]int {
	if t.sort == nil {
		return nil
	}
	keys := map[*group]float64{}
	for _, g := range t.all {
		keys[g] = t.sortKey(g, now)
	}
	last := func(g *group) int {
		if g == t.root && g.Autoregroup {
			return 1
		}
		return 0
	}
	sorted := slices.Clone(t.all)
	slices.SortStableFunc(sorted, func(a, b *group) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(keys[a], keys[b]))
	})
	turns := map[*group]int{}
	for i, g := range sorted {
		turns[g] = i
	}
	return turns
}

// surplusPolicy returns the policy's name in ads.
func (g *group) surplusPolicy() string {
	switch {
	case g.Autoregroup:
		return "regroup"
	case g.AcceptSurplus:
		return "byquota"
	}
	return "no"
}
