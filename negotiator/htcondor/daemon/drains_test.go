package daemon

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// drained asks a daemon for drains, and returns what it tells of them.
func drained(t *testing.T, d *Daemon, request string) (all []drains.Listed) {
	t.Helper()
	ad := d.Drain(t.Context(), "root@site", request)
	text, answered := ad.Text("Answer")
	require.True(t, answered, "%v", ad)
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	return all
}

// listed are the drains of a daemon.
func listed(t *testing.T, d *Daemon) (all []drains.Listed) {
	t.Helper()
	text, answered := d.Drains(t.Context()).Text("Answer")
	require.True(t, answered)
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	return all
}

// TestDrain has a slot drained: the pool, the log, the ad and explain tell of it, until it is cancelled.
// Job 1 runs until 1100 on it, and job 2 waits.
func TestDrain(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	o.Logger = logTo(log)
	d := once(t, w, o, w.begin())
	require.Empty(t, listed(t, d))
	asked := time.Now().Unix()
	all := drained(t, d, `{"slots": ["a"], "by": 4000000000, "until": 4000007200}`)
	require.Len(t, all, 1)
	require.Equal(t, drains.Drain{
		Slot: "slot1@a", By: 4000000000, Until: 4000007200, AskedBy: "root@site", AskedAt: all[0].AskedAt,
	}, all[0].Drain)
	require.InDelta(t, asked, all[0].AskedAt, 60)
	require.EqualValues(t, 1100, all[0].Empty)
	require.Equal(t, 1, all[0].Jobs)
	require.Empty(t, all[0].Late)
	require.Equal(t, all, listed(t, d))
	require.Equal(t, all[0].Drain, locked(w, func() drains.Book { return w.drained })()["slot1@a"])
	require.Contains(t, log.String(), `slots are drained: slots=slot1@a by=`)
	require.Contains(t, log.String(), `asked_by=root@site`)
	require.Contains(t, d.Ad().String(), "BackfillDrains = 1;")
	require.Empty(t, explainedDrains(t, d, "2.0"), "it ends in time")

	require.NoError(t, d.takeDrains(drains.BookOf([]drains.Drain{{Slot: "slot1@a", By: 1040, AskedBy: "root@site"}})))
	require.Equal(t, []string{"1.0"}, listed(t, d)[0].Late)
	told := explainedDrains(t, d, "2.0")
	require.Len(t, told, 1)
	require.Equal(t, told[0], d.firstDrained(d.n.State())(d.n.State().Job(2)))
	require.Empty(t, d.firstDrained(d.n.State())(&backfill.Job{Estimate: 40}))
	require.Regexp(t, `^slot1@a is drained by .* \(asked by root@site\)$`, told[0])

	require.Empty(t, drained(t, d, `{"slots": ["a"], "cancel": true}`))
	require.Empty(t, listed(t, d))
	require.Contains(t, log.String(), "drains are cancelled: slots=slot1@a asked_by=root@site")
	require.Empty(t, locked(w, func() drains.Book { return w.drained })())
	require.Contains(t, d.Ad().String(), "BackfillDrains = 0;")
}

// explainedDrains are the drains that explain tells of a job.
func explainedDrains(t *testing.T, d *Daemon, job string) []string {
	t.Helper()
	d.forgetAnswers()
	ads, err := d.Plans(t.Context(), job)
	require.NoError(t, err)
	return ReadDrained(ads.All()[0])
}

// TestDrainsThatCannotBe: what is wrong with a request is told, and logged with who asked.
func TestDrainsThatCannotBe(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	o.Logger = logTo(log)
	before, failed := New(o).Drain(t.Context(), "root@site", `{"slots": ["a"], "by": 1}`).Text("Failed")
	require.True(t, failed)
	require.Equal(t, ErrNoPlan.Error(), before)
	d := once(t, w, o, w.begin())
	for request, why := range map[string]string{
		`{`:                                "the request cannot be read",
		`{"slots": ["b"], "by": 1}`:        "there is no slot or machine b in the pool, did you mean a?",
		`{"slots": ["a"], "by": 0}`:        "empty by 0",
		`{"slots": ["a"], "cancel": true}`: "slot1@a is not drained",
	} {
		said, bad := d.Drain(t.Context(), "mallory@site", request).Text("BadQuestion")
		require.True(t, bad, request)
		require.Contains(t, said, why, request)
	}
	require.Contains(t, log.String(), "a drain is refused: asked_by=mallory@site")
	require.Empty(t, listed(t, d))
	o.Observe = true
	said, failed := New(o).Drain(t.Context(), "root@site", `{"slots": ["a"], "by": 1}`).Text("Failed")
	require.True(t, failed)
	require.Contains(t, said, "only observes")
}

