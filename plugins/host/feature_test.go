package host

import (
	"context"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// older is a plugin that was built before the protocol had any features.
type older struct{ policyv1.PolicyServiceServer }

func (o older) Describe(ctx context.Context, r *policyv1.DescribeRequest) (*policyv1.DescribeResponse, error) {
	m, err := o.PolicyServiceServer.Describe(ctx, r)
	m.Features = nil
	return m, err
}

// A plugin whose policy says nothing of a plan's depth is given no limit, also when it takes over from
// one that has one. Then the other takes over again.
func TestAnOlderPluginPlansAllJobs(t *testing.T) {
	remote := inProcess(t, Options{}, older{sdk.NewServer(named(t, "conservative"), hclog.NewNullLogger())})
	require.EqualError(t, remote.Spec().Follows(backfill.Planning{Depth: 1}),
		"policy conservative knows of no depth of its plan: it plans all waiting jobs as they arrive")
	newer := inProcess(t, Options{}, sdk.NewServer(named(t, "pc"), hclog.NewNullLogger()))
	host := newHost(t, "fcfs", newer)
	host.SetPlanning(backfill.Planning{Depth: 1})
	decide := func(r backfill.Round, decider string, beyond int) {
		t.Helper()
		d, err := host.Decide(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, decider, d.By)
		require.Equal(t, beyond, host.State.BeyondDepth())
		require.Empty(t, host.refusals)
	}
	capacity := backfill.Vector{4, 1000}
	r := backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: capacity}},
		},
	}
	for id := range backfill.JobID(5) {
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: id, Nodes: 1, Request: capacity, Estimate: 10,
		}})
	}
	wake := func(now backfill.Time) backfill.Round {
		return backfill.Round{Now: now, Events: []backfill.Event{{Kind: backfill.Wake}}}
	}
	decide(r, "pc", 4)
	decide(wake(1), "pc", 3)
	fallback := linked(t, named(t, "conservative"))
	require.NoError(t, host.Change(nil, remote, fallback))
	decide(wake(2), "conservative", 0)
	decide(wake(3), "conservative", 0)
	require.NoError(t, host.Change(nil, newer, fallback))
	decide(wake(4), "pc", 0) // promises stay
	require.Equal(t, backfill.Planning{Depth: 1}, host.State.Planning())
}

// An older plugin is not sent what it would misread: while the pool contains that, the fallback
// decides; afterwards the plugin decides again.
func TestAnOlderPluginIsNotToldWhatItDoesNotKnow(t *testing.T) {
	for _, policy := range []string{"fcfs", "conservative"} {
		t.Run(policy, func(t *testing.T) {
			remote := inProcess(t, Options{}, older{sdk.NewServer(named(t, policy), hclog.NewNullLogger())})
			host := newHost(t, "fcfs", remote)
			knows := named(t, policy).Guarantees // it need not know them
			decide := func(r backfill.Round, decider string) {
				t.Helper()
				d, err := host.Decide(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, decider, d.By)
			}
			job := func(id backfill.JobID, running backfill.Time) backfill.Event {
				return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
					ID: id, Nodes: 1,
					Request: backfill.Vector{1, 1}, Estimate: 10, Running: running,
				}}
			}
			fallback := policies.FallbackFor(named(t, policy)).Name
			while := map[bool]string{true: policy, false: fallback}[knows]

			r := newScenario(1).first()
			r.Now = 0
			r.Events = append(r.Events, job(1, 10))
			decide(r, policy)
			decide(backfill.Round{Now: 1, Events: []backfill.Event{job(2, 5)}}, while)
			decide(backfill.Round{Now: 2, Events: []backfill.Event{job(3, 0)}}, while) // job 2 is still in the pool
			decide(backfill.Round{Now: 3, Events: []backfill.Event{{Kind: backfill.Completed, JobID: 2}, job(4, 0)}},
				while)
			decide(backfill.Round{Now: 4, Events: []backfill.Event{job(5, 0)}}, policy)
			require.Zero(t, remote.Stats().Failures)
			if knows {
				require.Empty(t, host.refusals)
				return
			}
			require.Len(t, host.refusals, 3)
			for _, refusal := range host.refusals {
				require.ErrorContains(t, refusal.Err,
					"policy plugin fcfs: it does not know what is in the pool: jobs that are expected to run "+
						"for longer or shorter")
				require.ErrorContains(t, refusal.Err, "rebuild it with this host's plugins/sdk")
			}

			// A round that the plugin is not asked about is not reported later either.
			var gone []backfill.Event
			for id := range backfill.JobID(5) {
				if id+1 != 2 {
					gone = append(gone, backfill.Event{Kind: backfill.Completed, JobID: id + 1})
				}
			}
			decide(backfill.Round{Now: 5, Events: gone}, "")
			found := job(6, 5)
			found.Kind, found.Placement, found.Start = backfill.Found, backfill.Placement{{Slot: 0, Count: 1}}, 5
			decide(backfill.Round{Now: 6, Events: []backfill.Event{found}}, "")
			decide(backfill.Round{Now: 7, Events: []backfill.Event{job(7, 0)}}, fallback)
			require.Len(t, host.refusals, 4)
		})
	}
}

