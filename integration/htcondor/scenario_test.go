package htcondor_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// programs is the folder for this project's programs that go into pools; empty if none was built.
var programs string

// built builds the program of a package once and returns its path.
func built(t *testing.T, path string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if programs == "" {
		var err error
		programs, err = os.MkdirTemp("", "pool-programs-") //nolint:usetesting // for all tests
		require.NoError(t, err)
	}
	program := filepath.Join(programs, filepath.Base(path))
	if _, err := os.Stat(program); err != nil {
		build := exec.Command("go", "build", "-o", program, path)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // the chroot may have other libraries
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return program
}

var building sync.Mutex

const (
	stopped = syscall.SIGSTOP
	resumed = syscall.SIGCONT
)

// slack is the start slack in these tests, in seconds. It exceeds the delays of even a noisy
// machine, so that no guarantee breaks by itself.
const slack = 10

// ourNegotiator are lines of configuration that make our negotiator the pool's. Without a horizon each
// of a user's jobs is promised a start, which many scenarios look at.
const ourNegotiator = `
NEGOTIATOR_DEBUG = D_FULLDEBUG
NEGOTIATOR_INTERVAL = 2
SCHEDD_INTERVAL = 2
SCHEDD_MIN_INTERVAL = 1
BACKFILL_POLICY = conservative
BACKFILL_ESTIMATE_ATTRIBUTES = EstimatedRunTime
BACKFILL_DEFAULT_ESTIMATE = 60
BACKFILL_START_SLACK = 10
BACKFILL_PLAN_HORIZON = 0
BACKFILL_RECORD = $(SPOOL)/backfill.rec
`

// ours starts a pool with our negotiator, settings of pool.sh, and more lines of configuration. At
// the end of the test it fails if guarantees were broken by causes that were not permitted.
func ours(t *testing.T, settings []string, lines ...string) *ourPool {
	t.Helper()
	p := prepareOurs(t, settings, lines...)
	p.Up()
	return p
}

// prepareOurs creates such a pool that is down.
func prepareOurs(t *testing.T, settings []string, lines ...string) *ourPool {
	t.Helper()
	pooltest.Need(t)
	settings = append(slices.Clone(settings), "NEGOTIATOR=/usr/local/bin/negotiator",
		"EXTRA="+ourNegotiator+strings.Join(lines, "\n"))
	p := &ourPool{Pool: pooltest.Prepare(t, settings...)}
	p.Install(built(t, "../../negotiator/cmd/negotiator"))
	t.Cleanup(func() {
		p.checkLog(t)
		p.checkRecord(t)
	})
	return p
}

// ourPool is a pool with our negotiator.
type ourPool struct {
	*pooltest.Pool
	permitted []string // causes that may break guarantees
	errors    []string // parts of log lines that may be errors
}

var (
	brokenLine = regexp.MustCompile(`a guarantee is broken: job=(\S+) .*cause="?([a-z ]+)`)
	secret     = regexp.MustCompile(`[0-9a-f]{40}`)
)

// broken returns the causes that broke guarantees so far, with the jobs.
func (p *ourPool) broken() map[string][]string {
	jobs := map[string][]string{}
	for _, found := range brokenLine.FindAllStringSubmatch(p.Log("NegotiatorLog"), -1) {
		jobs[found[2]] = append(jobs[found[2]], found[1])
	}
	return jobs
}

// permit allows these causes to break guarantees until the end of the test.
func (p *ourPool) permit(causes ...string) { p.permitted = append(p.permitted, causes...) }

// checkLog fails the test if the negotiator's log contains what it must not.
func (p *ourPool) checkLog(t *testing.T) {
	t.Helper()
	for cause, jobs := range p.broken() {
		if !slices.Contains(p.permitted, cause) {
			t.Errorf("guarantees of jobs %v are broken by %q; permitted: %q", jobs, cause, p.permitted)
		}
	}
	for line := range strings.Lines(p.Log("NegotiatorLog")) {
		wrong := strings.Contains(line, "[ERROR]") || strings.HasPrefix(line, "panic:")
		if wrong && !slices.ContainsFunc(p.errors, func(part string) bool { return strings.Contains(line, part) }) {
			t.Errorf("the negotiator's log has %s", line)
		}
		if secret.MatchString(line) {
			t.Errorf("a secret is in the negotiator's log; the line begins with %.60s", line)
		}
	}
}

// jobPlan is the output of negotiator start-times and explain about a job.
type jobPlan struct {
	Job, Situation, Slots, Behind, Reason string
	Start, Guarantee, P10, P50, P90       *int64
	Requested                             *int64 `json:"requested_seconds"`
	Predicted                             *int64 `json:"predicted_seconds"`
	Clauses                               []struct {
		Text  string
		Unmet int
	}
}

// ranged reports whether the plan tells the range of the start.
func (p jobPlan) ranged() bool { return p.P10 != nil && p.P50 != nil && p.P90 != nil }

// startTimes returns the plans of waiting jobs, by job.
func (p *ourPool) startTimes(t *testing.T) map[string]jobPlan {
	t.Helper()
	plans := map[string]jobPlan{}
	for _, plan := range p.ask(t, "start-times", "--json") {
		plans[plan.Job] = plan
	}
	return plans
}

// ask sends the negotiator a question and waits for the answer.
func (p *ourPool) ask(t *testing.T, question ...string) (plans []jobPlan) {
	t.Helper()
	var out string
	var err error
	for range 120 { // the negotiator may be starting, or may not have seen the job yet
		if out, err = p.Try("alice", append([]string{"negotiator"}, question...)...); err == nil {
			break
		}
		time.Sleep(time.Second / 2)
	}
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &plans), out)
	return plans
}

