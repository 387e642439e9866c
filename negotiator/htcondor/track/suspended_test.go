package track

import (
	"testing"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// suspends has a job's slot suspend it.
func (p *pool) suspends(cluster int64) {
	p.job(cluster, func(g *observe.Group) { g.Suspend(true) })
}

// goesOn has a suspended job go on.
func (p *pool) goesOn(cluster int64) {
	p.job(cluster, func(g *observe.Group) { g.Suspend(false) })
}

// TestSuspendedJobs says that jobs which are suspended come no nearer to their end. Of job 1, which
// began at 5, the end is expected at 665 otherwise: after 600 s and the start slack.
func TestSuspendedJobs(t *testing.T) {
	suspended := step{after: 15, do: func(p *pool) { p.suspends(1) }}
	proven := "proven a×1 for s"
	followAll(t, begun, map[string][]step{
		"for a short time": runsOnA(suspended,
			step{after: 30, do: func(p *pool) { p.goesOn(1) }, want: "#1 ends 695, " + proven},
			step{after: 30, want: proven}),
		"for long": runsOnA(suspended,
			step{after: startSlack, want: proven},
			step{after: 1, want: "#1 ends 726, " + proven},
			step{after: startSlack, want: proven},
			step{after: 1, want: "#1 ends 787, " + proven},
			step{after: 8, do: func(p *pool) { p.goesOn(1) }, want: "#1 ends 795, " + proven},
			step{after: 60, want: proven},
			// What it ran for is taught without what it was suspended for.
			step{after: 60, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran 135, " + proven}),
		"twice": runsOnA(suspended,
			step{after: 10, do: func(p *pool) { p.goesOn(1) }, want: "#1 ends 675, " + proven},
			step{after: 10, do: func(p *pool) { p.suspends(1) }, want: proven},
			step{after: 10, do: func(p *pool) { p.goesOn(1) }, want: "#1 ends 685, " + proven}),
		"in an earlier run": {
			waiting,
			{after: 5, do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "arrived #1"},
			{after: 10},
		},
		"and edited": runsOnA(suspended,
			step{
				after: 10, do: func(p *pool) { p.job(1, is("longer", func(s *observe.Spec) { s.Estimate = 1200 })) },
				want: "#1 ends 1275, " + proven,
			}),
	})
}
