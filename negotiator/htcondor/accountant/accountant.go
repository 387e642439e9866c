package accountant

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// Accountant records what submitters and groups use and have used, and computes their priorities.
// It is safe for concurrent use.
type Accountant struct {
	mu       sync.Mutex
	file     *statefile.File
	settings Settings
	tree     *tree
	accounts map[string]*account
	clock    clock
	limits   map[string]float64 // how much of each concurrency limit was in use at the last Admit
	unread   error              // see Unread
}

// Use is what a submitter uses at an instant: the number of slots and their total slot weight
// (usually cpus).
type Use struct {
	Slots  int
	Weight float64
}

// account is the record of a submitter or, under the group's name, of an accounting group.
type account struct {
	name    string
	group   *group // the submitter's group, or the group itself; nil if the group is no longer configured
	isGroup bool
	changed bool // since it was last written
	// Real is the real priority, at least 0.5; Factor is 0 unless it was set.
	Real, Factor float64
	Use          Use     // as of the last update
	subtree      float64 // slot weight in use by a group and its subgroups
	// Used and Weighted are the accumulated usage, in slot seconds and in slot-weight seconds.
	// Begin and Last are the times of first and last use, as Unix times or 0.
	Used, Weighted float64
	Begin, Last    int64
	Ceiling, Floor int64
	// share is the submitter's fraction of what its group may use, limit the slot weight of that
	// fraction, and waiting says that it had waiting jobs, all as of the last Divide.
	share, limit float64
	waiting      bool
}

// clock is the state of the accounting's time.
type clock struct {
	Updated  int64   // Unix time
	Elapsed  int64   // seconds accounted for, over all updates
	HalfLife float64 // the half-life that priorities were aged with
}

// Open reads the accounting from a file, or starts a new one in it. An [*UnreadableError] says that
// the accounting there is no use.
func Open(file *statefile.File, s Settings) (*Accountant, error) {
	a := &Accountant{file: file, accounts: map[string]*account{}, clock: clock{HalfLife: s.HalfLife}}
	if err := a.load(); err != nil {
		return nil, err
	}
	return a, a.Configure(s)
}

// Configure replaces the settings, as after a reconfiguration. New quotas take effect at the next
// Divide. An error changes nothing.
func (a *Accountant) Configure(s Settings) error {
	t, err := newTree(s.Groups, s.GroupSort)
	if err != nil {
		return err
	}
	if !(s.HalfLife > 0) {
		return fmt.Errorf("PRIORITY_HALFLIFE = %v: must be more than 0", s.HalfLife)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settings, a.tree = s, t
	if s.HalfLife != a.clock.HalfLife { // entries in the file were aged with the old one
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

// Update ages all priorities to the time now, adds the usage since the last update, and records
// what each submitter uses from now on. A submitter that is missing in the map uses nothing. This
// is HTCondor's Accountant::UpdatePriorities (src/condor_negotiator.V6/Accountant.cpp):
//
//	β        = 0.5 ^ (seconds since the last update / half-life)
//	priority = max(0.5, priority × β + weight in use since then × (1 - β))
//	usage   += in use since then × seconds
//
// A group's priority follows the use of its whole subtree; its usage counts only its own
// submitters. Because β is exact for any interval, many short updates give the same result as one
// long update while the use stays the same. What a submitter uses counts only from the update that
// reports it, so call Update also when jobs start. Time is counted in whole seconds. If the clock
// was set back, no usage is charged for that interval and counting continues from the new time.
//
// Changed accounts are written in one transaction; accounts that use nothing are not written. If
// the write fails, Update returns the error and the next Update writes them again. A submitter with
// a bad name, or an impossible use, is left out and told in the error; all others are charged.
func (a *Accountant) Update(now time.Time, use map[string]Use) error {
	var out statefile.LeftOut
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
		if err := u.check(name); err != nil {
			out.Add(name, err)
			continue
		}
		r := a.account(name)
		r.Use, r.changed = u, r.changed || u != Use{}
		if u.Slots > 0 {
			r.Last = now.Unix() // condor_userprio shows how long ago that was
		}
	}
	a.sumGroups()
	unsaved, err := a.save()
	return errors.Join(out.Told("the account of what is used"), unsaved.Told("the accounting in "+a.file.Path()), err)
}

// check errs if nobody of this name can have this use.
func (u Use) check(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if u.Slots < 0 || !(u.Weight >= 0 && u.Weight <= maxValue) {
		return fmt.Errorf("%s uses %d slots of weight %v: must be at least 0", name, u.Slots, u.Weight)
	}
	return nil
}

// age advances the account to the Unix time now. passed is the number of seconds since the last
// update, beta the factor by which priorities decay in that time.
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

// sumGroups computes what each group uses from what its submitters use.
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
			own.subtree = g.used // HTCondor's <none> is not a parent of the other groups here
		}
		own.changed = own.changed || own.subtree > 0
	}
}

// account returns the record of that name and creates it if there is none.
func (a *Accountant) account(name string) *account {
	r := a.accounts[name]
	if r == nil {
		r = &account{name: name, Real: minPriority, Ceiling: -1}
		r.group, r.isGroup = a.tree.assigned(name)
		a.accounts[name] = r
	}
	return r
}

// sorted returns all accounts by name. The order is fixed because sums of floats depend on it.
func (a *Accountant) sorted() []*account {
	list := make([]*account, 0, len(a.accounts))
	for _, r := range a.accounts {
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y *account) int { return strings.Compare(x.name, y.name) })
	return list
}

// Priority returns the submitter's effective priority: its real priority times its factor. Lower is
// better.
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

// factor returns the priority factor that was set for the account, or else the one that its name
// and the settings imply.
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

// Divide computes the groups' quotas and the shares of groups and submitters. total is the slot
// weight of the whole pool; waiting is, for each submitter, the slot weight that its waiting jobs
// want in addition to what it uses. Quotas are 0 before the first call, so groups would get
// nothing: call it at the start of each cycle. A submitter with a bad name, or that waits for an
// impossible weight, is left out and told in the error; the others share the pool.
func (a *Accountant) Divide(total float64, waiting map[string]float64) error {
	if !(total >= 0 && total <= maxValue) {
		return fmt.Errorf("the pool's slots weigh %v: must be at least 0", total)
	}
	var out statefile.LeftOut
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.tree.all {
		g.requested = g.used
	}
	wants := maps.Clone(waiting)
	for name, weight := range waiting {
		if err := checkWish(name, weight); err != nil {
			out.Add(name, err)
			delete(wants, name)
			continue
		}
		a.account(name)
	}
	shares := map[*group]float64{}
	accounts := a.sorted()
	for _, r := range accounts {
		weight, waits := wants[r.name]
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
	return out.Told("the division of the pool")
}

// checkWish errs if nobody of this name can wait for slots of this weight.
func checkWish(name string, weight float64) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if !(weight >= 0 && weight <= maxValue) {
		return fmt.Errorf("%s waits for slots of weight %v: must be at least 0", name, weight)
	}
	return nil
}
