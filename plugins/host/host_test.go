package host

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// The tests' executable is its own plugin.
func TestMain(m *testing.M) {
	serve.IfChild(os.Args[1:], append(append(policies.All(), misbehaving()...), talking(), wrong()))
	switch {
	case slices.Equal(os.Args[1:], []string{foreign}):
		beForeign()
	case len(os.Args) > 1 && os.Args[1] == killedHost:
		beKilled(os.Args[2], os.Args[3:])
	}
	become()
	goleak.VerifyTestMain(m)
}

// killedHost is the argument that makes the tests' executable a host that starts the plugin named
// by the other arguments, asks it once, and waits.
const killedHost = "be-a-killed-host"

func beKilled(path string, args []string) {
	_, err := func() (backfill.Decision, error) {
		remote, err := Start(context.Background(), Command{Path: path, Args: args},
			Options{
				StartTimeout: time.Hour, Deadline: time.Hour, Environment: []string{badWhen, badHow, badMark, mark},
				writes: []string{filepath.Dir(os.Getenv(badMark))},
			})
		if err != nil {
			return backfill.Decision{}, err
		}
		order, err := backfill.OrderNamed("fcfs")
		if err != nil {
			return backfill.Decision{}, err
		}
		fallback, err := backfill.Link(policies.FallbackFor(remote.Spec()), nil)
		if err != nil {
			return backfill.Decision{}, err
		}
		host, err := backfill.NewHost(newPool(), order, remote, fallback, nil)
		if err != nil {
			return backfill.Decision{}, err
		}
		g := newScenario(1)
		r := g.next(host.State)
		j := g.job(1)
		j.Labels[trouble] = "yes"
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
		return host.Decide(context.Background(), r)
	}()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, "decided")
	hang()
}

// inProcess serves a policy over gRPC without a separate process.
func inProcess(tb testing.TB, options Options, server policyv1.PolicyServiceServer) *Remote {
	tb.Helper()
	options = options.complete()
	r, err := newRemote(tb.Context(), options, hclog.NewNullLogger(),
		func(ctx context.Context) (*session, backfill.PolicySpec, error) {
			listener := bufconn.Listen(1 << 16)
			s := grpc.NewServer()
			policyv1.RegisterPolicyServiceServer(s, server)
			go func() { _ = s.Serve(listener) }()
			conn, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
					return listener.DialContext(ctx)
				}))
			if err != nil {
				return nil, backfill.PolicySpec{}, err
			}
			return greet(ctx, policyv1.NewPolicyServiceClient(conn), nil, options.Policy, func(bool) {
				_ = conn.Close()
				s.Stop()
			})
		})
	require.NoError(tb, err)
	tb.Cleanup(r.Close)
	return r
}

// child serves a policy in a separate process of the tests' executable.
func child(tb testing.TB, policy string, options Options) *Remote {
	tb.Helper()
	command, err := Self(policy)
	require.NoError(tb, err)
	return started(tb, command, options)
}

func started(tb testing.TB, command Command, options Options) *Remote {
	tb.Helper()
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	// No test depends on how fast a plugin is.
	options.StartTimeout = cmp.Or(options.StartTimeout, time.Minute)
	options.Deadline = cmp.Or(options.Deadline, time.Minute)
	r, err := Start(tb.Context(), command, options)
	require.NoError(tb, err)
	tb.Cleanup(r.Close)
	return r
}

// happened returns the counts of a plugin without process IDs and bytes, which vary.
func happened(r *Remote) Stats {
	stats := r.Stats()
	stats.PID, stats.Sent, stats.Received = 0, 0, 0
	return stats
}

func linked(tb testing.TB, spec backfill.PolicySpec) *backfill.Linked {
	tb.Helper()
	l, err := backfill.Link(spec, nil)
	require.NoError(tb, err)
	return l
}

// pool is a host with its own pool, and the refusals that it reported.
type pool struct {
	*backfill.Host
	refusals []backfill.Refusal
}

func newHost(tb testing.TB, order string, main backfill.Decider) *pool {
	tb.Helper()
	return newHostOn(tb, newPool(), order, main)
}

func newHostOn(tb testing.TB, state *backfill.State, order string, main backfill.Decider) *pool {
	tb.Helper()
	o, err := backfill.OrderNamed(order)
	require.NoError(tb, err)
	p := &pool{}
	p.Host, err = backfill.NewHost(state, o, main, linked(tb, policies.FallbackFor(main.Spec())),
		func(r backfill.Refusal) {
			p.refusals = append(p.refusals, r)
		})
	require.NoError(tb, err)
	return p
}

// samePlan requires two decisions to be equal, whoever took them.
func samePlan(tb testing.TB, want, got backfill.Decision) {
	tb.Helper()
	got.By = want.By
	require.Equal(tb, want, got)
}

func sameState(tb testing.TB, want, got backfill.Snapshot) {
	tb.Helper()
	a, b := wire.EncodeSnapshot(want), wire.EncodeSnapshot(got)
	if !proto.Equal(a, b) {
		require.Equal(tb, a.String(), b.String())
	}
}

// runBeside runs two pools through the same events and requires equal decisions in every round.
func runBeside(tb testing.TB, seed uint64, rounds int, want, got *pool) {
	tb.Helper()
	g := newScenario(seed)
	for range rounds {
		r := g.next(want.State)
		a, err := want.Decide(tb.Context(), copyOf(r))
		require.NoError(tb, err)
		b, err := got.Decide(tb.Context(), copyOf(r))
		require.NoError(tb, err)
		require.Empty(tb, got.refusals)
		samePlan(tb, a, b)
	}
	sameState(tb, want.State.Snapshot(), got.State.Snapshot())
}

