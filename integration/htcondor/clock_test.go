package htcondor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// openStarts are STARTs that ask for the clock, random numbers or a map of users and are open, each of
// a slot of its own.
var openStarts = []string{
	"CurrentTime < 1e12",
	"CurrentTime < GLIDEIN_ToRetire",
	"ifThenElse(isUndefined(Retires), true, CurrentTime < Retires)",
	`formatTime(time(), "%Y") >= "2024" && splitTime(absTime(time())).Year > 2023`,
	"random(10) < 10 && random() < 1.0",
	"ClockMin >= 0 && ClockMin < 1440 && ClockDay >= 0 && ClockDay < 7",
	`interval(time() - DaemonStartTime) =!= "" && time() - MyCurrentTime < 600`,
	`userMap("Groups", TARGET.Owner, "none") =?= "physics"`,
}

// openJobs are Requirements of jobs that ask for the clock or random numbers and are met.
var openJobs = []string{
	"CurrentTime - TARGET.MyCurrentTime < 600",
	`formatTime(CurrentTime, "%H") >= "00" && time() >= QDate`,
	"random(10) < 10",
	"TARGET.ClockMin >= 0 && TARGET.ClockDay < 7",
	`interval(time() - QDate) =!= "" && time() < TARGET.GLIDEIN_ToRetire`,
}

// clocked are lines of configuration for a machine with a slot for each of openStarts, of types 2 and
// on, and a partitionable slot for the rest.
func clocked() string {
	lines := []string{
		"SLOT_TYPE_1 = cpus=8,memory=50%,disk=50%", "STARTD_ATTRS = $(STARTD_ATTRS) GLIDEIN_ToRetire",
		fmt.Sprint("GLIDEIN_ToRetire = ", time.Now().Add(time.Hour).Unix()),
		"NEGOTIATOR_CLASSAD_USER_MAP_NAMES = Groups", "STARTD_CLASSAD_USER_MAP_NAMES = Groups",
		"CLASSAD_USER_MAPDATA_Groups = * alice physics",
	}
	for i, start := range openStarts {
		kind := fmt.Sprint("SLOT_TYPE_", i+2)
		lines = append(lines, kind+" = cpus=1,memory=5%,disk=5%", kind+"_PARTITIONABLE = False", kind+"_START = "+start,
			fmt.Sprintf("NUM_SLOTS_TYPE_%d = 1", i+2))
	}
	return strings.Join(lines, "\n")
}

// TestClock checks that the clock in ads shows the time, under our negotiator and the stock one.
func TestClock(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=16"}, clocked(), []scenario{{"now is right", nowIsRight}})
}

// nowIsRight runs a job on each slot of openStarts, jobs whose Requirements ask for the clock, too, and
// one that may only run when it has waited for a time.
func nowIsRight(t *testing.T, pool *ourPool) {
	t.Helper()
	var jobs []pooltest.JobID
	job := func(requirements string) pooltest.JobID {
		id := pool.Submit("alice", sleep(1, 1, 1, estimate+"10", "requirements = "+requirements))[0]
		t.Logf("job %s: %s", id, requirements)
		jobs = append(jobs, id)
		return id
	}
	const waits = 12
	later := job(fmt.Sprint("TARGET.SlotTypeID == 1 && time() - QDate > ", waits))
	for i, start := range openStarts {
		t.Log("on the slot with START = ", start)
		job(fmt.Sprint("TARGET.SlotTypeID == ", i+2))
	}
	for _, met := range openJobs {
		job("TARGET.SlotTypeID == 1 && " + met)
	}
	pool.WaitDone(3*time.Minute, jobs...)
	waited := 0
	for _, ad := range pool.History() {
		if ad.Job() == later {
			waited = ad.Int("JobStartDate") - ad.Int("QDate")
		}
	}
	t.Logf("the job that may run after more than %d s ran after %d s", waits, waited)
	require.Greater(t, waited, waits)
	require.Less(t, waited, waits+45, "it may take as long as a busy machine's daemons, and no minute longer")
}

// TestStartsOpenAndClose has STARTs change their answer by the clock while jobs wait, under our
// negotiator and the stock one.
func TestStartsOpenAndClose(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=3", "CPUS=2"}, changing, []scenario{
		{"office hours", officeHours}, {"retires", retires},
	})
}

