package htcondor_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var withExpensive = flag.Bool("expensive", false, "submit a thousand jobs whose Requirements are expensive to evaluate")

// TestExpensiveJobs submits 200 honest jobs to a pool in which another user has 1,000 jobs of the
// worst kinds, and to one in which he has none. Under our negotiator the honest jobs' mean wait may
// be at most a tenth longer; the stock negotiator's waits are logged for comparison. The pools run
// one after the other, because the processor is what they compete for.
func TestExpensiveJobs(t *testing.T) {
	pooltest.Need(t)
	if !*withExpensive {
		t.Skip("skipped: it takes a quarter of an hour; run it with -pool -expensive")
	}
	settings := []string{"NODES=4", "SLOTS=consumption"}
	start := func(t *testing.T, name string) *pooltest.Pool {
		t.Helper()
		if name == "ours" {
			return ours(t, settings, "BACKFILL_POLICY = easy").Pool
		}
		return pooltest.Start(t, append(settings, stockPace)...)
	}
	out := table.NewWriter()
	out.AppendHeader(table.Row{"negotiator", "expensive jobs", "honest jobs that started", "mean wait, s", "longest wait, s"})
	means := map[string]time.Duration{}
	for _, name := range []string{"ours", "ours", "stock", "stock"} {
		expensive := 1000
		if _, quiet := means[name+" 0"]; !quiet {
			expensive = 0
		}
		t.Run(fmt.Sprintf("%s %d", name, expensive), func(t *testing.T) {
			w := honestWaits(t, start(t, name), expensive)
			means[fmt.Sprint(name, " ", expensive)] = w.mean
			out.AppendRow(table.Row{
				name, expensive, w.started, fmt.Sprintf("%.1f", w.mean.Seconds()), fmt.Sprintf("%.1f", w.longest.Seconds()),
			})
		})
	}
	t.Logf("200 honest jobs of 2 s on 32 cores:\n%s", out.RenderMarkdown())
	require.LessOrEqual(t, means["ours 1000"].Seconds(), means["ours 0"].Seconds()*1.1)
}

// stockPace has the stock negotiator begin cycles as often as ours does in these tests.
const stockPace = "EXTRA=NEGOTIATOR_INTERVAL = 2\nNEGOTIATOR_MIN_INTERVAL = 1\nNEGOTIATOR_CYCLE_DELAY = 1\n" +
	"SCHEDD_INTERVAL = 2\nSCHEDD_MIN_INTERVAL = 1"

// waits says how long honest jobs waited. Jobs that did not start count as waiting until the end.
type waits struct {
	started       int
	mean, longest time.Duration
}

// honestWaits submits expensive jobs, and then the honest ones, and measures how long these wait.
func honestWaits(t *testing.T, pool *pooltest.Pool, expensive int) (w waits) {
	t.Helper()
	if expensive > 0 {
		pool.Submit("alice", expensiveJobs(expensive))
	}
	pool.Wait("the first cycle", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 1 })
	jobs := pool.Submit("bob", sleep(2, 1, 200, "+EstimatedRunTime = 2"))
	end := time.Now().Add(8 * time.Minute)
	for time.Now().Before(end) {
		out, err := pool.Try("root", "condor_q", "-name", pooltest.Host, "bob", "-af", "ClusterId")
		if err == nil && out == "" {
			break
		}
		time.Sleep(time.Second) // a schedd that is busy does not answer in time
	}
	end = time.Now()
	t.Logf("the negotiator's cycles:\n%s", strings.Join(cycles(pool), "\n"))
	audit := pool.Audit()
	for _, job := range jobs {
		starts := runsOf(audit, job)
		waited := end.Sub(audit.Submits[job])
		if len(starts) > 0 {
			waited = starts[0].Start.Sub(audit.Submits[job])
			w.started++
		}
		w.mean += waited / time.Duration(len(jobs))
		w.longest = max(w.longest, waited)
	}
	return w
}

// cycles returns what our negotiator's log says of each cycle; nothing for the stock negotiator.
func cycles(pool *pooltest.Pool) (lines []string) {
	for line := range strings.Lines(pool.Log("NegotiatorLog")) {
		if strings.Contains(line, "[INFO]  cycle ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// expensiveJobs describes jobs that match no slot, each of which takes long to find that out.
func expensiveJobs(count int) string {
	kinds := expensiveKinds()
	var text strings.Builder
	text.WriteString("executable = /bin/sleep\narguments = 1\nrequest_cpus = 1\nrequest_memory = 100\n")
	for _, kind := range kinds {
		// Each job is of its own kind, and sees each slot as another one.
		fmt.Fprintf(&text, "requirements = (isError(%s) || TARGET.Name == \"nobody$(Process)\") && TARGET.Cpus > 10000\n%s\n"+
			"queue %d\n", kind.expression, strings.Join(kind.attributes, "\n"), count/len(kinds))
	}
	return text.String()
}

// kind is a kind of expensive job: an expression, and attributes that it refers to.
type kind struct {
	expression string
	attributes []string
}

// expensiveKinds are cheap without a slot, and refer to few attributes: the schedd evaluates them as
// well, and expands each reference anew, and it must survive that.
func expensiveKinds() []kind {
	with := func(expression string) string { return "ifThenElse(TARGET.Cpus > 0, " + expression + ", undefined)" }
	often := func(part string, n int) string { return strings.Join(slices.Repeat([]string{part}, n), " + ") }
	many := func(piece string) string { // pieces of text, one after the other
		return fmt.Sprintf(`regexps("a", "%s", "%s", "g")`, strings.Repeat("a", 400), piece)
	}
	return []kind{
		{with("stringListSum(Numbers)"), []string{"+Numbers = " + with(many(strings.Repeat("9", 1000)+","))}},
		{
			with(often("Often1", 50)),
			[]string{"+Often1 = " + with(often("Often0", 50)), "+Often0 = " + with("size("+many("xxxxxxxx")+")")},
		},
		{with(`regexp("(a+)+$", "` + strings.Repeat("a", 40) + `b")`), nil},
		{with("size(" + many(strings.Repeat("x", 1000)) + ")"), nil},
		{with("regexp(TARGET.Name, TARGET.Environment)"), nil},
	}
}
