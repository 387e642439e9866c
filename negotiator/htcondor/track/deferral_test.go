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

const (
	until  = "unplanned 1.0 is deferred until 22:18:20 UTC (DeferralTime)"
	missed = "unplanned 1.0 has missed its time, 22:18:20 UTC (DeferralTime), or up to 20 s later " +
		"(DeferralWindow)"
)

// TestDeferred says when a job that has a time of its own is in the plan: from its preparation,
// less the start slack, to the end of its window.
func TestDeferred(t *testing.T) {
	submit := func(p *pool) { p.job(1, deferred(300)) }
	followAll(t, begun, map[string][]step{
		"it runs": {
			{do: submit, want: until},
			{after: 139, want: until},
			{after: 1, want: "submitted 1.0=#1"},
			{after: 3, do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "#1 ends 960, arrived #1"}, // 300, the estimate of 600, and the slack of 60
			{after: 800, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran ?, proven a×1 for s"},
		},
		"it begins within its window": {
			{do: submit, want: until},
			{after: 310, want: "submitted 1.0=#1"},
			{after: 1, do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "arrived #1"},
			{after: 50, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran 50, proven a×1 for s"},
		},
		"it is not started in time": {
			{do: submit, want: until},
			{after: 319, want: "submitted 1.0=#1"},
			{after: 1, want: "removed #1, " + missed},
			{after: 99, want: missed},
			{do: func(p *pool) { p.job(1, deferred(1000)) }, want: "unplanned 1.0 is deferred until " +
				"22:30:00 UTC (DeferralTime)"}, // as a cron job
		},
		"it is edited while it waits": {
			{do: submit, want: until},
			{after: 200, want: "submitted 1.0=#1"},
			{after: 1, do: func(p *pool) { p.job(1, deferred(500)) }, want: "removed #1, unplanned 1.0 is deferred until " +
				"22:21:40 UTC (DeferralTime)"},
			{
				after: 1, do: func(p *pool) { p.job(1, func(g *observe.Group) { g.Deferral = observe.Deferral{} }) },
				want: "submitted 1.0=#1",
			},
		},
		"it is not handed over in time": {
			{do: submit, want: until},
			{after: 310, want: "submitted 1.0=#1"},
			{after: 10, do: func(p *pool) { p.start(1, Flight{}, "a") }, want: "removed #1, failed #1, " + missed},
		},
		"a cron job comes back": {
			{do: submit, want: until},
			{after: 300, want: "submitted 1.0=#1"},
			{do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "arrived #1"},
			{after: 10, do: func(p *pool) {
				p.idles(1)
				p.job(1, deferred(600))
			}, want: "removed #1, unplanned 1.0 is deferred until 22:23:20 UTC (DeferralTime)"},
			{after: 130, want: "submitted 1.0=#2"},
		},
	})
}

// cooling has a job cool down until that many seconds after the first look.
func cooling(seconds backfill.Time) func(*observe.Group) {
	return func(g *observe.Group) { g.Cools = begin + seconds }
}

// TestCoolingDown says when a job whose last start went wrong is in the plan: from the second after
// the one in which it has cooled down.
func TestCoolingDown(t *testing.T) {
	const until = "unplanned 1.0 cools down until 22:15:00 UTC (JobCoolDownExpiration)"
	followAll(t, begun, map[string][]step{
		"it is submitted": {
			{do: func(p *pool) { p.job(1, cooling(100)) }, want: until},
			{after: 100, want: until},
			{after: 1, want: "submitted 1.0=#1"},
		},
		"it was edited": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{after: 1, do: func(p *pool) { p.job(1, cooling(100)) }, want: "removed #1, " + until},
			{after: 1, do: func(p *pool) { p.job(1, cooling(-100)) }, want: "submitted 1.0=#1"},
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
			}, want: "removed #1, " + until},
			{after: 91, want: "submitted 1.0=#2"},
		},
		"its claim is on its way": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{do: func(p *pool) {
				p.start(1, sent, "a")
				p.job(1, cooling(100))
			}},
			{after: 30, do: func(p *pool) {
				p.dispatched.Flights[1] = Flight{Handed: true, Sent: true, Claims: 1, Overdue: true}
			}, want: "removed #1, failed #1, unstarted 1, " + until},
		},
		"it is another day": {
			{do: func(p *pool) { p.job(1, cooling(24*3600)) },
				want: "unplanned 1.0 cools down until 2023-11-15 22:13:20 UTC (JobCoolDownExpiration)"},
		},
		"a gang is started anyway": {
			{do: func(p *pool) {
				p.job(1, cooling(100), is("gang", func(s *observe.Spec) { s.Nodes, s.Parallel = 2, true }))
			}, want: "submitted 1.0=#1"},
		},
		"it is deferred, too": {
			{do: func(p *pool) { p.job(1, deferred(300), cooling(100)) },
				want: "unplanned 1.0 is deferred until 22:18:20 UTC (DeferralTime)"},
			{do: func(p *pool) { p.job(1, deferred(300), cooling(200)) },
				want: "unplanned 1.0 cools down until 22:16:40 UTC (JobCoolDownExpiration)"},
		},
	})
	p := begun(t)
	p.job(1, cooling(50))
	p.belief.See(p.snapshot())
	p.belief.Diff(p.dispatched)
	require.Equal(t, backfill.Time(begin+51), p.belief.View().Due, "the pool is looked at then")
}

// TestDeferredIsLonger says that a deferred job is planned for longer than it runs, by the time that
// its claim is idle; also if another negotiator goes on.
func TestDeferredIsLonger(t *testing.T) {
	p := begun(t)
	p.job(1, deferred(150), is("limited", func(s *observe.Spec) { s.Limit = 700 }))
	p.job(2, deferred(160), is("without", func(s *observe.Spec) { s.Estimate = 0 }))
	p.job(3, deferred(170))
	require.Equal(t, backfill.Forever, p.belief.View().Due)
	p.belief.See(p.snapshot())
	out := p.belief.Diff(p.dispatched)
	require.Len(t, out.Delta.Submitted, 2)
	limited, without := out.Delta.Submitted[0], out.Delta.Submitted[1]
	require.Equal(t, []backfill.Time{750, 850}, []backfill.Time{limited.Estimate, limited.Limit})
	require.Equal(t, []backfill.Time{defaultEstimate + 160, 0}, []backfill.Time{without.Estimate, without.Limit})
	require.Equal(t, backfill.Time(begin+10), p.belief.View().Due, "100 s and the slack of 60 s before the third one's time")

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