// While a job waits that may not start yet, an older plugin is not asked, as it would start it; then
// it is asked again. A newer plugin decides all rounds. Neither starts the job too early.
func TestAnOlderPluginIsNotAskedOfJobsThatMayNotStartYet(t *testing.T) {
	for _, knows := range []bool{false, true} {
		server := sdk.NewServer(named(t, "easy"), hclog.NewNullLogger())
		remote := inProcess(t, Options{}, older{server})
		if knows {
			remote = inProcess(t, Options{}, server)
		}
		host := newHost(t, "fcfs", remote)
		decide := func(r backfill.Round, decider string, starts ...backfill.JobID) {
			t.Helper()
			d, err := host.Decide(t.Context(), r)
			require.NoError(t, err)
			if knows {
				decider = "easy"
			}
			require.Equal(t, decider, d.By)
			var started []backfill.JobID
			for _, s := range d.Started {
				started = append(started, s.Job.ID)
			}
			require.Equal(t, starts, started)
		}
		job := func(id backfill.JobID, release backfill.Time) backfill.Event {
			return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
				ID: id, Nodes: 1, Request: backfill.Vector{1, 1}, Estimate: 100, Release: release,
			}}
		}
		fallback := policies.FallbackFor(named(t, "easy")).Name
		r := newScenario(1).first()
		r.Now = 0
		r.Events = append(r.Events, job(1, 0))
		decide(r, "easy", 1)
		decide(backfill.Round{Now: 1, Events: []backfill.Event{job(2, 5)}}, fallback)
		decide(backfill.Round{Now: 2, Events: []backfill.Event{job(3, 0)}}, fallback, 3)
		require.Equal(t, backfill.Time(5), host.State.NextWake())
		decide(backfill.Round{Now: 5}, fallback, 2)
		decide(backfill.Round{Now: 6, Events: []backfill.Event{job(4, 2)}}, "easy", 4)
		if knows {
			require.Empty(t, host.refusals)
			continue
		}
		require.Len(t, host.refusals, 3)
		require.ErrorContains(t, host.refusals[0].Err, "policy plugin easy: it does not know what is in the pool: jobs "+
			"that may not start before an instant that is still to come: rebuild it")
	}
}