// cycles waits until that many more cycles have begun and ended.
func (p *ourPool) cycles(t *testing.T, more int) {
	t.Helper()
	count := func() int { return strings.Count(p.Log("NegotiatorLog"), " rest=") } // the lines that summarize cycles
	all := count() + 1 + more                                                      // one may be in progress
	p.Wait("more cycles", time.Minute, func() bool { return count() >= all })
}

// promises waits until the jobs have reservations with guarantees, and returns the guarantees.
func (p *ourPool) promises(t *testing.T, jobs ...pooltest.JobID) map[string]int64 {
	t.Helper()
	var promised map[string]int64
	p.Wait("guarantees", time.Minute, func() bool {
		plans := p.startTimes(t)
		promised = map[string]int64{}
		for _, job := range jobs {
			if g := plans[job.String()].Guarantee; g != nil {
				promised[job.String()] = *g
			}
		}
		return len(promised) == len(jobs)
	})
	return promised
}

// runsOf returns the executions of a job.
func runsOf(a pooltest.Audit, job pooltest.JobID) []pooltest.Run {
	return slices.DeleteFunc(slices.Clone(a.Runs), func(r pooltest.Run) bool { return r.Job != job })
}

// remove removes all jobs from the queues.
func (p *ourPool) remove() {
	_, _ = p.Try("root", "condor_rm", "-all") // an empty queue is an error
	p.Wait("an empty queue", time.Minute, func() bool { return len(p.Queue()) == 0 })
}

// most returns the maximum number of the jobs that ran at once.
func most(a pooltest.Audit, jobs ...pooltest.JobID) (peak int) {
	for _, at := range a.Runs {
		now := 0
		for _, r := range a.Runs {
			if slices.Contains(jobs, r.Job) && !r.Start.After(at.Start) && (r.End.IsZero() || r.End.After(at.Start)) {
				now++
			}
		}
		peak = max(peak, now)
	}
	return peak
}

// TestWideJobStartsByItsGuarantee runs TestWideJobAmongSmallOnes with our negotiator.
func TestWideJobStartsByItsGuarantee(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=2", "SLOTS=consumption"})
	var wide pooltest.JobID
	var arrived jobPlan
	passed, waited := wideAmongSmall(t, pool.Pool, func(job pooltest.JobID) {
		if arrived.Guarantee == nil {
			wide, arrived = job, pool.startTimes(t)[job.String()]
		}
	})
	require.NotNil(t, arrived.Guarantee, "it was promised a start")
	require.LessOrEqual(t, *arrived.Start, *arrived.Guarantee)
	require.Contains(t, arrived.Reason, "guaranteed by")
	start := runsOf(pool.Audit(), wide)[0].Start.Unix()
	t.Logf("conservative: %d small jobs that came after the wide one started before it; it waited %.0f s and started "+
		"%d s before its guarantee",
		passed, waited.Seconds(), *arrived.Guarantee-start)
	require.LessOrEqual(t, start, *arrived.Guarantee+slack)
}

// mixed is a node with a partitionable slot, one with static slots of four cores, and one with a
// consumption policy.
const mixed = `
n2.NUM_SLOTS_TYPE_1 = 2
n2.SLOT_TYPE_1 = cpus=4,memory=50%,disk=50%
n2.SLOT_TYPE_1_PARTITIONABLE = False
n3.CONSUMPTION_POLICY = True
n3.CONSUMPTION_MEMORY = quantize(target.RequestMemory,{1})
`

