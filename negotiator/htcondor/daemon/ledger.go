package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Keys of the ledger: one for what there is once, and one for each schedd, slot, limit and job.
const (
	metaKey      = "meta"
	scheddPrefix = "schedd/"
	slotPrefix   = "slot/"
	limitPrefix  = "limit/"
	jobPrefix    = "job/"
	// displacedPrefix is of the jobs that make way or have made way.
	displacedPrefix = "displaced/"
)

func scheddKey(s track.SavedSchedd) string { return scheddPrefix + s.Name }

func slotKey(s track.SavedSlot) string { return slotPrefix + s.Name }

func limitKey(l track.SavedLimit) string { return limitPrefix + l.Name }

func jobKey(j track.SavedJob) string {
	return fmt.Sprintf("%s%s/%d.%d", jobPrefix, j.Schedd, j.Cluster, j.Proc)
}

func displacedKey(d track.SavedDisplaced) string {
	return fmt.Sprintf("%s%s/%d.%d", displacedPrefix, d.Job.Schedd, d.Job.Cluster, d.Job.Proc)
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
	meta.Schedds, meta.Slots, meta.Limits, meta.Jobs, meta.Displaced = nil, nil, nil, nil, nil
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
	for _, d := range saved.Displaced {
		if err := add(displacedKey(d), d); err != nil {
			out.Add(displacedKey(d), fmt.Errorf("by whom job %v is displaced: %w", d.Job, err))
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
		others := *saved
		err = json.Unmarshal(text, saved)
		saved.Schedds, saved.Slots, saved.Limits = others.Schedds, others.Slots, others.Limits
		saved.Jobs, saved.Displaced = others.Jobs, others.Displaced
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
	case strings.HasPrefix(key, displacedPrefix):
		var d track.SavedDisplaced
		if err = json.Unmarshal(text, &d); err == nil && displacedKey(d) == key {
			saved.Displaced = append(saved.Displaced, d)
		}
		owner = displacedKey(d)
	}
	if err == nil && owner != key {
		err = fmt.Errorf("it is of %q", backfill.Printable(owner, shownName))
	}
	return err
}
