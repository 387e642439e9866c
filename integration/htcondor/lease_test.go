package htcondor_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// lends is the configuration of startds whose claims may be lent.
const lends = `
START = MY.NegotiatorMatchExprBackfillLease is undefined || MY.NegotiatorMatchExprBackfillLease
CLAIM_WORKLIFE = 1200
CLAIM_PARTITIONABLE_LEFTOVERS = True
`

// TestClaimsAreLent: one match feeds all cores of a slot, and its claims run one short job after the
// other. With a claim for each job these take three minutes.
func TestClaimsAreLent(t *testing.T) {
	t.Parallel()
	shortJobs(t, "dc", "CPUS=16")
}

// TestClaimsAreLentEverywhere does so on all kinds of slots, under other policies.
func TestClaimsAreLentEverywhere(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"easy":         {"CPUS=16"},
		"conservative": {"CPUS=16", "SLOTS=consumption"},
		"ibb":          {"CPUS=16", "SLOTS=static"},
		"pc":           {"NODES=2", "CPUS=8"},
	} {
		t.Run(name, func(t *testing.T) { shortJobs(t, name, settings...) })
	}
}

// shortJobs runs 120 jobs of a second on 16 cores. On a busy machine each takes seconds more, and
// the delays of a row of jobs add up: so promises have more slack than in other tests.
func shortJobs(t *testing.T, policy string, settings ...string) {
	t.Helper()
	pool := ours(t, settings, lends, "BACKFILL_POLICY = "+policy, "BACKFILL_START_SLACK = 40")
	jobs := pool.Submit("alice", sleep(1, 1, 120, estimate+"3"))
	pool.WaitDone(2*time.Minute, jobs...)
	runs := pool.checkLeases(t)
	t.Logf("%s, %s: 120 jobs in %.0f s from the first start to the last end; %d of them needed a match", policy,
		strings.Join(settings, " "), runs.Runs[len(runs.Runs)-1].End.Sub(runs.Runs[0].Start).Seconds(), len(pool.matched()))
	require.Less(t, len(pool.matched()), 90)
}

// TestWideJobStartsAmongLeases: what is promised to a wide job is kept, while claims are lent for the
// small jobs that come before and after it.
func TestWideJobStartsAmongLeases(t *testing.T) {
	t.Parallel()
	// A slot has a new claim to give about every second, and none for some seconds on a busy machine.
	pool := ours(t, []string{"NODES=2"}, lends, "BACKFILL_START_SLACK = 30")
	var wide pooltest.JobID
	var arrived jobPlan
	passed, waited := wideAmongSmall(t, pool.Pool, func(job pooltest.JobID) {
		if arrived.Guarantee == nil {
			wide, arrived = job, pool.startTimes(t)[job.String()]
		}
	})
	require.NotNil(t, arrived.Guarantee, "it was promised a start")
	start := runsOf(pool.Audit(), wide)[0].Start.Unix()
	t.Logf("%d small jobs that came after the wide one started before it; it waited %.0f s and started %d s before its guarantee",
		passed, waited.Seconds(), *arrived.Guarantee-start)
	require.LessOrEqual(t, start, *arrived.Guarantee+slack)
	pool.checkLeases(t)
}

var (
	matchedLine = regexp.MustCompile(`(?m) matched: job=(\S+) `)
	lentLine    = regexp.MustCompile(`(?m)^(\S+ \S+) .* lent: slot=(\S+) .* until=(\d+) `)
)

// matched returns the jobs that were matched.
func (p *ourPool) matched() map[string]bool {
	jobs := map[string]bool{}
	for _, m := range matchedLine.FindAllStringSubmatch(p.Log("NegotiatorLog"), -1) {
		jobs[m[1]] = true
	}
	return jobs
}

// checkLeases requires that each job that ran without a match ran within a lease of its slot.
func (p *ourPool) checkLeases(t *testing.T) pooltest.Audit {
	t.Helper()
	type lease struct{ from, until int64 }
	leases := map[string][]lease{}
	for _, m := range lentLine.FindAllStringSubmatch(p.Log("NegotiatorLog"), -1) {
		from, err := time.ParseInLocation("01/02/06 15:04:05", m[1], time.Local)
		require.NoError(t, err)
		until, err := strconv.ParseInt(m[3], 10, 64)
		require.NoError(t, err)
		leases[m[2]] = append(leases[m[2]], lease{from.Unix(), until})
	}
	audit, matched := p.Audit(), p.matched()
	for _, run := range audit.Runs {
		if matched[run.Job.String()] {
			continue
		}
		slot, _, _ := strings.Cut(run.Slot, "_")
		if slot += "@"; run.Node != "" {
			slot += run.Node + "@"
		}
		within := false
		for _, l := range leases[slot+pooltest.Host] {
			within = within || l.from <= run.Start.Unix() && run.End.Unix() <= l.until
		}
		require.True(t, within, "job %v ran on %s from %s to %s, within none of %v", run.Job, slot+pooltest.Host,
			run.Start.Format(time.TimeOnly), run.End.Format(time.TimeOnly), leases)
	}
	return audit
}
