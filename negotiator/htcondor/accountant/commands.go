package accountant

import (
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"
)

// The commands of condor_userprio. As in HTCondor a submitter that is not known
// yet becomes known, so that its factor can be set before its first job; values
// that make no sense are an error and change nothing.

// SetPriority sets the real priority; what is below 0.5 becomes that.
func (a *Accountant) SetPriority(submitter string, priority float64) error {
	if err := inRange("priority", priority, 0, maxValue); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Real = max(minPriority, priority) })
}

// SetFactor sets the priority factor, which is at least 1.
func (a *Accountant) SetFactor(submitter string, factor float64) error {
	if err := inRange("priority factor", factor, minFactor, maxValue); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Factor = factor })
}

// SetUsage sets the accumulated weighted usage, in seconds of slot weight.
func (a *Accountant) SetUsage(submitter string, seconds float64) error {
	if err := inRange("accumulated usage", seconds, 0, maxValue); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Weighted = seconds })
}

// SetBegin sets when the submitter first used something, as a Unix time.
func (a *Accountant) SetBegin(submitter string, unix int64) error {
	if err := inRange("begin of usage", float64(unix), 0, math.MaxUint32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Begin = unix })
}

// SetLast sets when the submitter last used something, as a Unix time.
func (a *Accountant) SetLast(submitter string, unix int64) error {
	if err := inRange("last usage", float64(unix), 0, math.MaxUint32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Last = unix })
}

// SetCeiling sets the most slot weight that the submitter may use; -1 is no
// ceiling.
func (a *Accountant) SetCeiling(submitter string, weight int64) error {
	if err := inRange("ceiling", float64(weight), -1, math.MaxInt32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Ceiling = weight })
}

// SetFloor sets the slot weight that the submitter gets before others get more
// than theirs; 0 is no floor.
func (a *Accountant) SetFloor(submitter string, weight int64) error {
	if err := inRange("floor", float64(weight), 0, math.MaxInt32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Floor = weight })
}

// ResetUsage makes the accumulated usage of a submitter 0, as of now. Its
// priority stays.
func (a *Accountant) ResetUsage(now time.Time, submitter string) error {
	return a.set(submitter, func(r *account) { r.reset(now) })
}

// ResetAll does that for all submitters and groups.
func (a *Accountant) ResetAll(now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.accounts {
		r.reset(now)
	}
	return a.save()
}

func (r *account) reset(now time.Time) {
	r.Used, r.Weighted, r.Begin, r.changed = 0, 0, now.Unix(), true
}

// Delete forgets a submitter, who begins anew with the next job; one that is not
// known is no error. A group that is configured begins anew at once.
func (a *Accountant) Delete(submitter string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.accounts[submitter]
	if r == nil {
		return nil
	}
	err := a.db.Update(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(bucket); b != nil {
			return b.Delete([]byte(submitter))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("accounting database %s: %s cannot be deleted: %w", a.db.Path(), submitter, err)
	}
	delete(a.accounts, submitter)
	a.sumGroups()
	return nil
}

// set changes an account and writes it.
func (a *Accountant) set(name string, change func(*account)) error {
	if err := checkName(name); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, isGroup := a.tree.assigned(name); isGroup && a.accounts[name] == nil {
		return fmt.Errorf("%q is neither a submitter, which is user@domain or group.user@domain, nor an accounting group", name)
	}
	r := a.account(name)
	change(r)
	r.changed = true
	return a.save()
}

func inRange(what string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return fmt.Errorf("%s %v: must be from %v to %v", what, v, low, high)
	}
	return nil
}
