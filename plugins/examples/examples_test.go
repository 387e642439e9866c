// Package examples holds policies in other languages. Its only code is their tests: each example
// must pass the suite for every policy and decide as a linked-in policy does.
package examples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// example is a policy in another language with its twin, a linked-in policy that decides the same.
type example struct {
	path     string
	needs    []string // the command that succeeds if the example can run
	promises []conformance.Promise
	options  map[string]string // with which it equals the twin
	twin     backfill.PolicySpec
	deferred bool // it knows jobs that may not start at once
}

func examples(t *testing.T) map[string]example {
	t.Helper()
	easy, err := policies.Named("easy")
	require.NoError(t, err)
	installed := []string{
		"node", "-e",
		"require('./node/node_modules/@grpc/grpc-js'); require('./node/node_modules/@grpc/proto-loader')",
	}
	return map[string]example{
		"python": {
			path:     "python/backfill-shortest",
			needs:    []string{"/usr/bin/python3", "-c", "import grpc, google.protobuf"},
			promises: []conformance.Promise{conformance.NoneFits, conformance.HeadOnTime},
			options:  map[string]string{"backfill": "queue"},
			twin:     easy,
		},
		"node": {
			path:     "node/backfill-narrow",
			needs:    installed,
			promises: []conformance.Promise{conformance.NoneFits},
			deferred: true,
			twin: backfill.PolicySpec{Name: "narrow", New: func(backfill.Values) (backfill.Policy, error) {
				return backfill.PolicyFunc(narrow), nil
			}},
		},
		"node that reserves": {
			path:     "node/backfill-front",
			needs:    installed,
			promises: []conformance.Promise{conformance.NoneFits, conformance.HeadOnTime},
			deferred: true,
			twin:     easy,
		},
	}
}

// narrow is the policy of plugins/README.md without its option patience.
func narrow(c *backfill.Cycle) {
	scan.Begin(c)
	for _, j := range slices.SortedStableFunc(c.Queue(),
		func(a, b *backfill.Job) int { return int(a.Width() - b.Width()) }) {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		}
	}
}

// each runs a test on every example that can run here.
func each(t *testing.T, test func(t *testing.T, e example)) {
	t.Helper()
	for name, e := range examples(t) {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), e.needs[0], e.needs[1:]...).CombinedOutput(); err != nil {
				t.Skipf("what it needs is not installed, see its README: %v: %.300s", err, out)
			}
			test(t, e)
		})
	}
}

func (e example) start(t *testing.T, options host.Options) *host.Remote {
	t.Helper()
	options.Logger = hclog.NewNullLogger()
	remote, err := host.Start(t.Context(), host.Command{Path: e.path}, options)
	require.NoError(t, err)
	t.Cleanup(remote.Close)
	return remote
}

// TestExamplesHaveTheProtocol: an example is copied as a folder, and a plugin reads nothing beside its
// own, so each has a copy.
func TestExamplesHaveTheProtocol(t *testing.T) {
	for own, protocol := range map[string]string{
		"node/policy.proto": "policy.proto", "python/policy.binpb": "baseline.binpb",
	} {
		want, err := os.ReadFile(filepath.Join("..", "policyv1", protocol))
		require.NoError(t, err)
		got, err := os.ReadFile(own)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "make proto or make baseline copies it")
	}
}

func TestExamplesConform(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		t.Helper()
		start := func(t *testing.T) backfill.Decider {
			t.Helper()
			return e.start(t, host.Options{})
		}
		backfilltest.ConformOn(t, backfilltest.Plain, 6, 100, start, e.promises...)
		backfilltest.ConformOn(t, backfilltest.Partitioned, 6, 100, start, e.promises...)
		if e.deferred {
			backfilltest.ConformOn(t, backfilltest.Deferred, 6, 100, start, e.promises...)
		}
	})
}

