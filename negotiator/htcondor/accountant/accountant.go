package accountant

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.etcd.io/bbolt"
)

// Accountant knows what submitters and groups use, have used, and what priority
// that gives them. It may be used by several goroutines.
type Accountant struct {
	mu       sync.Mutex
	db       *bbolt.DB
	settings Settings
	tree     *tree
	accounts map[string]*account
	clock    clock
	limits   map[string]float64 // concurrency limits in use, as the last Admit saw them
}

// Use is what a submitter uses at an instant: slots, and their weight (cpus, as
// a rule).
type Use struct {
	Slots  int
	Weight float64
}

// account is the record of a submitter or, under its name, of a group.
type account struct {
	name    string
	group   *group // it is in, or is; nil for what was a group once
	isGroup bool
	changed bool // since it was written
	// Real is the real priority, at least 0.5; Factor is 0 unless it was set.
	Real, Factor float64
	Use          Use     // as of the last update
	subtree      float64 // in use by a group with its subgroups
	// Used and Weighted are what was used in all, in slot seconds and in seconds of
	// slot weight; Begin and Last when first and last, as Unix times or 0.
	Used, Weighted float64
	Begin, Last    int64
	Ceiling, Floor int64
	// share of its group and limit in slot weight, as of the last Divide.
	share, limit float64
	waiting      bool
}

// clock is where the accounting stands.
type clock struct {
	Updated  int64   // Unix time
	Elapsed  int64   // seconds that were accounted for, over all updates
	HalfLife float64 // that priorities were aged with
}

// Open reads the accounting from a database that [OpenFile] opened, or begins a
// new one in it.
func Open(db *bbolt.DB, s Settings) (*Accountant, error) {
	a := &Accountant{db: db, accounts: map[string]*account{}, clock: clock{HalfLife: s.HalfLife}}
	if err := a.load(); err != nil {
		return nil, err
	}
	return a, a.Configure(s)
}

