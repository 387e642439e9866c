package host

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// BenchmarkCycle is the time of a round in a busy pool, by where the policy
// runs.
func BenchmarkCycle(b *testing.B) {
	b.Run("linked", func(b *testing.B) { benchmarkCycle(b, linked(b, named(b, "easy"))) })
	b.Run("in-process", func(b *testing.B) {
		benchmarkCycle(b, inProcess(b, Options{}, sdk.NewServer(named(b, "easy"), hclog.NewNullLogger())))
	})
	b.Run("plugin", func(b *testing.B) { benchmarkCycle(b, child(b, "easy", Options{NoMTLS: true})) })
	b.Run("plugin-mtls", func(b *testing.B) { benchmarkCycle(b, child(b, "easy", Options{})) })
}

// benchmarkCycle keeps eight jobs running and ten waiting: in each round one
// ends and one arrives.
func benchmarkCycle(b *testing.B, decider backfill.Decider) {
	b.Helper()
	host := newHost(b, "fcfs", decider)
	g := newScenario(1)
	r := g.next(host.State)
	submit := func(r *backfill.Round, n int) {
		for range n {
			g.jobs++
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Spec: &backfill.Job{
				ID: g.jobs, Submit: g.now, Nodes: 1, Request: backfill.Vector{4, 10}, Estimate: 1 << 40,
				Labels: map[string]string{"owner": "someone", "group": "physics"},
			}})
		}
	}
	submit(&r, 18)
	var running []backfill.JobID
	decide := func(r backfill.Round) {
		d, err := host.Decide(b.Context(), r)
		if err != nil || len(host.refusals) > 0 {
			require.NoError(b, err)
			require.Empty(b, host.refusals)
		}
		for _, s := range d.Started {
			running = append(running, s.Job.ID)
		}
	}
	decide(r)
	for b.Loop() {
		g.now++
		r = backfill.Round{Now: g.now, Events: []backfill.Event{{Kind: backfill.Completed, Job: running[0]}}}
		running = running[1:]
		submit(&r, 1)
		decide(r)
	}
}