// An example decides as its twin does, however it got the state: by its own decision, by news of
// another decision, or as a whole.
func TestExamplesFollowTheState(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		t.Helper()
		for seed := range uint64(12) {
			if seed%2 == 1 {
				seed += conformance.Partitioned
			}
			t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
				driver := conformance.NewDriver(seed)
				driver.Predicted = seed%3 == 0
				rule := driver.Rule()
				twin, err := backfill.Link(e.twin, nil)
				require.NoError(t, err)
				remote := e.start(t, host.Options{Policy: e.options, NoMTLS: seed%4 == 0})
				ours := newHost(t, backfill.NewState(driver.Resources(), rule), &interrupted{Decider: twin},
					onlyInterrupted(t))
				theirs := newHost(t, backfill.NewState(driver.Resources(), rule), &interrupted{Decider: remote},
					onlyInterrupted(t))
				for round := range 150 {
					r := driver.Round(ours.State)
					if round%10 == 9 && !slices.ContainsFunc(r.Events, isEstimateChanged) {
						r.Now += 4 // later than planned, so that planned starts and expected ends are missed
					}
					same(t, ours, theirs, r)
				}
				require.Greater(t, remote.Stats().Syncs, 1)
				require.Zero(t, remote.Stats().Failures)
			})
		}
	})
}

// failing starts a policy in the language of the example whose decide is the text in Python or that in
// JavaScript, for so many rounds, in each of which it must fail with an error. It returns the log.
func (e example) failing(t *testing.T, python, javaScript, want string, rounds int) string {
	t.Helper()
	lib, err := filepath.Abs(filepath.Dir(e.path))
	require.NoError(t, err)
	text := fmt.Sprintf("#!/usr/bin/env node\nrequire('%s/plugin.js').serve({ name: 'failing', %s });\n", lib,
		javaScript)
	if filepath.Base(lib) == "python" {
		text = fmt.Sprintf("#!/usr/bin/python3\nimport sys\nsys.path.insert(0, '%s')\nsys.dont_write_bytecode = True\n"+
			"from plugin import Policy, serve\n%s\nserve(Policy(name='failing', doc='fails', decide=decide))\n", lib, python)
	}
	path := filepath.Join(t.TempDir(), "backfill-failing")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	var log bytes.Buffer
	remote, err := host.Start(t.Context(), host.Command{Path: path}, host.Options{
		Reads: []string{lib}, Logger: hclog.New(&hclog.LoggerOptions{Output: &log, Mutex: new(sync.Mutex)}),
	})
	require.NoError(t, err)
	for range rounds {
		tx, err := backfill.NewState([]string{"cpus"}, profile.ByRank).Open(backfill.Round{})
		require.NoError(t, err)
		require.ErrorContains(t, remote.Decide(t.Context(), tx), want)
	}
	require.Zero(t, remote.Stats().Failures, "its process goes on")
	remote.Close()
	return log.String()
}

// TestADecideThatIsNoPlainFunction: one that decides later, and so nothing, is an error, and not a policy
// that starts nothing; one that ends the program is an error at once, and not after the deadline.
func TestADecideThatIsNoPlainFunction(t *testing.T) {
	for name, tt := range map[string]struct{ python, javaScript, want string }{
		"async": {
			"async def decide(cycle, options):\n    pass", "async decide() { await null; throw Error('later'); }",
			"without async and yield",
		},
		"generator": {"def decide(cycle, options):\n    yield", "*decide() { yield; }", "without async and yield"},
		"exit": {
			"def decide(cycle, options):\n    sys.exit(3)", "decide() { throw Error('SystemExit(3)'); }",
			"SystemExit(3)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, e example) {
				t.Helper()
				e.failing(t, tt.python, tt.javaScript, tt.want, 2)
			})
		})
	}
}

