package accountant

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/concurrency"
)

// Lookup returns the value of a knob of the pool's configuration; ok is false if it is not set.
// Like HTCondor's own lookup, it must ignore the case of names.
type Lookup func(knob string) (value string, ok bool)

// Settings are the knobs of the accounting; [DefaultSettings] and [ParseSettings] return them.
type Settings struct {
	// HalfLife is PRIORITY_HALFLIFE in seconds: the time in which the real priority of a submitter
	// that uses nothing halves.
	HalfLife float64
	// DefaultFactor, NiceFactor and RemoteFactor are the priority factors of submitters for whom
	// none was set: NiceFactor for names that begin with nice-user, RemoteFactor for submitters
	// outside LocalDomain (if one is set), DefaultFactor for all others.
	DefaultFactor, NiceFactor, RemoteFactor float64
	LocalDomain                             string
	// NegotiatorName is the NegotiatorName attribute of Accounting ads.
	NegotiatorName string
	// Oversubscribe allows the quotas of subgroups to sum to more than their parent's.
	Oversubscribe bool
	Charging
	// LooseQuotas lets the subgroups of a group that accepts no surplus have together more than its
	// quota, each up to its own: NEGOTIATOR_STRICT_ENFORCE_QUOTA is not true.
	LooseQuotas bool
	// InTurn serves submitters one after the other, the best effective priority first, instead of
	// giving each its share: NEGOTIATOR_IGNORE_USER_PRIORITIES, as the stock negotiator heeds it.
	InTurn bool
	// GlobalPrios has the jobs of submitters with the same effective priority come in the order of
	// their JobPrio, if they are served InTurn: USE_GLOBAL_JOB_PRIOS.
	GlobalPrios bool
	// Groups are the accounting groups, in any order.
	Groups []Group
	// GroupSort is GROUP_SORT_EXPR: the group of the least value is served first, see [Share]; "":
	// groups share by use over quota, as by HTCondor's default.
	GroupSort string
	// Warnings list what was ignored because HTCondor ignores it too.
	Warnings []string
}

// Charging is what a job is charged with.
type Charging struct {
	// Unweighted charges each slot as one: NEGOTIATOR_USE_SLOT_WEIGHTS is not true.
	Unweighted bool
	// WithoutSuspended charges nothing for slots whose job is suspended:
	// NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES.
	WithoutSuspended bool
}

// Group is an accounting group.
type Group struct {
	// Name is the whole path, such as "physics.cms"; its parent must also be a group.
	Name string
	// Quota is a slot weight if Static; otherwise it is a fraction, from 0 to 1, of what the static
	// subgroups of the parent leave.
	Quota  float64
	Static bool
	// AcceptSurplus allows the group to exceed its quota when others leave theirs unused;
	// Autoregroup lets its submitters compete for that surplus with everybody else.
	AcceptSurplus, Autoregroup bool
	// Factor is the priority factor of its submitters; 0 means none.
	Factor float64
}

// rootGroup is the name of the group of submitters that belong to no group.
const rootGroup = "<none>"

// Bounds of the values that may be configured and set.
const (
	minPriority = 0.5 // the best real priority
	minFactor   = 1
	maxValue    = 1e30 // of priorities, factors and usage, so that products stay finite
	maxQuota    = math.MaxInt32
)

// DefaultSettings returns HTCondor's defaults.
func DefaultSettings() Settings {
	return Settings{HalfLife: 86400, DefaultFactor: 1000, NiceFactor: 1e10, RemoteFactor: 1e7, Oversubscribe: true}
}

// defaultSort is HTCondor's default of GROUP_SORT_EXPR, in lower case and without blanks.
const defaultSort = `ifthenelse(accountinggroup=?="<none>",3.4e+38,` +
	`ifthenelse(groupquota>0,groupresourcesinuse/groupquota,3.3e+38))`

