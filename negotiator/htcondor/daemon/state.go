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

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// ErrInUse says that another negotiator works on the same state.
var ErrInUse = errors.New("another negotiator uses it: end that one, or give this one a folder of its own (BACKFILL_STATE, --state)")

// State is what outlives the process: one database in a folder, with a lock beside it.
// The accounting has buckets of its own in it.
type State struct {
	DB     *bbolt.DB
	lock   *flock.Flock
	path   string
	kept   map[string][]byte // the ledger as it is on disk
	logger hclog.Logger
}

const (
	databaseFile = "negotiator.db"
	lockFile     = "lock"
)

var ledger = []byte("ledger")

// OpenState opens the state in a folder, which is made if it is not there. A file
// that cannot be read is moved aside, loudly: guarantees and usage begin anew.
func OpenState(folder string, logger hclog.Logger) (*State, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the state: %w%s", err, whoMay(err))
	}
	s := &State{path: filepath.Join(folder, databaseFile), lock: flock.New(filepath.Join(folder, lockFile)), logger: logger}
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

// whoMay says what to do about an error of rights.
func whoMay(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return ": run as root or as HTCondor's user, or give --state another folder"
	}
	return ""
}

// open opens the database, if need be a new one.
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

// moveAside makes room for a new database.
func (s *State) moveAside(why error) error {
	aside := s.path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	if err := os.Rename(s.path, aside); err != nil {
		return errors.Join(why, err)
	}
	s.logger.Error("THE STATE IS DAMAGED: it was moved aside, guarantees and usage begin anew", "moved_to", aside, "error", why)
	return nil
}

// Forget empties the ledger, because of what was found in it. Usage stays.
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

// Close ends the use of the state.
func (s *State) Close() error { return errors.Join(s.DB.Close(), s.lock.Unlock()) }

// Keys of the ledger: one for what stands for itself, one for each slot and job.
const (
	metaKey    = "meta"
	slotPrefix = "slot/"
	jobPrefix  = "job/"
)

// Save writes down what a negotiator leaves: what is otherwise than before.
func (s *State) Save(left *htcondor.Left) error {
	records := make(map[string][]byte, len(left.Slots)+len(left.Jobs)+1)
	add := func(key string, v any) error {
		text, err := json.Marshal(v)
		records[key] = text
		return err
	}
	meta := *left
	meta.Slots, meta.Jobs = nil, nil
	if err := add(metaKey, meta); err != nil {
		return err
	}
	for _, slot := range left.Slots {
		if err := add(slotPrefix+slot.Name, slot); err != nil {
			return err
		}
	}
	for _, job := range left.Jobs {
		if err := add(fmt.Sprintf("%s%s/%d.%d", jobPrefix, job.Schedd, job.Cluster, job.Proc), job); err != nil {
			return err
		}
	}
	return s.write(records)
}

// write brings the ledger up to date.
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

// Left is what a former negotiator left; nil: nothing.
func (s *State) Left() (*htcondor.Left, error) {
	var left *htcondor.Left
	kept := map[string][]byte{}
	err := s.DB.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(ledger)
		if b == nil || b.Get([]byte(metaKey)) == nil {
			return nil
		}
		left = &htcondor.Left{}
		if err := json.Unmarshal(b.Get([]byte(metaKey)), left); err != nil {
			return err
		}
		if left.Version > htcondor.LeftVersion {
			return fmt.Errorf("it is of version %d, written by a newer negotiator, and this one knows %d", left.Version, htcondor.LeftVersion)
		}
		return b.ForEach(func(k, text []byte) (err error) {
			key := string(k)
			kept[key] = bytes.Clone(text)
			switch {
			case strings.HasPrefix(key, slotPrefix):
				var slot htcondor.LeftSlot
				err = json.Unmarshal(text, &slot)
				left.Slots = append(left.Slots, slot)
			case strings.HasPrefix(key, jobPrefix):
				var job htcondor.LeftJob
				err = json.Unmarshal(text, &job)
				left.Jobs = append(left.Jobs, job)
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	s.kept = kept
	return left, nil
}