// TestWhereAPolicyFailsIsLoggedOnce: a policy that fails in each round floods no log.
func TestWhereAPolicyFailsIsLoggedOnce(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		t.Helper()
		log := e.failing(t, "def decide(cycle, options):\n    raise KeyError('on purpose')",
			"decide() { throw Error('on purpose'); }", "on purpose", 5)
		require.Equal(t, 1, strings.Count(log, "policy failed"), log)
		places := strings.Count(log, "in decide") + strings.Count(log, "at Object.decide")
		require.Equal(t, 1, places, log)
	})
}

// TestPythonTotals: what a policy in Python is told of amounts is what one in Go is told.
func TestPythonTotals(t *testing.T) {
	require.Equal(t, "(2, 60) 2 0 (8, 200) (2, 60) ['cpus', 'memory'] [0]\n", says(t, []string{"python3", "-B", "-c"}, `
import sys
sys.path.insert(0, "python")
from types import SimpleNamespace as Thing
from cycle import Cycle
from state import Job, Slot, State

def job(id, nodes, request):
    return Job(Thing(id=id, nodes=nodes, request=request, whole=False, submit=5, estimate=9, running=0, labels={},
                     candidates=0, place_queue="", place_cluster=0, place_proc=0), 0)

state = State.__new__(State)
state.resources, state.now = ["cpus", "memory"], 7
state.slots = [Slot(Thing(name=str(i), capacity=[4, 100]), i < 2) for i in range(3)]
state.jobs = {i: job(i, 2, [1, 30]) for i in range(2)}
state.jobs[0].running = True
state.put(state.jobs[0], [(0, 1), (1, 1)], 6, 15)
cycle = Cycle.__new__(Cycle)
cycle.state = state
print(state.jobs[1].total, state.jobs[1].waited(7), state.jobs[1].waited(3), cycle.capacity, cycle.use, cycle.resources,
      [j.id for j in cycle.running()])
`))
}

// says returns what a program prints; the test is skipped where there is none.
func says(t *testing.T, command []string, program string) string {
	t.Helper()
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Skipf("skipped: a library of examples; there is no %s", command[0])
	}
	out, err := exec.CommandContext(t.Context(), path, append(command[1:], program)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestLibrariesActOnWaitingJobs: what a policy asks twice, or of a job that runs or is held, is not done,
// as the host would refuse the whole round. Both libraries answer in the same way.
func TestLibrariesActOnWaitingJobs(t *testing.T) {
	for name, tt := range map[string]struct {
		command       []string
		program, want string
	}{
		"python": {[]string{"python3", "-B", "-c"}, `
import sys
sys.path.insert(0, "python")
from types import SimpleNamespace as Thing
from cycle import Cycle
from state import State

class Message(Thing):
    def HasField(self, name):
        return getattr(self, name) is not None

def action(**fields):
    kind = fields.pop("kind")
    places = Thing(slots=[], counts=[])
    done.append(kind.removeprefix("ACTION_KIND_"))
    number = Thing(enum_type=Thing(values_by_number={0: Thing(name=kind)}))
    return Thing(kind=0, DESCRIPTOR=Thing(fields_by_name={"kind": number}), placement=places, **fields)

def job(id):
    spec = Thing(id=id, nodes=1, request=[3], whole=False, submit=5, estimate=9, running=0, labels={}, candidates=0,
                 place_queue="", place_cluster=0, place_proc=id)
    return Message(job=spec, key=0, running=False, held="", placement=None)

done = []
state = State(Thing(rule=1, now=7, revision=0, resources=["cpus"], bundles=[], jobs=[job(i) for i in range(3)],
                    slots=[Thing(slot=Thing(name="a", capacity=[4]), up=True)],
                    candidates=[Thing(id=0, slots=[0], bundles=[], rank=[])]))
c = Cycle(state, Thing(now=7, events=[], bundles=[], candidates=[], keys=[]), action)
a, b, d = c.queue()
print(c.start(a), c.start(a), c.reserve(a), c.release(a), c.hold(a, "no"))
print(c.reserve(b), c.reserve(b), c.release(b), c.release(b))
print(c.hold(d, "no"), c.hold(d, "no"), c.start(d), c.reserve(d))
print(done)
`, "True False None False False\n16 None True False\nTrue False False None\n['START', 'RESERVE', 'RELEASE', 'HOLD']\n"},
		"node": {[]string{"node", "-e"}, `
const { State, Cycle } = require('./node/state.js');
const job = (id) => ({ key: 0, held: '', running: false, placement: null, end: '0', job: {
  id, nodes: 1, request: ['3'], whole: false, submit: '5', estimate: '9', running: '0', release: '0', labels: {},
  candidates: 0, place_queue: '', place_cluster: '0', place_proc: String(id) } });
const state = new State({
  rule: 'PLACEMENT_RULE_RANK', now: '7', revision: '0', resources: ['cpus'], bundles: [], jobs: [0, 1, 2].map(job),
  slots: [{ slot: { id: 0, name: 'a', capacity: ['4'] }, up: true }],
  candidates: [{ id: 0, slots: [0], bundles: [], rank: [] }] });
const c = new Cycle(state, { now: '7', events: [], bundles: [], candidates: [], keys: [] });
const [a, b, d] = c.queue();
console.log(c.start(a), c.start(a), c.reserve(a), c.hold(a, 'no'));
console.log(c.reserve(b), c.reserve(b));
console.log(c.hold(d, 'no'), c.hold(d, 'no'), c.start(d), c.reserve(d));
console.log(c.journal.map(({ kind }) => kind.replace('ACTION_KIND_', '')).join(' '));
`, "true false null false\n16 null\ntrue false false null\nSTART RESERVE HOLD\n"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, says(t, tt.command, tt.program)) })
	}
}