// TestDrainsOutliveTheDaemon: they are written down before they are answered, and those whose time is
// over are forgotten.
func TestDrainsOutliveTheDaemon(t *testing.T) {
	folder := t.TempDir()
	live := func() (*world, *Daemon, *State) {
		s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
		require.NoError(t, err)
		s.file.Unsynced()
		w := newWorld()
		o, delta := w.options("easy"), w.begin()
		o.State = s
		if saved, failed := s.Saved(); saved != nil {
			require.NoError(t, failed)
			delta = negotiator.Delta{Now: 1001}
		}
		return w, once(t, w, o, delta), s
	}
	_, d, s := live()
	require.Empty(t, listed(t, d))
	drained(t, d, `{"slots": ["a"], "by": 4000000000}`)
	require.NoError(t, s.Close())

	var w *world
	w, d, s = live()
	require.EqualValues(t, 4000000000, listed(t, d)[0].By)
	require.Equal(t, "root@site", locked(w, func() drains.Book { return w.drained })()["slot1@a"].AskedBy)
	drained(t, d, `{"slots": ["a"], "cancel": true}`)
	require.NoError(t, s.Close())

	_, d, s = live()
	require.Empty(t, listed(t, d))
	require.NoError(t, s.Close())
}

// TestDrainsEnd: when its time is over, or its slot has been gone for a month.
func TestDrainsEnd(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	o.Logger = logTo(log)
	d, _ := run(t, o)
	first := w.begin()
	now := time.Now().Unix()
	first.Now = 1000
	w.deltas <- first
	poll.Equal(t, 1, w.acts)
	poll.Contains(t, "start times are known", log.String)
	require.NoError(t, d.takeDrains(drains.BookOf([]drains.Drain{
		{Slot: "slot1@a", By: 1000, Until: 2000}, {Slot: "slot1@gone", By: now},
	})))
	w.deltas <- negotiator.Delta{Now: 2000}
	poll.Contains(t, `a drain has ended: slot=slot1@a why="its time is over"`, log.String)
	poll.Until(t, "a slot that is gone", func() (drains.Book, bool) {
		book := d.drains.now()
		return book, len(book) == 1 && book["slot1@gone"].Gone == 2000
	})
	w.deltas <- negotiator.Delta{Now: 2000 + 31*24*3600}
	poll.Contains(t, `a drain has ended: slot=slot1@gone why="the pool has no such slot any more"`, log.String)
}

// TestADamagedDrainIsForgotten: the others are kept, and the log says so.
func TestADamagedDrainIsForgotten(t *testing.T) {
	log := &buffer{}
	s, err := OpenState(t.Context(), t.TempDir(), logTo(log))
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // a test's
	require.NoError(t, s.SaveDrains(drains.Book{"a": {Slot: "a", By: 1}, "c": {Slot: "c", By: 1}}))
	require.NoError(t, s.file.Update(func(tx *statefile.Tx) error {
		b, failed := tx.Make(drainsBucket)
		require.NoError(t, failed)
		return b.Put("a", []byte(`{"slot": "b"}`))
	}))
	book, err := s.Drains()
	require.NoError(t, err)
	require.Equal(t, drains.Book{"c": {Slot: "c", By: 1}}, book)
	require.Contains(t, log.String(), "these slots are not drained any more")
	require.NoError(t, s.SaveDrains(drains.Book{}))
	book, err = s.Drains()
	require.NoError(t, err)
	require.Empty(t, book)
}

// TestReasonsTellOfDrains: what a job is told, also after it has crossed the wire.
func TestReasonsTellOfDrains(t *testing.T) {
	start := int64(1100)
	j := JobForecast{Situation: backfill.Reserved.String(), Start: &start, Slots: "slot1@b", Drained: "slot1@a is drained by 15:00"}
	require.Contains(t, ReadJobForecast(j.Ad(1000), time.UTC).Reason, "on slot1@b; slot1@a is drained by 15:00")
}
