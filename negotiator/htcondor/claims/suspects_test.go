package claims

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// claimed shows that a claim of a job began on a slot a second ago.
func (d *desk) claimed(slot string, job observe.JobKey) {
	d.slot(slot, func(s *observe.Slot) { s.ClaimBegan, s.ClaimBeganFor = d.now.Add(time.Second), job })
}

// slot changes a slot of the last snapshot, which nobody else has.
func (d *desk) slot(name string, change func(s *observe.Slot)) { change(d.snapshot.Slots[name]) }

// setStart gives a slot a START.
func (d *desk) setStart(slot, start string) {
	require.NoError(d.t, d.snapshot.Slots[slot].Ad.Ad.SetExpr("Start", start))
}

// drain has a slot drain, as condor_drain does, and take only the jobs of which an expression is true.
func (d *desk) drain(slot, start string) {
	ad := d.snapshot.Slots[slot].Ad.Ad
	ad.SetString(negotiator.WhyClosed, "draining")
	require.NoError(d.t, ad.SetExpr("Requirements", start))
}

// TestCulprits says which slots can be why a start failed: of a gang's, those on which no claim
// came about, if on others one did; and none that refused a claim because it was stale,
// because the clock had closed it meanwhile, or because its machine drains.
func TestCulprits(t *testing.T) {
	stranger := observe.JobKey{Schedd: "other", Cluster: 7}
	for name, c := range map[string]struct {
		slots  []string
		change func(d *desk, f *flight)
		want   []string
	}{
		"a job's": {slots: []string{"a"}, want: []string{"a"}},
		"a job's, which began there": {
			slots: []string{"a"}, change: func(d *desk, f *flight) { d.claimed("a", f.job.Key) },
		},
		"taken by an unknown job": {
			slots: []string{"a"}, change: func(d *desk, _ *flight) { d.claimed("a", stranger) },
		},
		"claimed, nobody says for whom": {
			slots: []string{"a"}, change: func(d *desk, _ *flight) { d.claimed("a", observe.JobKey{}) },
			want: []string{"a"},
		},
		"taken before": {slots: []string{"a"}, change: func(d *desk, f *flight) {
			d.claimed("a", stranger)
			f.since = d.now.Add(time.Second)
		}, want: []string{"a"}},
		"restarted": {slots: []string{"a"}, change: func(d *desk, _ *flight) {
			d.slot("a", func(s *observe.Slot) { s.Restarted = d.now.Add(time.Second) })
		}},
		"missing": {slots: []string{"a"}, change: func(d *desk, _ *flight) {
			d.slot("a", func(s *observe.Slot) { s.Missing = d.now })
		}},
		"gone": {slots: []string{"a"}, change: func(d *desk, _ *flight) { delete(d.snapshot.Slots, "a") }},
		"closed by the clock": {slots: []string{"a"}, change: func(d *desk, _ *flight) {
			d.setStart("a", fmt.Sprint("time() <= ", d.now.Unix()))
			d.now = d.now.Add(time.Second)
		}},
		"closed for others": {slots: []string{"a"}, change: func(d *desk, _ *flight) {
			d.setStart("a", "TARGET.RequestCpus == 1")
		}, want: []string{"a"}},
		"drained": {slots: []string{"a"}, change: func(d *desk, _ *flight) { d.drain("a", "false") }},
		"drained, but for short jobs": {slots: []string{"a"}, change: func(d *desk, _ *flight) {
			d.drain("a", "TARGET.EstimatedRunTime <= 60")
		}},
		"drained, but for such jobs": {slots: []string{"a"}, change: func(d *desk, _ *flight) {
			d.drain("a", "TARGET.RequestCpus == 1")
		}, want: []string{"a"}},
		"only wanted until now": {slots: []string{"a"}, change: func(d *desk, f *flight) {
			f.job.Spec = specOf(t, 1, fmt.Sprint("time() <= ", d.now.Unix()))
			d.now = d.now.Add(time.Second)
		}},
		"never wanted": {slots: []string{"a"}, change: func(_ *desk, f *flight) {
			f.job.Spec = specOf(t, 1, "TARGET.Wonder")
		}, want: []string{"a"}},
		"a gang": {slots: []string{"a", "b"}},
		"a gang that has a claim": {
			slots: []string{"a", "b"}, change: func(d *desk, f *flight) { d.claimed("a", f.job.Key) },
			want: []string{"b"},
		},
		"a gang that has all claims": {slots: []string{"a", "b"}, change: func(d *desk, f *flight) {
			d.claimed("a", f.job.Key)
			d.claimed("b", f.job.Key)
		}},
		"a gang, and another took a slot": {slots: []string{"a", "b", "c"}, change: func(d *desk, f *flight) {
			d.claimed("a", f.job.Key)
			d.claimed("b", stranger)
		}, want: []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c")
			f := d.start(d.submit(1, specOf(t, len(c.slots), "true")), c.slots...)
			if c.change != nil {
				c.change(d, f)
			}
			require.Equal(t, c.want, d.culprits(f))
		})
	}
}

