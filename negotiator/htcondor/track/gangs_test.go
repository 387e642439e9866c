package track

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestGangsOfSeveralProcs says that the procs of a gang's cluster are one job: planned, started and
// ended as a whole, and its claims known whichever proc they name.
func TestGangsOfSeveralProcs(t *testing.T) {
	second := observe.JobKey{Schedd: "s", Cluster: 1, Proc: 1}
	const onHold = 5
	const headless = "unplanned 1.1 cannot be planned with: its schedd starts the procs of a gang's cluster only while " +
		"proc 0 of it waits, and that is on hold or gone: release it, or submit the gang anew"
	status := func(value int64) func(*observe.Group) {
		return func(g *observe.Group) { g.Status = value }
	}
	submit := func(p *pool) {
		p.job(1, gang(1))
		p.jobOf(second, gang(1))
	}
	run := func(p *pool) {
		p.runs(1, "a")
		p.jobOf(second, func(g *observe.Group) {
			g.Status, g.Started, g.Hosts = observe.Running, p.unix(), []string{"slot1_1@b"}
		})
		p.claim("slot1_1@b", "b", second)
	}
	waits := step{do: submit, want: "submitted 1.0=#1, unplanned 1.1 is a part of gang 1.0"}
	flies := step{
		do:   func(p *pool) { p.start(1, Flight{Handed: true, Sent: true, Claims: 2}, "a", "b") },
		want: "unplanned 1.1 is a part of gang 1.0",
	}
	arrives := step{after: 5, do: run, want: "arrived #1"}
	ends := step{after: 80, do: func(p *pool) {
		p.leaves(1)
		delete(p.jobs, second)
	}, want: "completed #1 ran ?, ended gang #1 of s on a×1 b×1, proven a×1 b×1 for s"}
	followAll(t, begun, map[string][]step{
		"it runs":      {waits, flies, arrives, {after: 20}, ends, {after: 20}}, // no claim counts as another's
		"it was found": {{do: func(p *pool) { submit(p); run(p) }, want: "found 1.0=#1 on a×1 b×1 since 0"}, {after: 20}},
		"it is removed": {waits, {do: func(p *pool) {
			p.leaves(1)
			delete(p.jobs, second)
		}, want: "removed #1"}},
		"the first proc leaves": {waits, {do: func(p *pool) { p.leaves(1) }, want: "removed #1, " + headless}},
		"the first proc is put on hold, and released": {
			waits,
			{do: func(p *pool) { p.job(1, status(onHold)) }, want: "removed #1, " + headless},
			{do: func(p *pool) { p.job(1, status(observe.Idle)) }, want: "submitted 1.0=#3, unplanned 1.1 is a part of gang 1.0"},
		},
		"another proc is put on hold, and released": {
			waits,
			{do: func(p *pool) { p.jobOf(second, status(onHold)) }},
			{do: func(p *pool) { p.jobOf(second, status(observe.Idle)) }, want: "unplanned 1.1 is a part of gang 1.0"},
		},
		"all are on hold": {{do: func(p *pool) {
			submit(p)
			p.job(1, status(onHold))
			p.jobOf(second, status(onHold))
		}}},
		"one that is alone is on hold": {{do: func(p *pool) { p.job(1, gang(2), status(onHold)) }}},
		"the first proc comes later": {
			{do: func(p *pool) { p.jobOf(second, gang(1)) }, want: headless},
			{do: submit, want: "submitted 1.0=#2, unplanned 1.1 is a part of gang 1.0"},
		},
		"its procs are unlike": {{do: func(p *pool) {
			submit(p)
			p.jobOf(second, is("unlike", func(s *observe.Spec) {
				s.Parallel = true
				s.Kind[0]++
			}))
		}, want: "unplanned 1.0 cannot be planned with: the procs of its cluster differ in more than machine_count and " +
			"what each node requests, such as in their Requirements: all nodes of a gang must be able to run on the same " +
			"slots, unplanned 1.1 is a part of gang 1.0"}},
	})
	p := begun(t)
	submit(p)
	p.look()
	for j := range p.belief.Jobs() {
		require.Equal(t, key(1), j.Key)
	}
}
