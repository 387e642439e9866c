package htcondor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/classad/usermap"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world models a small pool: one schedd, startds with partitionable slots, jobs that sleep. Its ads
// are a second late, and its claims can fail. Time is virtual.
type world struct {
	options    map[string]map[string]string // of policies
	strangers  []string                     // ads of other schedds
	odd        map[string][]string          // more ads, by type
	t          *testing.T
	collector  *fakes.Collector
	schedd     *fakes.Schedd
	capable    string // the capability in submitter ads
	now        int64
	log        *strings.Builder
	pool       *Pool
	n          *negotiator.Negotiator
	accounting track.Accounting
	trust      estimate.Trust  // in what users state
	estimates  *estimate.Set   // of the next negotiator; nil: none
	settings   func(*Settings) // changes those of the next pool; may be nil
	maps       *usermap.Maps
	secrets    []string

	nodes []*node
	jobs  []*sleeper
	fate  func(*sleeper) fate // of a match

	most           int  // jobs that the schedd runs at once; 0: it does not say
	hidden         int  // that it runs and does not tell of
	curbs          bool // it wants no matches
	mute           bool // it does not ask for slots of gangs
	robs           bool // it gives the claims of a gang to the first that fits on them
	policy         string
	order          string // "": fcfs
	starts, broken int
	lost           []track.Broken // by leases and limits
	several        bool           // jobs of a slot make way for one
	early          bool           // who retires may make way
	notes          []string       // of the match log
	calm           bool           // nothing may break a guarantee
	taken          int            // matches that were taken
	granted        int            // by pools of the past
	failed         []string       // what must not happen
	borrowed       int            // claims that were lent
	reused         int            // starts on such claims after the first
	// promised are the earliest of the guarantees that each job was given, by its name.
	promised map[string]backfill.Time
}

// fate is what becomes of a match.
type fate uint8

const (
	works fate = iota
	fails
	slow
	crawls  // its startd answers after more than the patience
	dropped // the schedd ignores the match, and the claim stays as it is
)

// setHold changes how long a pool waits for slow schedds.
func setHold(p *Pool, hold time.Duration) {
	t := p.s.Tuning
	t.Hold = hold
	p.tune(t)
}

func newWorld(t *testing.T, policy string, nodes ...*node) *world {
	t.Helper()
	w := &world{
		t: t, collector: fakes.NewCollector(t), schedd: fakes.NewSchedd(t, "schedd@test"), now: 1_700_000_000,
		nodes: nodes, log: &strings.Builder{}, fate: func(*sleeper) fate { return works }, promised: map[string]backfill.Time{},
	}
	secret := "topsecretcapability"
	w.capable, w.secrets = w.schedd.Capability(secret, 0), []string{secret}
	for _, n := range nodes {
		n.parts = map[*sleeper]int{}
	}
	w.negotiator(policy, nil)
	return w
}

// negotiator starts a negotiator, from a saved state if there is one.
func (w *world) negotiator(policy string, left *track.SavedState) {
	w.t.Helper()
	w.policy = policy
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", observe.Claims}
	as := fakes.Client()
	if w.pool != nil {
		w.granted += w.pool.claims.Counts().Granted
	}
	settings := Settings{
		Collector: &client.Collector{Security: as, Addresses: []cedar.Address{w.collector.Address()}}, Security: as,
		Schema: schema, StartSlack: 60, Accounting: w.accounting, Clock: func() time.Time {
			return time.Unix(w.now,
				0)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: w.log, DisableTime: true}),
		Tuning: Tuning{Hold: poll.Patience}, // no fake is late because the machine is busy
	}
	if w.settings != nil {
		w.settings(&settings)
	}
	w.pool = New(settings)
	w.publish()
	memory, err := w.pool.Open(context.Background(), left)
	require.NoError(w.t, err)
	config := w.config()
	if left == nil {
		w.n, err = negotiator.New(config)
	} else {
		w.n, err = negotiator.Restore(config, memory)
	}
	require.NoError(w.t, err)
}

