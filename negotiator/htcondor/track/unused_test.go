package track

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// keepsPlaces tells whether a job that is deferred for half an hour from now enters the plan at once.
func (p *pool) keepsPlaces(cluster int64) bool {
	p.t.Helper()
	p.job(cluster, deferred(p.unix()-begin+1800))
	return strings.Contains(p.look(), "submitted "+p.belief.JobOf(key(cluster)).Key.String())
}

// TestUnusedPlaces says what counts as a place that was kept ahead in vain. After one no other is kept
// for a while.
func TestUnusedPlaces(t *testing.T) {
	edit := func(change func(*observe.Group)) func(*pool) {
		return func(p *pool) { p.job(1, change); p.look() }
	}
	leaves := func(p *pool) { p.leaves(1); p.look() }
	overdue := sent
	overdue.Overdue = true
	wide := func(s *observe.Spec) { s.Request = backfill.Vector{4, 128, 1} }
	for name, c := range map[string]struct {
		do     func(p *pool)
		unused bool
	}{
		"put off":                     {edit(deferred(2000)), true},
		"moved ahead":                 {edit(deferred(900)), false},
		"not deferred":                {edit(func(g *observe.Group) { g.Deferral = observe.Deferral{} }), false},
		"it leaves":                   {leaves, true},
		"it leaves too late":          {func(p *pool) { p.passes(1060); leaves(p) }, false},
		"it leaves when it may start": {func(p *pool) { p.passes(840); p.look(); leaves(p) }, true},
		"a wrong edit":                {edit(wrong("a bad request")), true},
		"needs less":                  {edit(is("less")), true},
		"needs more":                  {edit(is("more", wide, func(s *observe.Spec) { s.Nodes = 2 })), false},
		"planned for later": {func(p *pool) {
			edit(is("elsewhere", wide))(p)
			p.promises(map[backfill.JobID]backfill.Time{1: 5000})
		}, true},
		"planned for no time": {func(p *pool) {
			edit(is("nowhere", wide))(p)
			p.belief.TakePlan(negotiator.Checkpoint{Jobs: []negotiator.JobCheckpoint{{
				Job: &negotiator.Job{ID: 1}, Unmatched: true, Standing: backfill.Standing{Held: "matches no slot"},
			}}})
		}, true},
		"rounded, and planned for later": {func(p *pool) {
			wish := &observe.Wish{}
			p.belief.Job(1).Spec.Wish = wish
			edit(is("rounded", func(s *observe.Spec) { s.Wish, s.Request = wish, backfill.Vector{1, 1, 1} }))(p)
			p.promises(map[backfill.JobID]backfill.Time{1: 5000})
		}, false},
		"planned for later by itself": {func(p *pool) { p.promises(map[backfill.JobID]backfill.Time{1: 5000}) }, false},
		"a limit is reached": {func(p *pool) {
			p.job(1, is("all", wide, func(s *observe.Spec) { s.Limited = []accountant.Limit{{Name: "sw", Wanted: 3}} }))
			require.Contains(p.t, p.look(), "removed #1")
		}, true},
		"its schedd is gone": {func(p *pool) { delete(p.schedds, "s"); p.look(); p.schedd("s") }, false},
		"its time is missed": {func(p *pool) { p.passes(1020); p.look() }, false},
		"it leaves while it is idle on its claim": {func(p *pool) {
			p.passes(840)
			p.look()
			p.start(1, sent, "a")
			p.runs(1, "a")
			p.look()
			leaves(p)
		}, true},
		"it runs at once and ends": {func(p *pool) {
			edit(func(g *observe.Group) { g.Deferral = observe.Deferral{} })(p)
			p.start(1, sent, "a")
			p.runs(1, "a")
			p.look()
			p.passes(5)
			leaves(p)
		}, false},
		"it runs for a short time and comes back with its next": {func(p *pool) {
			p.passes(840)
			p.look()
			p.start(1, sent, "a")
			p.runs(1, "a")
			p.look()
			p.passes(160)
			p.unname(1)
			edit(func(g *observe.Group) { g.Status, g.Hosts, g.Started = observe.Idle, nil, 0 })(p)
			edit(deferred(4600))(p)
		}, false},
		"it is not started, and gets its next time": {func(p *pool) {
			p.passes(840)
			p.look()
			p.start(1, sent, "a")
			p.look()
			p.passes(160)
			p.dispatched.Flights[1] = overdue
			edit(deferred(4600))(p)
		}, false},
		"it is put off while it is sent": {func(p *pool) {
			p.passes(840)
			p.look()
			p.start(1, sent, "a")
			p.look()
			p.passes(100)
			p.dispatched.Flights[1] = overdue
			edit(deferred(4600))(p)
		}, true},
		"it is to run at once and leaves": {func(p *pool) {
			edit(func(g *observe.Group) { g.Deferral = observe.Deferral{} })(p)
			p.start(1, sent, "a")
			p.look()
			leaves(p)
		}, true},
		"it has run": {func(p *pool) {
			p.passes(840)
			p.look()
			p.start(1, sent, "a")
			p.runs(1, "a")
			p.look()
			p.passes(160)
			leaves(p)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := accounted(t)
			p.job(1, is("a wide job", wide), deferred(1000))
			require.Equal(t, "submitted 1.0=#1 from 840", p.look())
			p.promises(map[backfill.JobID]backfill.Time{1: 840})
			p.passes(10)
			c.do(p)
			require.Equal(t, c.unused, !p.keepsPlaces(2))
			if c.unused {
				require.Contains(t, p.look(), "; no place is kept for it before ")
				p.passes(int64(p.belief.unused[""].lasts))
				require.Contains(t, p.look(), "submitted 2.0")
			}
		})
	}
}

// TestUnusedPlacesOfMany: all places of a user that are given up for one count as one, and so do those
// that leave the plan for it.
func TestUnusedPlacesOfMany(t *testing.T) {
	p := begun(t)
	for i := range int64(4) {
		p.job(i+1, deferred(1000))
	}
	p.look()
	p.promises(map[backfill.JobID]backfill.Time{1: 840, 2: 840, 3: 840, 4: 840})
	for i := range int64(3) {
		p.leaves(i + 1)
	}
	p.look()
	require.Len(t, p.belief.unused, 1)
	require.Equal(t, p.belief.vainFor(), p.belief.unused[""].lasts)
	require.Contains(t, p.look(), "4.0 is deferred until")
	require.Equal(t, p.belief.vainFor(), p.belief.unused[""].lasts, "that it was left out is nobody's wish")
}

// TestUnusedPlacesAgain: the time doubles with each place, up to a day, and is short again after a
// quiet day.
func TestUnusedPlacesAgain(t *testing.T) {
	p := begun(t)
	want := p.belief.vainFor()
	for i := range int64(9) {
		require.True(t, p.keepsPlaces(i+1))
		p.promises(map[backfill.JobID]backfill.Time{p.belief.JobOf(key(i + 1)).ID: 1640})
		p.leaves(i + 1)
		p.look()
		u := p.belief.unused[""]
		require.Equal(t, min(want, longestUnused), u.lasts)
		want *= 2
		p.passes(int64(u.lasts))
	}
	p.passes(longestUnused)
	p.look()
	require.Empty(t, p.belief.unused)
}
