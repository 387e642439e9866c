package track

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// scavengesAs has a job be a scavenger.
func scavengesAs(changes ...func(*observe.Spec)) func(*observe.Group) {
	return is("a scavenger", append([]func(*observe.Spec){func(s *observe.Spec) { s.Scavenger = true }}, changes...)...)
}

// displaces starts a job on a slot for which others make way at an instant from now.
func (p *pool) displaces(id backfill.JobID, slot string, in backfill.Time, victims ...backfill.JobID) {
	p.t.Helper()
	require.NotNil(p.t, p.belief.Start(negotiator.Match{
		Job: &negotiator.Job{ID: id}, Placement: negotiator.Placement{{Slot: p.belief.slots[full(slot)].reported, Count: 1}},
		Displaces: victims, At: p.unix() + in,
	}))
	p.dispatched.Flights[id] = Flight{}
}

// classes returns which jobs a look reports as scavengers, and which as others.
func classes(d negotiator.Delta) (scavengers, others []backfill.JobID) {
	add := func(j *negotiator.Job) {
		if j.Scavenger {
			scavengers = append(scavengers, j.ID)
		} else {
			others = append(others, j.ID)
		}
	}
	for _, j := range d.Submitted {
		add(j)
	}
	for _, j := range d.Changed {
		add(j)
	}
	for _, r := range d.Found {
		add(r.Job)
	}
	return scavengers, others
}

// TestClassesOfJobs: what a waiting job is changes with its ad; a running job stays what it was until it is back
// in the queue. A gang is none: it is left out.
func TestClassesOfJobs(t *testing.T) {
	p := begun(t)
	check := func(scavengers, others []backfill.JobID) {
		t.Helper()
		some, rest := classes(p.diff().Delta)
		require.Equal(t, scavengers, some)
		require.Equal(t, others, rest)
	}
	p.job(1, scavengesAs())
	p.job(2)
	check([]backfill.JobID{1}, []backfill.JobID{2})
	p.job(1, is("a job"))
	p.job(2, scavengesAs())
	check([]backfill.JobID{2}, []backfill.JobID{1})
	p.start(2, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.job(2, is("a job"))
	p.runs(2, "a")
	check(nil, nil)
	require.True(t, p.belief.Job(2).Scavenges())
	p.idles(2)
	out := p.diff()
	require.Equal(t, []backfill.JobID{2}, out.Delta.Removed, "it is planned anew, as what it is now")
	_, others := classes(out.Delta)
	require.Equal(t, []backfill.JobID{3}, others)
	p.job(3, gang(2), func(g *observe.Group) { g.Spec.Scavenger = true })
	require.Equal(t, "unplanned 3.0 "+gangScavenges, p.look())
}

// TestScavengersMakeWay: they are reported as back and displaced, and the job for which they left as begun, in
// the place that it has.
func TestScavengersMakeWay(t *testing.T) {
	p := begun(t)
	p.job(1, scavengesAs())
	p.look()
	p.start(1, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.runs(1, "a")
	p.look()
	p.job(2)
	p.look()
	p.displaces(2, "a", 60, 1)
	require.Len(t, Leaving(p.belief), 1)
	until, waits := WaitOf(p.belief, 2)
	require.True(t, waits)
	require.Equal(t, p.unix()+60, until)
	require.True(t, Leaves(p.belief, 2))
	require.Empty(t, p.look(), "it runs on")
	p.passes(10)
	p.idles(1)
	out := p.diff()
	require.Equal(t, []backfill.JobID{1}, out.Delta.StartFailed)
	require.Equal(t, []backfill.JobID{1}, out.Delta.Displaced)
	require.Empty(t, out.Failed, "no start has failed")
	require.Empty(t, Leaving(p.belief))
	p.dispatched.Flights[2] = Flight{Handed: true, Sent: true, Claims: 1}
	p.runs(2, "a")
	out = p.diff()
	require.Equal(t, []negotiator.Began{{Job: 2, At: p.unix()}}, out.Delta.Began)
	require.Empty(t, out.Delta.Found)
	_, waits = WaitOf(p.belief, 2)
	require.False(t, waits)
}

// TestScavengersOnTheirWay: one that was not handed over, and whose flight was ended, is back at once; one whose
// start fails has made way, too; one that ends by itself has ended.
func TestScavengersOnTheirWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *pool)
		want   string
	}{
		"not handed over":  {func(p *pool) { delete(p.dispatched.Flights, 1) }, "back #1, displaced"},
		"its start failed": {func(p *pool) { p.dispatched.Flights[1] = Flight{Refused: true} }, "back #1, displaced, failed #1, unstarted 1"},
		"it is gone":       {func(p *pool) { p.leaves(1) }, "completed #1 ran ?, over #1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			p.job(1, scavengesAs())
			p.job(2)
			p.look()
			p.start(1, Flight{Handed: true}, "a")
			p.look()
			p.displaces(2, "a", 0, 1)
			c.change(p)
			out := p.diff()
			require.Equal(t, c.want, text(out, p.belief))
			require.Equal(t, out.Delta.StartFailed, out.Delta.Displaced)
			require.Empty(t, Leaving(p.belief))
		})
	}
}

