package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// runThroughTrouble runs a policy that is EASY where it decides at all. The fallback is EASY too,
// so the run must be that of EASY throughout, whatever the policy does. In the troubled round its
// deadline is short, unless that is 0; rounds before may take their time.
func runThroughTrouble(t *testing.T, remote *Remote, short time.Duration, strike func()) []backfill.Refusal {
	t.Helper()
	want, got := newHost(t, "fcfs", linked(t, named(t, "easy"))), newHost(t, "fcfs", remote)
	g := newScenario(3)
	for round := range 60 {
		r, patience := g.next(want.State), remote.options.Deadline
		if round == 20 {
			require.Empty(t, got.refusals)
			g.jobs++
			j := g.job(g.jobs)
			j.Labels[trouble] = "yes"
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
			if short != 0 {
				remote.options.Deadline = short
			}
			strike()
		}
		a, err := want.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		b, err := got.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		samePlan(t, a, b)
		remote.options.Deadline = patience
	}
	easy, other := want.State.Snapshot(), got.State.Snapshot()
	require.Equal(t, remote.Spec().Name, other.Policy, "the fallback decides in its name")
	easy.Policy = other.Policy
	sameState(t, easy, other)
	for _, r := range got.refusals {
		require.Equal(t, remote.Spec().Name, r.Policy)
		require.ErrorContains(t, r.Err, "policy plugin "+r.Policy+": ")
		require.NotRegexp(t, `[[:cntrl:]]`, r.Err.Error())
	}
	return got.refusals
}

func nothingHappens() {}

func TestAFailureCostsOneRound(t *testing.T) {
	for _, test := range []struct{ policy, refusal string }{
		{"panicking", "policy panicking panicked: on \uFFFDpurpose"},
		{"inventing", "start job 999999: there is no such job"},
		{"promising", "the policy in charge gives none"},
		{"repeating", "it runs since"},
		{"oversubscribing", "the decision is not possible"},
	} {
		for _, noChannel := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/no channel %t", test.policy, noChannel), func(t *testing.T) {
				remote := child(t, test.policy, Options{NoChannel: noChannel})
				refusals := runThroughTrouble(t, remote, 0, nothingHappens)
				require.Len(t, refusals, 1)
				require.ErrorContains(t, refusals[0].Err, test.refusal)
				require.NotZero(t, remote.Stats().PID, "it runs")
				require.Equal(t, Stats{Starts: 1, Syncs: 2}, happened(remote))
			})
		}
	}
}

// liar is a plugin whose copy is right but which reports something else.
type liar struct {
	policyv1.PolicyServiceServer
	lie   func(asked *policyv1.Decide, answer *policyv1.PolicyMessage) // nil: sends the answer repeatedly
	waits bool                                                         // until the host has given up
}

type lyingStream struct {
	policyv1.PolicyService_SessionServer
	liar
	asked *policyv1.Decide
}

func (l liar) Session(stream policyv1.PolicyService_SessionServer) error {
	return l.PolicyServiceServer.Session(&lyingStream{PolicyService_SessionServer: stream, liar: l})
}

func (s *lyingStream) Recv() (*policyv1.HostMessage, error) {
	m, err := s.PolicyService_SessionServer.Recv()
	s.asked = m.GetDecide()
	return m, err
}

func (s *lyingStream) Send(m *policyv1.PolicyMessage) error {
	if s.asked != nil && isTrouble(wire.DecodeRound(s.asked.GetRound())) {
		switch {
		case s.waits:
			<-s.Context().Done()
		case s.lie == nil:
			for range 1000 {
				if err := s.PolicyService_SessionServer.Send(m); err != nil {
					return err
				}
			}
		default:
			s.lie(s.asked, m)
		}
	}
	return s.PolicyService_SessionServer.Send(m)
}

