package track

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestWhoseClaimWaits: the place for which a job waits may go to another one only if its schedd was told of it,
// nobody else makes way for it, and the startd has told of its slot since.
func TestWhoseClaimWaits(t *testing.T) {
	told := time.Unix(1000, 0)
	for name, change := range map[string]func(b *Belief, f *Flight, o *observe.Slot){
		"it waits":                func(*Belief, *Flight, *observe.Slot) {},
		"its schedd is not told":  func(_ *Belief, f *Flight, _ *observe.Slot) { f.Sent = false },
		"it was refused":          func(_ *Belief, f *Flight, _ *observe.Slot) { f.Refused = true },
		"it is overdue":           func(_ *Belief, f *Flight, _ *observe.Slot) { f.Overdue = true },
		"the startd is silent":    func(_ *Belief, _ *Flight, o *observe.Slot) { o.Changed = told },
		"others make way as well": func(b *Belief, _ *Flight, _ *observe.Slot) { b.takeovers.byJob[2].Victims = []backfill.JobID{1, 5} },
		"nobody waits":            func(b *Belief, _ *Flight, _ *observe.Slot) { delete(b.takeovers.byVictim, 1) },
		"it takes over no more":   func(b *Belief, _ *Flight, _ *observe.Slot) { delete(b.takeovers.byJob, 2) },
		"its claim is lent":       func(b *Belief, _ *Flight, _ *observe.Slot) { b.lending.byJob[1] = []*holder{{}} },
	} {
		b := &Belief{takeovers: newTakeovers(), lending: newLending(), now: &observe.Snapshot{Slots: map[string]*observe.Slot{}}}
		b.takeovers.byJob[2] = &Takeover{Victims: []backfill.JobID{1}, Slots: []string{"n"}, Host: "n"}
		b.takeovers.byVictim[1] = 2
		o, f := &observe.Slot{Changed: told.Add(time.Second)}, Flight{Sent: true, Moved: told}
		b.now.Slots["n"] = o
		change(b, &f, o)
		heir, known := (&claimed{b, map[backfill.JobID]Flight{2: f}}).heir(1)
		require.Equal(t, name == "it waits", known, name)
		if known {
			require.EqualValues(t, 2, heir)
		}
	}
}

// TestAnOustedJobWaits: it takes over from nobody any more, and who was to make way for it makes way for the
// better one. What is not on its way is left as it is.
func TestAnOustedJobWaits(t *testing.T) {
	b := &Belief{
		takeovers: newTakeovers(), lending: newLending(), byID: map[backfill.JobID]*Job{}, ended: map[observe.JobKey]time.Time{},
		now: &observe.Snapshot{Began: time.Unix(1000, 0)}, log: hclog.NewNullLogger(),
	}
	b.byID[2] = &Job{ID: 2, Key: key(2), Phase: Running, Places: []Place{{Slot: "n", Chunks: 1}}, Group: &observe.Group{}}
	b.byID[4] = &Job{ID: 4, Key: key(4), Phase: Unknown, Group: &observe.Group{}}
	b.takeovers.byJob[2] = &Takeover{Victims: []backfill.JobID{1}, Slots: []string{"n"}, Host: "n"}
	b.takeovers.byVictim[1] = 2
	for range 2 {
		b.waitsAgain(2)
		require.Equal(t, Waiting, b.byID[2].Phase)
		require.Empty(t, b.byID[2].Places)
		require.Nil(t, TakeoverOf(b, 2))
		require.False(t, b.yields(1))
	}
	b.waitsAgain(4)
	require.Equal(t, Unknown, b.byID[4].Phase)
	b.waitsAgain(99)
}
