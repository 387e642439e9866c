package htcondor

import (
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
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a small pool as a model: one schedd, startds with partitionable slots,
// jobs that sleep. What its daemons tell is late by a second, and its claims can
// fail. Time is virtual.
type world struct {
	strangers  []string // ads of other schedds
	t          *testing.T
	collector  *fakes.Collector
	schedd     *fakes.Schedd
	capable    string // the capability in submitter ads
	now        int64
	log        *strings.Builder
	pool       *Pool
	n          *negotiator.Negotiator
	accounting Accounting
	secrets    []string

	nodes []*node
	jobs  []*sleeper
	fate  func(*sleeper) fate // of a match

	most           int // jobs that the schedd runs at once; 0: it does not say
	hidden         int // that it runs and does not tell of
	policy         string
	starts, broken int
	calm           bool     // nothing may break a guarantee
	taken          int      // matches that were taken
	granted        int      // by pools of the past
	failed         []string // what must not happen
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

// node is a startd with one partitionable slot.
type node struct {
	name         string
	cpus, memory int64
	claim        int   // number of the next claim id
	ids          []int // that it would take now
	policy       bool
	down         bool
	closed       bool // drained
	static       bool
	start        string // what it asks of jobs besides
	hidden       bool   // its ads are not in the collector
	lingering    []lingering
	shown        string
	shownClaims  string
	parts        map[*sleeper]int // chunks by job
	strangers    []string         // claims of nobody's, as ads
	deleted      []string         // ads of dynamic slots that are no more
	children     string           // that the slot tells of
	changed      int64            // when that changed
	silent       bool             // it tells of none, as startds did formerly
	refuses      bool             // claims, all of them
	started      int64            // when its startd began, as its ad says; 0: it does not
}

// lingering is a claim without a job, as a gang leaves it.
type lingering struct {
	cpus, memory, until int64
	id                  string
}

// sleeper is a job.
type sleeper struct {
	cluster, proc int64
	owner         string
	cpus, memory  int64
	nodes         int
	seconds       int64 // that it runs
	estimate      int64
	extra         string
	submit        int64
	status        int64
	began         int64
	at            map[*node]int
	ids           map[*node][]string // of its claims
	begins        int64              // when its claim is activated; 0: nothing under way
	wants         map[*node]int
	fate          fate
	runs          int
	done          bool
	matched       int64 // when it was matched last, and has neither run nor been away since
}

func newWorld(t *testing.T, policy string, nodes ...*node) *world {
	t.Helper()
	w := &world{
		t: t, collector: fakes.NewCollector(t), schedd: fakes.NewSchedd(t, "schedd@test"), now: 1_700_000_000,
		nodes: nodes, log: &strings.Builder{}, fate: func(*sleeper) fate { return works },
	}
	secret := "topsecretcapability"
	w.capable, w.secrets = w.schedd.Capability(secret, 0), []string{secret}
	for _, n := range nodes {
		n.parts = map[*sleeper]int{}
	}
	w.negotiator(policy, nil)
	return w
}

// negotiator starts a negotiator, which may have a predecessor.
func (w *world) negotiator(policy string, left *Left) {
	w.t.Helper()
	w.policy = policy
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", Claims}
	as := fakes.Client()
	if w.pool != nil {
		w.granted += w.pool.granted
	}
	w.pool = New(Settings{
		Collector: &client.Collector{Security: as, Addresses: []cedar.Address{w.collector.Address()}}, Security: as,
		Schema: schema, StartSlack: 60, Accounting: w.accounting, Clock: func() time.Time { return time.Unix(w.now, 0) },
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: w.log, DisableTime: true}),
	})
	w.pool.hold = poll.Patience // no fake is late because the machine is busy
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
	order, err := negotiator.OrderNamed("fcfs")
	require.NoError(w.t, err)
	if w.accounting.Accountant != nil {
		order = w.pool.FairShare()
	}
	return negotiator.Config{
		Schema: schema, Placement: profile.ByRank, Order: order, Policy: main, Fallback: link(fallback), DefaultEstimate: 600, StartSlack: 60,
		Refused: func(r backfill.Refusal) { w.failed = append(w.failed, "refused: "+r.Err.Error()) },
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

// take is the schedd's side of a match.
func (w *world) take(m fakes.Match) {
	for name := range m.Ad.All() {
		if cedar.Private(name) {
			w.failed = append(w.failed, "a private attribute was passed on: "+name)
		}
	}
	if locked, _ := m.Ad.Bool("RestrictToAuthenticatedIdentity"); !locked {
		w.failed = append(w.failed, "a match is not locked to its job")
	}
	name, _ := m.Ad.Text("Name")
	n := w.node(name)
	var j *sleeper
	for _, s := range w.jobs {
		if s.cluster == m.Cluster && s.proc == m.Proc {
			j = s
		}
	}
	switch {
	case n == nil || j == nil:
		w.failed = append(w.failed, fmt.Sprintf("a match of %d.%d with %s", m.Cluster, m.Proc, name))
		return
	case !slices.Contains(strings.Fields(w.claims(n)), m.Claim):
		return // the claim is stale: the startd refuses it
	case w.most > 0 && len(j.wants) == 0 && w.running()+w.hidden >= w.most:
		return // in silence
	case m.Submitter != j.submitter():
		w.failed = append(w.failed, fmt.Sprintf("%s was negotiated for %s", m.Submitter, j.submitter()))
	}
	if j.status != 1 || j.done { // it has been taken away meanwhile
		return
	}
	if len(j.wants) == 0 {
		if j.matched == w.now && j.fate == dropped {
			return
		}
		if j.matched != 0 && w.now-j.matched < 30 {
			w.failed = append(w.failed, fmt.Sprintf("%d.%d was matched at %d and again at %d", j.cluster, j.proc, j.matched, w.now))
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
	j.wants[n]++
	j.ids[n] = append(j.ids[n], m.Claim)
	n.ids = slices.DeleteFunc(n.ids, func(id int) bool { return w.claimOf(n, id) == m.Claim })
	switch j.begins = w.now; j.fate {
	case slow:
		j.begins += 7
	case crawls:
		j.begins += 40
	case works, fails, dropped:
	}
}

// chunks is how many of the job's chunks are being claimed.
func (j *sleeper) chunks() (n int) {
	for _, chunks := range j.wants {
		n += chunks
	}
	return n
}

func (j *sleeper) submitter() string {
	if j.nodes > 1 {
		return "DedicatedScheduler@schedd@test"
	}
	return j.owner + "@test"
}

// free is what is left of a node.
func (n *node) free() (cpus, memory int64) {
	cpus, memory = n.cpus, n.memory
	for j, chunks := range n.parts {
		cpus -= j.cpus * int64(chunks)
		memory -= j.takes(n) * int64(chunks)
	}
	for _, l := range n.lingering {
		cpus -= l.cpus
		memory -= l.memory
	}
	return cpus, memory
}

// takes is how much memory a chunk takes on a node.
func (j *sleeper) takes(n *node) int64 {
	if n.policy || n.static {
		return j.memory
	}
	return (j.memory + 127) / 128 * 128
}

// claims are the ids that a node would take now.
func (w *world) claims(n *node) string {
	count := 1
	if n.policy {
		count = 8
	}
	for len(n.ids) < count {
		n.claim++
		n.ids = append(n.ids, n.claim)
	}
	var all []string
	for _, id := range n.ids {
		all = append(all, w.claimOf(n, id))
	}
	return strings.Join(all, " ")
}

func (w *world) claimOf(n *node, id int) string {
	return fmt.Sprintf("<%s>#1#%d#[]topsecretclaim%d", n.name, id, id)
}

// step lets a second pass.
func (w *world) step() {
	w.t.Helper()
	poll.Equal(w.t, w.granted+w.pool.granted, func() int { return len(w.schedd.Matches()) })
	for _, s := range w.pool.schedds { // real time is to be over, too, when the second is
		if s.releasing != nil {
			poll.Equal(w.t, 1, func() int { return len(s.releasing) })
		}
	}
	for _, m := range w.schedd.Matches()[w.taken:] {
		w.take(m)
		w.taken++
	}
	w.now++
	for _, n := range w.nodes {
		n.lingering = slices.DeleteFunc(n.lingering, func(l lingering) bool { return l.until <= w.now })
	}
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
			w.vacate(j)
			j.done, j.status = true, 4
		case j.status == 1 && j.begins != 0 && w.now > j.begins && (j.chunks() == j.nodes || w.now > j.begins+60):
			w.begin(j)
		}
	}
	w.publish()
}

// begin activates a job's claims, if its startds can still give what it needs.
func (w *world) begin(j *sleeper) {
	wants, count := j.wants, j.chunks()
	j.begins, j.wants = 0, nil
	if j.fate == fails || count < j.nodes && !w.calm {
		return
	}
	for n, chunks := range wants {
		cpus, memory := n.free()
		if n.down || cpus < j.cpus*int64(chunks) || memory < j.takes(n)*int64(chunks) || n.static && len(n.parts)+len(n.lingering) > 0 {
			return
		}
	}
	if count != j.nodes {
		w.failed = append(w.failed, fmt.Sprintf("%d of %d nodes were given to %d.%d", count, j.nodes, j.cluster, j.proc))
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
	j.at = nil
}

// running counts the jobs that have a shadow, or are about to.
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
	return ad
}

// kill ends a startd with all that runs there; its ads stay for a while.
func (w *world) kill(n *node) {
	n.down = true
	for _, j := range w.jobs {
		if j.at[n] > 0 {
			w.vacate(j)
			j.status = 1
		}
	}
}

// publish shows the pool as it was a second ago to the collector, and the queue as
// it is.
func (w *world) publish() {
	var slots, private []string
	for _, n := range w.nodes {
		if n.shown != "" && !n.hidden {
			slots = append(slots, strings.Split(n.shown, "\n\n")...)
			private = append(private, n.shownClaims)
		}
		if n.shown, n.shownClaims = "", ""; !n.down {
			n.shown, n.shownClaims = n.ads(w)
		}
	}
	w.collector.Set("Machine", slots...)
	w.collector.Set("MachinePrivate", private...)
	var jobs []string
	idle := map[string]int{}
	for _, j := range w.jobs {
		if j.submit <= w.now && !j.done {
			jobs = append(jobs, j.ad())
			if j.status == 1 {
				idle[j.submitter()] += j.nodes
			} else {
				idle[j.submitter()] += 0
			}
		}
	}
	w.schedd.SetJobs(jobs...)
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
	w.collector.Set("Submitter", submitters...)
	w.schedd.SetTime(w.now)
	w.collector.Set("Scheduler", append(w.strangers, w.scheddAd())...)
}

func (n *node) ads(w *world) (slots, private string) {
	cpus, memory := n.free()
	if n.static {
		return n.staticAd(w)
	}
	state := "Unclaimed"
	if n.closed {
		state = "Drained"
	}
	ad := fmt.Sprintf("Name = \"slot1@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\nState = \"%s\"\nActivity = \"Idle\"\nPartitionableSlot = true\nSlotType = \"Partitionable\"\n"+
		"Cpus = %d\nMemory = %d\nTotalSlotCpus = %d\nTotalSlotMemory = %d\nArch = \"X86_64\"\nRequirements = START\nSTART = TARGET.Banned =!= true", n.name, n.name, n.name, state, cpus, memory, n.cpus, n.memory)
	if n.start != "" {
		ad += "\nSTART = " + n.start
	}
	if n.started != 0 {
		ad += fmt.Sprintf("\nDaemonStartTime = %d", n.started)
	}
	if n.policy {
		ad += "\nConsumptionCpus = quantize(target.RequestCpus,{1})\nConsumptionMemory = quantize(target.RequestMemory,{1})"
	}
	ads := []string{ad}
	k := 0
	for _, j := range w.jobs {
		for i := range n.parts[j] {
			k++
			id := ""
			if i < len(j.ids[n]) {
				id = security.PublicClaim(j.ids[n][i])
			}
			ads = append(ads, fmt.Sprintf("Name = \"slot1_%d@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\nState = \"Claimed\"\nActivity = \"Busy\"\nDynamicSlot = true\nSlotType = \"Dynamic\"\nCpus = %d\nMemory = %d\nRequirements = true\nJobId = \"%d.%d\"\nGlobalJobId = \"schedd@test#%d.%d#1\"\nJobStart = %d\nPublicClaimId = %q",
				k, n.name, n.name, n.name, j.cpus, j.takes(n), j.cluster, j.proc, j.cluster, j.proc, j.began, id))
		}
	}
	for _, l := range n.lingering {
		k++
		ads = append(ads, fmt.Sprintf("Name = \"slot1_%d@%s\"\nMachine = \"%s\"\nState = \"Claimed\"\nActivity = \"Idle\"\nDynamicSlot = true\nCpus = %d\nMemory = %d\nRequirements = true\nPublicClaimId = %q", k, n.name, n.name, l.cpus, l.memory, security.PublicClaim(l.id)))
	}
	ads = append(ads, n.strangers...)
	ads[0] += n.told(w, ads)
	ads = append(ads, n.deleted...)
	attribute := "ClaimId"
	if n.policy {
		attribute = "ClaimIdList"
	}
	return strings.Join(ads, "\n\n"), fmt.Sprintf("Name = \"slot1@%s\"\nMyAddress = \"<%s>\"\n%s = \" %s\"", n.name, n.name, attribute, w.claims(n))
}

// told are the lines by which a partitionable slot tells of those that were cut from it.
func (n *node) told(w *world, ads []string) string {
	if n.silent {
		return ""
	}
	var names []string
	for _, ad := range ads {
		if name, more, _ := strings.Cut(ad, "\n"); strings.Contains(more, "DynamicSlot = true") {
			names = append(names, strings.TrimPrefix(name, "Name = "))
		}
	}
	if children := strings.Join(names, ","); children != n.children || n.changed == 0 {
		n.children, n.changed = children, w.now
	}
	return fmt.Sprintf("\nMyCurrentTime = %d\nChildName = { %s }", n.changed, n.children)
}

// staticAd is the ad of a node that is one slot for one job.
func (n *node) staticAd(w *world) (slot, private string) {
	state, more := "Unclaimed", ""
	for j := range n.parts {
		state, more = "Claimed", fmt.Sprintf("\nJobId = \"%d.%d\"\nGlobalJobId = \"schedd@test#%d.%d#1\"\nJobStart = %d", j.cluster, j.proc, j.cluster, j.proc, j.began)
	}
	if len(n.lingering) > 0 {
		state = "Claimed"
	}
	if n.closed {
		state = "Drained"
	}
	return fmt.Sprintf("Name = \"slot1@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\nState = \"%s\"\nCpus = %d\nMemory = %d\nArch = \"X86_64\"\nRequirements = true%s", n.name, n.name, n.name, state, n.cpus, n.memory, more),
		fmt.Sprintf("Name = \"slot1@%s\"\nMyAddress = \"<%s>\"\nClaimId = \"%s\"", n.name, n.name, w.claims(n))
}

func (j *sleeper) ad() string {
	universe := 5
	ad := ""
	if j.nodes > 1 {
		universe = 11
		ad = "Scheduler = \"DedicatedScheduler@schedd@test\"\n"
	}
	ad += fmt.Sprintf("ClusterId = %d\nProcId = %d\nUser = \"%s@test\"\nOwner = \"%s\"\nJobUniverse = %d\nJobStatus = %d\nQDate = %d\nMinHosts = %d\nMaxHosts = %d\nRequestCpus = %d\nRequestMemory = %d\nRequirements = TARGET.Arch == \"X86_64\"",
		j.cluster, j.proc, j.owner, j.owner, universe, j.status, j.submit, j.nodes, j.nodes, j.cpus, j.memory)
	if j.estimate > 0 {
		ad += fmt.Sprintf("\nAllowedExecuteDuration = %d", j.estimate)
	}
	if j.status == 2 {
		var hosts []string
		for n, chunks := range j.at {
			for i := range chunks {
				if n.static {
					hosts = append(hosts, "slot1@"+n.name)
					continue
				}
				hosts = append(hosts, fmt.Sprintf("slot1_%d@%s", i+1, n.name))
			}
		}
		slices.Sort(hosts)
		name := "RemoteHost"
		if j.nodes > 1 {
			name = "RemoteHosts"
		}
		ad += fmt.Sprintf("\n%s = \"%s\"\nJobCurrentStartDate = %d", name, strings.Join(hosts, ","), j.began)
	}
	return ad + j.extra
}

// cycle has the negotiator look at the world and act.
func (w *world) cycle() (negotiator.Delta, *negotiator.Report) {
	w.t.Helper()
	ctx := context.Background()
	l, err := w.pool.look(ctx)
	require.NoError(w.t, err)
	d := w.pool.differ(l)
	report, err := w.n.RunCycle(ctx, d)
	require.NoError(w.t, err, "%+v", d)
	w.starts += len(report.Matches)
	w.broken += len(report.Decision.Broken)
	for _, b := range report.Decision.Broken {
		if w.calm || b.Cause == backfill.CauseNone {
			w.failed = append(w.failed, fmt.Sprintf("the guarantee of job %d for %d was broken: %v", b.Job.ID, b.Promised, b.Cause))
		}
	}
	require.NoError(w.t, w.pool.Act(ctx, report.Matches))
	return d, report
}

// pass lets seconds pass, with a cycle every few of them and the tries between.
func (w *world) pass(seconds int) {
	w.t.Helper()
	for range seconds {
		w.step()
		if w.now%4 == 0 {
			w.cycle()
		} else if w.pool.unsent() {
			w.pool.handOver(context.Background())
		}
		w.check()
	}
}

// check holds the world against what must always be.
func (w *world) check() {
	w.t.Helper()
	require.Empty(w.t, w.failed, w.log)
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
