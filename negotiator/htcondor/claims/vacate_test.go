package claims

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// scavenger is what a scavenger is planned by.
func scavenger(tb testing.TB) *observe.Spec {
	tb.Helper()
	spec := specOf(tb, 1, "true")
	spec.Scavenger = true
	spec.Text += " a scavenger"
	return spec
}

// over has a job start on a slot where others make way, at the latest in some seconds.
func (d *desk) startOver(id backfill.JobID, slot string, in backfill.Time, victims ...backfill.JobID) *flight {
	d.t.Helper()
	d.Start(d.now, []negotiator.Match{{
		Job: &negotiator.Job{ID: id}, Placement: negotiator.Placement{{Slot: d.snapshot.Slots[slot].Ad, Count: 1}},
		Displaces: victims, At: backfill.Time(d.now.Unix()) + in,
	}})
	return d.flights[id]
}

// runs has a job run on a slot.
func (d *desk) runs(cluster int64, slot string) {
	d.edit(cluster, func(g *observe.Group) {
		g.Status, g.Hosts, g.Started, g.Shadows = observe.Running, []string{slot}, d.snapshot.Now, g.Shadows+1
	})
}

// handed hands over all of a flight.
func (d *desk) handed(f *flight) {
	d.wasSent(Grant{flight: f, Slot: f.rest[0].Slot, Claim: "<n>#1#claim"})
}

// TestScavengersAreToldToLeave: of one that runs the schedd is told, again if it does not leave or the schedd
// was not there; the job for which it leaves waits for as long as it may take, and then for as long as any.
func TestScavengersAreToldToLeave(t *testing.T) {
	d := newDesk(t, "a")
	victim := d.submit(1, scavenger(t))
	d.handed(d.start(victim, "a"))
	d.runs(1, "a")
	dynamic := *slotOf("a")
	dynamic.Claim, dynamic.Claimed = classad.New(), true
	dynamic.Claim.SetInt("MachineMaxVacateTime", 100)
	d.snapshot.Slots["a"] = &dynamic
	d.look()
	heir := d.submit(2, specOf(t, 1, "true"))
	f := d.startOver(heir, "a", 10, victim)
	require.True(t, d.Unsent())
	told := Vacates(d.State, d.now)
	require.Equal(t, map[string]Vacate{"s": {[]backfill.JobID{victim}, []string{"1.0"}}}, told)
	require.Empty(t, Vacates(d.State, d.now), "it is being told")
	NoteVacated(d.State, d.now, "s", told["s"], false, errors.New("nobody was there"))
	require.Empty(t, Vacates(d.State, d.now))
	d.now = d.now.Add(askedAgain)
	require.Len(t, Vacates(d.State, d.now), 1)
	NoteVacated(d.State, d.now, "s", told["s"], false, nil)
	leaves := d.now.Add(100 * time.Second)
	require.WithinDuration(t, leaves, f.due(), 0)
	d.now = d.now.Add(vacatedAgain - time.Second)
	require.Empty(t, Vacates(d.State, d.now))
	d.now = d.now.Add(time.Second)
	require.Len(t, Vacates(d.State, d.now), 1, "it may not have been told")
	require.False(t, NoteVacated(d.State, d.now, "s", told["s"], false, nil))
	require.WithinDuration(t, leaves, f.due(), 0, "nor is it given more time")
	d.now = leaves.Add(time.Second)
	require.Len(t, Vacates(d.State, d.now), 1, "it runs on")
	NoteVacated(d.State, d.now, "s", told["s"], false, nil)
	require.WithinDuration(t, d.now.Add(100*time.Second), f.due(), 0)

	d.edit(1, func(g *observe.Group) { g.Status, g.Hosts = observe.Idle, nil })
	out := d.look()
	require.Equal(t, []backfill.JobID{victim}, out.Delta.Displaced)
	require.Contains(t, d.flights, heir)
	require.Empty(t, Vacates(d.State, d.now))
	d.now = f.due().Add(29 * time.Second)
	require.Empty(t, d.look().Failed)
	d.now = d.now.Add(time.Second)
	require.Equal(t, []backfill.JobID{heir}, d.look().Failed)
}

