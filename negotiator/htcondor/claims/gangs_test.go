package claims

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// TestInLine says that a gang waits until its schedd has started another one, and has counted
// since.
func TestInLine(t *testing.T) {
	d := newDesk(t, "a", "b", "c", "d")
	one, two := d.submit(1, specOf(t, 2, "true")), d.submit(2, specOf(t, 2, "true"))
	first, second := d.start(one, "a", "b"), d.start(two, "c", "d")
	require.Empty(t, d.mustWait(second, false))
	first.claims = []string{"a claim"}
	d.now = d.now.Add(time.Second)
	require.Equal(t, "its schedd is collecting the slots of another gang", d.mustWait(second, false))
	require.Equal(t, d.now, second.moved, "it gets on")
	d.schedd.Counted = 5
	d.edit(1, func(g *observe.Group) { g.Status, g.Started = observe.Running, 5 })
	d.look() // where it runs is not known yet
	require.Equal(t, "its schedd has just started another gang", d.mustWait(second, false))
	d.schedd.Counted = 6
	d.look()
	moved := second.moved
	d.now = d.now.Add(time.Second)
	require.Empty(t, d.mustWait(second, false))
	require.Equal(t, moved, second.moved)
	require.Equal(t, "its schedd is given another gang first", d.mustWait(second, true))
}

// TestGangsFly says that looks follow each other closely while a schedd that answers collects a
// gang's slots, or has to count before the next one goes; and not for longer.
func TestGangsFly(t *testing.T) {
	dead, rest := errors.New("it is dead"), []track.Place{{Slot: "a", Chunks: 1}}
	for name, c := range map[string]struct {
		s       observe.Schedd
		gang    backfill.Time // when the last gang of the schedd began
		claims  []string
		rest    []track.Place
		single  bool // the job is no gang
		observe bool
		want    bool
	}{
		"collecting":                 {want: true},
		"collecting the rest":        {claims: []string{"a claim"}, rest: rest, want: true},
		"does not answer":            {s: observe.Schedd{Failed: dead}},
		"has not answered yet":       {s: observe.Schedd{Late: true}},
		"nothing handed over":        {rest: rest},
		"has to count":               {s: observe.Schedd{Counted: 5}, gang: 5, rest: rest, want: true},
		"has counted":                {s: observe.Schedd{Counted: 6}, gang: 5, rest: rest},
		"dead before it does":        {s: observe.Schedd{Counted: 5, Failed: dead}, gang: 5, rest: rest},
		"no gang":                    {single: true},
		"no gang, and has to count":  {s: observe.Schedd{Counted: 5}, gang: 5, rest: rest, single: true},
		"another negotiator matches": {observe: true},
		"its schedd is gone":         {s: observe.Schedd{Name: "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			if *d.schedd = c.s; c.s.Name == "" {
				d.schedd.Name = "s"
			}
			d.look()
			d.s.Observe = c.observe
			d.started["s"] = c.gang
			nodes := 2
			if c.single {
				nodes = 1
			}
			j := &track.Job{
				ID: 1, Key: observe.JobKey{Schedd: "s", Cluster: 1},
				Group: &observe.Group{Spec: specOf(t, nodes, "true"), Status: observe.Idle},
			}
			d.flights[1] = &flight{job: j, claims: c.claims, rest: c.rest}
			require.Equal(t, c.want, d.GangsFly())
		})
	}
}

// TestOutOfLine says that a gang's slots are not claimed while its schedd would give them to
// another gang, which is before it in the queue and fits on them.
func TestOutOfLine(t *testing.T) {
	for name, c := range map[string]struct {
		rival string // its Requirements
		prio  int64
		flies bool
		until backfill.Time // the other is deferred
		waits bool
	}{
		"the other is deferred":       {rival: "true", prio: 1, until: 1_800_000_000},
		"the other fits":              {rival: "true", prio: 1, waits: true},
		"the other is behind it":      {rival: "true", prio: -1},
		"the other fits elsewhere":    {rival: `TARGET.Name == "c"`, prio: 1},
		"the other fits now":          {rival: "time() >= 1700000000", prio: 1, waits: true},
		"the other fits later":        {rival: "time() > 1800000000", prio: 1},
		"the other has claims itself": {rival: "true", prio: 1, flies: true},
		"slots are told apart":        {rival: "TARGET.ClusterId == 2", prio: 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c", "d")
			one, two := d.submit(1, specOf(t, 2, "true")), d.submit(2, specOf(t, 2, c.rival))
			d.edit(2, func(g *observe.Group) { g.Prio, g.Deferral.Time = c.prio, c.until })
			d.look()
			f := d.start(one, "a", "b")
			if c.flies {
				d.start(two, "c", "d").rest = nil
			}
			why := d.wouldLose(f)
			require.Equal(t, c.waits, why != "")
			if c.waits {
				require.Contains(t, why, "its schedd would start gang 2.0 in its place")
			}
		})
	}
}

