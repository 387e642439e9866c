package accountant

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// What can be leased, that is set for a time, as by condor_userprio since HTCondor 25.11: a
// submitter's ceiling, floor or priority factor. When the lease ends, what was set before holds
// again.
const (
	LeasedCeiling = "ceiling"
	LeasedFloor   = "floor"
	LeasedFactor  = "priority-factor"
)

// leasable are all of them.
var leasable = [...]string{LeasedCeiling, LeasedFloor, LeasedFactor}

// Lease is a value of an account that was set for a time: until a Unix time, and what was there
// before. A factor that was not set is 0.
type Lease struct {
	Until  int64
	Before float64
}

// Lease sets a submitter's ceiling, floor or priority factor for some seconds. It errs, and changes
// nothing, if there is such a lease already, or the value is out of range.
func (a *Accountant) Lease(now time.Time, what string, submitter string, value float64, seconds int64) error {
	low, high := 0.0, float64(math.MaxInt32)
	switch what {
	case LeasedCeiling:
		low = -1
	case LeasedFactor:
		low, high = minFactor, maxValue
	case LeasedFloor:
	default:
		return fmt.Errorf("nobody can lease %q", what)
	}
	if seconds <= 0 || seconds > math.MaxInt32 {
		return errors.New("lease duration must be positive, in seconds")
	}
	if err := inRange(what, value, low, high); err != nil {
		return err
	}
	a.mu.Lock()
	a.endLeases(now)
	r := a.accounts[submitter]
	if r != nil && r.leases[what].Until > 0 {
		defer a.mu.Unlock()
		return fmt.Errorf("%s lease for %s is already in effect (expires at %d)", what, submitter, r.leases[what].Until)
	}
	a.mu.Unlock()
	return a.set(submitter, func(r *account) {
		if r.leases == nil {
			r.leases = map[string]Lease{}
			a.leased = append(a.leased, r)
		}
		r.leases[what] = Lease{now.Unix() + seconds, r.swap(what, value)}
	})
}

// CancelLease ends a lease at once. It errs if there is none.
func (a *Accountant) CancelLease(now time.Time, what string, submitter string) error {
	a.mu.Lock()
	a.endLeases(now)
	r := a.accounts[submitter]
	none := r == nil || r.leases[what].Until == 0
	a.mu.Unlock()
	if none {
		return fmt.Errorf("no %s lease in effect for %s", what, submitter)
	}
	return a.set(submitter, func(r *account) { r.endLease(what) })
}

// endLeases ends the leases whose time has come. The accountant must be locked.
func (a *Accountant) endLeases(now time.Time) {
	a.leased = slices.DeleteFunc(a.leased, func(r *account) bool {
		if a.accounts[r.name] != r { // it was deleted
			return true
		}
		for _, what := range leasable {
			if l := r.leases[what]; l.Until > 0 && l.Until <= now.Unix() {
				r.endLease(what)
				a.touch(r)
				a.asked.outdate()
			}
		}
		if len(r.leases) == 0 {
			r.leases = nil
		}
		return r.leases == nil
	})
}

// endLease has hold again what was set before a lease, if there is one.
func (r *account) endLease(what string) {
	if l, leased := r.leases[what]; leased {
		r.swap(what, l.Before)
		delete(r.leases, what)
	}
}

// swap sets a value that can be leased, and returns the former one.
func (r *account) swap(what string, value float64) (before float64) {
	switch what {
	case LeasedCeiling:
		before, r.Ceiling = float64(r.Ceiling), int64(value)
	case LeasedFloor:
		before, r.Floor = float64(r.Floor), int64(value)
	case LeasedFactor:
		before, r.Factor = r.Factor, value
	}
	return before
}