// A plugin that knows of no windows is told what is open: with the whole state, in each round, as more
// opens with time. What it plans where a slot is closed then is refused. A newer plugin decides all
// rounds, with one copy of the state.
func TestAnOlderPluginIsToldWhatIsOpen(t *testing.T) {
	for _, policy := range []string{"first-fit", "easy"} {
		for _, knows := range []bool{false, true} {
			server := sdk.NewServer(named(t, policy), hclog.NewNullLogger())
			remote := inProcess(t, Options{}, older{server})
			if knows {
				remote = inProcess(t, Options{}, server)
			}
			host := newHost(t, "fcfs", remote)
			decide := func(r backfill.Round, starts ...backfill.JobID) {
				t.Helper()
				d, err := host.Decide(t.Context(), r)
				require.NoError(t, err)
				var started []backfill.JobID
				for _, s := range d.Started {
					started = append(started, s.Job.ID)
				}
				require.Equal(t, starts, started)
			}
			job := func(id backfill.JobID) backfill.Event {
				return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
					ID: id, Nodes: 1, Request: backfill.Vector{4, 1}, Estimate: 100,
				}}
			}
			r := backfill.Round{
				Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
					Slots:   []backfill.SlotID{0, 1},
					Windows: [][]backfill.Window{{{From: 0, To: 10}}, {{From: 5, To: backfill.Forever}}},
				}}},
				Events: []backfill.Event{job(1), job(2)},
			}
			for id := range backfill.SlotID(2) {
				r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
					ID: id, Name: string(rune('a' + id)), Capacity: backfill.Vector{4, 1000},
				}})
			}
			decide(r, 1) // on slot a, the only one that is open
			require.EqualValues(t, 5, host.State.NextWake())
			decide(backfill.Round{Now: 5}, 2) // on slot b
			decide(backfill.Round{Now: 11, Events: []backfill.Event{job(3)}})
			decide(backfill.Round{Now: 12, Events: []backfill.Event{
				{Kind: backfill.Completed, JobID: 1}, {Kind: backfill.Completed, JobID: 2},
			}}, 3)
			syncs := map[bool]int{false: 4, true: 1}[knows]
			if policy == "easy" && !knows {
				require.Len(t, host.refusals, 1)
				require.ErrorContains(t, host.refusals[0].Err, "at 100: on slot a the job may not begin at 100")
			} else {
				require.Empty(t, host.refusals)
			}
			require.Equal(t, syncs, remote.Stats().Syncs)
		}
	}
}

// A plugin that knows of no ends is told for each job of the slots on which it would end in time, with the
// whole state in each round. A newer plugin decides all rounds, with one copy of the state.
func TestAnOlderPluginIsToldWhatLasts(t *testing.T) {
	for _, knows := range []bool{false, true} {
		server := sdk.NewServer(named(t, "first-fit"), hclog.NewNullLogger())
		remote := inProcess(t, Options{}, older{server})
		if knows {
			remote = inProcess(t, Options{}, server)
		}
		host := newHost(t, "fcfs", remote)
		job := func(id backfill.JobID, estimate backfill.Time) backfill.Event {
			return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
				ID: id, Nodes: 1, Request: backfill.Vector{4, 1}, Estimate: estimate, Unestimated: id == 4,
			}}
		}
		r := backfill.Round{
			Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}}}},
			Events:     []backfill.Event{job(1, 101), job(2, 50), job(3, 100), job(4, 500)},
		}
		for id := range backfill.SlotID(2) {
			r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
				ID: id, Name: string(rune('a' + id)), Capacity: backfill.Vector{4, 1000}, End: 50 * backfill.Time(1+id),
			}})
		}
		d, err := host.Decide(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, d.Started, 2)
		require.EqualValues(t, 2, d.Started[0].Job.ID)
		require.Equal(t, backfill.Placement{{Slot: 0, Count: 1}}, d.Started[0].Placement)
		require.EqualValues(t, 3, d.Started[1].Job.ID)
		d, err = host.Decide(t.Context(), backfill.Round{
			Now: 30, Events: []backfill.Event{{Kind: backfill.Completed, JobID: 3}, job(5, 71)},
		})
		require.NoError(t, err)
		require.Len(t, d.Started, 1, "all but one would end too late")
		require.EqualValues(t, 4, d.Started[0].Job.ID)
		require.EqualValues(t, 100, host.State.Snapshot().Jobs[2].End)
		require.Empty(t, host.refusals)
		require.Equal(t, map[bool]int{false: 2, true: 1}[knows], remote.Stats().Syncs)
	}
}