// TestClosedSlotsAreNoSuspects has two claims on their way as START of a slot closes: both are refused,
// which is held against neither the slot nor the jobs. A startd that says so again and again, and starts
// nothing, is a suspect all the same.
func TestClosedSlotsAreNoSuspects(t *testing.T) {
	d := newDesk(t, "a", "b")
	d.prove("a", "b")
	id := d.submit(1, specOf(t, 1, "true"))
	d.setStart("a", fmt.Sprint("time() < ", d.now.Unix()+1))
	require.Len(t, d.refuse(id, "a"), 1)
	require.Len(t, d.refuse(id, "a"), 1)
	require.Empty(t, d.Suspects())
	require.Empty(t, d.failures, "the job may be refused at once elsewhere, too")
	d.now = d.now.Add(3 * d.s.Patience)
	require.Len(t, d.refuse(id, "a"), 1)
	require.Len(t, d.Suspects(), 1)
}

// TestDrainedSlotsAreNoSuspects has a claim on its way as the slot's machine begins to drain.
func TestDrainedSlotsAreNoSuspects(t *testing.T) {
	d := newDesk(t, "a", "b")
	d.prove("a", "b")
	id := d.submit(1, specOf(t, 1, "true"))
	d.drain("a", "false")
	require.Len(t, d.refuse(id, "a"), 1)
	require.Empty(t, d.Suspects())
	require.Empty(t, d.failures, "the job may be refused at once elsewhere, too")
}

// TestClosedSlotsAreGivenUp has START of a slot close before a job is handed over to it: that is given up
// at the next look, if the clock has closed it. What is not free yet is waited for.
func TestClosedSlotsAreGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		requirements, start string
		want                int
	}{
		"START":                  {"true", "time() <= 1700000000", 1},
		"Requirements":           {"time() <= 1700000000", "true", 1},
		"START, as of now":       {"true", "Cpus > 7", 0},
		"Requirements as of now": {"TARGET.Cpus > 7", "true", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b")
			f := d.start(d.submit(1, specOf(t, 1, c.requirements)), "a")
			ad := classad.New()
			ad.SetInt("Cpus", 4)
			require.NoError(t, ad.SetExpr("Start", c.start))
			d.now = d.now.Add(time.Second)
			o := &Offer{Ad: ad, Free: backfill.Vector{4, 4096, 1}, Open: true, Claims: []string{"a claim"}}
			require.NotEmpty(t, d.withheld(f, "a", 1, o))
			require.Len(t, d.look().Failed, c.want)
			require.Empty(t, d.Suspects())
		})
	}
}

// fail has a start of a job on a slot fail, and gives what is left out.
func (d *desk) fail(id backfill.JobID, slot string) []Pause {
	d.t.Helper()
	d.start(id, slot)
	return d.overdue()
}

// overdue has the only flight be overdue at a look.
func (d *desk) overdue() []Pause {
	d.t.Helper()
	for _, f := range d.flights {
		f.claims, f.rest = []string{"a claim"}, nil
	}
	d.now = d.now.Add(d.s.Patience)
	out := d.look()
	require.Len(d.t, out.Failed, 1)
	require.Equal(d.t, 1, out.Unstarted)
	return d.Paused()
}

// TestPausesGrow says that a slot is left out for longer after each failure in a row, up to a
// limit, and is cleared by a start that comes off well.
func TestPausesGrow(t *testing.T) {
	d := newDesk(t, "a", "b", "c")
	d.submit(1, specOf(t, 1, "true"))
	job := observe.JobKey{Schedd: "s", Cluster: 1}
	for i, pause := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
		paused := d.fail(d.belief.JobOf(job).ID, "a")
		until := d.now.Add(pause * time.Second)
		require.Equal(t, []Pause{{Slot: "a", Failures: i + 1, Until: until}}, paused)
		require.False(t, d.Deadline().After(until), "its job may be tried before")
		d.now = until
		d.look()
		require.Empty(t, d.Paused())
		require.Len(t, d.Suspects(), 1)
	}
	d.start(d.belief.JobOf(job).ID, "a")
	d.edit(1, func(g *observe.Group) { g.Status, g.Hosts, g.Started = observe.Running, []string{"a"}, d.snapshot.Now })
	d.look()
	require.Len(t, d.Suspects(), 1, "it has only begun")
	d.now = d.now.Add(d.s.Patience)
	d.look()
	require.Empty(t, d.Suspects())
	require.Contains(t, d.out.String(), "a slot is not doubted any more")
}

