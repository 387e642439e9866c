// Package statefile is the file in which a negotiator's state outlives the process: a bbolt database
// that notices damage.
//
// A [File] has buckets of records. Beside them it keeps a seal: a checksum of each bucket, written
// in the same transaction as the bucket itself. [Open] compares the two, because bbolt has no
// checksums of its own for what it stores.
//
// Files: file.go opening and closing; bucket.go transactions and buckets; seal.go the checksums;
// check.go the structure of the file, checked before bbolt sees it; copy.go copies and replacements;
// leftout.go what of a list is left out.
package statefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"syscall"

	"go.etcd.io/bbolt"
)

// Why a file cannot be opened. All other errors are of the system, and say nothing of the file.
var (
	// ErrDamaged says that the file is not as it was written. Only a copy of it is of use.
	ErrDamaged = errors.New("it is damaged")
	// ErrLocked says that another process has locked the file.
	ErrLocked = errors.New("another process has it open or has locked it, perhaps a backup")
	// ErrNewer says that a newer version of this program, or of bbolt, has written the file.
	ErrNewer = errors.New("it was written by a newer version")
	// ErrNoFile says that there is something else than a file.
	ErrNoFile = errors.New("it is no regular file")
)

// File is an open file. It is safe for concurrent use.
type File struct {
	db      *bbolt.DB
	note    string
	damaged map[string]error
}

// Open opens a file, or creates one that only its owner may read. It reads all of it, because bbolt
// panics, or worse, when it meets a damaged page later. It does not wait for a lock. A link that
// leads to nothing, perhaps to a disk that is not mounted, is an error.
func Open(path string) (*File, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err = create(path); err != nil {
			return nil, fmt.Errorf("make %s: %w", path, err)
		}
	}
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return f, nil
}

// Path is where the file is.
func (f *File) Path() string { return f.db.Path() }

// Note says what is wrong with the file and does no harm; "" if all is well.
func (f *File) Note() string { return f.note }

// Damaged returns the names of the buckets that are not as they were written, in alphabetical order.
func (f *File) Damaged() []string { return slices.Sorted(maps.Keys(f.damaged)) }

// Intact returns an error that wraps [ErrDamaged] if a bucket is not as it was written.
func (f *File) Intact(bucket string) error { return f.damaged[bucket] }

// Unsynced makes writes faster, and lose what was written if the machine fails: for tests.
func (f *File) Unsynced() { f.db.NoSync = true }

// Close closes the file.
func (f *File) Close() error { return f.db.Close() }

// open opens a file that is there.
func open(path string) (f *File, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f = &File{}
	var file *os.File
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
		if err != nil && file != nil {
			// When bbolt panics, it leaves the file open and mapped, and what is mapped stays
			// locked.
			_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
			_ = file.Close()
		}
	}()
	f.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: 1, // no wait
		OpenFile: func(path string, flag int, mode os.FileMode) (_ *os.File, err error) {
			if file, err = os.OpenFile(path, flag&^os.O_CREATE, mode); err == nil {
				f.note, err = inspect(file)
			}
			return file, err
		},
	})
	if err != nil {
		return nil, err
	}
	if err = f.verify(); err != nil {
		return nil, errors.Join(err, f.db.Close())
	}
	return f, nil
}

// inspect locks a file and checks its structure. The lock is the one that bbolt takes then.
func inspect(file *os.File) (note string, err error) {
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", ErrNoFile
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return "", ErrLocked
	}
	if err != nil {
		return "", fmt.Errorf("lock it: %w", err)
	}
	text := make([]byte, info.Size())
	if _, err = io.ReadFull(io.NewSectionReader(file, 0, info.Size()), text); err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	return check(text)
}

// verify has bbolt check the file, and compares its buckets with their seals.
func (f *File) verify() error {
	return f.db.View(func(tx *bbolt.Tx) (err error) {
		for wrong := range tx.Check() { // all of them, since it waits for a reader
			if err == nil {
				err = fmt.Errorf("%w: %w", ErrDamaged, wrong)
			}
		}
		if err == nil {
			f.damaged, err = broken(tx)
		}
		return err
	})
}
