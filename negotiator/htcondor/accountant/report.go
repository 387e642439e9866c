package accountant

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// mostTold is how many submitters are told of at most, of names that have mostNames bytes together. Those that use something come first, then
// those with settings or a past, then those that only wait.
const mostTold = 25_000

// answers are those to questions about the accounts as they are now. They are made once, when
// somebody first asks, and shared by all who do.
type answers struct {
	now atomic.Pointer[standing] // nil: nobody has asked since the last change
}

// outdate notes that something has changed. The accountant must be locked.
func (w *answers) outdate() { w.now.Store(nil) }

// standing is a copy of the accounts at a moment, which does not change. What is made of it is made
// without the accountant's lock, for which cycles would wait.
type standing struct {
	clock    clock
	settings Settings
	tree     *tree // of its groups only what the configuration says
	limits   []LimitUse
	groups   []*group  // as in tree.all, with their use and quotas
	own      []account // of these groups
	// submitters are those that are told of, by name once they are in order, and further counts the
	// others.
	submitters []account
	further    int

	order           func() // sorts the submitters
	plain, rolledUp func() []byte
}

// standing returns the accounts as they are now. Only the first to ask after a change copies them.
func (a *Accountant) standing() *standing {
	if s := a.asked.now.Load(); s != nil {
		return s
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.asked.now.Load(); s != nil {
		return s
	}
	s := &standing{clock: a.clock, settings: a.settings, tree: a.tree, limits: a.limits}
	for _, g := range a.tree.all {
		now := *g
		s.groups, s.own = append(s.groups, &now), append(s.own, *a.account(g.Name))
	}
	s.submitters, s.further = a.told()
	s.order = sync.OnceFunc(func() {
		slices.SortFunc(s.submitters, func(x, y account) int { return strings.Compare(x.name, y.name) })
	})
	s.plain = sync.OnceValue(func() []byte { return s.report(false) })
	s.rolledUp = sync.OnceValue(func() []byte { return s.report(true) })
	a.asked.now.Store(s)
	return s
}

// told returns copies of the accounts of the submitters that are told of, and how many are not.
func (a *Accountant) told() (told []account, further int) {
	told = make([]account, 0, min(len(a.accounts), mostTold))
	bytes := 0
	add := func(r *account) {
		switch {
		case r.isGroup:
		case len(told) < mostTold && bytes+len(r.name) <= mostNames:
			told, bytes = append(told, *r), bytes+len(r.name)
		default:
			further++
		}
	}
	var last []*account
	for _, r := range a.active {
		if r.charged() != (Use{}) {
			add(r)
		} else if a.blank(r) {
			last = append(last, r)
		}
	}
	for _, r := range a.accounts {
		if !r.active || r.charged() == (Use{}) && !a.blank(r) {
			add(r)
		}
	}
	for _, r := range last {
		add(r)
	}
	return told, further
}

// Report returns the reply to GET_PRIORITY or, with rollup, to GET_PRIORITY_ROLLUP, in which groups
// show the sums of their subtrees: an ad as lines, Name = Value. All who ask before something
// changes share one text, which must not be changed. Attributes are numbered from 1: groups first,
// parents before their subgroups, then submitters by name. If there are very many submitters,
// SubmittorsLeftOut counts those that are not told of.
func (a *Accountant) Report(rollup bool) []byte {
	if rollup {
		return a.standing().rolledUp()
	}
	return a.standing().plain()
}

func (s *standing) report(rollup bool) []byte {
	s.order()
	text, n := make(lines, 0, 700*(len(s.groups)+len(s.submitters)+1)), 0
	ad := &text
	number := func() string { n++; return strconv.Itoa(n) }
	ad.SetInt("LastUpdate", s.clock.Updated)
	for _, l := range s.limits {
		if l.Used > 0 {
			ad.SetReal("ConcurrencyLimit_"+strings.ReplaceAll(l.Name, ".", "_"), l.Used)
		}
	}
	sums := map[string]*account{}
	if rollup {
		s.rollup(sums, s.tree.root)
	}
	for i, g := range s.groups {
		r, suffix := &s.own[i], number()
		subtree, priority, factor := r.subtree, s.effective(r), g.Factor
		if rollup {
			priority, factor, r = 0, s.settings.factor(r), sums[g.Name]
		}
		s.tree.describe(ad, g, suffix, s.clock.Updated)
		describeUse(ad, r, suffix)
		ad.SetReal("Priority"+suffix, priority)
		ad.SetReal("PriorityFactor"+suffix, factor)
		ad.SetReal("HierWeightedResourcesUsed"+suffix, subtree)
	}
	for i := range s.submitters {
		s.describeSubmitter(ad, &s.submitters[i], number())
	}
	ad.SetInt("NumSubmittors", int64(n))
	if s.further > 0 {
		ad.SetInt("SubmittorsLeftOut", int64(s.further))
	}
	return bytes.Clone(text)
}

// ad is what is told of an account.
type ad interface {
	SetInt(name string, v int64)
	SetReal(name string, v float64)
	SetString(name, v string)
	SetBool(name string, v bool)
}

// lines is an ad as lines. An attribute must not be set twice.
type lines []byte

func (l *lines) begin(name string) []byte { return append(append(*l, name...), " = "...) }

// SetInt adds an integer.
func (l *lines) SetInt(name string, v int64) {
	*l = append(strconv.AppendInt(l.begin(name), v, 10), '\n')
}

// SetReal adds a real number.
func (l *lines) SetReal(name string, v float64) {
	*l = append(ast.AppendReal(l.begin(name), v, ast.Line), '\n')
}

// SetString adds a string.
func (l *lines) SetString(name, v string) {
	*l = append(ast.AppendString(l.begin(name), v, ast.Line), '\n')
}

// SetBool adds true or false.
func (l *lines) SetBool(name string, v bool) {
	*l = append(strconv.AppendBool(l.begin(name), v), '\n')
}

// rollup returns the sum of the accounts of a group and of all groups below it, and stores it, and
// the sum for each of these groups, in the map, by name.
func (s *standing) rollup(sums map[string]*account, g *group) *account {
	sum := s.own[slices.Index(s.tree.all, g)]
	sums[g.Name] = &sum
	for _, child := range g.children {
		c := s.rollup(sums, child)
		sum.Use.Slots += c.Use.Slots
		sum.Use.Weight += c.Use.Weight
		sum.away.Slots += c.away.Slots
		sum.away.Weight += c.away.Weight
		sum.Used += c.Used
		sum.Weighted += c.Weighted
		sum.Begin = min(sum.Begin, c.Begin)
		sum.Last = max(sum.Last, c.Last)
	}
	return &sum
}

// effective is the effective priority of one of the accounts.
func (s *standing) effective(r *account) float64 { return r.real(s.clock) * s.settings.factor(r) }

// List is a list of ads that does not change, each of which is made by At.
type List = interface {
	Len() int
	At(i int) *classad.ClassAd
}

// Accounts returns the Accounting ads, one per group and submitter: the answer to
// QUERY_ACCOUNTING_ADS. All who ask before something changes share one list.
func (a *Accountant) Accounts() List { return a.standing() }

// Ads returns all Accounting ads, for the collector.
func (a *Accountant) Ads() []*classad.ClassAd { return a.ads(false) }

// ActiveAds returns the ads that UPDATE_ACCOUNTING_AD sends to the collector: those of all groups,
// and of the submitters that use something or had waiting jobs at the last Divide.
func (a *Accountant) ActiveAds() []*classad.ClassAd { return a.ads(true) }

func (a *Accountant) ads(active bool) (ads []*classad.ClassAd) {
	s := a.standing()
	s.order()
	for i := range s.Len() {
		if at := i - len(s.groups); at < 0 || !active || s.submitters[at].active {
			ads = append(ads, s.At(i))
		}
	}
	return ads
}

// Len returns the number of groups and submitters.
func (s *standing) Len() int { return len(s.groups) + len(s.submitters) }

// At returns the Accounting ad of one of them; groups come first.
func (s *standing) At(i int) *classad.ClassAd {
	s.order()
	ad := classad.New()
	ad.SetString("MyType", "Accounting")
	ad.SetString("NegotiatorName", s.settings.NegotiatorName)
	ad.SetInt("LastUpdate", s.clock.Updated)
	if i >= len(s.groups) {
		s.describeSubmitter(ad, &s.submitters[i-len(s.groups)], "")
		return ad
	}
	r := &s.own[i]
	s.tree.describe(ad, s.groups[i], "", s.clock.Updated)
	describeUse(ad, r, "")
	ad.SetReal("Priority", s.effective(r))
	ad.SetReal("PriorityFactor", s.settings.factor(r))
	return ad
}

func (t *tree) describe(ad ad, g *group, suffix string, now int64) {
	above := g.Name
	if g.parent != nil {
		above = g.parent.Name
	}
	ad.SetString("Name"+suffix, g.Name)
	ad.SetBool("IsAccountingGroup"+suffix, true)
	ad.SetString("AccountingGroup"+suffix, above)
	ad.SetReal("ConfigQuota"+suffix, g.Quota)
	ad.SetReal("EffectiveQuota"+suffix, g.quota)
	ad.SetReal("SubtreeQuota"+suffix, g.subtreeQuota)
	ad.SetReal("GroupSortKey"+suffix, t.sortKey(g, now))
	ad.SetString("SurplusPolicy"+suffix, g.surplusPolicy())
	ad.SetReal("Requested"+suffix, g.requested)
}

func describeUse(ad ad, r *account, suffix string) {
	use := r.charged()
	ad.SetInt("ResourcesUsed"+suffix, int64(use.Slots))
	ad.SetReal("WeightedResourcesUsed"+suffix, use.Weight)
	ad.SetReal("AccumulatedUsage"+suffix, r.Used)
	ad.SetReal("WeightedAccumulatedUsage"+suffix, r.Weighted)
	ad.SetInt("BeginUsageTime"+suffix, r.Begin)
	ad.SetInt("LastUsageTime"+suffix, r.Last)
}

func (s *standing) describeSubmitter(ad ad, r *account, suffix string) {
	ad.SetString("Name"+suffix, r.name)
	ad.SetBool("IsAccountingGroup"+suffix, false)
	ad.SetString("AccountingGroup"+suffix, r.group.Name)
	describeUse(ad, r, suffix)
	ad.SetReal("Priority"+suffix, s.effective(r))
	ad.SetReal("PriorityFactor"+suffix, s.settings.factor(r))
	ad.SetInt("Ceiling"+suffix, r.Ceiling)
	ad.SetInt("Floor"+suffix, r.Floor)
	ad.SetReal("SubmitterShare"+suffix, r.share)
	ad.SetReal("SubmitterLimit"+suffix, r.limit)
}
