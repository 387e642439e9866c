package accountant

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The accounting is stored in one bucket: the clock under clockKey, and each account under its
// name. Names contain no blank, so no account collides with clockKey.
var (
	bucket   = []byte("accounting")
	clockKey = []byte(" clock")
)

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

// OpenFile opens a database, or creates one that only its owner may read, and reads all of it once,
// because bbolt itself panics, or worse, when it meets a damaged page later. If another process has
// the file open, it waits for at most the duration wait. If bbolt panicked, the file stays locked
// until this process ends.
func OpenFile(path string, wait time.Duration) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%v", r)
		}
		switch {
		case errors.Is(err, bolterrors.ErrTimeout):
			err = fmt.Errorf("accounting database %s: another process has it open", path)
		case errors.Is(err, fs.ErrPermission), err == nil:
		default:
			err = fmt.Errorf("accounting database %s cannot be read: %w: put a copy in its place, or move it away to "+
				"begin with no usage", path, err)
		}
	}()
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: wait})
	if err != nil {
		return nil, err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		// A panic of this walk is recovered here; Check runs in a goroutine of its own.
		broken := lengths(tx, path)
		if broken == nil {
			broken = tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walk(b) })
		}
		if broken != nil {
			return broken
		}
		for wrong := range tx.Check() {
			if broken == nil {
				broken = wrong
			}
		}
		return broken
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// lengths returns an error if a page claims to be longer than the file, which would keep bbolt busy
// for minutes, or if a key ends beyond its page.
func lengths(tx *bbolt.Tx, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	size := tx.DB().Info().PageSize
	pages := int(tx.Size()) / size
	for id := 0; id < pages; id++ {
		info, err := tx.Page(id)
		switch {
		case err != nil:
			return err
		case info == nil: // after the last page
			return nil
		case info.Type == "free": // its content is obsolete
			continue
		case info.OverflowCount >= pages-id:
			return fmt.Errorf("page %d is longer than the file", id)
		case info.Type == "branch" && !keysFit(file, int64(id)*int64(size),
			int64(info.OverflowCount+1)*int64(size), info.Count):
			return fmt.Errorf("page %d has a key that does not lie in it", id)
		}
		id += info.OverflowCount
	}
	return nil
}

// keysFit reports whether the keys of a branch page lie within it. The function walk does not read
// the keys, but bbolt's Check does, in a goroutine where a fault would end the process.
func keysFit(file io.ReaderAt, page, size int64, count int) bool {
	const header, element = 16, 16 // an element: offset of the key, its length, a page
	elements := make([]byte, count*element)
	if _, err := file.ReadAt(elements, page+header); err != nil {
		return false
	}
	for i := 0; i < len(elements); i += element {
		place, length := binary.NativeEndian.Uint32(elements[i:]), binary.NativeEndian.Uint32(elements[i+4:])
		if header+int64(i)+int64(place)+int64(length) > size {
			return false
		}
	}
	return true
}

func walk(b *bbolt.Bucket) error {
	sum := byte(0)
	return b.ForEach(func(k, v []byte) error {
		for _, part := range [][]byte{k, v} {
			for i := range part {
				sum += part[i] // touches each page, so that a missing one faults here
			}
		}
		if nested := b.Bucket(k); v == nil && nested != nil {
			return walk(nested)
		}
		return nil
	})
}

// load reads the clock and the accounts, and ages the accounts to the clock.
func (a *Accountant) load() error {
	err := a.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		if b == nil {
			return nil
		}
		if err := json.Unmarshal(b.Get(clockKey), &a.clock); err != nil {
			return fmt.Errorf("the clock: %w", err)
		}
		if !(a.clock.HalfLife > 0) {
			return fmt.Errorf("a half-life of %v", a.clock.HalfLife)
		}
		return b.ForEach(func(k, v []byte) error {
			if string(k) == string(clockKey) {
				return nil
			}
			e, r := entry{}, &account{name: string(k)}
			if err := json.Unmarshal(v, &e); err != nil {
				return fmt.Errorf("the account of %q: %w", k, err)
			}
			if err := checkName(r.name); err != nil {
				return err
			}
			r.Real, r.Factor, r.Use = max(minPriority, e.Real), e.Factor, Use{e.Slots, e.Weight}
			r.Used, r.Weighted, r.Begin, r.Last = e.Used, e.Weighted, e.Begin, e.Last
			r.Ceiling, r.Floor = e.Ceiling, e.Floor
			if idle := a.clock.Elapsed - e.At; r.Use == (Use{}) && idle > 0 {
				r.Real = max(minPriority, r.Real*math.Exp2(-float64(idle)/a.clock.HalfLife))
			}
			a.accounts[r.name] = r
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("accounting database %s: %w", a.db.Path(), err)
	}
	return nil
}

// save writes the clock and the changed accounts in one transaction.
func (a *Accountant) save() error {
	var written []*account
	err := a.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		if err := put(b, clockKey, a.clock); err != nil {
			return err
		}
		for _, r := range a.accounts {
			if !r.changed {
				continue
			}
			written = append(written, r)
			e := entry{
				At: a.clock.Elapsed, Real: r.Real, Factor: r.Factor, Slots: r.Use.Slots, Weight: r.Use.Weight,
				Used: r.Used, Weighted: r.Weighted, Begin: r.Begin, Last: r.Last, Ceiling: r.Ceiling, Floor: r.Floor,
			}
			if err := put(b, []byte(r.name), e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("accounting database %s cannot be written: %w", a.db.Path(), err)
	}
	for _, r := range written {
		r.changed = false
	}
	return nil
}

func put(b *bbolt.Bucket, key []byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, text)
}
