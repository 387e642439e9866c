package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// ErrInUse says that another negotiator works on the same state.
var ErrInUse = errors.New("another negotiator uses it: end that one, " +
	"or give this one a folder of its own (BACKFILL_STATE, --state)")

// State is what survives the process: one file in a folder, with a lock beside it.
type State struct {
	file   *statefile.File
	lock   *flock.Flock
	path   string
	kept   map[string][]byte // the records of the ledger on disk; nil: not known
	at     time.Time         // when the ledger was last written; zero: not by this process
	told   string            // what of the ledger could not be saved the last time
	logger hclog.Logger
}

const (
	databaseFile = "negotiator.db"
	lockFile     = "lock"
)

// ledger is the bucket of the saved state.
const ledger = "ledger"

// losses say what is lost with a bucket.
var losses = map[string]string{
	ledger:            "guarantees, reservations, and the places of jobs",
	runs:              "what was learned of run times",
	words:             "how far users' words about run times held",
	drainsBucket:      "which slots are drained, and by when",
	delays:            "what was learned of how long starts take",
	accountant.Bucket: "usage, priorities and priority factors of submitters",
}

// How long OpenState waits while something is in the way, and between two tries.
const (
	statePatience = 2 * time.Minute
	statePause    = 5 * time.Second
)

// OpenState opens the state in a folder, and creates the folder if there is none.
//
// If the file is damaged, it is copied, and what is damaged begins anew, with an error in the log.
// Nothing else touches the file: if it is locked, or if memory, descriptors or the disk are short,
// OpenState logs that and tries again, for at most two minutes.
func OpenState(ctx context.Context, folder string, logger hclog.Logger) (*State, error) {
	s := &State{path: filepath.Join(folder, databaseFile), lock: newLock(folder), logger: logger}
	for began := time.Now(); ; {
		err := s.open(folder)
		if err == nil {
			return s, nil
		}
		if lasts(err) || time.Since(began) >= statePatience {
			return nil, fmt.Errorf("open the state in %s: %w%s", folder, err, whoMay(err))
		}
		logger.Error("THE STATE CANNOT BE OPENED: no job is started until it can",
			"error", err, "again_in", statePause)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(statePause):
		}
	}
}

// newLock returns the lock of a folder. A pipe in its place would keep us waiting for a writer.
func newLock(folder string) *flock.Flock {
	return flock.New(filepath.Join(folder, lockFile), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
}

// lasts tells whether an error stays until somebody does something, so that waiting is no use.
func lasts(err error) bool {
	for _, reason := range []error{
		ErrInUse, fs.ErrPermission, fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP,
		statefile.ErrNewer, statefile.ErrNoFile,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// whoMay returns what to do if the error is one of missing permissions; "" if it is another.
func whoMay(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return ": run as root or as HTCondor's user, or give --state another folder"
	}
	return ""
}

// open locks the folder and opens the file. On an error the folder is not locked.
func (s *State) open(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	locked, err := s.lock.TryLock()
	if err != nil {
		return err
	}
	if !locked {
		return ErrInUse
	}
	if err = s.openFile(); err != nil {
		return errors.Join(err, s.lock.Unlock())
	}
	return nil
}

// openFile opens the file. A damaged one is replaced, or loses its damaged buckets.
func (s *State) openFile() (err error) {
	if s.file, err = statefile.Open(s.path); errors.Is(err, statefile.ErrDamaged) {
		aside := s.aside()
		if failed := statefile.Replace(s.path, aside); failed != nil {
			return fmt.Errorf("%w; it cannot be set aside: %w", err, failed)
		}
		s.logger.Error("THE STATE IS DAMAGED: guarantees and usage begin anew", "copy", aside, "error", err)
		s.file, err = statefile.Open(s.path)
	}
	if err != nil {
		return err
	}
	if note := s.file.Note(); note != "" {
		s.logger.Warn("the state was not closed as it should be", "file", s.path, "problem", note)
	}
	for _, bucket := range s.file.Damaged() {
		if err = s.discard(bucket, s.file.Intact(bucket)); err != nil {
			return errors.Join(err, s.file.Close())
		}
	}
	return nil
}

// aside returns the name of a copy of the file.
func (s *State) aside() string {
	return s.path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
}

// discard copies the file, and then deletes a bucket that cannot be used.
func (s *State) discard(bucket string, why error) error {
	aside := s.aside()
	if err := s.file.CopyTo(aside); err != nil {
		return fmt.Errorf("%w; it cannot be set aside: %w", why, err)
	}
	s.logger.Error("A PART OF THE STATE CANNOT BE USED: it begins anew", "lost", cmp.Or(losses[bucket], bucket),
		"copy", aside, "error", why)
	s.kept = nil
	return s.file.Update(func(tx *statefile.Tx) error { return tx.Drop(bucket) })
}

// Accountant opens the accounting. One that cannot be used begins anew.
func (s *State) Accountant(settings accountant.Settings) (*accountant.Accountant, error) {
	a, err := accountant.Open(s.file, settings)
	if unreadable, found := errors.AsType[*accountant.UnreadableError](err); found {
		if err = s.discard(accountant.Bucket, unreadable); err == nil {
			a, err = accountant.Open(s.file, settings)
		}
	}
	if err == nil && a.Unread() != nil {
		s.logger.Error("USAGE OF SOME SUBMITTERS CANNOT BE READ: it begins anew", "error", a.Unread())
	}
	return a, err
}

// Forget deletes the saved state, and logs why; a copy of the file remains. What was learned, and
// the usage of submitters, stay.
func (s *State) Forget(why error) error { return s.discard(ledger, why) }

// Close closes the file and gives the lock back.
func (s *State) Close() error { return errors.Join(s.file.Close(), s.lock.Unlock()) }