// ParseSettings reads PRIORITY_HALFLIFE, DEFAULT_PRIO_FACTOR, NICE_USER_PRIO_FACTOR,
// REMOTE_PRIO_FACTOR, ACCOUNTANT_LOCAL_DOMAIN, NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION,
// NEGOTIATOR_USE_SLOT_WEIGHTS, NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES,
// NEGOTIATOR_STRICT_ENFORCE_QUOTA, NEGOTIATOR_IGNORE_USER_PRIORITIES, USE_GLOBAL_JOB_PRIOS,
// GROUP_NAMES, and for each group GROUP_QUOTA_g, GROUP_QUOTA_DYNAMIC_g, GROUP_ACCEPT_SURPLUS(_g),
// GROUP_AUTOREGROUP(_g) and GROUP_PRIO_FACTOR_g, and GROUP_SORT_EXPR. An error names the knob with
// the invalid value.
func ParseSettings(lookup Lookup) (Settings, error) {
	s, r := DefaultSettings(), reader{lookup: lookup}
	s.HalfLife = r.number("PRIORITY_HALFLIFE", s.HalfLife, 0.00001, maxValue)
	s.DefaultFactor = r.factor("DEFAULT_PRIO_FACTOR", s.DefaultFactor)
	s.NiceFactor = r.factor("NICE_USER_PRIO_FACTOR", s.NiceFactor)
	s.RemoteFactor = r.factor("REMOTE_PRIO_FACTOR", s.RemoteFactor)
	s.LocalDomain = r.text("ACCOUNTANT_LOCAL_DOMAIN")
	s.Oversubscribe = r.boolean("NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION", s.Oversubscribe)
	s.Unweighted = !r.boolean("NEGOTIATOR_USE_SLOT_WEIGHTS", true)
	s.WithoutSuspended = r.boolean("NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES", false)
	s.LooseQuotas = !r.boolean("NEGOTIATOR_STRICT_ENFORCE_QUOTA", true)
	s.InTurn = r.boolean("NEGOTIATOR_IGNORE_USER_PRIORITIES", false)
	s.GlobalPrios = r.boolean("USE_GLOBAL_JOB_PRIOS", false)
	surplus := r.boolean("GROUP_ACCEPT_SURPLUS", false)
	regroup := r.boolean("GROUP_AUTOREGROUP", false)
	for _, name := range r.groups() {
		g := Group{Name: name, Static: true, Quota: r.number("GROUP_QUOTA_"+name, -1, 0, maxQuota)}
		if g.Quota < 0 {
			g.Static, g.Quota = false, r.number("GROUP_QUOTA_DYNAMIC_"+name, -1, 0, 1)
		}
		if g.Quota < 0 {
			r.warn("neither GROUP_QUOTA_%s nor GROUP_QUOTA_DYNAMIC_%s is set: the quota of the group is 0", name, name)
			g.Quota = 0
		}
		g.AcceptSurplus = r.boolean("GROUP_ACCEPT_SURPLUS_"+name, surplus)
		g.Autoregroup = r.boolean("GROUP_AUTOREGROUP_"+name, regroup)
		g.Factor = r.factor("GROUP_PRIO_FACTOR_"+name, 0)
		s.Groups = append(s.Groups, g)
	}
	sort := r.text("GROUP_SORT_EXPR")
	if strings.ToLower(strings.Join(strings.Fields(sort), "")) != defaultSort {
		s.GroupSort = sort
	}
	if _, err := parseSort(s.GroupSort); err != nil {
		r.fail("GROUP_SORT_EXPR", sort, "an expression: "+err.Error())
	}
	s.Warnings = r.warnings
	return s, r.err
}

// reader reads knobs and keeps the first error.
type reader struct {
	lookup   Lookup
	warnings []string
	err      error
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

func (r *reader) fail(knob, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("configuration: %s = %s: must be %s", knob, value, want)
	}
}

func (r *reader) text(knob string) string {
	value, _ := r.lookup(knob)
	return strings.TrimSpace(value)
}

// number returns a knob's value, which may be an expression, or the number missing if the knob is
// not set or invalid. An invalid value is kept as the reader's error.
func (r *reader) number(knob string, missing, low, high float64) float64 {
	text := r.text(knob)
	if text == "" {
		return missing
	}
	v, ok := evaluate(text).Number()
	if !ok || !(v >= low && v <= high) {
		r.fail(knob, text, fmt.Sprintf("a number from %v to %v", low, high))
		return missing
	}
	return v
}

// factor returns a priority factor; like HTCondor it raises values below 1 to 1.
func (r *reader) factor(knob string, missing float64) float64 {
	v := r.number(knob, missing, 0, maxValue)
	if v != 0 && v < minFactor || v == 0 && missing != 0 {
		r.warn("%s = %v: the least priority factor is 1", knob, v)
		return minFactor
	}
	return v
}

func (r *reader) boolean(knob string, missing bool) bool {
	text := r.text(knob)
	switch strings.ToLower(text) {
	case "":
		return missing
	case "true", "t", "yes", "y", "1":
		return true
	case "false", "f", "no", "n", "0":
		return false
	}
	value := evaluate(text)
	if b, ok := value.Bool(); ok {
		return b
	}
	if n, ok := value.Number(); ok {
		return n != 0
	}
	r.fail(knob, text, "true or false")
	return missing
}

// groups returns the valid names of GROUP_NAMES, parents first.
func (r *reader) groups() (names []string) {
	known := map[string]bool{}
	listed := slices.DeleteFunc(words(r.text("GROUP_NAMES")), func(name string) bool {
		root := strings.ToLower(name) == rootGroup
		if root {
			r.warn("GROUP_NAMES: %s is the name of the group of those who are in none: ignored", name)
		}
		return root
	})
	slices.SortStableFunc(listed, compareNames)
	for _, name := range listed {
		lower := strings.ToLower(name)
		parent, _, nested := cutLast(name, '.')
		switch {
		case known[lower]:
			r.warn("GROUP_NAMES: %s is listed twice", name)
		case nested && !known[strings.ToLower(parent)]:
			r.warn("GROUP_NAMES: %s is ignored, because %s is no group", name, parent)
		case strings.HasSuffix(name, ".") || strings.Contains(name, "@"):
			r.fail("GROUP_NAMES", strconv.Quote(name),
				"names of groups, with dots between a group and its subgroup, and without @")
		default:
			known[lower] = true
			names = append(names, name)
		}
	}
	return names
}

// compareNames orders names ignoring case, with a group before its subgroups.
func compareNames(a, b string) int {
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}

// evaluate returns the value of an expression that refers to no attributes; it is undefined if the
// text cannot be parsed.
func evaluate(text string) classad.Value {
	e, err := classad.ParseExpr(text)
	if err != nil {
		return classad.Value{}
	}
	return e.Eval(classad.Scope{MaxSteps: classad.FewSteps})
}

// words splits a list at commas and white space, as HTCondor does.
func words(list string) []string {
	return strings.FieldsFunc(list, concurrency.IsBetweenWords)
}

// cutLast cuts s around the last sep; without one, before is all of s.
func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
