package daemon

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestRivals checks that the daemon does not start beside another negotiator, and stops when one
// comes.
func TestRivals(t *testing.T) {
	rival := observe.Other{Name: "there", Address: "<127.0.0.2:1>"}
	w := newWorld()
	w.others = []observe.Other{rival}
	var found *RivalError
	require.ErrorAs(t, New(w.options("easy")).Run(t.Context()), &found, "alone: it refuses")
	require.ErrorContains(t, found, "another negotiator, there at <127.0.0.2:1>, is at work")

	for name, other := range map[string]observe.Other{
		"an observer":                    {Name: ObserverName + "there", Address: "<127.0.0.2:1>"},
		"itself":                         {Name: "here", Address: "<127.0.0.1:1>"},
		"a dead one":                     {Name: "there", Address: "<127.0.0.1:9>"},
		"our own ad of before a kill -9": {Name: "here", Address: "<127.0.0.1:9>", Ours: true},
	} {
		w = newWorld()
		w.others = []observe.Other{other}
		o := w.options("easy")
		o.Once = true
		w.deltas <- w.begin()
		require.NoError(t, New(o).Run(t.Context()), name)
	}

	w = newWorld()
	w.others = []observe.Other{rival}
	o := w.options("easy")
	o.Observe, o.Once = true, true
	w.deltas <- w.begin()
	require.NoError(t, New(o).Run(t.Context()), "who only observes may")

	w = newWorld()
	log := &buffer{}
	o = w.options("easy")
	o.Logger = logTo(log)
	d, end := run(t, o)
	w.deltas <- w.begin()
	poll.Equal(t, 1, w.acts)
	w.mu.Lock()
	w.others = []observe.Other{rival}
	w.mu.Unlock()
	w.deltas <- negotiator.Delta{Now: 1001, Submitted: []*negotiator.Job{w.job(3, 1, 10)}}
	poll.Contains(t, "BackfillStopped", adOf(d))
	name, _ := d.Ad().Text("Name")
	require.Equal(t, ObserverName+"here", name)
	require.Contains(t, log.String(), "NOTHING IS MATCHED: another negotiator, there")
	require.NoError(t, end())
	require.Len(t, w.acted, 1, "nothing after it came")
}

// TestApart checks that negotiators with slots of their own are at work side by side, and all others
// are not.
func TestApart(t *testing.T) {
	const own, theirs = "Half == 1", "TARGET.Half == 2"
	both := []string{"Name = \"slot1@a\"\nHalf = 1\n", "Name = \"slot1@b\"\nHalf = 2\n"}
	other := observe.Other{Name: "there", Address: "<127.0.0.2:1>"}
	named := func(name, constraint string) observe.Other {
		return observe.Other{Name: name, Address: other.Address, Ours: true, SlotConstraint: constraint}
	}
	for name, c := range map[string]struct {
		other      observe.Other
		own, known string // our slot constraint, and what we are told of theirs
		slots      []string
		refused    string // a part of the error; "": there is none
	}{
		"a stock one with other slots":  {other, own, theirs, both, ""},
		"ours with other slots":         {named("there", theirs), own, "", both, ""},
		"its ad counts, not our knob":   {named("there", theirs), own, "true", both, ""},
		"a pool without slots":          {other, own, theirs, nil, ""},
		"a slot in both":                {other, own, "Half >= 1", both, "slots away, such as slot1@a: end it"},
		"slots of ours in both":         {named("there", "Half <= 2"), own, "", both, "such as slot1@a"},
		"several in both: the first":    {other, "Half > 0", "Half > 0", []string{both[1], both[0]}, "such as slot1@a"},
		"undefined is not true":         {other, own, "Third == 1", both, ""},
		"its slots are not known":       {other, own, "", both, "slots away: end it"},
		"ours are all":                  {other, "", theirs, both, "BACKFILL_OTHER_SLOT_CONSTRAINT"},
		"the same name":                 {named("here", theirs), own, theirs, both, "slots away: end it"},
		"ours that takes all":           {named("there", ""), own, theirs, both, "slots away: end it"},
		"what it says is no expression": {named("there", "Half =="), own, theirs, both, "slots away: end it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.others, w.slots = []observe.Other{c.other}, c.slots
			o := w.options("easy")
			o.Once = true
			o.SlotConstraint, o.OtherSlotConstraint = c.own, c.known
			w.deltas <- w.begin()
			err := New(o).Run(t.Context())
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			var found *RivalError
			require.ErrorAs(t, err, &found)
			require.ErrorContains(t, err, c.refused)
		})
	}
}

// TestAnAdThatCannotBeRead: the ad of a negotiator that cannot be read keeps no other from its work, and
// hides no other.
func TestAnAdThatCannotBeRead(t *testing.T) {
	w := newWorld()
	w.garbage = []string{"Name = \"x\"\nMyAddress = (((\n", "= =\n"}
	o := w.options("easy")
	o.Once = true
	w.deltas <- w.begin()
	require.NoError(t, New(o).Run(t.Context()))
	w.others = []observe.Other{{Name: "there", Address: "<127.0.0.2:1>", Started: time.Unix(4e18, 0)}}
	var found *RivalError
	require.ErrorAs(t, New(o).Run(t.Context()), &found)
}

