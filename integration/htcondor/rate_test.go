package htcondor_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var withRates = flag.Bool("rates", false, "compare how fast short jobs run under the stock negotiator and under ours, which takes ten minutes")

// TestRates runs the same short jobs under the stock negotiator and under ours, each on a pool of
// its own, one pool at a time. Every negotiator looks at its pool once a minute if nothing happens,
// as by default. Ours must not be slower.
func TestRates(t *testing.T) {
	pooltest.Need(t)
	if !*withRates {
		t.Skip("skipped: it takes ten minutes; run it with -pool -rates")
	}
	out := table.NewWriter()
	out.AppendHeader(table.Row{"jobs", "slots", "negotiator", "all done, s", "jobs a minute", "mean wait, s", "wide jobs' waits, s"})
	for _, load := range []struct {
		name     string
		settings []string
		submit   func(*pooltest.Pool) (jobs, wide []pooltest.JobID)
	}{
		{"120 of 1 s", []string{"CPUS=16"}, alike(120, 1)},
		{"120 of 1 s", []string{"CPUS=16", "SLOTS=consumption"}, alike(120, 1)},
		{"64 of 10 s", []string{"CPUS=16"}, alike(64, 10)},
		{"60 of 2 s", []string{"CPUS=4", "SLOTS=static"}, alike(60, 2)},
		{"84 of 5 s in lots, 3 of 8 cores and 10 s", []string{"NODES=2", "CPUS=8"}, smallAndWide},
	} {
		stock := 0.0
		for _, name := range []string{"stock", "easy", "ibb", "dc"} {
			what := strings.Join(append([]string{load.name}, load.settings...), " ")
			t.Run(what+"/"+name, func(t *testing.T) {
				pool := paced(t, name, load.settings)
				jobs, wide := load.submit(pool)
				pool.WaitDone(5*time.Minute, append(jobs, wide...)...)
				audit := pool.Audit()
				m := audit.Measure(16, append(jobs, wide...)...)
				var waits []string
				for _, job := range wide {
					waits = append(waits, fmt.Sprintf("%.0f", audit.Measure(16, job).MeanWait.Seconds()))
				}
				out.AppendRow(table.Row{
					load.name, strings.Join(load.settings, " "), name, fmt.Sprintf("%.0f", m.Makespan.Seconds()),
					fmt.Sprintf("%.0f", 60*float64(m.Jobs)/m.Makespan.Seconds()), fmt.Sprintf("%.1f", m.MeanWait.Seconds()), strings.Join(waits, ", "),
				})
				if name == "stock" {
					stock = m.Makespan.Seconds()
				}
				if stock > 0 { // else -run has left it out
					require.LessOrEqual(t, m.Makespan.Seconds(), 1.25*stock, "the noise of one run allowed for, it is slower")
				}
			})
		}
	}
	t.Logf("from the first submit on:\n%s", out.RenderMarkdown())
}

// paced is a pool whose negotiator, of which it has heard, looks at it once a minute if nothing
// happens.
func paced(t *testing.T, negotiator string, settings []string) *pooltest.Pool {
	t.Helper()
	const pace = "NEGOTIATOR_INTERVAL = 60\nNEGOTIATOR_CYCLE_DELAY = 20\nNEGOTIATOR_MIN_INTERVAL = 5\nSCHEDD_INTERVAL = 60\n" +
		"SCHEDD_MIN_INTERVAL = 5\n"
	var pool *pooltest.Pool
	if negotiator == "stock" {
		pool = pooltest.Start(t, append(settings, "EXTRA="+pace+"CLAIM_WORKLIFE = 1200\nCLAIM_PARTITIONABLE_LEFTOVERS = True")...)
	} else {
		pool = ours(t, settings, pace, lends, "BACKFILL_POLICY = "+negotiator, "BACKFILL_START_SLACK = 60").Pool
	}
	pool.Wait("the negotiator", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 1 })
	return pool
}

// alike submits jobs that are all alike.
func alike(count, seconds int) func(*pooltest.Pool) (jobs, wide []pooltest.JobID) {
	return func(pool *pooltest.Pool) (jobs, wide []pooltest.JobID) {
		return pool.Submit("alice", sleep(seconds, 1, count, estimate+strconv.Itoa(seconds+3))), nil
	}
}

// smallAndWide submits small jobs in lots, and wide jobs of another user among them.
func smallAndWide(pool *pooltest.Pool) (jobs, wide []pooltest.JobID) {
	for lot := range 12 {
		jobs = append(jobs, pool.Submit("alice", sleep(5, 1, 7, estimate+"8"))...)
		if lot%2 == 1 && len(wide) < 3 {
			wide = append(wide, pool.Submit("bob", sleep(10, 8, 1, estimate+"15"))...)
		}
		time.Sleep(1500 * time.Millisecond) // the pace of the load, not a wait for something
	}
	return jobs, wide
}
