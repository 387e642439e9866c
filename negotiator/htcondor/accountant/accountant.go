package accountant

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// Accountant records what submitters and groups use and have used, and computes their priorities.
// It is safe for concurrent use.
type Accountant struct {
	mu       sync.Mutex
	file     *statefile.File // nil: nothing is written
	settings Settings
	tree     *tree
	books
	clock  clock
	limits []LimitUse // of all concurrency limits that jobs named at the last [Bounds.Close], by name
	unread error      // see Unread

	standards []Standard     // to be taken over by the next Update
	elsewhere map[string]Use // to be charged besides, see ChargeElsewhere

	asked answers
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
	stored  bool // the file has it, or may have it
	active  bool // it is in the list of those that use something or wait
	// Real is the real priority, at least 0.5, as of the instant aged on the accounting's clock.
	// Factor is 0 unless it was set.
	Real, Factor float64
	aged         int64
	Use          Use     // as of the last update
	away         Use     // what it uses besides, of slots that others give away, as of then
	subtree      float64 // slot weight in use by a group and its subgroups, and that used elsewhere
	// Used and Weighted are the accumulated usage, in slot seconds and in slot-weight seconds.
	// Begin and Last are the times of first and last use, as Unix times or 0.
	Used, Weighted float64
	Begin, Last    int64
	Ceiling, Floor int64
	leases         map[string]Lease // nil: none
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
	a := &Accountant{file: file, books: newBooks(), clock: clock{HalfLife: s.HalfLife}}
	if err := a.load(); err != nil {
		return nil, err
	}
	return a, a.Configure(s)
}

// New starts an accounting that no file keeps, as that of a simulated pool.
func New(s Settings) (*Accountant, error) {
	a := &Accountant{books: newBooks(), clock: clock{HalfLife: s.HalfLife}}
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
	defer a.asked.outdate()
	if s.HalfLife != a.clock.HalfLife { // until now accounts have aged with the old one
		for _, r := range a.accounts {
			r.settle(a.clock)
			a.touch(r)
		}
		a.clock.HalfLife = s.HalfLife
	}
	a.settings, a.tree = s, t
	a.regroup()
	return nil
}

