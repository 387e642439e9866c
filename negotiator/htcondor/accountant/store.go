package accountant

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// The accounting is stored in one bucket: the clock under clockKey, and each account under its
// name. Names contain no blank, so no account collides with clockKey.
const clockKey = " clock"

// Bucket is the bucket of a state file that holds the accounting.
const Bucket = "accounting"

// entry is an account as it is written. An account that uses nothing only ages, so it is written
// once.
type entry struct {
	At             int64 `json:"at"` // when it was aged, see account
	Real, Factor   float64
	Slots          int
	Weight         float64
	Used, Weighted float64
	Begin, Last    int64
	Ceiling, Floor int64
	Leases         map[string]Lease `json:",omitempty"`
}

// load reads the clock and the accounts. An account that cannot be read is left out, see Unread.
func (a *Accountant) load() error {
	var out statefile.LeftOut
	err := a.file.View(func(tx *statefile.Tx) error {
		b := tx.Bucket(Bucket)
		if b == nil {
			return nil
		}
		if err := json.Unmarshal(b.Get(clockKey), &a.clock); err != nil {
			return fmt.Errorf("the clock: %w", err)
		}
		if !(a.clock.HalfLife > 0) {
			return fmt.Errorf("a half-life of %v", a.clock.HalfLife)
		}
		for name, text := range b.All() {
			if name == clockKey {
				continue
			}
			if err := a.loadAccount(name, text); err != nil {
				out.Add(name, err)
			}
		}
		return nil
	})
	a.unread = out.Told("the accounting in " + a.file.Path())
	if err != nil {
		return &UnreadableError{fmt.Errorf("accounting in %s: %w", a.file.Path(), err)}
	}
	return nil
}

// Unread says which accounts in the file could not be read when it was opened; nil if all could. They
// stay in the file as they are.
func (a *Accountant) Unread() error { return a.unread }

// UnreadableError says that the accounting in a file is not what an accountant writes.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return e.Err.Error() }
func (e *UnreadableError) Unwrap() error { return e.Err }

// loadAccount reads an account.
func (a *Accountant) loadAccount(name string, text []byte) error {
	if err := CheckName(name); err != nil {
		return err
	}
	e, r := entry{}, &account{name: name, stored: true}
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.Real, r.Factor, r.Use = max(minPriority, e.Real), e.Factor, Use{e.Slots, e.Weight}
	r.Used, r.Weighted, r.Begin, r.Last = e.Used, e.Weighted, e.Begin, e.Last
	r.Ceiling, r.Floor = e.Ceiling, e.Floor
	if len(e.Leases) > 0 {
		r.leases, a.leased = e.Leases, append(a.leased, r)
	}
	r.aged = a.clock.Elapsed
	if r.Use == (Use{}) {
		r.aged = min(e.At, r.aged)
	}
	a.accounts[name] = r
	a.most = max(a.most, len(a.accounts))
	return nil
}

// save writes what is new; the error says what could not be written.
func (a *Accountant) save() error {
	unsaved, err := a.write()
	if a.file == nil {
		return nil
	}
	return errors.Join(unsaved.Told("the accounting in "+a.file.Path()), err)
}

// erase removes an account from the file, if there is one.
func (a *Accountant) erase(name string) error {
	if a.file == nil {
		return nil
	}
	return a.file.Update(func(tx *statefile.Tx) error {
		if b := tx.Bucket(Bucket); b != nil {
			return b.Delete(name)
		}
		return nil
	})
}

// write writes the clock and the changed accounts in one transaction, but for those that the file
// cannot hold, and removes those that are forgotten. Without a file there is nothing to write.
func (a *Accountant) write() (out statefile.LeftOut, err error) {
	if a.file == nil {
		for _, r := range a.dirty {
			r.changed = false
		}
		a.dirty = a.dirty[:0]
		return out, nil
	}
	a.dirty = slices.DeleteFunc(a.dirty, func(r *account) bool { return a.accounts[r.name] != r })
	var written, unfit []*account
	err = a.file.Update(func(tx *statefile.Tx) error {
		b, failed := tx.Make(Bucket)
		if failed != nil {
			return failed
		}
		if failed = put(b, clockKey, a.clock); failed != nil {
			return failed
		}
		for name := range a.gone {
			if failed = b.Delete(name); failed != nil {
				return failed
			}
		}
		for _, r := range a.dirty {
			e := entry{
				At: r.aged, Real: r.Real, Factor: r.Factor, Slots: r.Use.Slots, Weight: r.Use.Weight,
				Used: r.Used, Weighted: r.Weighted, Begin: r.Begin, Last: r.Last, Ceiling: r.Ceiling, Floor: r.Floor,
				Leases: r.leases,
			}
			switch failed = put(b, r.name, e); {
			case errors.Is(failed, statefile.ErrUnfit):
				out.Add(r.name, failed)
				unfit = append(unfit, r)
			case failed != nil:
				return failed
			default:
				written = append(written, r)
			}
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("accounting in %s cannot be written, and a restart would forget what is new of it: %w",
			a.file.Path(), err)
	}
	for _, r := range written {
		r.changed, r.stored = false, true
	}
	clear(a.gone)
	a.dirty = unfit
	return out, nil
}

func put(b *statefile.Bucket, key string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: %w", statefile.ErrUnfit, err)
	}
	return b.Put(key, text)
}