// TestNobodyIsChargedForScavengers: neither their use nor what they want counts, but what they take of
// concurrency limits does.
func TestNobodyIsChargedForScavengers(t *testing.T) {
	p := accounted(t)
	licence := func(s *observe.Spec) {
		*s = *s.As(observe.Charged{User: "alice@test", Limits: "sw"}, s.Request, 1, p.belief.s.Schema.Resources)
	}
	p.job(1, scavengesAs(licence))
	p.job(2, scavengesAs(licence))
	p.job(3, is("licensed", licence))
	out := p.diff()
	for _, j := range out.Delta.Submitted {
		shared := slices.ContainsFunc(j.Takes, func(take negotiator.Take) bool { return accountant.IsShare(take.Limit) })
		require.Equal(t, !j.Scavenger, shared, "others may come to have a ceiling: %v", j.Takes)
		require.Equal(t, "concurrency limit sw", j.Takes[0].Limit)
	}
	require.Equal(t, []negotiator.Limit{{Name: "concurrency limit sw", Height: 2 * negotiator.LimitUnit}}, out.Delta.Limits)
	p.start(1, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.runs(1, "a")
	out = p.diff()
	require.Empty(t, out.Delta.Limits, "what scavengers have is the plan's: they make way")
	require.Empty(t, p.belief.Use())
	p.start(3, Flight{Handed: true, Sent: true, Claims: 1}, "b")
	p.runs(3, "b")
	p.look()
	require.Equal(t, accountant.Use{Slots: 1, Weight: 4}, p.belief.Use()["alice@test"])
}

// TestTheTimeForLeaving is the lesser of what the machine gives and the job wants. Where no others make way,
// only scavengers have a claim.
func TestTheTimeForLeaving(t *testing.T) {
	p := accounted(t)
	own := 20.0
	p.job(1, scavengesAs())
	p.job(2, scavengesAs(func(s *observe.Spec) { s.Text, s.Vacate = "another", &own }))
	p.job(3)
	p.look()
	for cluster, slot := range map[int64]string{1: "c", 2: "d", 3: "e"} {
		p.slot(slot)
		p.slot(slot, func(s *observe.Slot) {
			s.Claim = classad.New()
			s.Claim.SetInt("MachineMaxVacateTime", 300)
		})
		p.runs(cluster, slot)
	}
	p.passes(1)
	snapshot := p.snapshot()
	snapshot.Scavenges = true
	p.belief.See(snapshot)
	claims := p.belief.Diff(p.dispatched).Delta.Claims
	for id, longest := range map[backfill.JobID]backfill.Time{1: 300, 2: 20} {
		claim, ok := claims.Claim(id)
		require.True(t, ok)
		require.Equal(t, longest, claim.Vacate)
	}
	_, ok := claims.Claim(3)
	require.False(t, ok)
}

// TestScavengersOutliveTheNegotiator: a scavenger that ran stays one, whatever its ad says; one that was making
// way is told again, and the job that waits for it goes on waiting.
func TestScavengersOutliveTheNegotiator(t *testing.T) {
	p := begun(t)
	p.job(1, scavengesAs())
	p.look()
	p.start(1, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.runs(1, "a")
	p.look()
	p.job(2)
	p.look()
	p.displaces(2, "a", 300, 1)
	at := negotiator.Placement{{Slot: p.belief.slots[full("a")].reported, Count: 1}}
	saved := p.belief.Save(negotiator.Checkpoint{Now: p.unix(), Slots: []*negotiator.Slot{at[0].Slot}, Jobs: []negotiator.JobCheckpoint{
		{Job: p.belief.described(p.belief.Job(1)), Placement: at, Standing: backfill.Standing{Running: true, Start: p.unix(), Yields: true}},
		{Job: p.belief.described(p.belief.Job(2)), Placement: at, Standing: backfill.Standing{Running: true, Start: p.unix(), End: p.unix() + 600}},
	}})
	p.job(1, is("a job"))
	p.passes(5)
	again := New(p.belief.s)
	m, flying := again.Restore(saved, p.snapshot())
	require.Len(t, m.Jobs, 2)
	require.True(t, m.Jobs[0].Job.Scavenger)
	require.True(t, m.Jobs[0].Running && m.Jobs[0].Yields)
	require.False(t, m.Jobs[1].Job.Scavenger)
	require.Len(t, flying, 1)
	require.Len(t, Leaving(again), 1)
	until, waits := WaitOf(again, flying[0].ID)
	require.True(t, waits)
	require.Equal(t, p.unix()-5+300, until)
}

// TestScavengersOfAnObserver run on, whatever it would have them do.
func TestScavengersOfAnObserver(t *testing.T) {
	p := begun(t, func(s *Settings) { s.Observe = true })
	p.job(1, scavengesAs())
	p.runs(1, "a")
	p.job(2)
	p.look()
	p.displaces(2, "a", 60, 1)
	p.passes(5)
	out := p.diff()
	require.Len(t, out.Delta.Found, 1)
	require.True(t, out.Delta.Found[0].Job.Scavenger)
	require.Empty(t, out.Delta.Displaced)
	require.Equal(t, []backfill.JobID{2}, out.Delta.StartFailed)
	require.Empty(t, Leaving(p.belief))
}
