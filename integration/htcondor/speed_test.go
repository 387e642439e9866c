package htcondor_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var withSpeed = flag.Bool("speed", false, "compare pools as they are by default under the stock negotiator and under ours, which takes half an hour")

// htcondorsDefaults are the settings that pool.sh makes quicker for tests, as HTCondor has them.
const htcondorsDefaults = `
NEGOTIATOR_INTERVAL = 60
NEGOTIATOR_CYCLE_DELAY = 20
NEGOTIATOR_MIN_INTERVAL = 5
SCHEDD_INTERVAL = 300
SCHEDD_MIN_INTERVAL = 5
UPDATE_INTERVAL = 300
UNUSED_CLAIM_TIMEOUT = 600
JOB_DEFAULT_LEASE_DURATION = 2400
ALIVE_INTERVAL = 300
CLAIM_WORKLIFE = 1200
CLAIM_PARTITIONABLE_LEFTOVERS = True
`

// shipped returns a pool as it is by default: HTCondor's own settings, and those of the file that
// we ship. Its startds know nothing of leases. The negotiator is the stock one, or ours with a
// policy; "default" is the one that the file names.
func shipped(t *testing.T, negotiator string, settings []string, lines string) *pooltest.Pool {
	t.Helper()
	pooltest.Need(t)
	var pool *pooltest.Pool
	if negotiator == "stock" {
		pool = pooltest.Start(t, append(settings, "EXTRA="+htcondorsDefaults+lines)...)
	} else {
		file, err := os.ReadFile(filepath.Join(pooltest.Root(), "configs", "htcondor", "backfill.conf"))
		require.NoError(t, err)
		conf := htcondorsDefaults + string(file) + "\nNEGOTIATOR_DEBUG = D_FULLDEBUG\n" + lines
		if negotiator != "default" {
			conf += "\nBACKFILL_POLICY = " + negotiator + "\n"
		}
		pool = pooltest.Prepare(t, append(settings, "NEGOTIATOR=/usr/local/bin/negotiator", "EXTRA="+conf)...)
		ours := &ourPool{Pool: pool}
		pool.Install(built(t, "../../negotiator/cmd/negotiator"))
		pool.Up()
		t.Cleanup(func() { ours.checkLog(t) })
	}
	pool.Wait("the negotiator", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 1 })
	return pool
}

// TestSpeedByDefault runs the same jobs under the stock negotiator and under ours, on pools as they
// are by default: without the line about leases in START. How fast they are is logged and not
// checked: it depends on what else the machine does.
func TestSpeedByDefault(t *testing.T) {
	pooltest.Need(t)
	if !*withSpeed {
		t.Skip("skipped: it takes half an hour; run it with -pool -speed")
	}
	out := table.NewWriter()
	out.AppendHeader(table.Row{"jobs", "negotiator", "all done, s", "times stock", "narrow jobs' mean wait, s", "matches"})
	for _, load := range []struct {
		name     string
		settings []string
		submit   func(*pooltest.Pool) (jobs, wide []pooltest.JobID)
	}{
		{"120 of 1 s", []string{"CPUS=16"}, alike(120, 1)},
		{"64 of 10 s", []string{"CPUS=16"}, alike(64, 10)},
		{"narrow and wide", []string{"NODES=2", "CPUS=8"}, smallAndWide},
		{"no estimates", []string{"CPUS=16"}, func(pool *pooltest.Pool) (jobs, wide []pooltest.JobID) {
			return pool.Submit("alice", sleep(1, 1, 120)), nil
		}},
	} {
		stock := 0.0
		for _, name := range []string{"stock", "default", "slack", "easy"} {
			t.Run(load.name+"/"+name, func(t *testing.T) {
				pool := shipped(t, name, load.settings, "")
				jobs, wide := load.submit(pool)
				pool.WaitDone(5*time.Minute, append(jobs, wide...)...)
				audit := pool.Audit()
				m := audit.Measure(16, append(jobs, wide...)...)
				row := table.Row{load.name, name, fmt.Sprintf("%.0f", m.Makespan.Seconds()), "", "", ""}
				if name == "stock" {
					stock = m.Makespan.Seconds()
				} else {
					row[5] = strconv.Itoa(len((&ourPool{Pool: pool}).matched()))
				}
				if stock > 0 {
					row[3] = fmt.Sprintf("%.2f", m.Makespan.Seconds()/stock)
				}
				row[4] = fmt.Sprintf("%.1f", audit.Measure(16, jobs...).MeanWait.Seconds())
				t.Log(row...)
				out.AppendRow(row)
			})
		}
	}
	t.Logf("from the first submit on:\n%s", out.RenderMarkdown())
}

