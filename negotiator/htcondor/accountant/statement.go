package accountant

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// Statement is all that an accounting holds at an instant. With it, usage and priorities move to
// another accounting, or to HTCondor's own.
type Statement struct {
	// Updated is when usage was charged and priorities were aged for the last time, as a Unix time; 0:
	// never.
	Updated int64
	Records []Record
}

// Record is what a [Statement] says of a submitter or, under the group's name, of an accounting
// group.
type Record struct {
	Name string
	// Real is the real priority as of Updated, and Factor the priority factor, 0 if none was set.
	Real, Factor float64
	// Use is what is in use since Updated, and Subtree the slot weight in use by a group and all
	// groups below it.
	Use     Use
	Subtree float64
	// Used and Weighted are the accumulated usage in slot seconds and slot-weight seconds. They may be
	// below 0 by what the next update charges too much.
	Used, Weighted float64
	// Begin and Last are the times of first and last use, as Unix times or 0.
	Begin, Last int64
	// Ceiling is the most slot weight that may be used, -1 if there is no such limit.
	Ceiling, Floor int64
	// Leases are the ceiling, floor and priority factor that are leased, see [LeasedCeiling]; nil if
	// none is.
	Leases  map[string]Lease
	IsGroup bool // filled in by [Accountant.Statement]
}

// valueRange is a value and what it may be.
type valueRange struct {
	what      string
	v         float64
	low, high float64
}

// check errs if no account can be like this.
func (r *Record) check() error {
	ranges := []valueRange{
		{"priority", r.Real, 0, maxValue},
		{"priority factor", r.Factor, 0, maxValue},
		{"accumulated usage", r.Used, -maxValue, maxValue},
		{"accumulated usage", r.Weighted, -maxValue, maxValue},
		{"begin of usage", float64(r.Begin), 0, math.MaxUint32},
		{"last usage", float64(r.Last), 0, math.MaxUint32},
		{"ceiling", float64(r.Ceiling), -1, math.MaxInt32},
		{"floor", float64(r.Floor), 0, math.MaxInt32},
	}
	leases := 0
	for _, what := range leasable {
		l, leased := r.Leases[what]
		if !leased {
			continue
		}
		leases++
		low, high := 0.0, float64(math.MaxInt32)
		switch what {
		case LeasedCeiling:
			low = -1
		case LeasedFactor:
			high = maxValue
		}
		ranges = append(ranges, valueRange{"end of a lease", float64(l.Until), 1, math.MaxUint32},
			valueRange{"former " + what, l.Before, low, high})
	}
	var wrong error
	if leases < len(r.Leases) {
		wrong = fmt.Errorf("leases %q: must be of %q", slices.Sorted(maps.Keys(r.Leases)), leasable)
	}
	for _, v := range ranges {
		if err := inRange(v.what, v.v, v.low, v.high); wrong == nil {
			wrong = err
		}
	}
	if wrong != nil {
		return fmt.Errorf("%s: %w", r.Name, wrong)
	}
	return nil
}

// Statement returns what all accounts hold that say something.
func (a *Accountant) Statement() Statement {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Statement{Updated: a.clock.Updated}
	for _, name := range slices.Sorted(maps.Keys(a.accounts)) {
		r := a.accounts[name]
		if r.Use == (Use{}) && a.blank(r) {
			continue
		}
		s.Records = append(s.Records, Record{
			Name: name, Real: r.real(a.clock), Factor: r.Factor, Use: r.Use, Subtree: r.subtree,
			Used: r.Used, Weighted: r.Weighted, Begin: r.Begin, Last: r.Last,
			Ceiling: r.Ceiling, Floor: r.Floor, Leases: a.leases(r), IsGroup: r.isGroup,
		})
	}
	return s
}

// leases returns the leases of an account, nil if it has none. As in HTCondor's own accounting, what
// the configuration gives is what was before the lease of a factor if none was set.
func (a *Accountant) leases(r *account) map[string]Lease {
	if len(r.leases) == 0 {
		return nil
	}
	all := maps.Clone(r.leases)
	if l, leased := all[LeasedFactor]; leased && l.Before == 0 {
		unset := *r
		unset.Factor = 0
		l.Before = a.settings.factor(&unset)
		all[LeasedFactor] = l
	}
	return all
}