func TestALieCostsOneRound(t *testing.T) {
	decision := func(do func(*policyv1.Decision)) func(*policyv1.Decide, *policyv1.PolicyMessage) {
		return func(_ *policyv1.Decide, m *policyv1.PolicyMessage) { do(m.GetDecision()) }
	}
	action := func(a *policyv1.Action) func(*policyv1.Decide, *policyv1.PolicyMessage) {
		return func(asked *policyv1.Decide, m *policyv1.PolicyMessage) {
			a.After = int32(len(asked.GetRound().GetEvents()))
			m.GetDecision().Journal = append(m.GetDecision().Journal, a)
		}
	}
	everywhere := &policyv1.Placement{Slots: []int32{0, 1, 2, 3, 1 << 30, -1}, Counts: []int64{1 << 40, -7}}
	many := func(n int, a *policyv1.Action) func(*policyv1.Decide, *policyv1.PolicyMessage) {
		return decision(func(d *policyv1.Decision) {
			d.Journal = append(d.Journal, slices.Repeat([]*policyv1.Action{a}, n)...)
		})
	}
	refused, broken := Stats{Starts: 1, Syncs: 2}, Stats{Starts: 2, Syncs: 2, Failures: 1}
	for name, test := range map[string]struct {
		lie     func(*policyv1.Decide, *policyv1.PolicyMessage)
		refusal string
		want    Stats
	}{
		"unknown job": {
			action(&policyv1.Action{Kind: policyv1.ActionKind_ACTION_KIND_START, Job: 1 << 50}),
			"there is no such job", refused,
		},
		"unknown action": {action(&policyv1.Action{Kind: 77}), "unknown action", refused},
		"wake in the past": {
			action(&policyv1.Action{Kind: policyv1.ActionKind_ACTION_KIND_WAKE, At: -5}),
			"wake at -5", refused,
		},
		"wrong place": {func(asked *policyv1.Decide, m *policyv1.PolicyMessage) {
			events := wire.DecodeRound(asked.GetRound()).Events
			arrived := events[slices.IndexFunc(events, func(e backfill.Event) bool {
				return e.Kind == backfill.Submitted
			})].Job
			m.GetDecision().Journal = []*policyv1.Action{{
				After: int32(len(events)), Kind: policyv1.ActionKind_ACTION_KIND_START, Job: int64(arrived.ID),
				Placement: everywhere,
			}}
		}, "chunks on slot", refused},
		"out of order": {decision(func(d *policyv1.Decision) {
			d.Journal = append(d.Journal, &policyv1.Action{After: 1 << 30})
		}), "the journal goes from event", refused},
		"too many actions": {
			many(200_000, &policyv1.Action{Kind: policyv1.ActionKind_ACTION_KIND_KEEP_FREED, At: 1}),
			"actions, more than", refused,
		},
		"many wakes": {
			many(1001, &policyv1.Action{Kind: policyv1.ActionKind_ACTION_KIND_WAKE, At: 1 << 40}),
			"asks to be woken more than 1000 times", refused,
		},
		"many places": {
			many(1, &policyv1.Action{Placement: &policyv1.Placement{Slots: make([]int32, 1_000_000)}}),
			"on 1000000 slots, and there are", refused,
		},
		"a long story": {
			many(1, &policyv1.Action{Reason: strings.Repeat("x", 5000)}),
			"for a reason of 5000 bytes", refused,
		},
		"odd text": {many(1, &policyv1.Action{Reason: "\xff"}), "the session broke", broken},
		"an odd failure": {func(_ *policyv1.Decide, m *policyv1.PolicyMessage) {
			m.Message = &policyv1.PolicyMessage_Failure{Failure: &policyv1.Failure{Text: "\x1b[2J\n" +
				strings.Repeat("x", 1<<20)}}
		}, "\uFFFD[2J xxxx", refused},
		"other branch": {decision(func(d *policyv1.Decision) { d.Branch = 9 }), "broke the protocol", broken},
		"old revision": {decision(func(d *policyv1.Decision) { d.BaseRevision-- }), "broke the protocol", broken},
		"not an answer": {func(_ *policyv1.Decide, m *policyv1.PolicyMessage) {
			m.Message = &policyv1.PolicyMessage_Ready{Ready: &policyv1.Ready{}}
		}, "broke the protocol", broken},
		"empty": {
			func(_ *policyv1.Decide, m *policyv1.PolicyMessage) { m.Message = nil },
			"broke the protocol", broken,
		},
		"out of step for ever": {func(_ *policyv1.Decide, m *policyv1.PolicyMessage) {
			m.Message = &policyv1.PolicyMessage_OutOfStep{OutOfStep: &policyv1.OutOfStep{Text: "lost"}}
		}, "it does not take the state over: lost", Stats{Starts: 2, Syncs: 3, Failures: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			remote := inProcess(t, Options{},
				liar{sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()), test.lie, false})
			refusals := runThroughTrouble(t, remote, 0, nothingHappens)
			require.Len(t, refusals, 1)
			require.ErrorContains(t, refusals[0].Err, test.refusal)
			require.Equal(t, test.want, happened(remote))
		})
	}
}