// regroup assigns all accounts to the groups that are configured, and sums up what groups use.
func (a *Accountant) regroup() {
	for _, r := range a.accounts {
		r.group, r.isGroup = a.tree.assigned(r.name)
		r.subtree = 0
		if r.Use != (Use{}) && !r.active && !r.isConfigured() { // as after a start
			r.active = true
			a.active = append(a.active, r)
		}
	}
	a.leave()
	for _, g := range a.tree.all {
		a.account(g.Name)
	}
	a.sumGroups()
	a.prune()
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
// An account that uses nothing costs nothing here: it ages when it is read. Changed accounts are
// written in one transaction. If the write fails, Update returns the error and the next Update
// writes them again. A submitter with a bad name, or an impossible use, is left out and told in the
// error; all others are charged.
func (a *Accountant) Update(now time.Time, use map[string]Use) error {
	var out statefile.LeftOut
	a.mu.Lock()
	defer a.mu.Unlock()
	passed := int64(0)
	if a.clock.Updated != 0 {
		passed = max(0, now.Unix()-a.clock.Updated)
	}
	defer a.asked.outdate()
	a.clock.Updated = now.Unix()
	a.clock.Elapsed += passed
	a.endLeases(now)
	end := func(r *account) {
		a.age(r, passed)
		if r.Use != (Use{}) {
			r.Use = Use{}
			a.touch(r)
		}
		r.away = Use{}
	}
	for _, g := range a.tree.all {
		end(a.account(g.Name))
	}
	for _, r := range a.active {
		end(r)
	}
	for name, u := range use {
		if err := u.check(name); err != nil {
			out.Add(name, err)
			continue
		}
		if u == (Use{}) {
			continue
		}
		r := a.account(name)
		a.enter(r)
		a.touch(r)
		r.Use = u
		if u.Slots > 0 {
			r.Last = now.Unix() // condor_userprio shows how long ago that was
		}
	}
	unfit := a.enterElsewhere()
	a.leave()
	a.sumGroups()
	unfit = errors.Join(out.Told("the account of what is used"), unfit, a.follow())
	return errors.Join(unfit, a.save())
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

// age advances an account that may use something to the time of the clock. passed is the number of
// seconds since the last update.
func (a *Accountant) age(r *account, passed int64) {
	idle := a.clock.Elapsed - r.aged
	if idle <= 0 {
		return
	}
	use := r.charged()
	weight := use.Weight
	if r.isGroup {
		weight = r.subtree
	}
	if use == (Use{}) && weight == 0 {
		r.settle(a.clock)
		return
	}
	beta, now := math.Exp2(-float64(idle)/a.clock.HalfLife), a.clock.Updated
	r.Real, r.aged = max(minPriority, r.Real*beta+weight*(1-beta)), a.clock.Elapsed
	a.touch(r)
	r.Used += float64(use.Slots) * float64(passed)
	r.Weighted += use.Weight * float64(passed)
	if r.Used > 0 && r.Begin == 0 {
		r.Begin = now
	}
	if use.Slots > 0 {
		r.Last = now
	}
}

// sumGroups computes what each group uses from what its submitters use.
func (a *Accountant) sumGroups() {
	for _, g := range a.tree.all {
		g.used, g.subtreeUsed = 0, 0
		own := a.account(g.Name)
		own.settle(a.clock)
		own.Use, own.away, own.subtree = Use{}, Use{}, 0
	}
	for _, r := range a.active {
		if r.isGroup || r.charged() == (Use{}) {
			continue
		}
		own := a.account(r.group.Name)
		a.touch(own)
		own.Use.Slots += r.Use.Slots
		own.Use.Weight += r.Use.Weight
		own.away.Slots += r.away.Slots
		own.away.Weight += r.away.Weight
		for g := r.group; g != nil; g = g.parent {
			if g == r.group || g.parent != nil { // HTCondor's <none> is not a parent of the other groups here
				a.account(g.Name).subtree += r.away.Weight
			}
		}
		r.group.used += r.Use.Weight
		for g := r.group; g != nil; g = g.parent {
			g.subtreeUsed += r.Use.Weight
		}
	}
	for _, g := range a.tree.all {
		own := a.account(g.Name)
		if g.parent == nil {
			own.subtree += g.used
		} else {
			own.subtree += g.subtreeUsed
		}
		if own.subtree > 0 {
			a.touch(own)
		}
	}
}

// Charging returns what jobs are to be charged with.
func (a *Accountant) Charging() Charging {
	if a == nil {
		return Charging{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.settings.Charging
}

// Priority returns the submitter's effective priority: its real priority times its factor. Lower is
// better.
func (a *Accountant) Priority(submitter string) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.effective(submitter)
}

// groupOf returns the group of a submitter, as [tree.assigned] does, given its account; nil if there is
// none.
func (a *Accountant) groupOf(r *account, name string) (g *group, isGroup bool) {
	if r != nil {
		return r.group, r.isGroup
	}
	return a.tree.assigned(name)
}

func (a *Accountant) effective(name string) float64 {
	if r := a.accounts[name]; r != nil {
		return r.real(a.clock) * a.settings.factor(r)
	}
	fresh := account{name: name}
	fresh.group, _ = a.tree.assigned(name)
	return minPriority * a.settings.factor(&fresh)
}

// factor returns the priority factor that was set for the account, or else the one that its name
// and the settings imply.
func (s *Settings) factor(r *account) float64 {
	_, domain, _ := cutLast(r.name, '@')
	switch {
	case r.Factor >= minFactor:
		return r.Factor
	case strings.HasPrefix(r.name, "nice-user"):
		return s.NiceFactor
	case r.group != nil && r.group.Factor > 0:
		return r.group.Factor
	case s.LocalDomain != "" && s.LocalDomain != domain:
		return s.RemoteFactor
	}
	return s.DefaultFactor
}

// Divide computes the groups' quotas and the shares of groups and submitters. total is the slot
// weight of the whole pool; waiting is, for each submitter, the slot weight that its waiting jobs
// want in addition to what it uses. Quotas are 0 before the first call, so groups would get
// nothing: call it at the start of each cycle. A submitter that only waits has an account until it
// waits no more, and then leaves nothing behind. A submitter with a bad name, or that waits for an
// impossible weight, is left out and told in the error; the others share the pool.
func (a *Accountant) Divide(total float64, waiting map[string]float64) error {
	if !(total >= 0 && total <= maxValue) {
		return fmt.Errorf("the pool's slots weigh %v: must be at least 0", total)
	}
	var out statefile.LeftOut
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.asked.outdate()
	for _, g := range a.tree.all {
		g.requested = g.used
	}
	for _, r := range a.active {
		r.waiting, r.share, r.limit = false, 0, 0
	}
	for name, weight := range waiting {
		if err := checkWish(name, weight); err != nil {
			out.Add(name, err)
			continue
		}
		r := a.account(name)
		a.enter(r)
		r.waiting = true
	}
	a.leave()
	shares := map[*group]float64{}
	for _, r := range a.active {
		if !r.isGroup {
			if r.waiting {
				r.group.requested += waiting[r.name]
			}
			if r.waiting || r.Use.Slots > 0 {
				shares[r.group] += 1 / a.effective(r.name)
			}
		}
	}
	a.tree.root.assign(total, a.settings.Oversubscribe)
	a.tree.root.grant()
	for _, r := range a.active {
		if !r.isGroup && (r.waiting || r.Use.Slots > 0) {
			r.share = 1 / a.effective(r.name) / shares[r.group]
			r.limit = r.share * r.group.limit(a.settings.LooseQuotas)
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