// TestSuspectsAreForgotten says when a failure does not count any more.
func TestSuspectsAreForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		after  time.Duration
		change func(s *observe.Snapshot)
		kept   bool
	}{
		"a short time ago": {after: time.Minute, kept: true},
		"an hour ago":      {after: time.Hour + firstPause, kept: true},
		"long ago":         {after: time.Hour + firstPause + time.Second},
		"its startd restarted": {after: time.Second, change: func(s *observe.Snapshot) {
			a := *s.Slots["a"]
			a.Restarted = s.Began
			s.Slots["a"] = &a
		}},
		"the slot is gone":   {after: time.Second, change: func(s *observe.Snapshot) { delete(s.Slots, "a") }},
		"the schedd is gone": {after: time.Second, change: func(s *observe.Snapshot) { delete(s.Schedds, "s") }},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c")
			require.Len(t, d.fail(d.submit(1, specOf(t, 1, "true")), "a"), 1)
			d.now = d.now.Add(c.after)
			if c.change == nil {
				d.look()
			} else {
				d.look(c.change)
			}
			require.Equal(t, c.kept, len(d.Suspects()) == 1)
		})
	}
}

// TestLeftOutFor says for whom a slot is left out: for the schedd or user whose starts failed, or for
// everybody if there are several schedds, or only one in the pool.
func TestLeftOutFor(t *testing.T) {
	all := &track.LeftOut{Of: track.Everybody}
	s, z, alice, bob := whose{schedd: "s"}, whose{schedd: "z"}, whose{"s", "alice"}, whose{"s", "bob"}
	for name, c := range map[string]struct {
		suspects map[whose]time.Duration // until
		schedds  []string
		want     *track.LeftOut
		spares   string // the user whose jobs of s it gets
	}{
		"nobody":          {schedds: []string{"s", "z"}, spares: "alice"},
		"the only schedd": {suspects: map[whose]time.Duration{s: 1}, schedds: []string{"s"}, want: all},
		"one schedd": {
			suspects: map[whose]time.Duration{s: 1}, schedds: []string{"s", "z"}, want: &track.LeftOut{Of: "s"},
		},
		"two schedds": {suspects: map[whose]time.Duration{s: 1, z: 1}, schedds: []string{"s", "z"}, want: all},
		"one, and one before": {
			suspects: map[whose]time.Duration{s: 1, z: 0}, schedds: []string{"s", "z"}, want: &track.LeftOut{Of: "s"},
		},
		"the pause has ended":   {suspects: map[whose]time.Duration{s: 0}, schedds: []string{"s"}, spares: "alice"},
		"both pauses are ended": {suspects: map[whose]time.Duration{s: 0, z: 0}, schedds: []string{"s", "z"}, spares: "bob"},
		"a user": {
			suspects: map[whose]time.Duration{alice: 1, bob: 0}, schedds: []string{"s"},
			want: &track.LeftOut{Of: "s", Users: "alice"}, spares: "bob",
		},
		"two users": {
			suspects: map[whose]time.Duration{alice: 1, bob: 1}, schedds: []string{"s"},
			want: &track.LeftOut{Of: "s", Users: "alice bob"},
		},
		"a user of two schedds": {
			suspects: map[whose]time.Duration{alice: 1, {"z", "alice"}: 1}, schedds: []string{"s", "z"},
			want: &track.LeftOut{Of: track.Everybody, Users: "alice"}, spares: "bob",
		},
		"many users": {
			suspects: map[whose]time.Duration{alice: 1, bob: 1, {"s", "carol"}: 1, {"s", "dan"}: 1},
			schedds:  []string{"s", "z"}, want: &track.LeftOut{Of: "s"},
		},
		"many users of the only schedd": {
			suspects: map[whose]time.Duration{alice: 1, bob: 1, {"s", "carol"}: 1, {"s", "dan"}: 1},
			schedds:  []string{"s"}, want: all,
		},
		"a user, and another schedd": {
			suspects: map[whose]time.Duration{alice: 1, z: 1}, schedds: []string{"s", "z"}, want: all,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			d.look(func(s *observe.Snapshot) {
				for _, name := range c.schedds {
					s.Schedds[name] = &observe.Schedd{Name: name, Read: true}
				}
			})
			d.suspects["a"] = map[whose]*suspect{}
			for who, until := range c.suspects {
				d.suspects["a"][who] = &suspect{until: d.now.Add(until)}
			}
			require.Equal(t, c.want, d.leftOut("a", d.now))
			for _, user := range []string{"alice", "bob"} {
				j := &track.Job{Key: observe.JobKey{Schedd: "s"}, Group: &observe.Group{Spec: specBy(t, user)}}
				require.Equal(t, c.want != nil && c.spares != user, d.isLeftOut("a", j, d.now))
			}
		})
	}
}

