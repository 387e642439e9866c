package ahead_test

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// pool is slots and jobs, with how long each job runs.
type pool struct {
	slots []backfill.Event
	jobs  []*backfill.Job // by submit time; the ID of each is its index
	runs  []backfill.Time
}

// drawPool draws a pool in which jobs end by their estimates.
func drawPool(t *rapid.T) pool {
	var p pool
	for id := range rapid.IntRange(1, 3).Draw(t, "slots") {
		p.slots = append(p.slots, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(id), Name: string(rune('a' + id)),
			Capacity: backfill.Vector{int64(rapid.IntRange(1, 4).Draw(t, "cpus"))},
		}})
	}
	submit := backfill.Time(0)
	for id := range rapid.IntRange(1, 20).Draw(t, "jobs") {
		submit += backfill.Time(rapid.IntRange(0, 4).Draw(t, "pause"))
		estimate := backfill.Time(rapid.IntRange(1, 15).Draw(t, "estimate"))
		p.jobs = append(p.jobs, &backfill.Job{
			ID: backfill.JobID(id), Submit: submit, Position: backfill.QueuePosition{Cluster: int64(id)},
			Nodes: rapid.IntRange(1, 3).Draw(t, "nodes"), Estimate: estimate,
			Request: backfill.Vector{int64(rapid.IntRange(1, 3).Draw(t, "width"))},
		})
		if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
			p.jobs[id].Release = submit + backfill.Time(rapid.IntRange(0, 40).Draw(t, "release"))
		}
		p.runs = append(p.runs, backfill.Time(rapid.IntRange(1, int(estimate)).Draw(t, "run")))
	}
	return p
}

// run returns how long a job runs.
func (p pool) run(j *backfill.Job) backfill.Time { return p.runs[j.ID] }

// end returns when a job ends.
func (p pool) end(j *backfill.Job, started backfill.Time) backfill.Time { return started + p.run(j) }

// begin returns the first round of the pool: its slots, and every job's candidates.
func (p pool) begin() *backfill.Round {
	set := backfill.Candidates{}
	for _, e := range p.slots {
		set.Slots = append(set.Slots, e.Slot.ID)
	}
	return &backfill.Round{
		Now: p.jobs[0].Submit, Events: p.slots, Candidates: []backfill.CandidateSet{{ID: 0, Candidates: set}},
	}
}

// empty returns the state of a pool without slots.
func empty() *backfill.State { return backfill.NewState([]string{"cpus"}, profile.ByRank) }

// rules returns the rules of a policy that is linked in.
func rules(t require.TestingT, policy, order string) ahead.Rules {
	spec, err := policies.Named(policy)
	require.NoError(t, err)
	main, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	second, err := policies.FallbackNamed("", spec)
	require.NoError(t, err)
	fallback, err := backfill.Link(second, nil)
	require.NoError(t, err)
	ordering, err := backfill.OrderNamed(order)
	require.NoError(t, err)
	return ahead.Rules{
		Order: ordering, Policy: main, Fallback: fallback,
		Refused: func(r backfill.Refusal) { require.NoError(t, r.Err) },
	}
}

// drawRules draws one of all policies, with an order.
func drawRules(t *rapid.T) ahead.Rules {
	var names []string
	for _, spec := range policies.All() {
		names = append(names, spec.Name)
	}
	return rules(t, rapid.SampledFrom(names).Draw(t, "policy"),
		rapid.SampledFrom([]string{"fcfs", "sjf", "wfp", "xfactor", "area", "widest"}).Draw(t, "order"))
}