// TestSharesByDefault lets two users with factors of 1000 and 2000 share a pool, one of whom comes a
// minute later, and tells how many jobs were done in five minutes, and whose.
func TestSharesByDefault(t *testing.T) {
	pooltest.Need(t)
	if !*withSpeed {
		t.Skip("skipped: it takes twenty minutes; run it with -pool -speed")
	}
	out := table.NewWriter()
	out.AppendHeader(table.Row{"negotiator", "jobs done", "cpu seconds of alice and bob from the third minute on"})
	for _, name := range []string{"stock", "default", "slack", "easy", "easy, and START knows of leases"} {
		t.Run(name, func(t *testing.T) {
			policy, more, _ := strings.Cut(name, ", ")
			lines := "PRIORITY_HALFLIFE = 60\n"
			if more != "" {
				lines += lends
			}
			pool := shipped(t, policy, []string{"CPUS=16"}, lines)
			pool.As("root", "condor_userprio", "-setfactor", "alice@pool.test", "1000")
			pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "2000")
			begin := time.Now()
			jobs := pool.Submit("alice", sleep(15, 1, 400, estimate+"20"))
			time.Sleep(time.Until(begin.Add(time.Minute))) // the pace of the load, not a wait for something
			jobs = append(jobs, pool.Submit("bob", sleep(15, 1, 400, estimate+"20"))...)
			time.Sleep(time.Until(begin.Add(5 * time.Minute)))
			end := time.Now()
			audit := pool.Audit()
			row := table.Row{name, 0, ""}
			for _, run := range audit.Runs {
				if !run.End.IsZero() && run.End.Before(end) {
					row[1] = row[1].(int) + 1
				}
			}
			used := usedBy(audit, begin.Add(2*time.Minute), end, jobs[0].Cluster, jobs[len(jobs)-1].Cluster)
			row[2] = fmt.Sprintf("%.0f, %.0f", used[0], used[1])
			t.Log(row...)
			out.AppendRow(row)
			pool.As("root", "condor_rm", "-all")
			pool.Wait("an empty queue", time.Minute, func() bool { return len(pool.Queue()) == 0 })
		})
	}
	t.Logf("\n%s", out.RenderMarkdown())
}

// usedBy returns how many seconds the jobs of each of some clusters ran between two times.
func usedBy(audit pooltest.Audit, from, until time.Time, clusters ...int) []float64 {
	used := make([]float64, len(clusters))
	for _, run := range audit.Runs {
		start, end := run.Start, run.End
		if start.Before(from) {
			start = from
		}
		if end.IsZero() || end.After(until) {
			end = until
		}
		for i, cluster := range clusters {
			if run.Job.Cluster == cluster {
				used[i] += max(0, end.Sub(start).Seconds())
			}
		}
	}
	return used
}

// TestNewcomersByDefault: alice has 500 jobs of 20 s, and seconds after the first have started bob and
// carol come. It tells what each got until a minute after that, and in the next half minute.
func TestNewcomersByDefault(t *testing.T) {
	pooltest.Need(t)
	if !*withSpeed {
		t.Skip("skipped: it takes ten minutes; run it with -pool -speed")
	}
	out := table.NewWriter()
	out.AppendHeader(table.Row{"negotiator", "cpu seconds of alice, bob and carol in the first minute", "in the next 30 s, of 480"})
	for _, name := range []string{"stock", "default", "slack", "easy", "easy, and START knows of leases"} {
		t.Run(name, func(t *testing.T) {
			policy, more, _ := strings.Cut(name, ", ")
			lines := ""
			if more != "" {
				lines = lends
			}
			pool := shipped(t, policy, []string{"CPUS=16"}, lines)
			alice := pool.Submit("alice", sleep(20, 1, 500, estimate+"25"))
			pool.WaitStatus(pooltest.Running, 2*time.Minute, alice[:8]...)
			bob := pool.Submit("bob", sleep(20, 1, 100, estimate+"25"))
			carol := pool.Submit("carol", sleep(20, 1, 100, estimate+"25"))
			came := time.Now()
			time.Sleep(90 * time.Second) // for what they get meanwhile
			audit := pool.Audit()
			row := table.Row{name, "", ""}
			for i, from := range []int{0, 60} {
				until := came.Add(time.Duration(60+30*i) * time.Second)
				used := usedBy(audit, came.Add(time.Duration(from)*time.Second), until, alice[0].Cluster, bob[0].Cluster, carol[0].Cluster)
				row[1+i] = fmt.Sprintf("%.0f, %.0f, %.0f", used[0], used[1], used[2])
			}
			t.Log(row...)
			out.AppendRow(row)
			pool.As("root", "condor_rm", "-all")
			pool.Wait("an empty queue", time.Minute, func() bool { return len(pool.Queue()) == 0 })
		})
	}
	t.Logf("\n%s", out.RenderMarkdown())
}