// TestBlame says when a failed start is held against its slot.
func TestBlame(t *testing.T) {
	t.Run("most of the pool is not left out", func(t *testing.T) {
		d := newDesk(t, "a")
		require.Empty(t, d.fail(d.submit(1, specOf(t, 1, "true")), "a"))
	})
	t.Run("a user's jobs blame one slot of those that work at a time", func(t *testing.T) {
		d := newDesk(t, "a", "b", "c", "d")
		d.prove("a", "b", "c", "d")
		kinds := []backfill.JobID{
			d.submit(1, specOf(t, 1, "true")), d.submit(2, specOf(t, 1, "1 == 1")), d.submit(3, specOf(t, 1, "2 == 2")),
		}
		require.Len(t, d.fail(kinds[0], "a"), 1)
		d.now = d.now.Add(10 * time.Second)
		d.look()
		require.Empty(t, d.fail(kinds[1], "b"))
		require.Len(t, d.fail(kinds[2], "b"), 1, "the last blame is as old as twice the patience")
		require.Len(t, d.Suspects(), 2)
	})
	t.Run("a schedd that is full starts nothing", func(t *testing.T) {
		d := newDesk(t, "a", "b", "c")
		id := d.submit(1, specOf(t, 1, "true"))
		d.schedd.Full = true
		require.Empty(t, d.fail(id, "a"))
	})
	t.Run("what was not handed over blames nobody", func(t *testing.T) {
		d := newDesk(t, "a", "b", "c")
		d.start(d.submit(1, specOf(t, 1, "true")), "a")
		d.now = d.now.Add(d.s.Patience)
		require.Equal(t, 1, d.look().Unstarted)
		require.Empty(t, d.Suspects())
	})
	t.Run("a queue that is not read tells nothing", func(t *testing.T) {
		d := newDesk(t, "a", "b", "c")
		d.start(d.submit(1, specOf(t, 1, "true")), "a").claims = []string{"a claim"}
		d.schedd.Read = false
		d.now = d.now.Add(time.Hour)
		require.Zero(t, d.look().Unstarted)
		require.Empty(t, d.Suspects())
	})
	t.Run("who only observes blames nobody", func(t *testing.T) {
		d := newDesk(t, "a", "b", "c")
		d.s.Observe = true
		d.start(d.submit(1, specOf(t, 1, "true")), "a").claims = []string{"a claim"}
		d.now = d.now.Add(d.s.Patience)
		d.look()
		require.Empty(t, d.Suspects())
	})
}

// TestExcusesCountOnce says that a startd's restart excuses its slot once, until a start there succeeds
// or an hour has passed.
func TestExcusesCountOnce(t *testing.T) {
	d := newDesk(t, "a", "b")
	first := d.now
	require.True(t, d.excuse("a", first))
	require.True(t, d.excuse("a", first), "of several starts")
	require.False(t, d.excuse("a", first.Add(time.Minute)))
	require.True(t, d.excuse("b", first.Add(time.Minute)))
	d.clear(track.Proven{Schedd: "s", Places: []track.Place{{Slot: "a"}}, Start: backfill.Time(first.Unix()) - 1})
	require.False(t, d.excuse("a", first.Add(time.Minute)), "that start was before")
	d.clear(track.Proven{Schedd: "s", Places: []track.Place{{Slot: "a"}}, Start: backfill.Time(first.Unix())})
	require.True(t, d.excuse("a", first.Add(time.Minute)))
	require.True(t, d.excuse("a", first.Add(time.Minute+suspicionEnd)))
}
