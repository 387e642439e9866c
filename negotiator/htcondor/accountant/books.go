package accountant

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// mostPast is how many accounts are kept that are nothing but the past of their submitters: of those
// that use nothing, wait for nothing, and have no settings. Whoever has used least is forgotten first,
// so that names which somebody invents do not push out those who work. The names of all may have
// mostNames bytes together.
const (
	mostPast  = 20_000
	mostNames = 4 << 20
)

// pruneEvery is after how many seconds accounts are looked over at the latest.
const pruneEvery = 86400

// books are the accounts, by name. A cycle looks only at those that are active.
type books struct {
	accounts map[string]*account
	most     int        // how many there were since the map was made
	active   []*account // those that use something or had waiting jobs at the last Divide, by name
	dirty    []*account // those that are to be written
	gone     map[string]bool
	leased   []*account // those with leases, some of which may be over
	// past and pruned are how many accounts were not active after the last prune, and when on the
	// accounting's clock that was.
	past   int
	pruned int64
}

func newBooks() books { return books{accounts: map[string]*account{}, gone: map[string]bool{}} }

// account returns the record of that name and creates it if there is none.
func (a *Accountant) account(name string) *account {
	r := a.accounts[name]
	if r == nil {
		r = &account{name: name, Real: minPriority, aged: a.clock.Elapsed, Ceiling: -1}
		r.group, r.isGroup = a.tree.assigned(name)
		r.stored = a.gone[name]
		delete(a.gone, name)
		a.accounts[name] = r
		a.most = max(a.most, len(a.accounts))
	}
	return r
}

// touch has the account written by the next save.
func (b *books) touch(r *account) {
	if !r.changed {
		r.changed = true
		b.dirty = append(b.dirty, r)
	}
}

// real returns the real priority of an account that has used nothing since it was aged.
func (r *account) real(c clock) float64 {
	if idle := c.Elapsed - r.aged; idle > 0 {
		return max(minPriority, r.Real*math.Exp2(-float64(idle)/c.HalfLife))
	}
	return r.Real
}

// settle ages an account that has used nothing since it was aged.
func (r *account) settle(c clock) { r.Real, r.aged = r.real(c), max(r.aged, c.Elapsed) }

// enter makes an account active. It must have used nothing until now.
func (a *Accountant) enter(r *account) {
	if r.active {
		return
	}
	r.settle(a.clock)
	r.active = true
	a.active = append(a.active, r)
}

// leave ends the activity of all accounts that neither use something nor wait, and forgets those
// that leave nothing behind. The others are then by name: sums of floats depend on their order.
func (a *Accountant) leave() {
	a.active = slices.DeleteFunc(a.active, func(r *account) bool {
		r.active = r.waiting || r.charged() != (Use{})
		if !r.active && a.blank(r) {
			a.forget(r)
		}
		return !r.active
	})
	byName := func(x, y *account) int { return strings.Compare(x.name, y.name) }
	if !slices.IsSortedFunc(a.active, byName) {
		slices.SortFunc(a.active, byName)
	}
	if cap(a.active) > 1024 && len(a.active) < cap(a.active)/4 {
		a.active = slices.Clone(a.active)
	}
	idle := len(a.accounts) - len(a.active)
	if idle > a.past+mostPast/8 || a.clock.Elapsed-a.pruned > pruneEvery {
		a.prune()
	}
	if a.most > 1024 && len(a.accounts) < a.most/4 { // a map keeps the room that it once needed
		few := make(map[string]*account, len(a.accounts))
		maps.Copy(few, a.accounts)
		a.accounts, a.most = few, len(few)
	}
}

// blank tells whether an account that is not active says nothing that a new one would not say.
func (a *Accountant) blank(r *account) bool {
	return !r.isSet() && !r.isConfigured() && r.Used == 0 && r.Weighted == 0 && r.Begin == 0 && r.Last == 0 &&
		r.real(a.clock) <= minPriority
}

// isSet tells whether an administrator has set something that holds until it is set again.
func (r *account) isSet() bool {
	return r.Factor != 0 || r.Ceiling >= 0 || r.Floor > 0 || r.leases != nil
}

// stays tells whether the account is never forgotten as it is.
func (r *account) stays() bool { return r.active || r.isSet() || r.isConfigured() }

// isConfigured tells whether the account is that of a group.
func (r *account) isConfigured() bool { return r.isGroup && r.group != nil }

// prune forgets accounts that are blank, which they become as they age, and those that have used
// least if too many are nothing but the past.
func (a *Accountant) prune() {
	var past []*account
	bytes := 0
	for _, r := range a.accounts {
		switch {
		case r.stays():
		case a.blank(r):
			a.forget(r)
		default:
			past, bytes = append(past, r), bytes+len(r.name)
		}
	}
	if len(past) > mostPast || bytes > mostNames {
		slices.SortFunc(past, func(x, y *account) int {
			return cmp.Or(cmp.Compare(x.Weighted, y.Weighted), cmp.Compare(x.real(a.clock), y.real(a.clock)),
				strings.Compare(x.name, y.name))
		})
		for i, r := range past {
			if len(past)-i <= mostPast && bytes <= mostNames {
				break
			}
			bytes -= len(r.name)
			a.forget(r)
		}
	}
	a.past, a.pruned = len(a.accounts)-len(a.active), a.clock.Elapsed
}

// forget removes an account that is not active. The next save removes it from the file.
func (a *Accountant) forget(r *account) {
	delete(a.accounts, r.name)
	if r.stored {
		a.gone[r.name] = true
	}
}