// changing are a machine that retires, and two with office hours in India, of which the second tells the
// collector rarely what its clock says. The instants are set later.
const changing = `
STARTD_ATTRS = $(STARTD_ATTRS) GLIDEIN_ToRetire Opens
n1.START = CurrentTime < GLIDEIN_ToRetire
n2.START = ClockMin >= Opens && ClockMin < Opens + 480
n3.START = ClockMin >= Opens && ClockMin < Opens + 480
n3.UPDATE_INTERVAL = 120
STARTD_N2_ENVIRONMENT = "TZ=IST-5:30"
STARTD_N3_ENVIRONMENT = "TZ=IST-5:30"
`

// set has all daemons read a line of configuration, instead of that of the last call, and waits until
// the slot of a machine has an attribute with a value.
func (p *ourPool) set(t *testing.T, line, machine, attribute string, value int64) {
	t.Helper()
	file := filepath.Join(p.Dir, "etc/condor/config.d/50-clock.conf")
	require.NoError(t, os.WriteFile(file, []byte(line+"\n"), 0o644)) //nolint:gosec // nothing is secret
	p.Wait("the ad of condor_master", time.Minute, func() bool { return len(p.Ads("-master")) == 1 })
	p.As("root", "condor_reconfig", "-all")
	slot := []string{"-constraint", fmt.Sprintf("Name == %q && %s == %d", "slot1@"+machine+"@"+pooltest.Host, attribute, value)}
	p.Wait("the new "+attribute, time.Minute, func() bool { return len(p.Slots(slot...)) == 1 })
}

// retire has a machine retire in some seconds, or later than it was to.
func (p *ourPool) retire(t *testing.T, machine string, seconds int64) (at time.Time) {
	t.Helper()
	at = time.Unix(time.Now().Unix()+seconds, 0)
	p.set(t, fmt.Sprint(machine, ".GLIDEIN_ToRetire = ", at.Unix()), machine, "GLIDEIN_ToRetire", at.Unix())
	return at
}

// retires has more short jobs wait than run until a machine retires: none starts later than its claim
// takes. A claim that it refuses, as it was under way, is not held against it: once it is to retire later,
// the others start.
func retires(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("start failed", "start late", "lease")
	jobs := pool.Submit("alice", sleep(2, 1, 20, on("n1"), estimate+"4"))
	at := pool.retire(t, "n1", 20)
	time.Sleep(time.Until(at.Add(10 * time.Second))) // which a job that starts too late would have
	var last time.Time
	audit, started := pool.Audit(), 0
	for _, job := range jobs {
		for _, run := range runsOf(audit, job) {
			if started++; run.Start.After(last) {
				last = run.Start
			}
		}
	}
	t.Logf("%d of %d jobs started, the last %.1f s before the machine retired", started, len(jobs), at.Sub(last).Seconds())
	require.Positive(t, started)
	require.Less(t, started, len(jobs))
	require.Less(t, last.Sub(at), 3*time.Second)
	pool.retire(t, "n1", 3600)
	pool.WaitDone(2*time.Minute, jobs...)
	t.Logf("claims refused: %d", strings.Count(pool.Log("SchedLog"), "Request was NOT accepted"))
	require.NotContains(t, pool.Log("NegotiatorLog"), "is left out")
}

// officeHours has jobs wait for machines that open at a minute of their own day.
func officeHours(t *testing.T, pool *ourPool) {
	t.Helper()
	opens := time.Now().In(time.FixedZone("IST", 5*3600+1800)).Add(80 * time.Second).Truncate(time.Minute)
	minute := opens.Hour()*60 + opens.Minute()
	pool.set(t, fmt.Sprint("Opens = ", minute), "n3", "Opens", int64(minute))
	for _, machine := range []string{"n2", "n3"} {
		pool.Submit("alice", sleep(2, 1, 1, on(machine), estimate+"4"))
	}
	jobs := pool.Queue()
	require.Len(t, jobs, 2)
	for _, ad := range jobs {
		pool.WaitDone(4*time.Minute, ad.Job())
		late := runsOf(pool.Audit(), ad.Job())[0].Start.Sub(opens)
		t.Logf("job %v ran %.1f s after its office has opened", ad.Job(), late.Seconds())
		require.GreaterOrEqual(t, late, time.Duration(0))
	}
}
