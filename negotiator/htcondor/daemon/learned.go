package daemon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// runs is the bucket of the jobs that ended, by ascending number, so that new ones are appended.
var runs = []byte("runs")

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
	err := s.DB.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(runs)
		if err != nil {
			return err
		}
		b.FillPercent = 1 // they come in order
		for line := range bytes.Lines(text.Bytes()) {
			number, err := b.NextSequence()
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

func runKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// forgetRuns drops the oldest runs beyond the number that estimators remember.
func forgetRuns(b *bbolt.Bucket) error {
	last := b.Sequence()
	if last <= estimate.DefaultBound {
		return nil
	}
	first := runKey(last - estimate.DefaultBound + 1)
	c := b.Cursor()
	for key, _ := c.First(); key != nil && bytes.Compare(key, first) < 0; key, _ = c.First() {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// Learned reads the saved run times. If they cannot be read, it logs an error, drops them all and
// returns an empty history.
func (s *State) Learned() (*estimate.History, error) {
	var text bytes.Buffer
	err := s.DB.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(runs)
		if b == nil {
			return nil
		}
		return b.ForEach(func(_, line []byte) error {
			text.Write(line)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read what was learned: %w", err)
	}
	h, err := estimate.ReadHistory(&text, "the state", 0)
	if err == nil {
		return h, nil
	}
	s.logger.Error("WHAT WAS LEARNED OF RUN TIMES CANNOT BE USED: estimators begin anew", "error", err)
	err = s.DB.Update(func(tx *bbolt.Tx) error {
		if gone := tx.DeleteBucket(runs); !errors.Is(gone, bolterrors.ErrBucketNotFound) {
			return gone
		}
		return nil
	})
	return estimate.NewHistory(0), err
}
