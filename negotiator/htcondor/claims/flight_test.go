package claims

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestUnready gives every reason why a job cannot be negotiated for now, the first that holds.
func TestUnready(t *testing.T) {
	asked := map[string]observe.Submitter{"alice@test": {Idle: 1}}
	for name, c := range map[string]struct {
		s       observe.Schedd
		telling bool
		gang    bool
		want    string
	}{
		"ready":                     {s: observe.Schedd{Submitters: asked}},
		"a gang is ready":           {s: observe.Schedd{Submitters: asked}, gang: true},
		"nothing idle, but no gang": {s: observe.Schedd{Submitters: map[string]observe.Submitter{"alice@test": {}}}},
		"gone":                      {s: observe.Schedd{Name: "z"}, want: "its schedd is gone"},
		"busy": {
			s: observe.Schedd{Failed: errors.New("it is dead")}, telling: true,
			want: "its schedd is being told of other matches",
		},
		"dead": {
			s:    observe.Schedd{Submitters: asked, Failed: errors.New("it is dead"), Late: true},
			want: "its schedd does not answer: it is dead",
		},
		"late": {
			s: observe.Schedd{Submitters: asked, Late: true}, want: "its schedd has not answered yet",
		},
		"excluded submitter": {
			s:    observe.Schedd{Submitters: map[string]observe.Submitter{"alice@test": {Idle: 1, Excluded: true}}},
			want: "NEGOTIATOR_SUBMITTER_CONSTRAINT is not true of its submitter alice@test",
		},
		"submitter who asks to be left out": {
			s:    observe.Schedd{Submitters: map[string]observe.Submitter{"alice@test": {Idle: 1, Skipped: true}}},
			want: "SkipMatchmaking is true of its submitter alice@test",
		},
		"unknown submitter": {want: "its schedd has not advertised the submitter alice@test"},
		"unknown gang":      {gang: true, want: "its schedd does not ask for a gang's slots now"},
		"no gang asked for": {
			s: observe.Schedd{Submitters: map[string]observe.Submitter{"alice@test": {}}}, gang: true,
			want: "its schedd does not ask for a gang's slots now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b")
			nodes := 1
			if c.gang {
				nodes = 2
			}
			f := d.start(d.submit(1, specOf(t, nodes, "true")), "a", "b")
			groups := d.schedd.Groups
			*d.schedd = c.s
			d.schedd.Groups = groups
			if d.schedd.Name == "" {
				d.schedd.Name = "s"
			}
			d.look()
			if c.telling {
				d.telling["s"] = []Grant{{}}
			}
			require.Equal(t, c.want, d.unready(f, "alice@test"))
		})
	}
}

// TestUnreadyOutOfLine says that a gang which would lose its slots to another one is not ready.
func TestUnreadyOutOfLine(t *testing.T) {
	d := newDesk(t, "a", "b")
	d.schedd.Submitters = map[string]observe.Submitter{"DedicatedScheduler@s": {Idle: 1}}
	d.submit(1, specOf(t, 2, "true"))
	f := d.start(d.submit(2, specOf(t, 2, "true")), "a", "b")
	require.Contains(t, d.unready(f, f.job.Submitter()), "its schedd would start gang 1.0 in its place")
}

// TestLetIn says when a schedd has room for a flight, and that room which is given is taken.
func TestLetIn(t *testing.T) {
	room := &accountant.Room{Jobs: 2}
	for name, c := range map[string]struct {
		room   *accountant.Room
		in     int
		claims []string
		want   string
		after  int
	}{
		"no limit":            {},
		"room":                {room: room, in: 1, after: 2},
		"full":                {room: room, in: 2, want: "its schedd runs no more than 2 jobs at once", after: 2},
		"more than full":      {room: room, in: 3, want: "its schedd runs no more than 2 jobs at once", after: 3},
		"full, but it is in":  {room: room, in: 2, claims: []string{"a claim"}, after: 2},
		"no limit, and is in": {claims: []string{"a claim"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			d.schedd.Users = map[string]*accountant.Room{"": c.room} // of the user
			f := d.start(d.submit(1, specOf(t, 1, "true")), "a")
			f.claims, f.full = c.claims, c.want == ""
			in := map[*accountant.Room]int{c.room: c.in}
			require.Equal(t, c.want, d.letIn(f, in))
			require.Equal(t, c.want != "", f.full)
			require.Equal(t, c.after, in[c.room])
		})
	}
}

