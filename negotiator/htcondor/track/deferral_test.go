package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// deferred has a job begin to run that many seconds after the first look, or 20 s later; its slot
// may be claimed 100 s earlier.
func deferred(seconds backfill.Time) func(*observe.Group) {
	return func(g *observe.Group) { g.Deferral = observe.Deferral{Time: begin + seconds, Prep: 100, Window: 20} }
}

// TestDeferred says when a job that has a time of its own is in the plan: from a day before, so
// that a slot is kept for it from its preparation on, less the start slack; to the end of its
// window.
func TestDeferred(t *testing.T) {
	const missed = "unplanned 1.0 has missed its time, 22:18:20 UTC (DeferralTime), or up to 20 s later " +
		"(DeferralWindow)"
	submitted := step{do: func(p *pool) { p.job(1, deferred(300)) }, want: "submitted 1.0=#1 from 140"}
	day := backfill.Time(deferredAhead)
	followAll(t, begun, map[string][]step{
		"it runs": {
			submitted,
			{after: 139},
			{after: 1},
			{after: 3, do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "#1 ends 960, arrived #1"}, // 300, the estimate of 600, and the slack of 60
			{after: 800, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran ?, proven a×1 for s"},
		},
		"it begins within its window": {
			submitted,
			{after: 310},
			{after: 1, do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "#1 ends 971, arrived #1"},
			{after: 50, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran 50, proven a×1 for s"},
		},
		"it is not started in time": {
			submitted,
			{after: 319},
			{after: 1, want: "removed #1, " + missed},
			{after: 99, want: missed},
			{do: func(p *pool) { p.job(1, deferred(1000)) }, want: "submitted 1.0=#1 from 840"}, // as a cron job
		},
		"it is far ahead": {
			{
				do:   func(p *pool) { p.job(1, deferred(160+day+7)) },
				want: "unplanned 1.0 is deferred until 2023-11-15 22:16:07 UTC (DeferralTime)",
			},
			{after: 6, want: "unplanned 1.0 is deferred until 2023-11-15 22:16:07 UTC (DeferralTime)"},
			{after: 1, want: "submitted 1.0=#1 from 86407"},
		},
		"it is edited while it waits": {
			submitted,
			{after: 200, do: func(p *pool) { p.job(1, deferred(500)) }, want: "changed #1 from 340"},
			{
				after: 1, do: func(p *pool) { p.job(1, func(g *observe.Group) { g.Deferral = observe.Deferral{} }) },
				want: "changed #1",
			},
		},
		"it is not handed over in time": {
			submitted,
			{after: 320, do: func(p *pool) { p.start(1, Flight{}, "a") }, want: "removed #1, failed #1, " + missed},
		},
		"a cron job comes back": {
			submitted,
			{after: 300},
			{do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "#1 ends 960, arrived #1"},
			{after: 10, do: func(p *pool) {
				p.idles(1)
				p.job(1, deferred(600))
			}, want: "submitted 1.0=#2 from 440, removed #1"},
		},
	})
}

// cooling has a job cool down until that many seconds after the first look.
func cooling(seconds backfill.Time) func(*observe.Group) {
	return func(g *observe.Group) { g.Cools = begin + seconds }
}

// TestCoolingDown says when a job whose last start went wrong is in the plan: from minutes before
// it has cooled down, to start in the second after.
func TestCoolingDown(t *testing.T) {
	soon := backfill.Time(coolingAhead)
	followAll(t, begun, map[string][]step{
		"it is submitted": {
			{do: func(p *pool) { p.job(1, cooling(100)) }, want: "submitted 1.0=#1 from 101"},
			{after: 101},
		},
		"it cools down for long": {
			{
				do:   func(p *pool) { p.job(1, cooling(10+soon)) },
				want: "unplanned 1.0 cools down until 22:18:30 UTC (JobCoolDownExpiration)",
			},
			{after: 10, want: "unplanned 1.0 cools down until 22:18:30 UTC (JobCoolDownExpiration)"},
			{after: 1, want: "submitted 1.0=#1 from 311"},
		},
		"it was edited": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{after: 1, do: func(p *pool) { p.job(1, cooling(100)) }, want: "changed #1 from 101"},
			{after: 1, do: func(p *pool) { p.job(1, cooling(-100)) }, want: "changed #1"},
			{
				after: 1, do: func(p *pool) { p.job(1, cooling(24*3600)) },
				want: "removed #1, unplanned 1.0 cools down until 2023-11-15 22:13:20 UTC (JobCoolDownExpiration)",
			},
		},
		"it ran and comes back": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "arrived #1"},
			{after: 10, do: func(p *pool) {
				p.idles(1)
				p.job(1, cooling(100))
			}, want: "submitted 1.0=#2 from 101, removed #1"},
		},
		"its claim is on its way": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{do: func(p *pool) {
				p.start(1, sent, "a")
				p.job(1, cooling(100))
			}},
			{after: 30, do: func(p *pool) {
				p.dispatched.Flights[1] = Flight{Handed: true, Sent: true, Claims: 1, Overdue: true}
			}, want: "submitted 1.0=#2 from 101, removed #1, failed #1, unstarted 1"},
		},
		"a gang is started anyway": {
			{do: func(p *pool) {
				p.job(1, cooling(100), is("gang", func(s *observe.Spec) { s.Nodes, s.Parallel = 2, true }))
			}, want: "submitted 1.0=#1"},
		},
		"it is deferred, too": {
			{do: func(p *pool) { p.job(1, deferred(300), cooling(100)) }, want: "submitted 1.0=#1 from 140"},
			{do: func(p *pool) { p.job(1, deferred(300), cooling(200)) }, want: "changed #1 from 201"},
			{
				do:   func(p *pool) { p.job(1, deferred(300), cooling(900)) },
				want: "removed #1, unplanned 1.0 cools down until 22:28:20 UTC (JobCoolDownExpiration)",
			},
		},
	})
}

