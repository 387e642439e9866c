package daemon

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// runs is the bucket of the jobs that ended, by ascending number, so that new ones are appended.
const runs = "runs"

// delays is the bucket of how long the last starts took, with one key.
const (
	delays    = "delays"
	delaysKey = "last"
)

// words is the bucket of how far users' words about run times held, by user.
const words = "words"

// LearnDelays saves how long the last starts took.
func (s *State) LearnDelays(d estimate.Delays) error {
	text, err := json.Marshal(d.All())
	if err == nil {
		err = s.file.Update(func(tx *statefile.Tx) error {
			b, failed := tx.Make(delays)
			if failed != nil {
				return failed
			}
			return b.Put(delaysKey, text)
		})
	}
	if err != nil {
		return fmt.Errorf("write how long starts take: %w", err)
	}
	return nil
}

// Delays reads how long the last starts took. If that cannot be used, it drops it, and nothing is known.
func (s *State) Delays() (d estimate.Delays, err error) {
	var text []byte
	err = s.file.View(func(tx *statefile.Tx) error {
		if b := tx.Bucket(delays); b != nil {
			text = bytes.Clone(b.Get(delaysKey))
		}
		return nil
	})
	if err != nil {
		return d, fmt.Errorf("read how long starts take: %w", err)
	}
	if len(text) == 0 {
		return d, nil
	}
	var last []backfill.Time
	if err = json.Unmarshal(text, &last); err != nil {
		return d, s.discard(delays, err)
	}
	return estimate.DelaysOf(last), nil
}

// LearnWords saves how far users' words about run times held.
func (s *State) LearnWords(learned []estimate.SavedWord) error {
	if len(learned) == 0 {
		return nil
	}
	var out statefile.LeftOut
	err := s.file.Update(func(tx *statefile.Tx) error {
		b, failed := tx.Make(words)
		if failed != nil {
			return failed
		}
		for _, word := range learned {
			switch failed = putWord(b, word); {
			case errors.Is(failed, statefile.ErrUnfit):
				out.Add(word.User, failed)
			case failed != nil:
				return failed
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write how far users' words held: %w", err)
	}
	return out.Told("how far users' words held")
}

// putWord saves how far the words of a user held, or that nothing is known of them any more.
func putWord(b *statefile.Bucket, word estimate.SavedWord) error {
	key := fmt.Sprint(word.Enforced, " ", word.User)
	if len(word.Runs) == 0 {
		return b.Delete(key)
	}
	text, err := json.Marshal(word)
	if err != nil {
		return fmt.Errorf("%w: %w", statefile.ErrUnfit, err)
	}
	return b.Put(key, text)
}

// Words reads how far users' words held. A record that cannot be read is left out, and told in the log.
func (s *State) Words() (*estimate.TrackRecord, error) {
	var saved []estimate.SavedWord
	var out statefile.LeftOut
	err := s.file.View(func(tx *statefile.Tx) error {
		b := tx.Bucket(words)
		if b == nil {
			return nil
		}
		for key, text := range b.All() {
			var word estimate.SavedWord
			if wrong := json.Unmarshal(text, &word); wrong != nil {
				out.Add(key, wrong)
				continue
			}
			saved = append(saved, word)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read how far users' words held: %w", err)
	}
	if wrong := out.Told("how far users' words held"); wrong != nil {
		s.logger.Error("SOME OF WHAT WAS LEARNED CANNOT BE READ", "error", wrong)
	}
	return estimate.RestoreTrackRecord(saved), nil
}

// Learn saves the run times of jobs that ended, and drops those that no estimator would remember.
func (s *State) Learn(learned []estimate.Ended) error {
	if len(learned) == 0 {
		return nil
	}
	var text bytes.Buffer
	h := estimate.NewHistory(len(learned))
	for _, e := range learned {
		h.Add(e)
	}
	if err := h.Write(&text); err != nil {
		return err
	}
	err := s.file.Update(func(tx *statefile.Tx) error {
		b, err := tx.Make(runs)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text.Bytes()) {
			number, err := b.Number()
			if err != nil {
				return err
			}
			if err = b.Put(runKey(number), line); err != nil {
				return err
			}
		}
		return forgetRuns(b)
	})
	if err != nil {
		return fmt.Errorf("write what was learned: %w", err)
	}
	return nil
}

func runKey(number uint64) string { return string(binary.BigEndian.AppendUint64(nil, number)) }

// forgetRuns drops the oldest runs beyond the number that estimators remember.
func forgetRuns(b *statefile.Bucket) error {
	last := b.Last()
	if last <= estimate.DefaultBound {
		return nil
	}
	first := runKey(last - estimate.DefaultBound + 1)
	var old []string
	for key := range b.All() {
		if key >= first {
			break
		}
		old = append(old, key)
	}
	for _, key := range old {
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// Learned reads the saved run times. A run that cannot be read is left out, and told in the log.
func (s *State) Learned() (*estimate.History, error) {
	var lines [][]byte
	err := s.file.View(func(tx *statefile.Tx) error {
		if b := tx.Bucket(runs); b != nil {
			for _, line := range b.All() {
				lines = append(lines, bytes.Clone(line))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what was learned: %w", err)
	}
	h, err := readRuns(lines)
	if err == nil {
		return h, nil
	}
	var out statefile.LeftOut
	lines = slices.DeleteFunc(lines, func(line []byte) bool {
		_, wrong := readRuns([][]byte{line})
		if wrong != nil {
			out.Add("", wrong)
		}
		return wrong != nil
	})
	s.logger.Error("SOME OF WHAT WAS LEARNED CANNOT BE READ", "error", out.Told("the run times of jobs that ended"))
	return readRuns(lines)
}

func readRuns(lines [][]byte) (*estimate.History, error) {
	return estimate.ReadHistory(bytes.NewReader(bytes.Join(lines, nil)), "the state", 0)
}