// Nobody listens between questions, so surplus answers are found at the next question.
func TestAFloodOfAnswersCostsOneRound(t *testing.T) {
	remote := inProcess(t, Options{}, liar{sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()), nil, false})
	refusals := runThroughTrouble(t, remote, 0, nothingHappens)
	require.Len(t, refusals, 1)
	require.ErrorContains(t, refusals[0].Err, "broke the protocol")
	require.Equal(t, Stats{Starts: 2, Syncs: 2, Failures: 1}, happened(remote))
}

func TestAnAnswerThatIsLateCostsOneRound(t *testing.T) {
	server := liar{PolicyServiceServer: sdk.NewServer(named(t, "easy"), hclog.NewNullLogger())}
	server.waits = true
	remote := inProcess(t, Options{}, server)
	refusals := runThroughTrouble(t, remote, 50*time.Millisecond, nothingHappens)
	require.Len(t, refusals, 1)
	require.ErrorContains(t, refusals[0].Err, "no decision within 50ms")
	require.Equal(t, Stats{Starts: 2, Syncs: 2, Failures: 1}, happened(remote))
}

func TestAPluginThatIsOutOfStepIsSyncedAtOnce(t *testing.T) {
	var once sync.Once
	remote := inProcess(t, Options{}, liar{
		PolicyServiceServer: sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()),
		lie: func(asked *policyv1.Decide, m *policyv1.PolicyMessage) {
			once.Do(func() {
				m.Message = &policyv1.PolicyMessage_OutOfStep{OutOfStep: &policyv1.OutOfStep{
					Branch: asked.GetBranch(),
					Text:   "lost",
				}}
			})
		},
	})
	host := newHost(t, "fcfs", remote)
	g := newScenario(5)
	for round := range 20 {
		r := g.next(host.State)
		if round == 10 {
			g.jobs++
			j := g.job(g.jobs)
			j.Labels[trouble] = "yes"
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
		}
		_, err := host.Decide(t.Context(), r)
		require.NoError(t, err)
	}
	require.Empty(t, host.refusals)
	require.Equal(t, Stats{Starts: 1, Syncs: 2}, happened(remote))
}

// A decision that the mirror accepts, and that the host refuses only when the round closes, leaves
// the mirror ahead.
func TestADecisionRefusedAtTheEndLeadsToASync(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()))
	host := newHost(t, "fcfs", remote)
	g := newScenario(5)
	for range 10 {
		r := g.next(host.State)
		if host.State.Revision() == 5 {
			c, err := host.State.Open(backfill.Round{Now: r.Now})
			require.NoError(t, err)
			require.NoError(t, remote.Decide(t.Context(), c))
			c.Rollback() // the outcome is not reported
		}
		_, err := host.Decide(t.Context(), r)
		require.NoError(t, err)
	}
	require.Empty(t, host.refusals)
	require.Equal(t, Stats{Starts: 1, Syncs: 2}, happened(remote))
}

func TestRestartsBackOffAndEnd(t *testing.T) {
	b := backOff{limit: 3}
	var tried []int
	for round := range 20 {
		switch err := b.ready(); {
		case err == nil:
			tried = append(tried, round)
			b.failed()
		case round < 7:
			require.EqualError(t, err, "not asked: it failed, and is started again some rounds later")
			require.ErrorIs(t, err, backfill.ErrNotAsked)
		}
	}
	require.Equal(t, []int{0, 1, 3, 7}, tried)
	require.EqualError(t, b.ready(), "given up after 4 failures")

	b = backOff{limit: 1}
	b.failed()
	for range healthy {
		b.succeeded()
	}
	b.failed()
	require.NoError(t, b.ready(), "a healthy run makes up for a failure")
}

