package accountant

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// The commands of condor_userprio. As in HTCondor, a command creates the account of an unknown
// submitter, so that its factor can be set before its first job. Values out of range are an error
// and change nothing.

// SetPriority sets the real priority; values below 0.5 are raised to 0.5.
func (a *Accountant) SetPriority(submitter string, priority float64) error {
	if err := inRange("priority", priority, 0, maxValue); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Real = max(minPriority, priority) })
}

// SetFactor sets the priority factor, which must be at least 1.
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

// SetBegin sets when the submitter first used a slot, as a Unix time from 0 to 2³²-1.
func (a *Accountant) SetBegin(submitter string, unix int64) error {
	if err := inRange("begin of usage", float64(unix), 0, math.MaxUint32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Begin = unix })
}

// SetLast sets when the submitter last used a slot, as a Unix time from 0 to 2³²-1.
func (a *Accountant) SetLast(submitter string, unix int64) error {
	if err := inRange("last usage", float64(unix), 0, math.MaxUint32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Last = unix })
}

// SetCeiling sets the maximum slot weight that the submitter may use; -1 means no ceiling.
func (a *Accountant) SetCeiling(submitter string, weight int64) error {
	if err := inRange("ceiling", float64(weight), -1, math.MaxInt32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Ceiling = weight })
}

// SetFloor sets the slot weight that the submitter gets before others exceed their shares; 0 means
// no floor.
func (a *Accountant) SetFloor(submitter string, weight int64) error {
	if err := inRange("floor", float64(weight), 0, math.MaxInt32); err != nil {
		return err
	}
	return a.set(submitter, func(r *account) { r.Floor = weight })
}

// ResetUsage sets the accumulated usage of a submitter to 0; usage begins anew at the time now. Its
// priority stays.
func (a *Accountant) ResetUsage(now time.Time, submitter string) error {
	return a.set(submitter, func(r *account) { r.reset(now) })
}

// ResetAll resets the accumulated usage of all submitters and groups.
func (a *Accountant) ResetAll(now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.asked.outdate()
	for _, r := range a.accounts {
		r.reset(now)
		a.touch(r)
	}
	_, err := a.write() // the next Update tells what the file cannot hold
	return err
}

func (r *account) reset(now time.Time) { r.Used, r.Weighted, r.Begin = 0, 0, now.Unix() }

// Delete removes a submitter's account; its next job starts a new one. Deleting an unknown
// submitter is not an error. The account of a configured group is recreated at once.
func (a *Accountant) Delete(submitter string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.asked.outdate()
	r := a.accounts[submitter]
	if r == nil {
		return nil
	}
	if err := a.erase(submitter); err != nil {
		return fmt.Errorf("accounting in %s: %s cannot be deleted: %w", a.file.Path(), submitter, err)
	}
	delete(a.accounts, submitter)
	a.active = slices.DeleteFunc(a.active, func(other *account) bool { return other == r })
	a.sumGroups()
	return nil
}

// set changes an account by the callback and writes it. It creates a submitter's account if there
// is none; the name of an unknown group is an error.
func (a *Accountant) set(name string, change func(*account)) error {
	if err := CheckName(name); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, isGroup := a.tree.assigned(name); isGroup && a.accounts[name] == nil {
		return fmt.Errorf("%q is neither a submitter, which is user@domain or group.user@domain, nor "+
			"an accounting group", name)
	}
	defer a.asked.outdate()
	r := a.account(name)
	r.settle(a.clock)
	change(r)
	a.touch(r)
	_, err := a.write() // the next Update tells what the file cannot hold
	return err
}

func inRange(what string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return fmt.Errorf("%s %v: must be from %v to %v", what, v, low, high)
	}
	return nil
}
