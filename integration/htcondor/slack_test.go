package htcondor_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var withSlack = flag.Bool("slack", false, "compare the policies slack and easy, which takes six minutes")

// TestSlackBesideEasy runs the same 60 jobs under easy and under slack, in two orders, each on a pool
// of its own. Which of them is faster is logged and not checked: that depends on the jobs.
func TestSlackBesideEasy(t *testing.T) {
	pooltest.Need(t)
	if !*withSlack {
		t.Skip("skipped: it takes six minutes; run it with -pool -slack")
	}
	contenders := []string{"easy, fairshare", "slack, fairshare", "easy, area", "slack, area"}
	outcomes := make([]mixture, len(contenders))
	t.Run("all", func(t *testing.T) {
		for i, name := range contenders {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				policy, order, _ := strings.Cut(name, ", ")
				outcomes[i] = runMixture(t, policy, order, 5)
			})
		}
	})
	out := table.NewWriter()
	out.AppendHeader(table.Row{
		"policy, order", "mean wait, s", "bounded slowdown", "the longest 3 waits, mean, s", "wide jobs' waits, s",
		"makespan, s", "promised", "started before the promise, s: least, median",
	})
	for i, name := range contenders {
		m := outcomes[i]
		row := table.Row{name}
		for _, value := range []string{
			seconds(m.meanWait), fmt.Sprintf("%.2f", m.slowdown), seconds(m.worst), strings.Join(m.wide, ", "),
			seconds(m.Makespan), strconv.Itoa(len(m.early)), "",
		} {
			row = append(row, value)
		}
		if n := len(m.early); n > 0 {
			row[len(row)-1] = fmt.Sprintf("%d, %d", m.early[0], m.early[n/2])
		}
		out.AppendRow(row)
	}
	t.Logf("60 jobs on 16 cores:\n%s", out.RenderMarkdown())
}

// TestSomeJobsUnderSlack is the start of TestSlackBesideEasy.
func TestSomeJobsUnderSlack(t *testing.T) {
	t.Parallel()
	m := runMixture(t, "slack", "fairshare", 1)
	t.Logf("12 jobs under slack in %s s; %d were promised a start", seconds(m.Makespan), len(m.early))
}

// nap is a job of the mixture.
type nap struct{ seconds, cores, estimate int }

// wholePool is how many cores the pool of the mixture has, and its wide jobs ask for.
const wholePool = 16

// lotOf returns twelve jobs that are submitted at once: eight short and narrow ones, three longer
// ones, and one as wide as the pool. A third of them ends long before its estimate; that of the
// others leaves room for the noise of the machine.
func lotOf(lot int) (jobs []nap) {
	for i := range 12 {
		job := nap{seconds: 4 + (lot+i)%4, cores: 1 + i%2}
		switch i {
		case 2, 6, 9:
			job = nap{seconds: 16 + 4*((lot+i)%3), cores: 2 + (lot+i)%3}
		case 4:
			job = nap{seconds: 6, cores: wholePool}
		}
		job.estimate = job.seconds + 4
		if (lot+i)%3 == 0 {
			job.estimate = 3 * job.seconds
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// mixture is how the jobs of some lots ran.
type mixture struct {
	outcome
	worst time.Duration // the mean of the longest twentieth of the waits
	wide  []string      // the waits of the wide jobs, in seconds
	early []int64       // by how many seconds jobs started before the start that they were promised, from the least
}

// runMixture submits so many lots, one each twelve seconds, to a pool under a policy and an order.
// It checks that all jobs ran once and to their end, and that each started by what it was promised.
func runMixture(t *testing.T, policy, order string, lots int) mixture {
	t.Helper()
	pool := ours(t, []string{"CPUS=16", "SLOTS=consumption"}, "BACKFILL_POLICY = "+policy, "BACKFILL_ORDER = "+order)
	pool.Wait("the negotiator", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 1 })
	var ids []pooltest.JobID
	var naps []nap
	promised, ranged := map[string]int64{}, ""
	begin := time.Now()
	for lot := 0; lot < lots || !pool.allDone(ids); time.Sleep(time.Second) {
		require.Less(t, time.Since(begin), 8*time.Minute, "some jobs starve")
		if lot < lots && time.Since(begin) >= time.Duration(lot)*12*time.Second {
			jobs := lotOf(lot)
			ids, naps = append(ids, pool.Submit("alice", describe(jobs))...), append(naps, jobs...)
			require.Len(t, ids, len(naps))
			lot++
		}
		plans := pool.startTimes(t)
		if ranged == "" && slices.ContainsFunc(slices.Collect(maps.Values(plans)), jobPlan.ranged) {
			ranged = pool.As("alice", "negotiator", "start-times")
		}
		for job, plan := range plans {
			if _, known := promised[job]; !known && plan.Guarantee != nil {
				promised[job] = *plan.Guarantee // what it is told first holds to the end
			}
		}
	}
	t.Logf("the first start times with ranges under %s:\n%s", policy, ranged)
	told := pool.As("alice", "negotiator", "start-times", "--accuracy")
	require.Regexp(t, `(?m)^ arrival +[1-9]`, told)
	t.Logf("how true start times were under %s:\n%s", policy, told)
	m := examine(t, pool.Audit(), ids, naps, promised)
	require.Equal(t, policy == "slack", len(m.early) > 0, "slack alone promises starts")
	return m
}

// describe returns the submit description of jobs.
func describe(jobs []nap) string {
	var all []string
	for _, job := range jobs {
		all = append(all, sleep(job.seconds, job.cores, 1, estimate+strconv.Itoa(job.estimate)))
	}
	return strings.Join(all, "\n")
}

// allDone tells whether all of the jobs have completed.
func (p *ourPool) allDone(jobs []pooltest.JobID) bool {
	status := p.Statuses()
	return !slices.ContainsFunc(jobs, func(job pooltest.JobID) bool { return status[job] != pooltest.Completed })
}

// examine checks and summarizes how the mixture ran.
func examine(t *testing.T, audit pooltest.Audit, ids []pooltest.JobID, naps []nap, promised map[string]int64) mixture {
	t.Helper()
	audit.Check(t)
	runTimes := map[pooltest.JobID]time.Duration{}
	var m mixture
	var waits []time.Duration
	for i, id := range ids {
		runTimes[id] = time.Duration(naps[i].seconds) * time.Second
		runs := runsOf(audit, id)
		require.Len(t, runs, 1, "job %v", id)
		require.True(t, runs[0].Success, "job %v", id)
		wait := runs[0].Start.Sub(audit.Submits[id])
		waits = append(waits, wait)
		if naps[i].cores == wholePool {
			m.wide = append(m.wide, seconds(wait))
		}
		if latest, ok := promised[id.String()]; ok {
			before := latest - runs[0].Start.Unix()
			require.GreaterOrEqual(t, before, int64(-slack), "job %v started later than it was promised", id)
			m.early = append(m.early, before)
		}
	}
	slices.Sort(waits)
	slices.Sort(m.early)
	longest := waits[len(waits)-max(1, len(waits)/20):]
	for _, wait := range longest {
		m.worst += wait / time.Duration(len(longest))
	}
	m.outcome = sum(audit, runTimes, 0)
	return m
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f", d.Seconds()) }