// on returns Requirements that allow a job only one node of a pool.
func on(node string) string { return `requirements = regexp("@` + node + `@", TARGET.Name)` }

const estimate = "+EstimatedRunTime = "

// scenario is a part of a test; the scenarios of a test share a pool, one after the other.
type scenario struct {
	name string
	run  func(*testing.T, *ourPool)
}

// TestJobs runs jobs on a pool of all kinds of slots.
func TestJobs(t *testing.T) {
	t.Parallel()
	ours(t, []string{"NODES=3"}, mixed).runAll(t, []scenario{
		{"one job a static slot", oneJobPerStaticSlot},
		{"several jobs a partitionable slot", severalJobsPerSlot},
		{"requirements", requirements},
		{"overrun", overrun}, // the last: it permits broken guarantees
	})
}

// TestHeldJobs holds and removes jobs, on a pool of all kinds of slots.
func TestHeldJobs(t *testing.T) {
	t.Parallel()
	ours(t, []string{"NODES=3"}, mixed).runAll(t, []scenario{
		{"while they wait", heldWhileWaiting},
		{"between plan and match", heldBeforeMatch},
		// last, because it permits broken guarantees and leaves a node that is not all free
		{"in flight", heldInFlight},
	})
}

// runAll audits the pool after each scenario and empties the queue for the next one.
func (p *ourPool) runAll(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		began := time.Now()
		s.run(t, p)
		p.Audit().Check(t)
		p.remove()
		t.Logf("%s: %.0f s; broken guarantees: %v", s.name, time.Since(began).Seconds(), p.broken())
	}
}

func oneJobPerStaticSlot(t *testing.T, pool *ourPool) {
	t.Helper()
	jobs := pool.Submit("alice", sleep(4, 1, 4, on("n2"), estimate+"4"))
	pool.WaitDone(time.Minute, jobs...)
	audit := pool.Audit()
	require.Equal(t, 2, most(audit, jobs...), "two slots, however many cores they have")
	for _, job := range jobs {
		require.Equal(t, 4, runsOf(audit, job)[0].Given.Cpus)
	}
}

func severalJobsPerSlot(t *testing.T, pool *ourPool) {
	t.Helper()
	jobs := pool.Submit("alice", sleep(10, 2, 5, on("n1"), estimate+"10"))
	pool.WaitDone(2*time.Minute, jobs...)
	require.Equal(t, 4, most(pool.Audit(), jobs...), "as many as there are cores for, each with a claim of its own")
}

// requirements checks jobs that may not run on the only free node: neither the schedd nor the
// startd would keep them from it.
func requirements(t *testing.T, pool *ourPool) {
	t.Helper()
	full := pool.Submit("alice", sleep(300, 8, 1, on("n1"), estimate+"300")+"\n"+sleep(300, 4, 2, on("n2"),
		estimate+"300"))
	pool.WaitStatus(pooltest.Running, time.Minute, full...)
	picky := pool.Submit("bob", sleep(1, 1, 3, `requirements = !regexp("@n3@", TARGET.Name)`, estimate+"1"))
	anyone := pool.Submit("bob", sleep(1, 1, 1, estimate+"1"))
	nobody := pool.Submit("bob", sleep(1, 1, 1, `requirements = TARGET.HasUnicorns`, estimate+"1"))
	pool.WaitDone(time.Minute, anyone...)
	for _, job := range pool.Queue("-constraint", "Owner == \"bob\"") {
		require.Equal(t, pooltest.Idle, job.Int("JobStatus"), "%v does not run where it must not", job.Job())
	}
	why := pool.ask(t, "explain", nobody[0].String(), "--json")[0]
	require.Equal(t, "held", why.Situation)
	require.NotNil(t, pool.startTimes(t)[picky[0].String()].Start, "it waits for another node")
	clauses := map[string]int{}
	for _, clause := range why.Clauses {
		clauses[clause.Text] = clause.Unmet
	}
	require.Equal(t, 4, clauses["TARGET.HasUnicorns"], "%v", clauses)
	pool.As("alice", "condor_rm", full[0].String())
	pool.WaitDone(time.Minute, picky...)
	audit := pool.Audit()
	require.Equal(t, "n3", runsOf(audit, anyone[0])[0].Node)
	for _, job := range picky {
		require.Equal(t, "n1", runsOf(audit, job)[0].Node)
	}
	require.Empty(t, runsOf(audit, nobody[0]))
}