// WithoutDefaults returns a statement in which a priority factor that the configuration gives
// anyway counts as not set, also where it was before a lease. HTCondor's own accounting writes one for everybody; here a new default
// reaches all.
func (a *Accountant) WithoutDefaults(s Statement) Statement {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.Records = slices.Clone(s.Records)
	for i := range s.Records {
		fresh := account{name: s.Records[i].Name}
		fresh.group, _ = a.tree.assigned(fresh.name)
		unset := func(factor float64) bool { return factor < minFactor || factor == a.settings.factor(&fresh) }
		l, leased := s.Records[i].Leases[LeasedFactor]
		if f := s.Records[i].Factor; f < minFactor || !leased && unset(f) {
			s.Records[i].Factor = 0
		}
		if leased && unset(l.Before) {
			l.Before = 0
			s.Records[i].Leases = maps.Clone(s.Records[i].Leases)
			s.Records[i].Leases[LeasedFactor] = l
		}
	}
	return s
}

// Adopt has the accounting hold what a statement says and nothing else, and writes it. Accounts
// that say nothing are not kept, nor are those beyond the limits of a past that hold for all.
// leftOut tells of records that no account can be like; all others are kept.
func (a *Accountant) Adopt(s Statement) (leftOut, err error) {
	s = a.WithoutDefaults(s)
	var out statefile.LeftOut
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.asked.outdate()
	for name, r := range a.accounts {
		if r.stored {
			a.gone[name] = true
		}
	}
	clear(a.accounts)
	a.active, a.dirty, a.leased = nil, nil, nil
	a.clock.Updated = s.Updated
	var taken []Record
	for _, rec := range s.Records {
		wrong := rec.Use.check(rec.Name)
		if wrong == nil {
			wrong = rec.check()
		}
		if wrong != nil {
			out.Add(rec.Name, wrong)
			continue
		}
		r := a.account(rec.Name)
		r.Real, r.Factor, r.Use = max(minPriority, rec.Real), rec.Factor, rec.Use
		r.Used, r.Weighted, r.Begin, r.Last = rec.Used, rec.Weighted, rec.Begin, rec.Last
		r.Ceiling, r.Floor = rec.Ceiling, rec.Floor
		if len(rec.Leases) > 0 {
			r.leases, a.leased = maps.Clone(rec.Leases), append(a.leased, r)
		}
		if r.isGroup {
			r.Use = Use{} // it is the sum of what its submitters use
		}
		a.touch(r)
		taken = append(taken, rec)
	}
	a.regroup()
	kept := 0 // of those that may be forgotten, the ones that have used most
	for _, r := range a.accounts {
		if !r.stays() {
			kept++
		}
	}
	for _, rec := range taken {
		if a.accounts[rec.Name] == nil && (rec.Used > 0 || rec.Weighted > 0) {
			out.Add(rec.Name, fmt.Errorf("%s has used not more than %d others", rec.Name, kept))
		}
	}
	unsaved, err := a.write()
	return errors.Join(out.Told("the accounting"), unsaved.Told("the accounting")), err
}

// Tolerances of [Statement.Lacks]: HTCondor's own accounting rounds what it writes.
const (
	usageSlack = 1 // slot seconds
	usageShare = 1e-9
)

// Lacks returns the names in another statement that have used more there than here, or have
// settings there and are not here: what would be lost if this statement took the other's place.
func (s Statement) Lacks(other Statement) (names []string) {
	here := map[string]Record{}
	for _, r := range s.Records {
		here[r.Name] = r
	}
	more := func(there, here float64) bool { return there > here+usageSlack+math.Abs(here)*usageShare }
	for _, r := range other.Records {
		mine, known := here[r.Name]
		set := r.Factor != 0 || r.Ceiling >= 0 || r.Floor > 0 || len(r.Leases) > 0
		if !known && set || more(r.Used, mine.Used) || more(r.Weighted, mine.Weighted) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}