// config is of a negotiator of the world's policy.
func (w *world) config() negotiator.Config {
	w.t.Helper()
	schema := w.pool.s.Schema
	link := func(name string) backfill.Decider {
		spec, err := policies.Named(name)
		require.NoError(w.t, err)
		decider, err := backfill.Link(spec, w.options[name])
		require.NoError(w.t, err)
		return decider
	}
	main := link(w.policy)
	fallback := "easy"
	if main.Spec().Guarantees {
		fallback = "conservative"
	}
	order, err := negotiator.OrderNamed(cmp.Or(w.order, "fcfs"))
	require.NoError(w.t, err)
	if w.accounting.Accountant != nil && w.order == "" {
		order = w.pool.FairShare()
	}
	return negotiator.Config{
		Schema: schema, Placement: profile.ByRank, Order: order, Policy: main, Fallback: link(fallback),
		DefaultEstimate: 600, StartSlack: 60, Trust: w.trust, Estimates: w.estimates, World: negotiator.World{Zone: w.pool.s.Zone, UserMap: w.maps.UserMap},
		Preemption: preempt.Rules{Early: w.early, Several: w.several},
		Refused:    func(r backfill.Refusal) { w.failed = append(w.failed, "refused: "+r.Err.Error()) },
	}
}

func (w *world) node(name string) *node {
	for _, n := range w.nodes {
		if "slot1@"+n.name == name {
			return n
		}
	}
	return nil
}

// cycle runs one cycle of the negotiator.
func (w *world) cycle() (negotiator.Delta, *negotiator.Report) {
	w.t.Helper()
	ctx := context.Background()
	l, err := w.pool.look(ctx)
	require.NoError(w.t, err)
	d := w.pool.compare(l)
	report := w.decide(d)
	w.decideLeases()
	return d, report
}

// decideLeases tells the negotiator of leases that were granted.
func (w *world) decideLeases() {
	for {
		d, granted := w.pool.granted()
		if !granted {
			return
		}
		w.decide(d)
	}
}

// decide has the negotiator decide, and hands its matches over.
func (w *world) decide(d negotiator.Delta) *negotiator.Report {
	w.t.Helper()
	ctx := context.Background()
	report, err := w.n.RunCycle(ctx, d)
	require.NoError(w.t, err, "%+v\n%s", d, w.log)
	w.starts += len(report.Matches)
	w.broken += len(report.Decision.Broken)
	for _, b := range report.Decision.Broken {
		if w.calm || b.Cause == backfill.CauseNone {
			w.failed = append(w.failed, fmt.Sprintf("the guarantee of job %d for %d was broken: %v", b.Job.ID,
				b.Promised, b.Cause))
		}
	}
	plan := w.n.Settled()
	for _, j := range plan.Jobs {
		if at, has := w.promised[j.Job.Name]; j.Promised && (!has || j.Guarantee < at) {
			w.promised[j.Job.Name] = j.Guarantee
		}
	}
	w.lost = append(w.lost, w.pool.TakePlan(plan)...)
	require.NoError(w.t, w.pool.Act(ctx, report.Matches))
	var held []backfill.JobID
	for _, j := range plan.Jobs {
		if j.Held != "" {
			held = append(held, j.Job.ID)
		}
	}
	require.NoError(w.t, w.pool.Rouse(ctx, w.n.Rouse(w.pool.Last().Asleep, held)))
	return report
}

// pass lets seconds pass, with a cycle every four of them, and tries to hand matches over in
// between.
func (w *world) pass(seconds int) {
	w.t.Helper()
	for range seconds {
		w.step()
		if w.now%4 == 0 {
			w.cycle()
		} else if w.pool.claims.Unsent() {
			w.pool.dispatcher.HandOver(context.Background())
			w.decideLeases()
		}
		w.check()
	}
}

// check requires what must hold at all times.
func (w *world) check() {
	w.t.Helper()
	require.Empty(w.t, w.failed, w.log)
	w.requireOrder()
	for _, n := range w.nodes {
		cpus, memory := n.free()
		require.True(w.t, cpus >= 0 && memory >= 0, "%s is oversubscribed", n.name)
	}
	for _, secret := range append(w.secrets, "topsecret") {
		require.NotContains(w.t, w.log.String(), secret)
	}
}

// submit adds a job.
func (w *world) submit(j *sleeper) *sleeper {
	if j.cluster == 0 {
		j.cluster = int64(len(w.jobs) + 1)
	}
	if j.nodes == 0 {
		j.nodes = 1
	}
	if j.owner == "" {
		j.owner = "alice"
	}
	if j.memory == 0 {
		j.memory = 128
	}
	j.submit, j.status = w.now, 1
	w.jobs = append(w.jobs, j)
	return j
}