// TestScavengersAreToldUntilTheyLeave: however its schedd loses what it is told, one that runs on is told again within
// half a minute of when the schedd is there, and not all the time.
func TestScavengersAreToldUntilTheyLeave(t *testing.T) {
	failed := errors.New("nobody was there")
	for name, c := range map[string]struct {
		err       error
		unwilling bool
		lost      bool // no answer is heard
		down      bool // the schedd does not answer at all for ten minutes
		most      int  // it is told in ten minutes
	}{
		"accepted, and lost": {most: 20},
		"not reached":        {err: failed, most: 24},
		"refused":            {err: failed, unwilling: true, most: 20},
		"no answer":          {lost: true, most: 10},
		"down":               {down: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			victim := d.submit(1, scavenger(t))
			d.handed(d.start(victim, "a"))
			d.runs(1, "a")
			d.look()
			d.startOver(d.submit(2, specOf(t, 1, "true")), "a", 0, victim)
			if c.down {
				d.schedd.Failed = failed
				d.look()
			}
			told := 0
			var last, longest time.Duration
			for at := range 600 * time.Second / time.Second {
				d.now = d.now.Add(time.Second)
				for schedd, jobs := range Vacates(d.State, d.now) {
					told, last, longest = told+1, at, max(longest, at-last)
					if !c.lost {
						NoteVacated(d.State, d.now, schedd, jobs, c.unwilling, c.err)
					}
				}
			}
			require.LessOrEqual(t, told, c.most)
			if c.down {
				d.schedd.Failed = nil
				d.look()
				require.Len(t, Vacates(d.State, d.now), 1)
				return
			}
			require.LessOrEqual(t, longest, 60*time.Second/time.Second)
			if !c.lost {
				require.LessOrEqual(t, longest, vacatedAgain/time.Second)
			}
			require.GreaterOrEqual(t, last, 540*time.Second/time.Second, "to the end")
			if c.unwilling {
				require.True(t, d.isUnwilling("s"))
				NoteVacated(d.State, d.now, "s", Vacate{Jobs: []backfill.JobID{victim}}, false, nil)
				require.False(t, d.isUnwilling("s"), "it lets us now")
			}
		})
	}
}

// TestWaitingForOthersThatLeave: a job displaces nobody, as those who leave its slot were told before.
func TestWaitingForOthersThatLeave(t *testing.T) {
	d := newDesk(t, "a")
	heir := d.submit(1, specOf(t, 1, "true"))
	f := d.startOver(heir, "a", 600)
	require.WithinDuration(t, d.now.Add(600*time.Second), f.due(), 0)
	d.now = d.now.Add(629 * time.Second)
	require.Empty(t, d.look().Failed)
	d.now = d.now.Add(time.Second)
	require.Equal(t, []backfill.JobID{heir}, d.look().Failed)
}

// TestScavengersUnderWay: one that was not handed over does not begin; one that was is told to leave once it
// runs, and meanwhile the job for which it leaves does not lose patience.
func TestScavengersUnderWay(t *testing.T) {
	d := newDesk(t, "a", "b")
	first, second := d.submit(1, scavenger(t)), d.submit(2, scavenger(t))
	third, fourth := d.submit(3, specOf(t, 1, "true")), d.submit(4, specOf(t, 1, "true"))
	d.start(first, "a")
	d.handed(d.start(second, "b"))
	f, g := d.startOver(third, "a", 0, first), d.startOver(fourth, "b", 0, second)
	require.NotContains(t, d.flights, first)
	require.Contains(t, d.flights, second)
	out := d.look()
	require.Equal(t, []backfill.JobID{first}, out.Delta.Displaced)
	require.Empty(t, out.Failed)
	require.Empty(t, Vacates(d.State, d.now), "it does not run yet")
	d.now = d.now.Add(10 * time.Second)
	d.Ready(d.now)
	require.Equal(t, d.now, g.moved)
	require.NotEqual(t, d.now, f.moved)
	d.runs(2, "b")
	d.look()
	require.Len(t, Vacates(d.State, d.now)["s"].Jobs, 1)
}

