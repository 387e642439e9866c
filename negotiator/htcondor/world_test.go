package htcondor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	"github.com/condor-backfill/condor-backfill/classad"
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
	strangers  []string            // ads of other schedds
	odd        map[string][]string // more ads, by type
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
		decider, err := backfill.Link(spec, nil)
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
		DefaultEstimate: 600, StartSlack: 60, Trust: w.trust, World: negotiator.World{Zone: w.pool.s.Zone, UserMap: w.maps.UserMap},
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

// take does what the schedd and the startd do with a match.
func (w *world) take(m fakes.Match) {
	for name := range m.Ad.All() {
		if classad.Private(name) {
			w.failed = append(w.failed, "a private attribute was passed on: "+name)
		}
	}
	lease := ""
	lock, locks := m.Ad.Lookup("RestrictToAuthenticatedIdentity")
	start, lent := m.Ad.Lookup("NegotiatorMatchExprBackfillLease")
	switch {
	case lent:
		lease = start.String()
	case !locks:
		w.failed = append(w.failed, "a match is neither locked to its job nor lent")
		return
	case lock.String() != "true":
		lease = "!(" + lock.String() + ")"
	}
	name, _ := m.Ad.Text("Name")
	ids := strings.Split(m.Claim, " ")
	if m.Claim = ids[0]; len(ids) > 1 {
		ids = ids[:len(ids)-1] // schedds do not see the last one without a blank behind
	}
	n := w.node(name)
	var j, victim *sleeper
	for _, one := range w.nodes {
		if part := one.part(w, name); n == nil && part != nil {
			n, victim = one, part
		}
	}
	for _, s := range w.jobs {
		if s.cluster == m.Cluster && s.proc == m.Proc {
			j = s
		}
	}
	if w.robs && j != nil && j.nodes > 1 {
		j = w.firstGang(j)
	}
	switch {
	case n == nil || j == nil:
		w.failed = append(w.failed, fmt.Sprintf("a match of %d.%d with %s", m.Cluster, m.Proc, name))
		return
	case n.asleep:
		w.failed = append(w.failed, fmt.Sprintf("a match of %d.%d with %s, which sleeps", m.Cluster, m.Proc, name))
		return
	case w.curbs:
		w.failed = append(w.failed, fmt.Sprintf("a match of %d.%d, and its schedd wants none", m.Cluster, m.Proc))
		return
	case victim == nil && !slices.Contains(strings.Fields(w.claims(n)), m.Claim):
		return // the claim is stale: the startd refuses it
	case w.most > 0 && len(j.wants) == 0 && w.running()+w.hidden >= w.most:
		return // in silence
	case m.Submitter != j.submitter():
		w.failed = append(w.failed, fmt.Sprintf("%s was negotiated for %s", m.Submitter, j.submitter()))
	}
	if j.status != 1 || j.done { // it has been taken away meanwhile, or runs on a claim that was lent
		if j = w.instead(j, n, lease); j == nil {
			return
		}
	}
	if len(j.wants) == 0 {
		if j.matched == w.now && j.fate == dropped {
			return
		}
		if j.matched != 0 && w.now-j.matched < 30 {
			w.failed = append(w.failed, fmt.Sprintf("%d.%d was matched at %d and again at %d", j.cluster, j.proc,
				j.matched, w.now))
		}
		if j.matched, j.fate = w.now, w.fate(j); j.fate != dropped {
			j.wants, j.ids = map[*node]int{}, map[*node][]string{}
		}
	}
	if n.refuses && j.fate == works {
		j.fate = fails
	}
	if j.fate == dropped {
		return
	}
	if j.chunks() == j.nodes {
		return // it is being claimed for already
	}
	n.makeRoom(w, ids[1:])
	j.wants[n]++
	j.lease = lease
	j.ids[n] = append(j.ids[n], m.Claim)
	n.ids = slices.DeleteFunc(n.ids, func(id int) bool { return w.claimOf(n, id) == m.Claim })
	switch j.begins = w.now; j.fate {
	case slow:
		j.begins += 7
	case crawls:
		j.begins += 40
	case works, fails, dropped:
	}
	if n.rank != "" && j.fate == works {
		for runs := range n.parts {
			if n.static || runs == victim {
				n.waitFor(w, runs, j)
			}
		}
	}
}

// step lets a second pass.
func (w *world) step() {
	w.t.Helper()
	poll.Equal(w.t, w.granted+w.pool.claims.Counts().Granted, func() int { return len(w.schedd.Matches()) })
	for name := range w.pool.last.Schedds { // real time is to be over, too, when the second is
		if w.pool.dispatcher.Status(name).Releasing {
			poll.Equal(w.t, true, func() bool { return w.pool.dispatcher.Status(name).Answered })
		}
	}
	for _, m := range w.schedd.Matches()[w.taken:] {
		w.take(m)
		w.taken++
	}
	w.now++
	for _, n := range w.nodes {
		n.lingering = slices.DeleteFunc(n.lingering, func(l lingering) bool { return l.until <= w.now })
		n.makeWay(w)
	}
	w.giveBack()
	for _, j := range w.jobs {
		switch {
		case j.status == 2 && w.now >= j.began+j.seconds:
			if !w.calm && j.nodes > 1 && j.cluster%3 == 0 {
				for n := range j.at {
					for _, id := range j.ids[n] {
						n.lingering = append(n.lingering, lingering{j.cpus, j.takes(n), w.now + 45, id})
					}
				}
			}
			loan := j.loan
			w.vacate(j)
			if j.done, j.status = true, 4; loan != nil {
				w.reuse(loan)
			}
		case j.status == 1 && j.begins != 0 && w.now > j.begins && (j.chunks() == j.nodes || w.now > j.begins+60):
			w.begin(j)
		}
	}
	w.publish()
}

