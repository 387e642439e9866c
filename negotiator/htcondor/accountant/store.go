package accountant

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// The accounting is stored in one bucket: the clock under clockKey, and each account under its
// name. Names contain no blank, so no account collides with clockKey.
const clockKey = " clock"

// Bucket is the bucket of a state file that holds the accounting.
const Bucket = "accounting"

// entry is an account as it is written. An account that uses nothing only ages, so it is written
// once and aged when it is read.
type entry struct {
	At             int64 `json:"at"` // seconds elapsed on the accounting's clock
	Real, Factor   float64
	Slots          int
	Weight         float64
	Used, Weighted float64
	Begin, Last    int64
	Ceiling, Floor int64
}

// load reads the clock and the accounts, and ages the accounts to the clock. An account that cannot
// be read is left out, see Unread.
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

// loadAccount reads an account, and ages it to the clock.
func (a *Accountant) loadAccount(name string, text []byte) error {
	if err := CheckName(name); err != nil {
		return err
	}
	e, r := entry{}, &account{name: name}
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.Real, r.Factor, r.Use = max(minPriority, e.Real), e.Factor, Use{e.Slots, e.Weight}
	r.Used, r.Weighted, r.Begin, r.Last = e.Used, e.Weighted, e.Begin, e.Last
	r.Ceiling, r.Floor = e.Ceiling, e.Floor
	if idle := a.clock.Elapsed - e.At; r.Use == (Use{}) && idle > 0 {
		r.Real = max(minPriority, r.Real*math.Exp2(-float64(idle)/a.clock.HalfLife))
	}
	a.accounts[name] = r
	return nil
}

// save writes the clock and the changed accounts in one transaction, but for those that the file
// cannot hold.
func (a *Accountant) save() (out statefile.LeftOut, err error) {
	var written []*account
	err = a.file.Update(func(tx *statefile.Tx) error {
		b, failed := tx.Make(Bucket)
		if failed != nil {
			return failed
		}
		if failed = put(b, clockKey, a.clock); failed != nil {
			return failed
		}
		for _, r := range a.accounts {
			if !r.changed {
				continue
			}
			e := entry{
				At: a.clock.Elapsed, Real: r.Real, Factor: r.Factor, Slots: r.Use.Slots, Weight: r.Use.Weight,
				Used: r.Used, Weighted: r.Weighted, Begin: r.Begin, Last: r.Last, Ceiling: r.Ceiling, Floor: r.Floor,
			}
			switch err := put(b, r.name, e); {
			case errors.Is(err, statefile.ErrUnfit):
				out.Add(r.name, err)
			case err != nil:
				return err
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
		r.changed = false
	}
	return out, nil
}

func put(b *statefile.Bucket, key string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: %w", statefile.ErrUnfit, err)
	}
	return b.Put(key, text)
}
