package track

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// lease grants a lease on a slot for jobs of schedd s that are on their way there, until so many
// seconds after the first look.
func (p *pool) lease(slot string, until int64, served map[backfill.JobID]backfill.Time, jobs ...backfill.JobID) {
	p.granted = p.belief.Grant([]Lease{{
		LeaseKey: LeaseKey{Slot: full(slot), Schedd: "s"}, Until: begin + backfill.Time(until), Last: begin + backfill.Time(until),
		Jobs: jobs, Served: served,
	}})
}

// lent has a job run on a dynamic slot of a, whose claim is in the name of its user.
func (p *pool) lent(cluster int64, part string) {
	p.runs(cluster, part)
	p.claim(part, "a", key(cluster), func(s *observe.Slot) { s.Claimer = "" })
}

// on starts jobs 1 and 2 on slot a. The claim of the first was handed over and lent, and the second
// is expected on the rest of the slot. More jobs wait.
func on(t *testing.T, jobs int64) *pool {
	t.Helper()
	p := begun(t)
	for n := range jobs {
		p.job(n + 1)
	}
	p.look()
	p.start(1, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.start(2, Flight{}, "a")
	p.lease("a", 900, nil, 1, 2)
	return p
}

// then takes the steps; the leases are granted at the first only.
func (p *pool) then(steps ...step) {
	p.t.Helper()
	for i, s := range steps {
		p.now = p.now.Add(time.Duration(s.after) * time.Second)
		if s.do != nil {
			s.do(p)
		}
		require.Equal(p.t, s.want, p.look(), "step %d", i)
	}
}

// A lease keeps the place of each claim, whatever jobs use it, until the claim is gone.
func TestLease(t *testing.T) {
	for name, c := range map[string]struct {
		jobs  int64
		steps []step
	}{
		"before the jobs run": {2, []step{{}, {}}},
		"the jobs run, and end with their claims": {2, []step{
			{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
			{after: 5, do: func(p *pool) { p.leaves(1) }, want: "proven a×1 for s"},
			{after: 1, do: func(p *pool) { p.miss("slot1_1@a") }, want: "completed #1 ran ?"},
			{
				after: 1, do: func(p *pool) { p.leaves(2); p.miss("slot1_2@a") },
				want: "completed #2 ran ?, proven a×1 for s, dropped slot1_1@a",
			},
		}},
		"another job uses the claim": {3, []step{
			{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
			{
				after: 5, do: func(p *pool) { p.leaves(1); p.lent(3, "slot1_1@a") },
				want: "removed #3, proven a×1 for s, unplanned 3.0 runs on a claim that slot a has lent to ",
			},
			{after: 1, do: func(p *pool) { p.leaves(3) }, want: "proven a×1 for s"},
			{after: 1, do: func(p *pool) { p.miss("slot1_1@a") }, want: "completed #1 ran ?"},
		}},
		"another job was taken in place of the one that was chosen": {3, []step{
			{
				after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(3, "slot1_2@a") },
				want: "submitted 2.0=#5, removed #3, " +
					"arrived #1, over #2, unplanned 3.0 runs on a claim that slot a has lent to ",
			},
			{
				after: 1, do: func(p *pool) { p.leaves(3); p.lent(2, "slot1_2@a") },
				want: "removed #5, proven a×1 for s, unplanned 2.0 runs on a claim that slot a has lent to ",
			},
		}},
		"the chosen jobs end before they are seen": {4, []step{
			{
				after: 1, do: func(p *pool) { p.leaves(1); p.leaves(2); p.lent(3, "slot1_1@a") },
				want: "removed #3, over #1, over #2, unplanned 3.0 runs on a claim that slot a has lent to ",
			},
			{after: 3, do: func(p *pool) {
				p.claim("slot1_2@a", "a", observe.JobKey{}, func(s *observe.Slot) { s.Claimer = "" })
			}, want: "unplanned 3.0 runs on a claim that slot a has lent to "},
			{after: 9, do: func(p *pool) { p.leaves(3) }, want: "proven a×1 for s"},
			{after: 1, do: func(p *pool) { p.miss("slot1_1@a") }, want: "completed #1 ran ?"},
			{after: 1, do: func(p *pool) { p.miss("slot1_2@a") }, want: "completed #2 ran ?, dropped slot1_1@a"},
		}},
		"a claim that is never seen": {2, []step{
			{after: 1, do: func(p *pool) { p.leaves(1); p.leaves(2) }, want: "over #1, over #2"},
			{after: 4},
			{after: 1, want: "completed #1 ran ?, completed #2 ran ?"},
		}},
		"more claims than were planned": {3, []step{
			{
				after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a"); p.lent(3, "slot1_3@a") },
				want: "found 3.0=#3 on a×1 since 1, arrived #1, over #2",
			},
			{after: 1, do: func(p *pool) { p.leaves(3); p.miss("slot1_3@a") }, want: "completed #3 ran ?, proven a×1 for s"},
		}},
		"a chosen job uses the claim of another": {2, []step{
			{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a") }, want: "arrived #1"},
			{
				after: 1, do: func(p *pool) { p.leaves(1); p.lent(2, "slot1_1@a") },
				want: "completed #2 ran ?, over #2, proven a×1 for s, unplanned 2.0 runs on a claim that slot a has lent to ",
			},
		}},
		"a job comes back from a lent claim": {3, []step{
			{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
			{
				after: 5, do: func(p *pool) { p.leaves(1); p.lent(3, "slot1_1@a") },
				want: "removed #3, proven a×1 for s, unplanned 3.0 runs on a claim that slot a has lent to ",
			},
			{after: 1, do: func(p *pool) { p.idles(3) }, want: "submitted 3.0=#4"},
		}},
		"the first job comes back": {2, []step{
			{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
			{after: 1, do: func(p *pool) { p.idles(1); p.miss("slot1_1@a") }, want: "back #1"},
		}},
		"a user writes that his job runs on another part": {2, []step{
			{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
			{after: 1, do: func(p *pool) { p.says(1, "slot1_7@a") }},
			{after: 1, do: func(p *pool) { p.leaves(1) }, want: "proven a×1 for s"},
			{after: 9, do: func(p *pool) { p.claim("slot1_1@a", "a", observe.JobKey{}, func(s *observe.Slot) { s.Claimer = "" }) }},
			{after: 9, do: func(p *pool) { p.miss("slot1_1@a") }, want: "completed #1 ran ?"},
		}},
		"a user writes that before his part is seen": {2, []step{
			{after: 1, do: func(p *pool) { p.runs(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
			{after: 1, do: func(p *pool) { p.says(1, "slot1_7@a") }},
			{after: 2, do: func(p *pool) { p.leaves(1) }, want: "proven a×1 for s"},
			{after: 9, want: "completed #1 ran ?"},
			{after: 9},
		}},
		"the startd is not heard of": {2, []step{
			{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
			{
				after: 5, do: func(p *pool) { p.leaves(1); p.miss("a"); p.miss("slot1_1@a"); p.miss("slot1_2@a") },
				want: "proven a×1 for s",
			},
			{after: 5},
			{after: 5, do: func(p *pool) { p.back("a"); p.back("slot1_2@a") }, want: "completed #1 ran ?"},
		}},
	} {
		t.Run(name, func(t *testing.T) { on(t, c.jobs).then(c.steps...) })
	}
}

// The place of each claim is kept for as long as the claim is lent, if that is longer than its job
// may take; and a claim that is free and takes up no more jobs has no place any more.
func TestLeaseEnds(t *testing.T) {
	p := on(t, 3)
	ends := func() (ends []backfill.Time) {
		for _, f := range p.granted.Found {
			ends = append(ends, f.Job.Lease-begin)
		}
		return ends
	}
	require.Equal(t, []backfill.Time{900, 900}, ends())
	p.lease("a", 1200, nil, 2)
	require.Equal(t, []backfill.Time{1200}, ends())
	require.Empty(t, p.look(), "it was told")
	p.lease("a", 0, nil, 1)
	require.Empty(t, ends(), "its job may take longer")
	p.then(
		step{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
		step{after: 5, do: func(p *pool) { p.leaves(1); p.leaves(2) }, want: "completed #1 ran ?, proven a×1 for s, proven a×1 for s"},
	)
}

// Jobs that a lease is expected to serve leave the plan, and come back if it does not.
func TestServedByLease(t *testing.T) {
	const waits = "unplanned 3.0 is to start on a claim that slot a has lent to "
	p := on(t, 3)
	p.lease("a", 900, map[backfill.JobID]backfill.Time{3: begin + 60}, 1, 2)
	p.then(
		step{
			after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") },
			want: "arrived #1, over #2, " + waits,
		},
		step{after: 59, want: "proven a×1 for s, proven a×1 for s, " + waits},
		step{after: 1, want: "submitted 3.0=#3, proven a×1 for s, proven a×1 for s"},
	)
}

// TestGuaranteeBrokenByLease: a job that a lease did not serve is planned anew, and is told of if
// it is promised a later start than before.
func TestGuaranteeBrokenByLease(t *testing.T) {
	plan := func(j negotiator.JobCheckpoint) negotiator.Checkpoint {
		j.Job = &negotiator.Job{ID: 3, Name: "3.0"}
		return negotiator.Checkpoint{Jobs: []negotiator.JobCheckpoint{j}}
	}
	promised := func(at backfill.Time) negotiator.JobCheckpoint {
		return negotiator.JobCheckpoint{Standing: backfill.Standing{Promised: true, Guarantee: begin + at}}
	}
	for name, c := range map[string]struct {
		edited bool
		plans  []negotiator.JobCheckpoint // after the job came back
		want   []Broken
	}{
		"promised a later start":    {plans: []negotiator.JobCheckpoint{promised(81), promised(90)}, want: []Broken{{"3.0", begin + 80, begin + 81, "lease"}}},
		"promised the same start":   {plans: []negotiator.JobCheckpoint{promised(80), promised(90)}},
		"started at once":           {plans: []negotiator.JobCheckpoint{{Standing: backfill.Standing{Running: true, Start: begin + 60}}}},
		"started within the slack":  {plans: []negotiator.JobCheckpoint{{Standing: backfill.Standing{Running: true, Start: begin + 80 + startSlack}}}},
		"started, but too late":     {plans: []negotiator.JobCheckpoint{{Standing: backfill.Standing{Running: true, Start: begin + 81 + startSlack}}}, want: []Broken{{"3.0", begin + 80, begin + 81 + startSlack, "lease"}}},
		"promised nothing at first": {plans: []negotiator.JobCheckpoint{{Standing: backfill.Standing{Held: "for a while"}}, promised(90)}, want: []Broken{{"3.0", begin + 80, begin + 90, "lease"}}},
		"edited meanwhile":          {edited: true, plans: []negotiator.JobCheckpoint{promised(90)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := on(t, 3)
			require.Empty(t, p.belief.TakePlan(plan(promised(80))))
			p.lease("a", 900, map[backfill.JobID]backfill.Time{3: begin + 60}, 1, 2)
			p.now = p.now.Add(61 * time.Second)
			if c.edited {
				p.job(3, is("edited", func(s *observe.Spec) { s.Estimate = 7 }))
			}
			p.lent(1, "slot1_1@a")
			p.lent(2, "slot1_2@a")
			require.Contains(t, p.look(), "submitted 3.0=#3")
			var broken []Broken
			for _, j := range c.plans {
				broken = append(broken, p.belief.TakePlan(plan(j))...)
			}
			require.Equal(t, c.want, broken)
		})
	}
}

// A promise ends with the plan in which the job only waits.
func TestPlanWithoutPromise(t *testing.T) {
	p := on(t, 3)
	waits := negotiator.JobCheckpoint{Job: &negotiator.Job{ID: 3}, Standing: backfill.Standing{Promised: true, Guarantee: begin + 80}}
	p.belief.TakePlan(negotiator.Checkpoint{Jobs: []negotiator.JobCheckpoint{waits}})
	require.EqualValues(t, begin+80, p.belief.Job(3).promised)
	p.belief.TakePlan(negotiator.Checkpoint{})
	require.Zero(t, p.belief.Job(3).promised)
}

// A promise ends, too, with the plan that the job is left out of, whatever it is promised once it
// is back.
func TestPromiseEndsOutsideThePlan(t *testing.T) {
	p := on(t, 3)
	waits := negotiator.JobCheckpoint{Job: &negotiator.Job{ID: 3}, Standing: backfill.Standing{Promised: true, Guarantee: begin + 80}}
	p.belief.TakePlan(negotiator.Checkpoint{Jobs: []negotiator.JobCheckpoint{waits}})
	p.job(3, is("wrong", func(s *observe.Spec) { s.Wrong = errors.New("no number") }))
	require.Contains(t, p.look(), "removed #3")
	p.belief.TakePlan(negotiator.Checkpoint{})
	p.job(3, is("edited", func(s *observe.Spec) { s.Estimate = 7 }))
	require.Contains(t, p.look(), "submitted 3.0=#3")
	p.belief.TakePlan(negotiator.Checkpoint{}) // it only waits
	require.Zero(t, p.belief.Job(3).promised)
}

// Users are charged for claims that are lent to them, and estimators learn from all jobs that ran.
func TestLeaseIsChargedAndTeaches(t *testing.T) {
	p := on(t, 3)
	p.then(step{
		after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") },
		want: "arrived #1, over #2",
	})
	require.Equal(t, 2, p.belief.Use()[""].Slots)
	taught := func() []negotiator.PastRun {
		p.now = p.now.Add(5 * time.Second)
		p.belief.See(p.snapshot())
		out := p.belief.Diff(p.dispatched)
		require.Equal(t, 2, p.belief.Use()[""].Slots)
		return out.Delta.Taught
	}
	ends := func(cluster int64, part string) {
		p.leaves(cluster)
		p.claim(part, "a", observe.JobKey{}, func(s *observe.Slot) { s.Claimer = "" })
	}
	ends(1, "slot1_1@a")
	runs := taught()
	require.Len(t, runs, 1)
	require.Equal(t, "1.0", runs[0].Job.Name)
	require.EqualValues(t, 5, runs[0].Ran)
	p.lent(3, "slot1_1@a")
	require.Empty(t, taught())
	require.Equal(t, 2, p.belief.View().Running)
	ends(3, "slot1_1@a")
	runs = taught()
	require.Len(t, runs, 1)
	require.Equal(t, "3.0", runs[0].Job.Name)
	require.EqualValues(t, 10, runs[0].Ran)
}

// A negotiator that goes on after another keeps the places of its leases.
func TestLeaseOutlivesNegotiator(t *testing.T) {
	p := on(t, 3)
	p.then(step{
		after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") },
		want: "arrived #1, over #2",
	})
	saved := p.belief.Save(negotiator.Checkpoint{Now: p.unix(), Slots: []*negotiator.Slot{
		p.belief.slots["slot1@a"].reported, p.belief.slots["slot1@b"].reported,
	}})
	require.Equal(t, []SavedLease{{Slot: "slot1@a", Schedd: "s", Until: begin + 900}}, saved.Leases)
	p.leaves(1)
	p.lent(3, "slot1_1@a")
	p.belief = newPool(t).belief
	s := p.snapshot()
	p.belief.Restore(saved, s)
	p.belief.See(s)
	out := p.belief.Diff(p.dispatched)
	require.Len(t, out.Delta.Found, 2)
	for _, f := range out.Delta.Found {
		require.EqualValues(t, begin+900, f.Job.Lease, f.Job.Name)
	}
}

// TestLeaseWithinAPlace: a lease that ends no later than the place of the job that uses it says nothing,
// also to the negotiator that goes on: a job's place could not be expected to be free before.
func TestLeaseWithinAPlace(t *testing.T) {
	p := on(t, 3)
	p.then(step{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a") }, want: "arrived #1"})
	j := p.belief.JobOf(key(1))
	require.EqualValues(t, begin+900, p.belief.described(j).Lease)
	j.estimated = begin + 900 - j.Start - p.belief.s.StartSlack
	require.Zero(t, p.belief.described(j).Lease)
}

// TestWrittenUnderALease: a lease gives no place to a job that says to use it, but that no slot
// names, if the lease has no place for it.
func TestWrittenUnderALease(t *testing.T) {
	p := lentAll(t, 1)
	p.uses(1, 1)
	p.look()
	p.job(2, func(g *observe.Group) { g.Status, g.Hosts = observe.Running, []string{"slot1_9@" + lentSlot(1)} })
	for range 3 {
		p.now = p.now.Add(time.Second)
		p.look()
		require.Equal(t, Unknown, p.belief.JobOf(key(2)).Phase)
	}
	p.claim("slot1_9@"+lentSlot(1), lentSlot(1), key(2))
	p.look()
	require.Equal(t, Running, p.belief.JobOf(key(2)).Phase)
}
