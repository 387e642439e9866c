package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/go-hclog"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// ErrInUse says that another negotiator works on the same state.
var ErrInUse = errors.New("another negotiator uses it: end that one, " +
	"or give this one a folder of its own (BACKFILL_STATE, --state)")

// State is what survives the process: one database in a folder, with a lock beside it. The
// accountant has buckets of its own in it.
type State struct {
	DB     *bbolt.DB
	lock   *flock.Flock
	path   string
	kept   map[string][]byte // the records of the ledger on disk
	logger hclog.Logger
}

const (
	databaseFile = "negotiator.db"
	lockFile     = "lock"
)

// ledger is the bucket of the saved state.
var ledger = []byte("ledger")

// OpenState opens the state in a folder, and creates the folder if there is none. A file that
// cannot be read is moved aside, with an error in the log: guarantees and usage begin anew.
func OpenState(folder string, logger hclog.Logger) (*State, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the state: %w%s", err, whoMay(err))
	}
	s := &State{
		path: filepath.Join(folder, databaseFile), lock: flock.New(filepath.Join(folder, lockFile)), logger: logger,
	}
	locked, err := s.lock.TryLock()
	if err == nil && !locked {
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("lock the state in %s: %w%s", folder, err, whoMay(err))
	}
	if err = s.open(); err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	return s, nil
}

// whoMay returns what to do if the error is one of missing permissions; "" if it is another.
func whoMay(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return ": run as root or as HTCondor's user, or give --state another folder"
	}
	return ""
}

// open opens the database. A damaged one is moved aside and replaced.
func (s *State) open() error {
	const patience = 5 * time.Second
	db, err := accountant.OpenFile(s.path, patience)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		if err = s.moveAside(err); err == nil {
			db, err = accountant.OpenFile(s.path, patience)
		}
	}
	if err != nil {
		return fmt.Errorf("open the state: %w", err)
	}
	s.DB, s.kept = db, map[string][]byte{}
	return nil
}

// moveAside renames the database, so that a new one can be made.
func (s *State) moveAside(why error) error {
	aside := s.path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	if err := os.Rename(s.path, aside); err != nil {
		return errors.Join(why, err)
	}
	s.logger.Error("THE STATE IS DAMAGED: it was moved aside, guarantees and usage begin anew",
		"moved_to", aside, "error", why)
	return nil
}

// Forget deletes the saved state, and logs why. What was learned, and the usage of submitters,
// stay.
func (s *State) Forget(why error) error {
	s.logger.Error("WHAT THE LAST NEGOTIATOR LEFT CANNOT BE USED: its guarantees are void", "error", why)
	s.kept = map[string][]byte{}
	return s.DB.Update(func(tx *bbolt.Tx) error {
		if err := tx.DeleteBucket(ledger); !errors.Is(err, bolterrors.ErrBucketNotFound) {
			return err
		}
		return nil
	})
}

// Close closes the database and gives the lock back.
func (s *State) Close() error { return errors.Join(s.DB.Close(), s.lock.Unlock()) }

// Keys of the ledger: one for what there is once, and one for each slot and job.
const (
	metaKey    = "meta"
	slotPrefix = "slot/"
	jobPrefix  = "job/"
)

// Save writes the saved state. It touches only records that differ from those on disk.
func (s *State) Save(saved *track.SavedState) error {
	records := make(map[string][]byte, len(saved.Slots)+len(saved.Jobs)+1)
	add := func(key string, v any) error {
		text, err := json.Marshal(v)
		records[key] = text
		return err
	}
	meta := *saved
	meta.Slots, meta.Jobs = nil, nil
	if err := add(metaKey, meta); err != nil {
		return err
	}
	for _, slot := range saved.Slots {
		if err := add(slotPrefix+slot.Name, slot); err != nil {
			return err
		}
	}
	for _, job := range saved.Jobs {
		if err := add(fmt.Sprintf("%s%s/%d.%d", jobPrefix, job.Schedd, job.Cluster, job.Proc), job); err != nil {
			return err
		}
	}
	return s.write(records)
}

// write makes the ledger, the saved state on disk, hold these records. It touches only what
// differs.
func (s *State) write(records map[string][]byte) error {
	err := s.DB.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(ledger)
		if err != nil {
			return err
		}
		for key := range s.kept {
			if _, still := records[key]; !still {
				if err = b.Delete([]byte(key)); err != nil {
					return err
				}
			}
		}
		for key, text := range records {
			if bytes.Equal(s.kept[key], text) {
				continue
			}
			if err = b.Put([]byte(key), text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	s.kept = records
	return nil
}

// Saved returns the saved state of a former negotiator; nil if there is none. It errs if the state
// is damaged or was written by a newer version.
func (s *State) Saved() (*track.SavedState, error) {
	var saved *track.SavedState
	kept := map[string][]byte{}
	err := s.DB.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(ledger)
		if b == nil || b.Get([]byte(metaKey)) == nil {
			return nil
		}
		saved = &track.SavedState{}
		if err := json.Unmarshal(b.Get([]byte(metaKey)), saved); err != nil {
			return err
		}
		if saved.Version > track.SavedVersion {
			return fmt.Errorf("it is of version %d, written by a newer negotiator, and this one knows %d",
				saved.Version, track.SavedVersion)
		}
		return b.ForEach(func(k, text []byte) (err error) {
			key := string(k)
			kept[key] = bytes.Clone(text)
			switch {
			case strings.HasPrefix(key, slotPrefix):
				var slot track.SavedSlot
				err = json.Unmarshal(text, &slot)
				saved.Slots = append(saved.Slots, slot)
			case strings.HasPrefix(key, jobPrefix):
				var job track.SavedJob
				err = json.Unmarshal(text, &job)
				saved.Jobs = append(saved.Jobs, job)
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	s.kept = kept
	return saved, nil
}