// TestRivalsInVain says that a gang that its schedd would not start leaves the plan at the next look,
// that it waits for the other one for a time only, and that it is handed over then.
func TestRivalsInVain(t *testing.T) {
	d := newDesk(t, "a", "b", "c", "d")
	d.submit(1, specOf(t, 2, "true"))
	two := d.submit(2, specOf(t, 2, "true"))
	d.edit(2, func(g *observe.Group) { g.Prio = 1 })
	d.look()
	waits := func() bool {
		j := d.belief.JobOf(observe.JobKey{Schedd: "s", Cluster: 1})
		f := d.start(j.ID, "a", "b")
		lost := d.wouldLose(f) != ""
		require.Equal(t, lost, len(d.look().Failed) == 1)
		require.Equal(t, lost, j.Phase == track.Unknown)
		if lost {
			d.now = d.now.Add(longestRivalry - time.Second)
			d.look()
			require.Equal(t, track.Unknown, j.Phase)
			d.now = d.now.Add(time.Second)
			d.look()
			require.Equal(t, track.Waiting, j.Phase)
		} else {
			d.now = d.now.Add(2 * d.s.Patience)
			require.Len(t, d.look().Failed, 1)
		}
		return lost
	}
	require.True(t, waits())
	require.False(t, waits())
	d.now = d.now.Add((forgetsRivals + 1) * longestRivalry)
	d.look()
	require.True(t, waits())
	d.start(two, "c", "d").rest = nil
	d.look()
	require.Empty(t, d.rivals, "it is on its way")
}

// TestUnaskedGangsPause says that a user's gangs wait for longer each time that their schedd did not ask
// for the slots of one that was started, and not once it asks. Another user's do not.
func TestUnaskedGangsPause(t *testing.T) {
	gangBy := func(user string) *observe.Spec {
		spec := specOf(t, 2, "true")
		spec.Ad.SetString("User", user)
		spec.Text = spec.Ad.String()
		return spec
	}
	d := newDesk(t, "a", "b", "c", "d")
	d.submit(1, gangBy("eve"))
	d.submit(2, gangBy("eve"))
	d.submit(3, gangBy("bob"))
	planned := func(cluster int64) bool {
		j := d.belief.JobOf(observe.JobKey{Schedd: "s", Cluster: cluster})
		_, out := d.belief.View().Why(j.ID)
		return !out
	}
	for _, pause := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600} {
		for cluster, slots := range map[int64][]string{1: {"a", "b"}, 2: {"c", "d"}} {
			d.start(d.belief.JobOf(observe.JobKey{Schedd: "s", Cluster: cluster}).ID, slots...)
		}
		d.now = d.now.Add(2 * d.s.Patience)
		require.Len(t, d.look().Failed, 2)
		require.Equal(t, []bool{false, false, true}, []bool{planned(1), planned(2), planned(3)})
		until := d.now.Add(pause * time.Second)
		require.Equal(t, until, d.Deadline())
		d.now = until.Add(-time.Second)
		d.look()
		require.False(t, planned(1))
		d.now = until
		d.look()
		require.True(t, planned(1) && planned(2))
	}
	d.start(d.belief.JobOf(observe.JobKey{Schedd: "s", Cluster: 1}).ID, "a", "b")
	d.now = d.now.Add(2 * d.s.Patience)
	d.look()
	require.False(t, planned(1))
	d.schedd.Submitters = map[string]observe.Submitter{"DedicatedScheduler@s": {Idle: 2}}
	d.look()
	require.True(t, planned(1))
	d.schedd.Submitters = nil
	d.look()
	d.now = d.now.Add(3 * time.Hour)
	d.look()
	require.Empty(t, d.refused.gangs)
}