// heldWhileWaiting holds and removes jobs that have a reservation.
func heldWhileWaiting(t *testing.T, pool *ourPool) {
	t.Helper()
	full := pool.Submit("alice", sleep(20, 8, 1, on("n3"), estimate+"20"))
	pool.WaitStatus(pooltest.Running, time.Minute, full...)
	jobs := pool.Submit("bob", sleep(2, 8, 4, on("n3"), estimate+"2"))
	before := pool.promises(t, jobs...)
	pool.As("bob", "condor_hold", jobs[0].String())
	pool.As("bob", "condor_rm", jobs[1].String())
	pool.Wait("the plan without them", time.Minute, func() bool {
		plans := pool.startTimes(t)
		_, held := plans[jobs[0].String()]
		_, removed := plans[jobs[1].String()]
		return !held && !removed
	})
	after := pool.promises(t, jobs[2:]...)
	for job, guarantee := range after {
		require.Equal(t, before[job], guarantee, "the others keep their promises")
	}
	pool.As("bob", "condor_release", jobs[0].String())
	pool.promises(t, jobs[0])
	pool.WaitDone(2*time.Minute, jobs[0], jobs[2], jobs[3])
	require.Empty(t, runsOf(pool.Audit(), jobs[1]))
}

// heldBeforeMatch holds and removes jobs that were decided to start but wait until their slot has a
// claim: a partitionable slot has a new one about every second.
func heldBeforeMatch(t *testing.T, pool *ourPool) {
	t.Helper()
	before := len(pool.Audit().Runs)
	jobs := pool.Submit("bob", sleep(3, 1, 8, on("n1"), estimate+"3"))
	pool.Wait("the first to run", time.Minute, func() bool { return len(pool.Audit().Runs) > before })
	pool.As("bob", "condor_hold", jobs[6].String())
	pool.As("bob", "condor_rm", jobs[7].String())
	pool.WaitStatus(pooltest.Held, time.Minute, jobs[6])
	pool.WaitStatus(pooltest.Removed, time.Minute, jobs[7])
	pool.As("bob", "condor_release", jobs[6].String())
	pool.WaitDone(2*time.Minute, jobs[:7]...)
	runs := runsOf(pool.Audit(), jobs[6])
	require.True(t, runs[len(runs)-1].Success)
}

// heldInFlight holds and removes jobs whose schedds have their slots, while the startd has not
// answered yet.
func heldInFlight(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("start failed") // a startd is stopped for longer than a match may take
	pool.Signal("n3", stopped)
	jobs := pool.Submit("bob", sleep(3, 1, 3, on("n3"), estimate+"3"))
	pool.Wait("the matches", time.Minute, func() bool {
		return strings.Contains(pool.Log("NegotiatorLog"), "matched: job="+jobs[2].String()+" ")
	})
	pool.As("bob", "condor_hold", jobs[0].String())
	pool.As("bob", "condor_rm", jobs[1].String())
	pool.Signal("n3", resumed)
	pool.WaitStatus(pooltest.Removed, time.Minute, jobs[1])
	pool.WaitStatus(pooltest.Held, time.Minute, jobs[0])
	pool.As("bob", "condor_release", jobs[0].String())
	pool.WaitDone(2*time.Minute, jobs[0], jobs[2])
	require.Empty(t, runsOf(pool.Audit(), jobs[1]), "it was removed before a slot was its own")
}

// overrun runs a job for longer than its estimate: the jobs behind it get new promises for that
// cause alone.
func overrun(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("overrun")
	long := pool.Submit("alice", sleep(600, 8, 1, on("n3"), estimate+"2"))
	pool.WaitStatus(pooltest.Running, time.Minute, long...)
	behind := pool.Submit("bob", sleep(2, 8, 2, on("n3"), estimate+"2"))
	elsewhere := pool.Submit("bob", sleep(2, 8, 2, on("n1"), estimate+"2"))
	before := pool.promises(t, behind...)
	pool.WaitDone(2*time.Minute, elsewhere...)
	pool.Wait("another promise", time.Minute, func() bool {
		g := pool.startTimes(t)[behind[1].String()].Guarantee
		return g != nil && *g > before[behind[1].String()]
	})
	pool.command("condor_rm", long...) // not earlier, however slow the machine is
	pool.WaitDone(2*time.Minute, behind...)
	broken := pool.broken()
	require.Subset(t, broken["overrun"], []string{behind[0].String(), behind[1].String()})
	require.NotContains(t, broken["overrun"], elsewhere[1].String())
	all := 0
	for _, jobs := range broken {
		all += len(jobs)
	}
	ad := pool.Ads("-negotiator")[0]
	require.Equal(t, all, ad.Int("BackfillGuaranteesBroken"))
	require.Equal(t, len(broken["overrun"]), ad.Int("BackfillGuaranteesBrokenOverrun"))
}
