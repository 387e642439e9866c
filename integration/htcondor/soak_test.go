package htcondor_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak torments a pool under each policy, such as 30m; 0: it is skipped")
	soakSeed = flag.Uint64("soak-seed", 1, "what TestSoak does, and when")
)

// TestSoak lets users and administrators do at random, for a long time, what they do: jobs of all
// kinds come, are held, released, removed and cool down; gangs come; machines sleep; daemons are
// killed, ours too. The audit then says whether a slot was idle beside work or a job ran twice, and
// the test whether jobs began within the ranges that they were told. What a policy does depends on
// the seed; what the machine makes of it does not.
func TestSoak(t *testing.T) {
	t.Parallel()
	pooltest.Need(t)
	if *soakFor == 0 {
		t.Skip("skipped: it takes long; run it with -soak 30m")
	}
	for _, policy := range []string{"slack", "conservative"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			soak(t, policy, rand.New(rand.NewPCG(*soakSeed, 0)))
		})
	}
}

// soaked is a pool under torment.
type soaked struct {
	*ourPool
	random *rand.Rand
	held   []pooltest.JobID
	told   map[pooltest.JobID]jobPlan // the first range of each job
	asked  map[pooltest.JobID]time.Time
	spoilt map[pooltest.JobID]bool // jobs that users touched after they were told a range
	killed []time.Time
}

func soak(t *testing.T, policy string, random *rand.Rand) {
	t.Helper()
	settings := []string{"NODES=4", "CPUS=4", "SCHEDDS=2", "SLOTS=consumption"}
	pool := &soaked{
		ourPool: ours(t, settings, forGangs, "BACKFILL_POLICY = "+policy, "BACKFILL_START_SLACK = 60"), random: random,
		told: map[pooltest.JobID]jobPlan{}, asked: map[pooltest.JobID]time.Time{}, spoilt: map[pooltest.JobID]bool{},
	}
	pool.permit("slot lost", "slot changed", "slot ended", "start failed", "start late", "overrun", "job edited")
	deadline := time.Now().Add(*soakFor)
	for turn := 0; time.Now().Before(deadline); turn++ {
		narrow := turn/40%2 == 0 // whether slots are idle beside work is only seen where no wide job waits
		pool.submitSome(narrow)
		if turn%2 == 0 {
			pool.touchSome()
		}
		if turn%30 == 29 {
			pool.killSome(t)
		}
		if turn%5 == 0 {
			pool.listen(t)
		}
		time.Sleep(2 * time.Second)
	}
	pool.releaseAll()
	pool.Wait("all jobs to end", 10*time.Minute, func() bool { return len(pool.Queue()) == 0 })
	audit := pool.Audit()
	audit.Check(t)
	inside, all := pool.calibration(audit)
	t.Logf("%s, seed %d: %d runs of %d jobs, %d daemons killed; %d of %d jobs that nobody touched began in their 80 %% range",
		policy, *soakSeed, len(audit.Runs), len(audit.Submits), len(pool.killed), inside, all)
	if all >= 50 {
		share := float64(inside) / float64(all)
		require.True(t, 0.65 <= share && share <= 0.95, "%.0f %% of the starts are in their 80 %% range", 100*share)
	}
}

// submitSome submits up to three jobs of a user, unless many wait. Narrow ones have one core.
func (p *soaked) submitSome(narrow bool) {
	r := p.random
	user := []string{"alice", "bob", "carol", "dave"}[r.IntN(4)]
	schedd := []string{pooltest.Host, "s2@pool.test"}[r.IntN(2)]
	seconds, cores, count := 1+r.IntN(40), 1, 1+r.IntN(3)
	more := []string{fmt.Sprint(estimate, seconds*(1+r.IntN(3))+5)}
	switch kind := r.IntN(10); {
	case kind == 0:
		more = append(more, on(fmt.Sprint("n", 1+r.IntN(4))))
	case kind == 1:
		more = append(more, fmt.Sprint("deferral_time = ", time.Now().Unix()+20+int64(r.IntN(40))), "deferral_window = 600")
	case kind == 2:
		more = append(more, fmt.Sprint("+JobCoolDownExpiration = ", time.Now().Unix()+20+int64(r.IntN(60))))
	case kind < 6 && !narrow:
		cores = 2 + r.IntN(3)
	}
	if len(p.Queue("-constraint", "JobStatus == 1", "-attributes", "ClusterId,ProcId")) > 30 {
		return
	}
	if !narrow && r.IntN(12) == 0 {
		p.Submit(user, gang(seconds, 2+r.IntN(3), 1+r.IntN(2), more[0])) // the other schedd has no slots for gangs
		return
	}
	p.SubmitTo(schedd, user, sleep(seconds, cores, count, more...))
}