// Configure gives the accountant other settings, as after a reconfiguration. The
// quotas are those of the settings after the next Divide.
func (a *Accountant) Configure(s Settings) error {
	t, err := newTree(s.Groups)
	if err != nil {
		return err
	}
	if !(s.HalfLife > 0) {
		return fmt.Errorf("PRIORITY_HALFLIFE = %v: must be more than 0", s.HalfLife)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settings, a.tree = s, t
	if s.HalfLife != a.clock.HalfLife { // what lies in the file was aged with the old one
		a.clock.HalfLife = s.HalfLife
		for _, r := range a.accounts {
			r.changed = true
		}
	}
	for _, r := range a.accounts {
		r.group, r.isGroup = t.assigned(r.name)
		r.subtree = 0
	}
	for _, g := range t.all {
		a.account(g.Name)
	}
	a.sumGroups()
	return nil
}

// Update ages the priorities to now and adds what was used since the last
// update, then notes what is in use from now on: use, by submitter; who is not
// named uses nothing. It is HTCondor's Accountant::UpdatePriorities
// (src/condor_negotiator.V6/Accountant.cpp):
//
//	β        = 0.5 ^ (seconds since the last update / half-life)
//	priority = max(0.5, priority × β + weight in use since then × (1 - β))
//	usage   += in use since then × seconds
//
// A group's priority follows what its subtree uses, its usage what its own
// submitters use. Because β is exact for any interval, many short ones and a
// long one come to the same as long as the use is; a new use counts from the
// update that names it, so call Update when jobs start, too. Seconds are whole.
// A clock that was set back costs nobody anything: the time is noted and counting
// goes on from there.
//
// What changed is written in one transaction; who uses nothing is not written. If
// that fails the error says so, and the next update writes it again.
func (a *Accountant) Update(now time.Time, use map[string]Use) error {
	for name, u := range use {
		if err := checkName(name); err != nil {
			return err
		}
		if u.Slots < 0 || !(u.Weight >= 0 && u.Weight <= maxValue) {
			return fmt.Errorf("submitter %s uses %d slots of weight %v: must be at least 0", name, u.Slots, u.Weight)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	passed := int64(0)
	if a.clock.Updated != 0 {
		passed = max(0, now.Unix()-a.clock.Updated)
	}
	a.clock.Updated = now.Unix()
	a.clock.Elapsed += passed
	beta := math.Exp2(-float64(passed) / a.clock.HalfLife)
	for _, r := range a.accounts {
		r.age(passed, beta, now.Unix())
		if r.Use != (Use{}) {
			r.Use, r.changed = Use{}, true
		}
	}
	for name, u := range use {
		r := a.account(name)
		r.Use, r.changed = u, r.changed || u != Use{}
		if u.Slots > 0 {
			r.Last = now.Unix() // condor_userprio says how long ago that was
		}
	}
	a.sumGroups()
	return a.save()
}

// age brings the account to now, which is so many seconds after the last update.
func (r *account) age(passed int64, beta float64, now int64) {
	if passed == 0 {
		return
	}
	weight := r.Use.Weight
	if r.isGroup {
		weight = r.subtree
	}
	r.Real = max(minPriority, r.Real*beta+weight*(1-beta))
	if r.Use == (Use{}) && weight == 0 {
		return
	}
	r.changed = true
	r.Used += float64(r.Use.Slots) * float64(passed)
	r.Weighted += r.Use.Weight * float64(passed)
	if r.Used > 0 && r.Begin == 0 {
		r.Begin = now
	}
	if r.Use.Slots > 0 {
		r.Last = now
	}
}

// sumGroups makes the groups' use of that of their submitters.
func (a *Accountant) sumGroups() {
	for _, g := range a.tree.all {
		g.used, g.subtreeUsed = 0, 0
		own := a.account(g.Name)
		own.Use, own.subtree = Use{}, 0
	}
	for _, r := range a.sorted() {
		if r.isGroup || r.Use == (Use{}) {
			continue
		}
		own := a.account(r.group.Name)
		own.changed = true
		own.Use.Slots += r.Use.Slots
		own.Use.Weight += r.Use.Weight
		r.group.used += r.Use.Weight
		for g := r.group; g != nil; g = g.parent {
			g.subtreeUsed += r.Use.Weight
		}
	}
	for _, g := range a.tree.all {
		own := a.account(g.Name)
		own.subtree = g.subtreeUsed
		if g.parent == nil {
			own.subtree = g.used // HTCondor's <none> is above no group here
		}
		own.changed = own.changed || own.subtree > 0
	}
}

// account is the record of that name, a new one if there is none.
func (a *Accountant) account(name string) *account {
	r := a.accounts[name]
	if r == nil {
		r = &account{name: name, Real: minPriority, Ceiling: -1}
		r.group, r.isGroup = a.tree.assigned(name)
		a.accounts[name] = r
	}
	return r
}

// sorted is all accounts by name: sums of floats depend on the order.
func (a *Accountant) sorted() []*account {
	list := make([]*account, 0, len(a.accounts))
	for _, r := range a.accounts {
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y *account) int { return strings.Compare(x.name, y.name) })
	return list
}

// Priority is the submitter's effective priority: its real priority times its
// factor. Lower is better.
func (a *Accountant) Priority(submitter string) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.effective(submitter)
}

func (a *Accountant) effective(name string) float64 {
	if r := a.accounts[name]; r != nil {
		return r.Real * a.factor(r)
	}
	fresh := account{name: name}
	fresh.group, _ = a.tree.assigned(name)
	return minPriority * a.factor(&fresh)
}

// factor is what was set, or else follows from the name and the settings.
func (a *Accountant) factor(r *account) float64 {
	_, domain, _ := cutLast(r.name, '@')
	switch {
	case r.Factor >= minFactor:
		return r.Factor
	case strings.HasPrefix(r.name, "nice-user"):
		return a.settings.NiceFactor
	case r.group != nil && r.group.Factor > 0:
		return r.group.Factor
	case a.settings.LocalDomain != "" && a.settings.LocalDomain != domain:
		return a.settings.RemoteFactor
	}
	return a.settings.DefaultFactor
}

// Divide computes, for the pool's slots of that weight in all, the groups'
// quotas and what each group and submitter is due, given the weight that each
// submitter's jobs wait for beside what it uses. Quotas are 0 before the first
// call, so that groups get nothing: call it as each cycle opens.
func (a *Accountant) Divide(total float64, waiting map[string]float64) error {
	if !(total >= 0 && total <= maxValue) {
		return fmt.Errorf("the pool's slots weigh %v: must be at least 0", total)
	}
	for name, weight := range waiting {
		if err := checkName(name); err != nil {
			return err
		}
		if !(weight >= 0 && weight <= maxValue) {
			return fmt.Errorf("submitter %s waits for slots of weight %v: must be at least 0", name, weight)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.tree.all {
		g.requested = g.used
	}
	for name := range waiting {
		a.account(name)
	}
	shares := map[*group]float64{}
	accounts := a.sorted()
	for _, r := range accounts {
		weight, waits := waiting[r.name]
		r.waiting, r.share, r.limit = waits, 0, 0
		if !r.isGroup {
			r.group.requested += weight
			if waits || r.Use.Slots > 0 {
				shares[r.group] += 1 / a.effective(r.name)
			}
		}
	}
	a.tree.root.assign(total, a.settings.Oversubscribe)
	a.tree.root.grant()
	for _, r := range accounts {
		if !r.isGroup && (r.waiting || r.Use.Slots > 0) {
			r.share = 1 / a.effective(r.name) / shares[r.group]
			r.limit = r.share * r.group.limit()
		}
	}
	return nil
}

// checkName refuses what cannot be a submitter's or group's name.
func checkName(name string) error {
	if name == "" || len(name) > 4096 || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%.100q is no name of a submitter: it must not be empty nor have blanks", name)
	}
	return nil
}