// TestApartNoMore checks that the daemon tells others of its slots, steps back when a slot is in both
// constraints, and waits for a collector that does not say.
func TestApartNoMore(t *testing.T) {
	w, log := newWorld(), &buffer{}
	w.others = []observe.Other{{Name: "there", Address: "<127.0.0.2:1>"}}
	w.slots = []string{"Name = \"slot1@a\"\nHalf = 1\n"}
	o := w.options("easy")
	o.Master, o.Parent, o.Logger = w, os.Getppid(), logTo(log)
	o.SlotConstraint, o.OtherSlotConstraint = "Half == 1", "Half == 2 || Old"
	d := New(o)
	d.tryAgain = 10 * time.Millisecond
	end := live(t, d)
	w.deltas <- w.begin()
	poll.Equal(t, 1, w.acts)
	require.Contains(t, adOf(d)(), `BackfillSlotConstraint = "Half == 1"`)

	set := func(deaf bool, slots ...string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deaf, w.slots = deaf, slots
	}
	set(true)
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Contains(t, "no answer about slots", log.String)
	require.NotContains(t, adOf(d)(), "BackfillStopped")
	set(false, "Name = \"slot1@a\"\nHalf = 1\n", "Name = \"slot1@b\"\nHalf = 1\nOld = true\n")
	poll.Contains(t, "BackfillStopped", adOf(d))
	require.Contains(t, log.String(), "slots away, such as slot1@b: end it first")
	o.SlotConstraint = "Half == 1 && Old isnt true"
	d.Configure(o.Tuning)
	w.deltas <- w.begin()
	poll.Equal(t, 2, w.acts)
	require.Contains(t, adOf(d)(), `BackfillSlotConstraint = "Half == 1 && Old isnt true"`)
	require.NotContains(t, adOf(d)(), "BackfillStopped")
	require.NoError(t, end())
}

// TestRivalVanishes checks that the daemon goes on from its saved state when the other negotiator
// is gone.
func TestRivalVanishes(t *testing.T) {
	state, err := OpenState(t.Context(), t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	defer state.Close() //nolint:errcheck // a test's
	w, log := newWorld(), &buffer{}
	rival := observe.Other{Name: "here", Address: "<127.0.0.2:1>"} // of the same name
	w.others = []observe.Other{rival}
	o := w.options("conservative")
	o.Master, o.Parent, o.Logger, o.State = w, os.Getppid(), logTo(log), state
	d := New(o)
	d.tryAgain = 10 * time.Millisecond
	end := live(t, d)
	poll.Contains(t, "BackfillStopped", adOf(d))
	poll.Equal(t, 1, locked(w, func() int { return w.ready })) // condor_master is told that it is up
	asked := locked(w, func() int { return w.asked })
	before := asked()
	poll.Until(t, "more questions", func() (n int, so bool) { n = asked(); return n, n >= before+3 })
	require.Equal(t, 1, strings.Count(log.String(), "NOTHING IS MATCHED"), "it says so once a minute")
	meet := func(others ...observe.Other) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.others = others
	}
	meet()
	w.deltas <- w.begin()
	poll.Equal(t, 1, w.acts)
	require.NotContains(t, adOf(d)(), "BackfillStopped")
	require.Contains(t, log.String(), "no other negotiator is at work any more")
	meet(rival)
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Contains(t, "BackfillStopped", adOf(d))
	meet()
	w.deltas <- negotiator.Delta{Now: 1002}
	plan := poll.Until(t, "the next plan", func() (seen *Forecast, so bool) {
		seen, _ = d.Forecast()
		return seen, seen != nil && seen.Now == 1002
	})
	second, known := plan.Find(2)
	require.True(t, known)
	require.NotNil(t, second.Guarantee)
	require.EqualValues(t, 1100, *second.Guarantee, "the promise stands")
	require.NotContains(t, adOf(d)(), "BackfillStopped")
	require.NoError(t, end())
	require.Equal(t, []string{ObserverName + "here", "here", ObserverName + "here", "here"}, w.gone,
		"no ad is left behind")
	require.Len(t, w.acted, 1, "nothing is started twice")
}

// TestTwoBegin checks that of two negotiators that started together the first goes on, and that the
// daemon yields to a stock negotiator, which never steps back.
func TestTwoBegin(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		other  observe.Other
		yields bool
	}{
		"the other is later":             {observe.Other{Ours: true, Started: now.Add(time.Hour)}, false},
		"the other was first":            {observe.Other{Ours: true, Started: now.Add(-time.Hour)}, true},
		"a stock negotiator comes later": {observe.Other{Started: now.Add(time.Hour)}, true},
	} {
		c.other.Name, c.other.Address = "there", "<127.0.0.2:1>"
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			d, end := run(t, w.options("easy"))
			w.deltas <- w.begin()
			poll.Equal(t, 1, w.acts)
			w.mu.Lock()
			w.others = []observe.Other{c.other}
			w.mu.Unlock()
			w.deltas <- negotiator.Delta{Now: 1001}
			if c.yields {
				poll.Contains(t, "BackfillStopped", adOf(d))
			} else {
				poll.Contains(t, "BackfillCycles = 2;", adOf(d))
			}
			require.NoError(t, end())
			var found *RivalError
			require.ErrorAs(t, New(w.options("easy")).Run(t.Context()), &found,
				"a new one always steps back from one at work")
		})
	}
	// Two that were started in the same second agree as well.
	a, b := New(Options{Address: "<127.0.0.1:1>"}), New(Options{Address: "<127.0.0.1:2>"})
	b.status.started = a.status.started
	other := func(d *Daemon) observe.Other {
		return observe.Other{Address: d.o.Address, Started: d.status.started, Ours: true}
	}
	require.NotEqual(t, a.before(other(b)), b.before(other(a)))
}
