package daemon

import (
	"slices"
	"strconv"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// TestWhatWasLearnedOutlivesTheProcess checks that run times are kept, as many as estimators
// remember, and that unreadable ones are dropped.
func TestWhatWasLearnedOutlivesTheProcess(t *testing.T) {
	folder := t.TempDir()
	open := func() *State {
		s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
		require.NoError(t, err)
		return s
	}
	s := open()
	ended := func(i int) estimate.Ended {
		return estimate.Ended{
			Job: estimate.Job{Name: strconv.Itoa(i), Requested: 100, Labels: map[string]string{"owner": "ann"}},
			Ran: backfill.Time(i % 100), At: backfill.Time(i),
		}
	}
	h, err := s.Learned()
	require.NoError(t, err)
	require.Zero(t, h.Len())
	require.NoError(t, s.Learn(nil))
	require.NoError(t, s.Learn([]estimate.Ended{ended(0), ended(1)}))
	require.NoError(t, s.Learn([]estimate.Ended{ended(2)}))
	none, err := s.Delays()
	require.NoError(t, err)
	require.Empty(t, none.All())
	took := estimate.DelaysOf([]backfill.Time{1, 3, 2})
	require.NoError(t, s.LearnDelays(took))
	record, eve, bob := estimate.NewTrackRecord(), estimate.WordOf("eve", false), estimate.WordOf("bob", true)
	record.Over(eve, 1, estimate.Place{Planned: 61, Taken: 3660, Cpus: 1})
	record.Over(bob, 2, estimate.Place{Planned: 61, Taken: 61, Cpus: 1})
	require.NoError(t, s.LearnWords(record.Unsaved()))
	record.Over(eve, 1, estimate.Place{Planned: 61, Taken: 6100, Cpus: 1})
	require.NoError(t, s.LearnWords(record.Unsaved()))
	require.NoError(t, s.LearnWords(record.Unsaved()))
	require.NoError(t, s.LearnWords([]estimate.SavedWord{{Word: bob}}))
	require.NoError(t, s.Close())

	s = open()
	kept, err := s.Delays()
	require.NoError(t, err)
	require.Equal(t, took, kept)
	words, err := s.Words()
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"eve": true}, words.Doubted())
	require.Equal(t, record.Counts(eve, 61, 86400), words.Counts(eve, 61, 86400))
	h, err = s.Learned()
	require.NoError(t, err)
	require.Equal(t, []estimate.Ended{ended(0), ended(1), ended(2)}, slices.Collect(h.All()))
	var more []estimate.Ended
	for i := range estimate.DefaultBound - 1 {
		more = append(more, ended(3+i))
	}
	require.NoError(t, s.Learn(more))
	count := 0
	require.NoError(t, s.file.View(func(tx *statefile.Tx) error {
		count = len(contents(tx.Bucket(runs)))
		return nil
	}))
	require.Equal(t, estimate.DefaultBound, count)
	h, err = s.Learned()
	require.NoError(t, err)
	for first := range h.All() {
		require.Equal(t, "2", first.Name)
		break
	}

	require.NoError(t, s.file.Update(func(tx *statefile.Tx) error {
		return tx.Bucket(runs).Put(runKey(50), []byte("no job\n"))
	}))
	for range 2 {
		h, err = s.Learned()
		require.NoError(t, err)
		require.Equal(t, estimate.DefaultBound-1, h.Len(), "all but the one that cannot be read")
	}
	require.NoError(t, s.file.Update(func(tx *statefile.Tx) error { return tx.Bucket("words").Put("false bob", []byte("no word")) }))
	for range 2 {
		words, err = s.Words()
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"eve": true}, words.Doubted(), "all but bob's, which cannot be read")
	}
	require.NoError(t, s.Learn(more[:1]))
	require.NoError(t, s.Close())
}