// TestFlightsKeepTheOrderOfStarts: of jobs that start together, the negotiator's first is the first to
// be handed over, whatever their names are.
func TestFlightsKeepTheOrderOfStarts(t *testing.T) {
	d := newDesk(t, "a")
	jobs := []backfill.JobID{}
	for _, cluster := range []int64{20, 10, 30} {
		jobs = append(jobs, d.submit(cluster, specOf(t, 1, "true")))
	}
	var started, ready []backfill.JobID
	for _, id := range jobs {
		d.start(id, "a")
		started = append(started, id)
	}
	for _, f := range d.incomplete() {
		ready = append(ready, f.job.ID)
	}
	require.Equal(t, started, ready)
}

// TestInRooms says which jobs take room of their schedd: those that run, and those that it has been
// told to start.
func TestInRooms(t *testing.T) {
	d := newDesk(t, "a", "b", "c")
	d.submit(1, specOf(t, 1, "true"))
	d.edit(1, func(g *observe.Group) { g.Status, g.Hosts = observe.Running, []string{"elsewhere"} })
	d.start(d.submit(2, specOf(t, 1, "true")), "a")
	d.start(d.submit(3, specOf(t, 1, "true")), "b").claims = []string{"a claim"}
	d.start(d.submit(4, specOf(t, 1, "true")), "c").telling = true
	d.submit(5, specOf(t, 1, "true"))
	d.schedd.Room = &accountant.Room{Jobs: 5}
	d.look()
	require.Equal(t, 3, d.inRooms()[d.schedd.Room])
}