// TestWhenEarlyJobsAreDue says when the pool is looked at for jobs that may not run before a time:
// when they enter the plan, and when they may run.
func TestWhenEarlyJobsAreDue(t *testing.T) {
	p := begun(t)
	p.job(1, cooling(1000))
	due := func() backfill.Time {
		p.belief.See(p.snapshot())
		p.belief.Diff(p.dispatched)
		return p.belief.View().Due - begin
	}
	require.Equal(t, backfill.Time(1001-coolingAhead), due())
	p.now = p.now.Add(701 * time.Second)
	require.Equal(t, backfill.Time(1001), due())
	p.now = p.now.Add(300 * time.Second)
	require.Equal(t, backfill.Forever-begin, due())
}

// TestDeferredIsLonger says that a deferred job is planned for longer than it runs, by the time
// that its claim is idle; also if another negotiator goes on.
func TestDeferredIsLonger(t *testing.T) {
	p := begun(t)
	p.job(1, deferred(150), is("limited", func(s *observe.Spec) { s.Limit = 700 }))
	p.job(2, deferred(160), is("without", func(s *observe.Spec) { s.Estimate = 0 }))
	p.job(3, deferred(170))
	require.Equal(t, backfill.Forever, p.belief.View().Due)
	p.belief.See(p.snapshot())
	out := p.belief.Diff(p.dispatched)
	require.Len(t, out.Delta.Submitted, 3)
	limited, without := out.Delta.Submitted[0], out.Delta.Submitted[1]
	require.Equal(t, []backfill.Time{750, 850}, []backfill.Time{limited.Estimate, limited.Limit})
	require.Equal(t, []backfill.Time{defaultEstimate + 160, 0}, []backfill.Time{without.Estimate, without.Limit})
	require.Equal(t, backfill.Time(begin+10), out.Delta.Submitted[2].Release, "100 s and the slack of 60 s before its time")
	require.Equal(t, backfill.Time(begin+10), p.belief.View().Due)

	p.start(1, sent, "a")
	slot := p.belief.slots["slot1@a"].reported
	saved := p.belief.Save(negotiator.Checkpoint{Now: begin, Slots: []*negotiator.Slot{slot}, Jobs: []negotiator.JobCheckpoint{{
		Job: limited, Placement: negotiator.Placement{{Slot: slot, Count: 1}},
		Standing: backfill.Standing{Running: true, Start: begin, End: begin + 810},
	}}})
	p.now = p.now.Add(7 * time.Second)
	m, flying := p.restore(saved)
	require.Len(t, m.Jobs, 1)
	require.Equal(t, limited.Estimate, m.Jobs[0].Job.Estimate)
	require.Len(t, flying, 1)
}
