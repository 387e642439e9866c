package host

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// listening is a plugin that counts messages about branches.
type listening struct {
	policyv1.PolicyServiceServer
	mu     sync.Mutex
	copies map[uint64]bool // branches of which it would hold a copy now
}

type listeningStream struct {
	policyv1.PolicyService_SessionServer
	to *listening
}

func (l *listening) Session(stream policyv1.PolicyService_SessionServer) error {
	return l.PolicyServiceServer.Session(&listeningStream{stream, l})
}

func (s *listeningStream) Recv() (*policyv1.HostMessage, error) {
	m, err := s.PolicyService_SessionServer.Recv()
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	switch {
	case m.GetSync() != nil:
		s.to.copies[m.GetSync().GetBranch()] = true
	case m.GetFork() != nil:
		s.to.copies[m.GetFork().GetTo()] = true
	case m.GetDrop() != nil:
		delete(s.to.copies, m.GetDrop().GetBranch())
	}
	return m, err
}

// A plugin keeps no copy of a dropped branch, whatever happened to the branch before.
func TestADroppedBranchIsForgotten(t *testing.T) {
	plugin := &listening{
		PolicyServiceServer: sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()),
		copies:              map[uint64]bool{},
	}
	remote := inProcess(t, Options{}, plugin)
	host := newHost(t, "fcfs", remote)
	g := newScenario(3)
	decide := func() {
		_, err := host.Decide(t.Context(), g.next(host.State))
		require.NoError(t, err)
	}
	for range 5 {
		decide()
	}
	for _, before := range []func(*Branch, *backfill.Transaction){
		func(*Branch, *backfill.Transaction) {},
		func(b *Branch, tx *backfill.Transaction) { require.NoError(t, b.Decide(t.Context(), tx)) },
		func(b *Branch, tx *backfill.Transaction) { // a decision that does not count
			require.NoError(t, b.Decide(t.Context(), tx))
			b.Decided(tx.Round(), backfill.Decision{}, false)
		},
	} {
		state := host.State.Clone()
		branch := remote.Fork(state)
		c, err := state.Open(backfill.Round{Now: state.Now()})
		require.NoError(t, err)
		before(branch, c)
		c.Rollback()
		branch.Drop()
		branch.Drop()
		for range 3 {
			decide()
		}
		plugin.mu.Lock()
		require.Equal(t, map[uint64]bool{0: true}, plugin.copies)
		plugin.mu.Unlock()
	}
	require.Empty(t, host.refusals)
}

// Policies in processes and linked in take turns at one pool, and decide as the same policies all
// linked in.
func TestPluginsTakeTurns(t *testing.T) {
	var remotes []*Remote
	names := []string{"easy", "conservative", "ibb", "dc"}
	for _, name := range names {
		remotes = append(remotes, inProcess(t, Options{}, sdk.NewServer(named(t, name), hclog.NewNullLogger())))
	}
	want, got := newHost(t, "fcfs", linked(t, named(t, names[0]))), newHost(t, "fcfs", remotes[0])
	random, g := rand.New(rand.NewPCG(8, 8)), newScenario(8)
	for range 200 {
		for range random.IntN(3) { // perhaps twice between two rounds, or to the current policy
			i := random.IntN(len(names))
			order, err := backfill.OrderNamed([]string{"fcfs", "wfp", "sjf", "area"}[random.IntN(4)])
			require.NoError(t, err)
			fallback := func() backfill.Decider { return linked(t, policies.FallbackFor(named(t, names[i]))) }
			require.NoError(t, want.Change(order, linked(t, named(t, names[i])), fallback()))
			var main backfill.Decider = remotes[i]
			if random.IntN(4) == 0 {
				main = linked(t, named(t, names[i]))
			}
			require.NoError(t, got.Change(order, main, fallback()))
		}
		r := g.next(want.State)
		a, err := want.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		b, err := got.Decide(t.Context(), copyOf(r))
		require.NoError(t, err)
		samePlan(t, a, b)
		sameState(t, want.State.Snapshot(), got.State.Snapshot())
	}
	require.Empty(t, want.refusals)
	require.Empty(t, got.refusals)
}

// A policy that comes back after another one had its turn is sent the whole state, also if nobody waits
// when it does.
func TestAPolicyThatComesBackIsInStep(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()))
	var log bytes.Buffer
	remote.log = hclog.New(&hclog.LoggerOptions{Output: &log})
	host, g := newHost(t, "fcfs", remote), newScenario(1)
	now := backfill.Time(1000)
	decide := func(events ...backfill.Event) {
		now++
		_, err := host.Decide(t.Context(), backfill.Round{Now: now, Events: events})
		require.NoError(t, err)
	}
	submitted := func(id backfill.JobID) backfill.Event {
		return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: id, Nodes: 1, Request: backfill.Vector{1, 1}, Estimate: 100,
		}}
	}
	_, err := host.Decide(t.Context(), g.first())
	require.NoError(t, err)
	decide(submitted(1))
	require.NoError(t, host.Change(nil, linked(t, named(t, "fcfs")), linked(t, named(t, "easy"))))
	decide(submitted(2))
	require.NoError(t, host.Change(nil, remote, linked(t, named(t, "easy"))))
	decide(backfill.Event{Kind: backfill.Completed, JobID: 2})
	decide(submitted(3))
	require.Empty(t, log.String())
	require.Empty(t, host.refusals)
	require.Equal(t, 2, remote.Stats().Syncs)
}

// A remote may be closed, and branches created and dropped, while others decide.
func TestBranchesAreForManyGoroutines(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()))
	host := newHost(t, "fcfs", remote)
	g := newScenario(4)
	for range 10 {
		_, err := host.Decide(t.Context(), g.next(host.State))
		require.NoError(t, err)
	}
	var running sync.WaitGroup
	for i := range 6 {
		state := host.State.Clone()
		running.Go(func() {
			for range 20 {
				copied := state.Clone()
				branch := remote.Fork(copied)
				if c, err := copied.Open(backfill.Round{Now: copied.Now()}); err == nil {
					_ = branch.Decide(t.Context(), c) // the remote may be closed already
					c.Rollback()
				}
				branch.Drop()
				_ = remote.Stats()
			}
			if i == 0 {
				remote.Close()
			}
		})
	}
	running.Wait()
	require.Zero(t, remote.Stats().PID)
}