// touchSome holds, releases, edits or removes a job.
func (p *soaked) touchSome() {
	jobs := p.Queue("-attributes", "ClusterId,ProcId,GlobalJobId,JobStatus")
	if len(jobs) == 0 {
		return
	}
	job := jobs[p.random.IntN(len(jobs))].Job()
	name := fmt.Sprintf("%d.%d", job.Cluster, job.Proc)
	switch p.random.IntN(8) {
	case 0:
		p.spoilt[job] = true
		if _, err := p.Try("root", "condor_hold", "-name", job.Schedd, name); err == nil {
			p.held = append(p.held, job)
		}
	case 1:
		p.spoilt[job] = true
		_, _ = p.Try("root", "condor_rm", "-name", job.Schedd, name) // it may have ended
	case 2:
		p.spoilt[job] = true
		until := strconv.FormatInt(time.Now().Unix()+30, 10)
		_, _ = p.Try("root", "condor_qedit", "-name", job.Schedd, name, "JobCoolDownExpiration", until)
	case 3:
		p.sleeper()
	default:
		p.releaseAll()
	}
}

func (p *soaked) releaseAll() {
	for _, job := range p.held {
		_, _ = p.Try("root", "condor_release", "-name", job.Schedd, fmt.Sprintf("%d.%d", job.Cluster, job.Proc))
	}
	p.held = nil
}

// sleeper advertises a machine that sleeps, as condor_rooster's users have them.
func (p *soaked) sleeper() {
	ad := "MyType = \"Machine\"\nName = \"slot1@sleeper\"\nMachine = \"sleeper\"\nMyAddress = \"<127.0.0.1:9>\"\n" +
		"SlotID = 1\nPartitionableSlot = true\nSlotType = \"Partitionable\"\nCpus = 4\nMemory = 4096\nDisk = 100000\nTotalCpus = 4\n" +
		"TotalSlotCpus = 4\nTotalSlotMemory = 4096\nTotalSlotDisk = 100000\nState = \"Unclaimed\"\nActivity = \"Idle\"\n" +
		"Start = true\nRequirements = true\nOffline = true\nArch = \"X86_64\"\nOpSys = \"LINUX\"\nMachineLastMatchTime = 0\n" +
		"HasFileTransfer = true\nFileSystemDomain = \"pool.test\"\nUidDomain = \"pool.test\"\n"
	if err := os.WriteFile(p.Dir+"/tmp/sleeper", []byte(ad), 0o644); err != nil {
		return
	}
	_, _ = p.Try("root", "condor_advertise", "UPDATE_STARTD_AD", "/tmp/sleeper")
}

// killSome kills a daemon, as a fault or an administrator does.
func (p *soaked) killSome(t *testing.T) {
	t.Helper()
	daemon := []string{"n1", "n2", "n3", "n4", "schedd", "s2", "negotiator"}[p.random.IntN(7)]
	t.Logf("%s: %s is killed", time.Now().UTC().Format(time.TimeOnly), daemon)
	p.killed = append(p.killed, time.Now())
	p.Kill(daemon)
}

// listen notes the first range that each waiting job is told.
func (p *soaked) listen(t *testing.T) {
	t.Helper()
	ids := map[string]pooltest.JobID{}
	for _, ad := range p.Queue("-constraint", "JobStatus == 1", "-attributes", "ClusterId,ProcId,GlobalJobId") {
		id := ad.Job()
		ids[fmt.Sprintf("%d.%d@%s", id.Cluster, id.Proc, id.Schedd)] = id
	}
	for name, plan := range p.startTimes(t) {
		id, waits := ids[name]
		if _, before := p.told[id]; waits && !before && plan.ranged() {
			p.told[id], p.asked[id] = plan, time.Now()
		}
	}
}

// calibration counts the jobs that began within the first range that they were told, and those that
// began at all: without those that users touched, and those that waited while a daemon was killed.
func (p *soaked) calibration(audit pooltest.Audit) (inside, all int) {
	for job, plan := range p.told {
		runs := runsOf(audit, job)
		if p.spoilt[job] || len(runs) == 0 {
			continue
		}
		if slices.ContainsFunc(p.killed, func(at time.Time) bool {
			return at.After(p.asked[job]) && at.Before(runs[0].Start)
		}) {
			continue
		}
		all++
		if start := runs[0].Start.Unix(); *plan.P10 <= start && start <= *plan.P90 {
			inside++
		}
	}
	return inside, all
}