// TestWithheld gives every reason why a slot does not give a job its chunks, the first that holds.
func TestWithheld(t *testing.T) {
	gang := func(d *desk, f *flight) {
		f.job.Spec = specOf(d.t, 2, "true")
		d.leftover = []*Leftover{{schedd: "z", Slots: []string{"a"}, at: d.now}}
	}
	for name, c := range map[string]struct {
		before func(d *desk, f *flight)
		o      func(o *Offer)
		chunks int
		want   string
	}{
		"given": {},
		"left out": {
			before: func(d *desk, _ *flight) {
				d.suspects["a"] = map[whose]*suspect{{schedd: "s"}: {until: d.now.Add(time.Second)}}
			},
			want: "slot a is left out for a while: starts fail there",
		},
		"was left out": {before: func(d *desk, _ *flight) {
			d.suspects["a"] = map[whose]*suspect{{schedd: "s"}: {until: d.now}}
		}},
		"not there":           {o: func(o *Offer) { *o = Offer{} }, want: "slot a is not advertised"},
		"was a gang's":        {before: gang, want: "slot a was a gang's until a moment ago"},
		"was a gang's before": {before: func(d *desk, f *flight) { gang(d, f); d.now = d.now.Add(leftoverKept) }},
		"was a gang's, and is a single job's now": {before: func(d *desk, f *flight) {
			gang(d, f)
			f.job.Spec = specOf(d.t, 1, "true")
		}},
		"not free": {o: func(o *Offer) { o.Open = false }, want: "slot a is not free yet"},
		"does not fit any more": {
			before: func(d *desk, f *flight) { f.job.Spec = specOf(d.t, 1, "TARGET.Wonder") },
			want:   "its Requirements are not true of slot a any more",
		},
		"may run by now": {
			before: func(d *desk, f *flight) { f.job.Spec = specOf(d.t, 1, "time() >= 1700000000") },
		},
		"may not run yet": {
			before: func(d *desk, f *flight) { f.job.Spec = specOf(d.t, 1, "time() > 1700000000") },
			want:   "its Requirements are not true of slot a any more",
		},
		"admitted": {o: func(o *Offer) { require.NoError(t, o.Ad.SetExpr("Start", "time() < 1700000001")) }},
		"closed": {
			o:    func(o *Offer) { require.NoError(t, o.Ad.SetExpr("Start", "CurrentTime < 1700000000")) },
			want: "START of slot a does not admit it any more",
		},
		"the startd has opened since it made its ad": {
			o: func(o *Offer) {
				o.Ad.SetInt("MyCurrentTime", 1699999940)
				o.Ad.SetInt("ClockMin", 539)
				require.NoError(t, o.Ad.SetExpr("Start", "ClockMin >= 540"))
			},
			want: "START of slot a admits it once its startd has looked at the clock",
		},
		"drawn before": {
			before: func(d *desk, f *flight) { f.job.Spec = specOf(d.t, 1, "random() > 0.5") },
			o:      func(o *Offer) { require.NoError(t, o.Ad.SetExpr("Start", "random(10) > 5")) },
		},
		"no claim": {
			o: func(o *Offer) { o.Claims = nil }, want: "slot a has no claim to give yet",
		},
		"some claims": {chunks: 2},
		"some claims, others were used": {
			chunks: 2, o: func(o *Offer) { o.used = true }, want: "slot a has no claim to give yet",
		},
		"one claim is enough": {o: func(o *Offer) { o.used = true }},
		"too little": {
			o: func(o *Offer) { o.Free[1] = 100 }, want: "slot a has 100 memory free, not yet the 128 that are needed",
		},
		"too little for two": {
			o: func(o *Offer) { o.Free[1] = 255 }, chunks: 2,
			want: "slot a has 255 memory free, not yet the 256 that are needed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			f := d.start(d.submit(1, specOf(t, 1, "true")), "a")
			if c.before != nil {
				c.before(d, f)
			}
			ad := classad.New()
			ad.SetString("Name", "a")
			o := &Offer{Ad: ad, Free: backfill.Vector{2, 256, 2}, Open: true, Claims: []string{"a claim"}}
			if c.o != nil {
				c.o(o)
			}
			if o.Ad == nil {
				o = nil
			}
			require.Equal(t, c.want, d.withheld(f, "a", max(1, c.chunks), o))
		})
	}
}

// TestGrant says that a job gets a claim for each chunk as far as there are claims, and nothing
// unless all of it is free.
func TestGrant(t *testing.T) {
	d := newDesk(t, "a", "b")
	f := d.start(d.submit(1, specOf(t, 3, "true")), "a", "b")
	f.rest[1].Chunks = 2
	offers := map[string]*Offer{}
	for slot, claims := range map[string][]string{"a": {"a1", "a2"}, "b": {"b1"}} {
		offers[slot] = &Offer{Ad: classad.New(), Free: backfill.Vector{2, 256, 2}, Open: true, Claims: claims}
	}
	offers["b"].Open = false
	matches, why := d.grant(f, offers, nil)
	require.Empty(t, matches)
	require.Equal(t, "slot b is not free yet", why)
	require.Equal(t, []string{"a1", "a2"}, offers["a"].Claims)
	offers["b"].Open = true
	matches, why = d.grant(f, offers, nil)
	require.Empty(t, why)
	require.Len(t, matches, 2)
	require.Equal(t, []string{"a1", "b1"}, []string{matches[0].Claim, matches[1].Claim})
	require.Equal(t, []string{"a2"}, offers["a"].Claims)
	require.Equal(t, backfill.Vector{1, 128, 1}, offers["a"].Free)
	require.True(t, offers["b"].used)
	for _, m := range matches {
		d.wasSent(m)
	}
	require.False(t, f.sent())
	require.True(t, f.handed())
	require.Equal(t, "b", f.rest[0].Slot)
	require.Equal(t, 1, f.rest[0].Chunks)
	_, why = d.grant(f, offers, nil)
	require.Equal(t, "slot b has no claim to give yet", why)
}