func TestACancelledDecisionIsNoFailure(t *testing.T) {
	remote := child(t, "hanging", Options{})
	host := newHost(t, "fcfs", remote)
	g := newScenario(5)
	_, err := host.Decide(t.Context(), g.next(host.State))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	j := g.job(7)
	j.Labels[trouble] = "yes"
	_, err = host.Decide(ctx, backfill.Round{Now: g.now, Events: []backfill.Event{{Kind: backfill.Submitted, Job: j}}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, remote.Stats().Failures)
	require.Zero(t, remote.Stats().PID)
	_, err = host.Decide(t.Context(),
		backfill.Round{Now: g.now, Events: []backfill.Event{{Kind: backfill.Submitted, Job: g.job(7)}}})
	require.NoError(t, err)
	require.Empty(t, host.refusals)
	require.Equal(t, 2, remote.Stats().Starts)
}

func TestIdleRoundsAreToldUpToABound(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()))
	want, got := newHost(t, "fcfs", linked(t, named(t, "easy"))), newHost(t, "fcfs", remote)
	decide := func(r backfill.Round) {
		a, err := want.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		b, err := got.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		samePlan(t, a, b)
	}
	g := newScenario(1)
	decide(g.next(want.State))
	submit := func() {
		g.now++
		g.jobs++
		j := g.job(g.jobs)
		j.Nodes, j.Request, j.Estimate, j.Candidates = 1, backfill.Vector{1, 1}, 1, 0
		decide(backfill.Round{Now: g.now, Events: []backfill.Event{{Kind: backfill.Submitted, Job: j}}})
	}
	idle := func(rounds int) {
		for range rounds {
			g.now++
			decide(backfill.Round{Now: g.now, Events: []backfill.Event{{Kind: backfill.Wake}}})
		}
	}
	submit()
	idle(100)
	submit()
	require.Equal(t, 1, remote.Stats().Syncs, "idle rounds are settled rounds")
	idle(maxPending)
	submit()
	require.Equal(t, 2, remote.Stats().Syncs, "the whole state is shorter")
	require.Empty(t, got.refusals)
}

func TestBranchesFollowCopiesOfTheState(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()))
	want, got := newHost(t, "fcfs", linked(t, named(t, "easy"))), newHost(t, "fcfs", remote)
	runBeside(t, 11, 40, want, got)
	order, err := backfill.OrderNamed("fcfs")
	require.NoError(t, err)
	for range 3 {
		copied := got.State.Clone()
		branch := remote.Fork(copied)
		host, err := backfill.NewHost(copied, order, branch, linked(t, named(t, "easy")), nil)
		require.NoError(t, err)
		end := copied.NextWake()
		for range 20 {
			_, err = host.Decide(t.Context(), backfill.Round{Now: end})
			require.NoError(t, err)
			end++
		}
		branch.Drop()
	}
	g := newScenario(12)
	g.now, g.sets, g.jobs = got.State.Now(), 1, 10_000
	for range 40 {
		r := g.next(want.State)
		a, err := want.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		b, err := got.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		samePlan(t, a, b)
	}
	require.Empty(t, got.refusals)
	require.Equal(t, Stats{Starts: 1, Syncs: 1}, happened(remote), "a fork sends no state")
}

func TestAForeignStateIsSynced(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()))
	for seed := range uint64(2) {
		runBeside(t, seed, 20, newHost(t, "fcfs", linked(t, named(t, "easy"))), newHost(t, "fcfs", remote))
	}
	require.Equal(t, 2, remote.Stats().Syncs, "equal revisions do not make equal states")
}

func TestAnotherPolicyAfterARestartIsRefused(t *testing.T) {
	easy, ordered, fcfs := named(t, "easy"), named(t, "easy"), named(t, "easy")
	ordered.Order, fcfs.Order = "wfp", "fcfs"
	for _, test := range []struct {
		before, after backfill.PolicySpec
		want          string // empty: it goes on
	}{
		{easy, named(t, "conservative"), "it is another policy now: conservative; guarantees: true"},
		{easy, ordered, "it is another policy now: easy; guarantees: false, ignores the order: false, plan depth: " +
			"false, order: wfp"},
		{ordered, easy, "plan depth: false, order: fcfs"},
		{ordered, ordered, ""},
		{easy, fcfs, ""},
	} {
		server := &switching{}
		server.PolicyServiceServer = sdk.NewServer(test.before, hclog.NewNullLogger())
		remote := inProcess(t, Options{}, server)
		server.PolicyServiceServer = sdk.NewServer(test.after, hclog.NewNullLogger())
		err := remote.failed(t.Context(), errors.New("a crash"))
		require.EqualError(t, err, "a crash")
		c, err := newPool().Open(backfill.Round{})
		require.NoError(t, err)
		err = remote.Decide(t.Context(), c)
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, test.want)
	}
}

type switching struct{ policyv1.PolicyServiceServer }