// TestScavengersOfAnUnwillingSchedd: if they cannot be vacated and are all on the one slot that a job is to have,
// it takes their claims over, together with that of the slot: it gets what it asks for, and no more. If one
// runs elsewhere, it waits.
func TestScavengersOfAnUnwillingSchedd(t *testing.T) {
	d := newDesk(t, "n", "elsewhere")
	victims := []backfill.JobID{d.submit(1, scavenger(t)), d.submit(2, scavenger(t)), d.submit(3, scavenger(t))}
	for i, name := range []string{"p", "q", "r"} {
		part := *slotOf(name)
		part.Ad, part.Static, part.Dynamic, part.Host, part.Claimed = nil, false, true, "n", true
		if name == "r" {
			part.Host = "elsewhere"
		}
		part.Runs = observe.JobKey{Schedd: "s", Cluster: int64(i + 1)}
		part.Free = backfill.Vector{1, 128, 0}
		d.snapshot.Slots[name] = &part
		d.handed(d.start(victims[i], part.Host))
		d.runs(int64(i+1), name)
	}
	d.look()
	wide := specOf(t, 1, "true")
	wide.Request[0] = 3
	f := d.startOver(d.submit(4, wide), "n", 0, victims[:2]...)
	other := d.startOver(d.submit(5, specOf(t, 1, "true")), "n", 0, victims[2])
	told := Vacates(d.State, d.now)["s"]
	require.Len(t, told.Jobs, 3)
	NoteVacated(d.State, d.now, "s", told, true, errors.New("permission denied"))
	d.now = d.now.Add(askedAgain)
	require.Empty(t, Vacates(d.State, d.now))
	d.Ready(d.now)
	require.Equal(t, []string{"p", "q"}, f.over.Slots)
	require.Nil(t, other.over)
	require.Equal(t, map[string]bool{"n": true, "p": true, "q": true}, Ready{f}.Slots())
	offers := severalOffers(t, "")
	offers["p"], offers["q"] = offers["a"], offers["b"]
	grants, why := d.takeOver(f, offers)
	require.Empty(t, why)
	require.Equal(t, "<n>#1#host <n>#1#a <n>#1#b ", grants[0].Claim)
	require.Nil(t, track.TakeoverOf(d.belief, f.job.ID), "for the plan it runs since it was started")

	for _, cluster := range []int64{1, 2} {
		d.edit(cluster, func(g *observe.Group) { g.Status, g.Hosts = observe.Idle, nil })
	}
	d.look()
	d.Ready(d.now)
	require.Nil(t, f.over, "its slot is free")
}

// TestOneVictimOfAnUnwillingSchedd: the claim of a larger slot is not taken as it is, as the plan has no more
// than what the job asks for.
func TestOneVictimOfAnUnwillingSchedd(t *testing.T) {
	for cpus, claim := range map[int64]string{1: "<n>#1#a", 2: "<n>#1#host <n>#1#a "} {
		d := newDesk(t, "n")
		f := d.start(d.submit(1, specOf(t, 1, "true")), "n")
		f.over, f.instead = &track.Takeover{Victims: []backfill.JobID{91}, Slots: []string{"a"}, Host: "n"}, true
		offers := severalOffers(t, "")
		offers["a"].Free[0] = cpus
		offers["a"].Ad.SetInt("Cpus", cpus)
		grants, why := d.takeOver(f, offers)
		require.Empty(t, why)
		require.Equal(t, claim, grants[0].Claim)
	}
}

// TestAScheddThatIsFullOfScavengers: a job for which one of them leaves waits until its schedd may run another
// one, and its start does not count as failed.
func TestAScheddThatIsFullOfScavengers(t *testing.T) {
	d := newDesk(t, "a")
	victim, heir := d.submit(1, scavenger(t)), d.submit(2, specOf(t, 1, "true"))
	d.handed(d.start(victim, "a"))
	d.runs(1, "a")
	d.schedd.Room = &accountant.Room{Jobs: 1}
	d.look()
	f := d.startOver(heir, "a", 0, victim)
	require.Empty(t, d.Ready(d.now))
	require.False(t, f.full)
	require.Empty(t, d.look().Failed)
}

// TestClaimsOfScavengersAreNotLent, and they use none that are.
func TestClaimsOfScavengersAreNotLent(t *testing.T) {
	s := newStory(t, "a")
	require.True(t, borrows(specOf(t, 1, "true")))
	require.False(t, borrows(scavenger(t)))
	spec := scavenger(t)
	spec.Estimate = 60
	s.schedd.Groups = append(s.schedd.Groups, &observe.Group{
		Spec: spec, Status: observe.Idle, Submit: 1_600_000_000, Jobs: []observe.JobKey{{Schedd: "s", Cluster: 9}},
	})
	s.play(`
		submit 1 2 => submitted 9 1 2
		start 1 a =>
	`)
	f := s.flights[s.ids["1"]]
	text := s.leaseText(2_000_000_000, 2_000_000_100, []*flight{f}, s.countWaiting().scavengers)
	require.Contains(t, text, "(TARGET.BackfillScavenger || false) =!= true", "a number counts, too")
	require.Equal(t, 1, s.countWaiting().open, "others do not wait for scavengers")
}