// recording returns a policy that records the states that it was asked about.
func recording(spec backfill.PolicySpec, seen *[]backfill.Snapshot) backfill.PolicySpec {
	build := spec.New
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			*seen = append(*seen, c.State().Snapshot())
			policy.Decide(c)
		}), err
	}
	return spec
}

func names() []string {
	var all []string
	for _, spec := range policies.All() {
		all = append(all, spec.Name)
	}
	return all
}

func named(tb testing.TB, name string) backfill.PolicySpec {
	tb.Helper()
	spec, err := policies.Named(name)
	require.NoError(tb, err)
	return spec
}

// A policy behind the boundary sees the same states, and takes the same decisions, as the policy
// linked in.
func TestRemoteAndLinkedAgree(t *testing.T) {
	for i, name := range names() {
		seeds := []uint64{0, partitioned, 1, 2, 3, partitioned + 1, 4, partitioned + 2}
		for at := range thorough.Share(i, 2, uint64(len(seeds))) {
			seed := seeds[at%uint64(len(seeds))]
			order := []string{"fcfs", "sjf", "area", "widest", "wfp"}[(i+int(seed))%5]
			t.Run(name, func(t *testing.T) {
				var here, there []backfill.Snapshot
				remote := inProcess(t, Options{},
					sdk.NewServer(recording(named(t, name), &there), hclog.NewNullLogger()))
				a := newHost(t, order, linked(t, recording(named(t, name), &here)))
				b := newHost(t, order, remote)
				runBeside(t, seed, 120, a, b)
				require.Len(t, there, len(here))
				for i := range here {
					sameState(t, here[i], there[i])
				}
				require.Equal(t, Stats{Starts: 1, Syncs: 1}, happened(remote), "the whole state is sent once")
			})
		}
	}
}

// Parts of the state that serve only a policy's options cross the boundary, step by step and with
// the whole state.
func TestOptionsAgree(t *testing.T) {
	for _, options := range []map[string]string{
		{"bfchunksize": "2", "bfchunkduration": "30"},
		{"reservationpolicy": "HIGHEST", "reservationdepth": "2", "bfchunksize": "4", "bfchunkduration": "1:00"},
		{
			"usercfg": "[DEFAULT] MAXJOB=1,3 MAXPROC=9 MAXPS=600", "backfillpolicy": "GREEDY",
			"backfillmaxschedules": "50",
		},
	} {
		for _, keeps := range []bool{true, false} {
			remote := inProcess(t, Options{Policy: options}, sdk.NewServer(named(t, "maui"), hclog.NewNullLogger()))
			main, err := backfill.Link(named(t, "maui"), options)
			require.NoError(t, err)
			a, b := newHost(t, "sjf", main), newHost(t, "sjf", remote)
			g := newScenario(11)
			for range 200 {
				r := g.next(a.State)
				if !keeps {
					remote.trunk.lose() // the whole state is sent again
				}
				want, err := a.Decide(t.Context(), copyOf(r))
				require.NoError(t, err)
				got, err := b.Decide(t.Context(), copyOf(r))
				require.NoError(t, err)
				require.Empty(t, b.refusals)
				samePlan(t, want, got)
			}
			sameState(t, a.State.Snapshot(), b.State.Snapshot())
		}
	}
}

// One policy of each kind stands for all but with -thorough: one without guarantees, one with them,
// one that plans bundles, one whose options add to the state.
func TestChildrenOfThisExecutableAgree(t *testing.T) {
	among := []string{"easy", "conservative", "drain", "maui"}
	if thorough.On() {
		among = names()
	}
	for _, name := range among {
		for _, noChannel := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/no channel %t", name, noChannel), func(t *testing.T) {
				remote := child(t, name, Options{NoChannel: noChannel})
				for _, seed := range []uint64{7, partitioned + 7} {
					runBeside(t, seed, 80, newHost(t, "fcfs", linked(t, named(t, name))), newHost(t, "fcfs", remote))
				}
			})
		}
	}
}

// Bundles are part of the whole state, and of the rounds that a plugin was not asked about.
func TestPartitionsAgreeHoweverTheyAreTold(t *testing.T) {
	for _, name := range []string{"easy", "conservative"} {
		for seed := range uint64(6) {
			remote := inProcess(t, Options{}, sdk.NewServer(named(t, name), hclog.NewNullLogger()))
			want, got := newHost(t, "fcfs", linked(t, named(t, name))), newHost(t, "fcfs", remote)
			random, g := rand.New(rand.NewPCG(seed, 5)), newScenario(partitioned+100+seed)
			decide := func(r backfill.Round) {
				a, err := want.Decide(t.Context(), copyOf(r))
				require.NoError(t, err)
				b, err := got.Decide(t.Context(), copyOf(r))
				require.NoError(t, err)
				require.Empty(t, got.refusals)
				samePlan(t, a, b)
			}
			for range 100 {
				if random.IntN(6) == 0 {
					remote.trunk.lose() // the whole state comes again
				}
				decide(g.next(want.State))
				if random.IntN(6) == 0 { // no job waits, so the round has no question
					r := backfill.Round{Now: g.now, Bundles: g.another()}
					for _, j := range want.State.FirstWaiting(1000) {
						r.Events = append(r.Events, backfill.Event{Kind: backfill.Removed, JobID: j.ID})
					}
					decide(r)
					decide(backfill.Round{Now: g.now, Bundles: g.another()})
				}
			}
			require.Greater(t, len(want.State.Bundles()), 4)
			sameState(t, want.State.Snapshot(), got.State.Snapshot())
		}
	}
}

func TestSpecCrossesTheBoundary(t *testing.T) {
	want := named(t, "easy")
	want.New = nil
	want.Options = slices.Clone(want.Options)
	want.Options[0].Check = nil
	require.Equal(t, want, child(t, "easy", Options{}).Spec())
}
