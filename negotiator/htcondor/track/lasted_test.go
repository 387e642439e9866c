package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestALieCountsInFull: of a job that states 600 s and runs for 1,100, the record learns nearly
// all, however its user has the run end: also before it is told of the run a second time, after
// 1,200 s.
func TestALieCountsInFull(t *testing.T) {
	const stated, lasts, ahead, between = 600, 1100, 300, 10
	for name, c := range map[string]struct {
		ahead backfill.Time
		spec  func(*observe.Spec)
		end   func(*pool)
	}{
		"it ends":             {end: func(p *pool) { p.leaves(1) }},
		"it ends, deferred":   {ahead: ahead, end: func(p *pool) { p.leaves(1) }},
		"removed":             {end: func(p *pool) { p.stops(1) }},
		"removed, limited":    {spec: func(s *observe.Spec) { s.Limit = 100_000 }, end: func(p *pool) { p.stops(1) }},
		"removed, deferred":   {ahead: ahead, end: func(p *pool) { p.stops(1) }},
		"vacated":             {end: func(p *pool) { p.idles(1) }},
		"vacated, and edited": {end: func(p *pool) { p.idles(1); p.job(1, is("other")) }},
		"vacated, and deferred": {end: func(p *pool) {
			p.idles(1)
			p.job(1, func(g *observe.Group) { g.Deferral = observe.Deferral{Time: 1 << 40} })
		}},
		"vacated, and at once restarted":           {end: func(p *pool) { p.runs(1, "a") }},
		"vacated, and at once restarted elsewhere": {end: func(p *pool) { p.runs(1, "b") }},
		"its schedd is gone":                       {end: func(p *pool) { delete(p.schedds, "s") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t, func(s *Settings) { s.StartSlack = startSlack })
			p.job(1, is("lie", func(s *observe.Spec) {
				if s.Estimate = stated; c.spec != nil {
					c.spec(s)
				}
			}), func(g *observe.Group) {
				if c.ahead > 0 {
					g.Deferral = observe.Deferral{Time: p.unix() + c.ahead, Window: 1 << 30, Prep: 1 << 30}
				}
			})
			p.look()
			p.start(1, Flight{Handed: true, Sent: true, Claims: 1}, "a")
			p.runs(1, "a")
			longest := backfill.Time(0)
			look := func() {
				p.belief.See(p.snapshot())
				out := p.belief.Diff(p.dispatched)
				for _, id := range append(append(out.Arrived, out.Failed...), out.Over...) {
					delete(p.dispatched.Flights, id)
				}
				for _, run := range append(out.Delta.Outliving, out.Delta.Taught...) {
					require.EqualValues(t, stated, run.Job.Estimate)
					longest = max(longest, run.Ran)
				}
				for _, ran := range out.Delta.Ran {
					longest = max(longest, ran)
				}
			}
			for range (lasts + c.ahead) / between {
				look()
				p.now = p.now.Add(between * time.Second)
			}
			c.end(p)
			look()
			p.now = p.now.Add(between * time.Second)
			look()
			require.InDelta(t, lasts, float64(longest), 2*between)
		})
	}
}

// stops has a job leave its queue because it was removed.
func (p *pool) stops(cluster int64) {
	p.leaves(cluster)
	p.schedd("s", func(s *observe.Schedd) { s.Stopped = append(s.Stopped, key(cluster)) })
}