// begin starts a job on its claims, if its startds can still give what it needs.
func (w *world) begin(j *sleeper) {
	wants, count := j.wants, j.chunks()
	j.begins, j.wants = 0, nil
	if j.fate == fails || count < j.nodes && !w.calm {
		return
	}
	for n, chunks := range wants {
		cpus, memory := n.free()
		taken := n.static && len(n.parts)+len(n.lingering)+len(n.loans) > 0
		if n.down || taken || cpus < j.cpus*int64(chunks) || memory < j.takes(n)*int64(chunks) {
			return
		}
	}
	if count != j.nodes {
		w.failed = append(w.failed, fmt.Sprintf("%d of %d nodes were given to %d.%d", count, j.nodes, j.cluster,
			j.proc))
		return
	}
	if j.lease != "" {
		for n := range wants {
			w.lend(j, n)
		}
		return
	}
	for n, chunks := range wants {
		n.parts[j] = chunks
	}
	j.at, j.status, j.began, j.matched = wants, 2, w.now, 0
	j.runs++
}

func (w *world) vacate(j *sleeper) {
	for n := range j.at {
		delete(n.parts, j)
	}
	if j.loan != nil {
		j.loan.give()
	}
	j.at, j.loan = nil, nil
}

// running counts the jobs that have a shadow, or are about to get one.
func (w *world) running() (n int) {
	for _, j := range w.jobs {
		if j.status == 2 || len(j.wants) > 0 {
			n++
		}
	}
	return n
}

func (w *world) scheddAd() string {
	ad := w.schedd.Ad()
	if w.most > 0 {
		ad += fmt.Sprintf("MaxJobsRunning = %d\nTotalRunningJobs = %d\n", w.most, w.running()+w.hidden)
	}
	if w.curbs {
		ad += "CurbMatchmaking = true\n"
	}
	return ad
}

// kill ends a startd with all that runs there; its ads stay for a while.
func (w *world) kill(n *node) {
	n.down, n.loans = true, nil
	for _, j := range w.jobs {
		if j.at[n] > 0 || j.loan != nil && j.loan.on == n {
			w.vacate(j)
			j.status = 1
		}
	}
}

// publish puts the pool as it was a second ago into the collector, and the queue as it is into the
// schedd.
func (w *world) publish() {
	var slots, private []string
	for _, n := range w.nodes {
		if n.shown != "" && !n.hidden {
			slots = append(slots, strings.Split(n.shown, "\n\n")...)
			private = append(private, strings.Split(n.shownClaims, "\n\n")...)
		}
		if n.shown, n.shownClaims = "", ""; !n.down {
			n.shown, n.shownClaims = n.ads(w)
		}
	}
	w.collector.Set("Machine", append(slots, w.odd["Machine"]...)...)
	w.collector.Set("MachinePrivate", append(private, w.odd["MachinePrivate"]...)...)
	var jobs []string
	idle := map[string]int{}
	for _, j := range w.jobs {
		if j.submit <= w.now && !j.done {
			jobs = append(jobs, j.ad())
			if j.status == 1 && (j.nodes == 1 || !w.mute) {
				idle[j.submitter()] += j.nodes
			} else {
				idle[j.submitter()] += 0
			}
		}
	}
	w.schedd.SetJobs(jobs...)
	if w.odd["Group"] != nil {
		var groups []*classad.ClassAd
		for i, text := range slices.Concat(w.odd["Group"], jobs) { // what is told of first is no better
			ad, err := classad.ParseOld(text)
			require.NoError(w.t, err)
			if i >= len(w.odd["Group"]) {
				cluster, _ := ad.Int("ClusterId")
				ad.SetString("JobIds", fmt.Sprintf("%d.0", cluster))
				ad.SetInt("JobCount", 1)
			}
			groups = append(groups, ad)
		}
		w.schedd.SetGroups(groups...)
	}
	var submitters []string
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range idle {
			if !yield(name) {
				return
			}
		}
	}) {
		submitters = append(submitters, w.schedd.SubmitterAd(name, w.capable, idle[name], 0))
	}
	w.collector.Set("Submitter", append(submitters, w.odd["Submitter"]...)...)
	w.schedd.SetTime(w.now)
	w.schedd.SetSubmitted(int64(len(w.jobs)))
	w.collector.Set("Scheduler", append(w.strangers, w.scheddAd())...)
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
