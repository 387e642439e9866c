package htcondor_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
	out.AppendHeader(table.Row{"negotiator", "jobs done", "alice's and bob's cpu seconds in the last three minutes"})
	for name, lines := range map[string]string{"stock": "", "default": "", "slack": "", "easy": "", "easy, leases": lends} {
		t.Run(name, func(t *testing.T) {
			policy := name
			if lines != "" {
				policy = "easy"
			}
			pool := shipped(t, policy, []string{"CPUS=16"}, lines+"PRIORITY_HALFLIFE = 60\n")
			pool.As("root", "condor_userprio", "-setfactor", "alice@pool.test", "1000")
			pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "2000")
			begin := time.Now()
			jobs := pool.Submit("alice", sleep(15, 1, 400, estimate+"20"))
			time.Sleep(time.Until(begin.Add(time.Minute)))
			jobs = append(jobs, pool.Submit("bob", sleep(15, 1, 400, estimate+"20"))...)
			time.Sleep(time.Until(begin.Add(5 * time.Minute)))
			end := time.Now()
			pool.As("root", "condor_rm", "-all")
			audit, done, used := pool.Audit(), 0, map[string]float64{}
			for _, run := range audit.Runs {
				if !run.End.IsZero() && run.End.Before(end) {
					done++
				}
				from, until := run.Start, run.End
				if from.Before(begin.Add(2 * time.Minute)) {
					from = begin.Add(2 * time.Minute)
				}
				if until.IsZero() || until.After(end) {
					until = end
				}
				who := "alice"
				if run.Job.Cluster != jobs[0].Cluster {
					who = "bob"
				}
				used[who] += max(0, until.Sub(from).Seconds())
			}
			row := table.Row{name, done, fmt.Sprintf("%.0f, %.0f", used["alice"], used["bob"])}
			t.Log(row...)
			out.AppendRow(row)
		})
	}
	t.Logf("\n%s", out.RenderMarkdown())
}
