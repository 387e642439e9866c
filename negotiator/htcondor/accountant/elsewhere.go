package accountant

import (
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// Several negotiators of a pool, each with slots of its own, order their queues by the same priorities
// if one keeps the accounts of all of them, the ledger: it charges what submitters use of the others'
// slots, too, and the others follow it. Quotas, shares and limits stay those of each one's own slots.

// Standard is the priority of a submitter or group, as the negotiator that keeps the accounts tells it.
type Standard struct {
	Name         string
	Real, Factor float64
}

// ReadStandard reads an Accounting ad; false: nothing can be made of it.
func ReadStandard(ad *classad.ClassAd) (s Standard, ok bool) {
	s.Name, ok = ad.Literal("Name").Text()
	effective, told := ad.Literal("Priority").Number()
	factor, known := ad.Literal("PriorityFactor").Number()
	if !ok || !told || !known || !(factor > 0) {
		return s, false
	}
	s.Real, s.Factor = effective/factor, factor
	return s, s.Real <= maxValue && CheckName(s.Name) == nil
}

// ReadUse reads what an Accounting ad says that a submitter uses; false: nothing, or it is a group's.
func ReadUse(ad *classad.ClassAd) (name string, u Use, ok bool) {
	name, ok = ad.Literal("Name").Text()
	isGroup, _ := ad.Literal("IsAccountingGroup").Bool()
	slots, told := ad.Literal("ResourcesUsed").Int()
	u.Slots = int(slots)
	u.Weight, _ = ad.Literal("WeightedResourcesUsed").Number()
	ok = ok && !isGroup && told && u != (Use{}) && u.check(name) == nil
	return name, u, ok
}

// Follow has the next Update end with the priorities and factors of another accounting. After it they age with
// what is used here until Follow is called again, so that whoever keeps the accounts may be away for a while.
// What an administrator has set here, as a factor, is lost.
func (a *Accountant) Follow(standards []Standard) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.standards = standards
}

// ChargeElsewhere has the next Update and those after it also charge what submitters use of slots that others
// give away. Shares, quotas and limits leave it out.
func (a *Accountant) ChargeElsewhere(use map[string]Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.elsewhere = use
}

// follow takes over what Follow was given. The accountant must be locked, and all accounts aged until now.
func (a *Accountant) follow() error {
	var out statefile.LeftOut
	for _, s := range a.standards {
		r := a.accounts[s.Name]
		if r == nil && s.Real <= minPriority && s.Factor == a.factorOf(s.Name) {
			continue // as a new account is
		}
		if err := CheckName(s.Name); err != nil {
			out.Add(s.Name, err)
			continue
		}
		r = a.account(s.Name)
		r.settle(a.clock)
		r.Real, r.Factor = max(minPriority, s.Real), 0
		if a.settings.factor(r) != s.Factor {
			r.Factor = max(minFactor, s.Factor)
		}
		a.touch(r)
	}
	a.standards = nil
	return out.Told("the priorities of another accounting")
}

// factorOf is the factor of a new account.
func (a *Accountant) factorOf(name string) float64 {
	fresh := account{name: name}
	fresh.group, fresh.isGroup = a.tree.assigned(name)
	return a.settings.factor(&fresh)
}

// enterElsewhere notes what is used elsewhere from now on.
func (a *Accountant) enterElsewhere() error {
	var out statefile.LeftOut
	for name, u := range a.elsewhere {
		if err := u.check(name); err != nil {
			out.Add(name, err)
			continue
		}
		if r := a.account(name); u != (Use{}) && !r.isGroup {
			a.enter(r)
			a.touch(r)
			r.away = u
		}
	}
	return out.Told("the account of what is used elsewhere")
}

// charged is all that an account is charged for: what it uses here and elsewhere.
func (r *account) charged() Use { return Use{r.Use.Slots + r.away.Slots, r.Use.Weight + r.away.Weight} }
