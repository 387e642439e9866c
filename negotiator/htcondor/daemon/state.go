package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
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

// Keys of the ledger: one for what there is once, and one for each schedd, slot, limit and job.
const (
	metaKey      = "meta"
	scheddPrefix = "schedd/"
	slotPrefix   = "slot/"
	limitPrefix  = "limit/"
	jobPrefix    = "job/"
)

func scheddKey(s track.SavedSchedd) string { return scheddPrefix + s.Name }

func slotKey(s track.SavedSlot) string { return slotPrefix + s.Name }

func limitKey(l track.SavedLimit) string { return limitPrefix + l.Name }

func jobKey(j track.SavedJob) string {
	return fmt.Sprintf("%s%s/%d.%d", jobPrefix, j.Schedd, j.Cluster, j.Proc)
}

// Save writes the saved state. It touches only records that differ from those on disk. A slot or job
// that the file cannot hold is left out, and told in the log.
func (s *State) Save(saved *track.SavedState) error {
	records := make(map[string][]byte, len(saved.Schedds)+len(saved.Slots)+len(saved.Jobs)+1)
	var out statefile.LeftOut
	add := func(key string, v any) error {
		text, err := json.Marshal(v)
		if err == nil {
			err = statefile.Fits(key, text)
		}
		if err == nil {
			records[key] = text
		}
		return err
	}
	meta := *saved
	meta.Schedds, meta.Slots, meta.Limits, meta.Jobs = nil, nil, nil, nil
	if err := add(metaKey, meta); err != nil {
		return err
	}
	for _, schedd := range saved.Schedds {
		if err := add(scheddKey(schedd), schedd); err != nil {
			out.Add(scheddKey(schedd), fmt.Errorf("schedd %s: %w", backfill.Printable(schedd.Name, shownName), err))
		}
	}
	for _, slot := range saved.Slots {
		if err := add(slotKey(slot), slot); err != nil {
			out.Add(slot.Name, fmt.Errorf("slot %s: %w", backfill.Printable(slot.Name, shownName), err))
		}
	}
	for _, limit := range saved.Limits {
		if err := add(limitKey(limit), limit); err != nil {
			out.Add(limitKey(limit), fmt.Errorf("limit %s: %w", backfill.Printable(limit.Name, shownName), err))
		}
	}
	for _, job := range saved.Jobs {
		if err := add(jobKey(job), job); err != nil {
			out.Add(jobKey(job), fmt.Errorf("job %d.%d: %w", job.Cluster, job.Proc, err))
		}
	}
	s.tell(out.Told("the ledger"))
	return s.write(records)
}

// shownName is up to how many letters of a name are shown that cannot be saved.
const shownName = 60

// tell logs that something of the state cannot be saved, once while it is the same.
func (s *State) tell(unsaved error) {
	text := ""
	if unsaved != nil {
		text = unsaved.Error()
	}
	if text != s.told && text != "" {
		s.logger.Error("A PART OF THE STATE CANNOT BE SAVED: a restart would forget it", "error", unsaved)
	}
	s.told = text
}

// write makes the ledger, the saved state on disk, hold these records. It touches only what
// differs, in order: bbolt moves all new records behind one that is put before them, which took a
// minute for a pool of a hundred thousand slots.
func (s *State) write(records map[string][]byte) error {
	err := s.file.Update(func(tx *statefile.Tx) error {
		b, err := tx.Make(ledger)
		if err != nil {
			return err
		}
		if s.kept == nil {
			s.kept = contents(b)
		}
		for key := range s.kept {
			if _, still := records[key]; !still {
				if err = b.Delete(key); err != nil {
					return err
				}
			}
		}
		var differ []string
		for key, text := range records {
			if !bytes.Equal(s.kept[key], text) {
				differ = append(differ, key)
			}
		}
		slices.Sort(differ)
		for _, key := range differ {
			if err = b.Put(key, records[key]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.kept = nil // a disk that fails may have written all the same
		return fmt.Errorf("write the ledger: %w", err)
	}
	s.kept, s.at = records, time.Now()
	return nil
}

// contents returns a copy of a bucket's records.
func contents(b *statefile.Bucket) map[string][]byte {
	records := map[string][]byte{}
	for key, text := range b.All() {
		records[key] = bytes.Clone(text)
	}
	return records
}

// Saved returns the saved state of a former negotiator; nil if there is none. It errs if what all
// records rest on is damaged, or was written by a newer version. A slot or job that cannot be read is
// left out, and told in the log.
func (s *State) Saved() (saved *track.SavedState, err error) {
	err = s.file.View(func(tx *statefile.Tx) error {
		b := tx.Bucket(ledger)
		if b == nil {
			return nil
		}
		s.kept = contents(b)
		var out statefile.LeftOut
		saved, err = readLedger(b, &out)
		if lost := out.Told("the ledger"); lost != nil {
			s.logger.Error("A PART OF THE STATE CANNOT BE READ: it begins anew", "error", lost)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return saved, nil
}

// readLedger returns the saved state that a bucket holds, without slots and jobs that cannot be read;
// nil if it is empty.
func readLedger(b *statefile.Bucket, out *statefile.LeftOut) (*track.SavedState, error) {
	saved, empty := &track.SavedState{}, true
	for key, text := range b.All() {
		empty = false
		err := readRecord(saved, key, text)
		if err != nil {
			err = fmt.Errorf("record %q: %w", backfill.Printable(key, shownName), err)
		}
		if err != nil && key == metaKey {
			return nil, err
		}
		if err != nil {
			out.Add(key, err)
		}
	}
	switch {
	case empty:
		return nil, nil
	case b.Get(metaKey) == nil:
		return nil, fmt.Errorf("record %q is missing", metaKey)
	}
	return saved, nil
}

// readRecord adds a record of the ledger to the saved state. It ignores those of other versions.
func readRecord(saved *track.SavedState, key string, text []byte) (err error) {
	owner := key // the key of what was read
	switch {
	case key == metaKey:
		schedds, slots, limits, jobs := saved.Schedds, saved.Slots, saved.Limits, saved.Jobs
		err = json.Unmarshal(text, saved)
		saved.Schedds, saved.Slots, saved.Limits, saved.Jobs = schedds, slots, limits, jobs
		if saved.Version > track.SavedVersion {
			return fmt.Errorf("%w: it is of version %d, and this one knows %d",
				statefile.ErrNewer, saved.Version, track.SavedVersion)
		}
	case strings.HasPrefix(key, scheddPrefix):
		var schedd track.SavedSchedd
		if err = json.Unmarshal(text, &schedd); err == nil && scheddKey(schedd) == key {
			saved.Schedds = append(saved.Schedds, schedd)
		}
		owner = scheddKey(schedd)
	case strings.HasPrefix(key, slotPrefix):
		var slot track.SavedSlot
		if err = json.Unmarshal(text, &slot); err == nil && slotKey(slot) == key {
			saved.Slots = append(saved.Slots, slot)
		}
		owner = slotKey(slot)
	case strings.HasPrefix(key, limitPrefix):
		var limit track.SavedLimit
		if err = json.Unmarshal(text, &limit); err == nil && limitKey(limit) == key {
			saved.Limits = append(saved.Limits, limit)
		}
		owner = limitKey(limit)
	case strings.HasPrefix(key, jobPrefix):
		var job track.SavedJob
		if err = json.Unmarshal(text, &job); err == nil && jobKey(job) == key {
			saved.Jobs = append(saved.Jobs, job)
		}
		owner = jobKey(job)
	}
	if err == nil && owner != key {
		err = fmt.Errorf("it is of %q", backfill.Printable(owner, shownName))
	}
	return err
}