// TestGrantToProcs says that the claims of a gang of several procs are for its procs in turn, also
// if they come in instalments.
func TestGrantToProcs(t *testing.T) {
	d := newDesk(t, "a")
	spec := specOf(t, 2, "true")
	id := d.submit(1, spec)
	second := *d.schedd.Groups[0]
	second.Jobs = []observe.JobKey{{Schedd: "s", Cluster: 1, Proc: 1}}
	d.schedd.Groups = append(d.schedd.Groups, &second)
	d.look()
	f := d.start(id, "a")
	f.rest[0].Chunks = 4
	o := &Offer{Ad: classad.New(), Free: backfill.Vector{4, 4096, 4}, Open: true, Claims: []string{"1", "2", "3"}}
	var procs []int64
	for range 2 {
		matches, why := d.grant(f, map[string]*Offer{"a": o}, nil)
		require.Empty(t, why)
		for _, m := range matches {
			procs = append(procs, m.Proc)
			d.wasSent(m)
		}
		o.Claims, o.used = []string{"4"}, false
	}
	require.Equal(t, []int64{0, 0, 1, 1}, procs)
	require.True(t, f.sent())
}

// TestLeaveUsed says that a slot does not offer what it has given already, although its ad is
// older.
func TestLeaveUsed(t *testing.T) {
	d := newDesk(t, "a")
	d.used["used"] = use{slot: "a", request: backfill.Vector{2, 256, 1}, at: d.now}
	static := classad.New()
	o := &Offer{Ad: static, Free: backfill.Vector{8, 1024, observe.Unlimited}, Open: true, Claims: []string{"used", "c2"}}
	d.leaveUsed(o)
	require.Equal(t, &Offer{
		Ad: static, Free: backfill.Vector{6, 768, observe.Unlimited - 1}, Open: true, Claims: []string{"c2"}, used: true,
	}, o)
}

// Slots that were given up do not count when it is decided whether to ask for slots by name.
func TestDroppedSlotsDoNotCount(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	d := newDesk(t, names...)
	for _, name := range names[:2] {
		d.snapshot.Slots[name].Missing = d.now
	}
	d.now = d.now.Add(16 * time.Minute)
	out := d.look()
	require.Equal(t, names[:2], out.Dropped)
	require.Equal(t, 2, d.Slots())
}

// TestASilentScheddHoldsNoSlots: the starts of a schedd without an ad of its own that tells its queue no
// more are given up by the negotiator's own clock, except where a slot names the job. Its other jobs
// leave the plan with them, and all come back when it answers.
func TestASilentScheddHoldsNoSlots(t *testing.T) {
	for _, named := range []bool{false, true} {
		d := newDesk(t, "a", "b")
		id := d.submit(1, specOf(t, 1, "true"))
		waits := d.submit(2, specOf(t, 1, "true"))
		d.start(id, "a").claims = []string{"a claim"}
		d.schedd.Read, d.schedd.Own, d.schedd.Since = false, false, d.now
		if named {
			a := *d.snapshot.Slots["a"]
			a.Claimed, a.Runs = true, observe.JobKey{Schedd: "s", Cluster: 1}
			d.snapshot.Slots["a"] = &a
		}
		d.now = d.now.Add(d.s.Patience - time.Second)
		require.Empty(t, d.look().Failed)
		d.now = d.now.Add(time.Second)
		out := d.look()
		if named {
			require.Empty(t, out.Failed)
			require.Empty(t, out.Delta.Removed)
			continue
		}
		require.Equal(t, []backfill.JobID{id}, out.Failed)
		require.Equal(t, []backfill.JobID{id, waits}, out.Delta.Removed)
		require.Len(t, d.belief.View().All(), 2)
		require.Empty(t, d.look().Delta.Submitted)
		d.schedd.Read = true
		require.Len(t, d.look().Delta.Submitted, 2)
	}
}