func isEstimateChanged(e backfill.Event) bool { return e.Kind == backfill.EstimateChanged }

// interrupted leaves some rounds to the fallback and does not report all of these.
type interrupted struct {
	backfill.Decider
	rounds int
}

var errInterrupted = errors.New("this round is not for the policy")

func (d *interrupted) Decide(ctx context.Context, tx *backfill.Transaction) error {
	if d.rounds++; d.rounds%5 == 0 {
		return errInterrupted
	}
	return d.Decider.Decide(ctx, tx)
}

func (d *interrupted) Decided(r backfill.Round, decision backfill.Decision, own bool) {
	if d.rounds%15 != 0 {
		d.Decider.Decided(r, decision, own)
	}
}

func onlyInterrupted(t *testing.T) func(backfill.Refusal) {
	t.Helper()
	return func(r backfill.Refusal) { require.ErrorIs(t, r.Err, errInterrupted) }
}

// newHost returns a host with a policy. If refused is nil, the test fails on a refusal.
func newHost(t *testing.T, s *backfill.State, main backfill.Decider, refused func(backfill.Refusal)) *backfill.Host {
	t.Helper()
	if refused == nil {
		refused = func(r backfill.Refusal) { require.NoError(t, r.Err) }
	}
	easy, err := policies.Named("easy")
	require.NoError(t, err)
	fallback, err := backfill.Link(easy, map[string]string{"depth": "5"}) // has many reservations to follow
	require.NoError(t, err)
	h, err := backfill.NewHost(s, nil, main, fallback, refused)
	require.NoError(t, err)
	return h
}

// same requires two hosts to start the same jobs in the same places.
func same(t *testing.T, want, got *backfill.Host, r backfill.Round) {
	t.Helper()
	a, err := want.Decide(t.Context(), r)
	require.NoError(t, err)
	b, err := got.Decide(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, b.Started, len(a.Started))
	for i := range a.Started {
		require.Equal(t, a.Started[i].Job.ID, b.Started[i].Job.ID)
		require.Equal(t, a.Started[i].Placement, b.Started[i].Placement)
	}
}
