package htcondor_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var withPaper = flag.Bool("paper", false, "run the paper's experiment under the stock negotiator and ours")

// workload says how the 54 jobs of the IBB paper's experiment are run.
type workload struct {
	count  int     // the number of jobs
	gangs  bool    // as gangs; else each as a job of one node with as many cores
	scale  float64 // of run times
	within time.Duration
}

// outcome summarizes how they ran.
type outcome struct {
	pooltest.Measures
	done              int
	meanWait          time.Duration // of completed jobs: the time beyond their run time
	slowdown          float64       // bounded, of completed jobs: run times count as at least 10 s
	restarts, crashes int           // runs after the first; crashes of the schedd
}

// TestPaper is the experiment of the IBB paper: four nodes, 54 gangs, one submitted each second.
// The pools' audits check that every gang ran as a whole and once.
func TestPaper(t *testing.T) {
	pooltest.Need(t)
	if !*withPaper {
		t.Skip("skipped: it takes 20 minutes; run it with -pool -paper")
	}
	const stockGangs = "EXTRA=SCHEDD_INTERVAL = 1\nSCHEDD_MIN_INTERVAL = 1\nCLAIM_WORKLIFE = 1200\n" +
		"DEDICATED_SCHEDULER_USE_FIFO = "
	gangs := workload{count: 54, gangs: true, scale: 1, within: 14 * time.Minute}
	single := workload{count: 54, scale: 0.3, within: 4 * time.Minute}
	underPolicy := func(policy string) func(*testing.T) *pooltest.Pool {
		return func(t *testing.T) *pooltest.Pool {
			t.Helper()
			return ours(t, paperPool, forGangs, "BACKFILL_POLICY = "+policy).Pool
		}
	}
	stock := func(extra string) func(*testing.T) *pooltest.Pool {
		return func(t *testing.T) *pooltest.Pool {
			t.Helper()
			return pooltest.Start(tolerant{t}, append(slices.Clone(paperPool), extra)...)
		}
	}
	t.Run("gangs", func(t *testing.T) {
		compare(t, gangs, []contender{
			{"stock, FIFO (the paper's FCFS)", stock(stockGangs + "True")},
			{"stock, no FIFO (the paper's best fit)", stock(stockGangs + "False")},
			{"ours, first-fit", underPolicy("first-fit")},
			{"ours, ibb", underPolicy("ibb")},
		})
	})
	t.Run("jobs of one node", func(t *testing.T) {
		compare(t, single, []contender{
			{"stock", stock("EXTRA=")},
			{"ours, first-fit", underPolicy("first-fit")},
			{"ours, ibb", underPolicy("ibb")},
		})
	})
}

// TestSomeGangsOfThePaper is the start of TestPaper.
func TestSomeGangsOfThePaper(t *testing.T) {
	t.Parallel()
	pool := ours(t, paperPool, forGangs, "BACKFILL_POLICY = ibb")
	o := run(t, pool.Pool, workload{count: 4, gangs: true, scale: 0.1, within: 3 * time.Minute})
	require.Equal(t, 4, o.done)
}

// tolerant is a test that continues after violations found by the audit: a crashed schedd leaves no
// record of how its gangs ended, so that they seem to overlap with later ones.
type tolerant struct{ *testing.T }

func (t tolerant) Errorf(format string, args ...any) { t.Logf(format, args...) }

var paperPool = []string{"NODES=4", "SLOTS=consumption"}

type contender struct {
	name string
	pool func(*testing.T) *pooltest.Pool
}

// compare runs a workload under each contender and logs a table. The pools run at once, because
// they sleep most of the time.
func compare(t *testing.T, w workload, contenders []contender) {
	t.Helper()
	outcomes := make([]outcome, len(contenders))
	t.Run("all", func(t *testing.T) {
		for i, c := range contenders {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				outcomes[i] = run(t, c.pool(t), w)
			})
		}
	})
	out := table.NewWriter()
	out.AppendHeader(table.Row{
		"negotiator", "done", "makespan, s", "mean wait, s", "bounded slowdown", "utilisation",
		"restarts", "schedd crashes",
	})
	for i, c := range contenders {
		o := outcomes[i]
		out.AppendRow(table.Row{
			c.name, o.done, fmt.Sprintf("%.0f", o.Makespan.Seconds()), fmt.Sprintf("%.0f", o.meanWait.Seconds()),
			fmt.Sprintf("%.1f", o.slowdown), fmt.Sprintf("%.2f", o.Utilisation), o.restarts, o.crashes,
		})
	}
	t.Logf("run times times %v:\n%s", w.scale, out.RenderMarkdown())
}

// run submits the jobs, one each second, and summarizes how they ran. The stock negotiator may not
// finish all of them: that is a result.
func run(t *testing.T, pool *pooltest.Pool, w workload) outcome {
	t.Helper()
	text, err := fs.ReadFile(configs.Files(), configs.NPB54)
	require.NoError(t, err)
	runTimes := map[pooltest.JobID]time.Duration{}
	begin := time.Now()
	for i, job := range lineAds(string(text))[:w.count] {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second)))
		number := func(name string) float64 {
			value, err := strconv.ParseFloat(job[name], 64)
			require.NoError(t, err, name)
			return value
		}
		seconds := number("RemoteWallClockTime") * w.scale
		nodes, cores := int(number("MaxHosts")), int(number("RequestCpus"))
		more := []string{
			fmt.Sprintf("arguments = %.2f", seconds), "request_memory = " + job["RequestMemory"],
			fmt.Sprintf("+EstimatedRunTime = %.0f", max(1, number("EstimatedRunTime")*w.scale)),
		}
		description := sleep(0, min(8, nodes*cores), 1, more...)
		if w.gangs {
			description = gang(0, nodes, cores, more...)
		}
		id := pool.Submit(strings.Trim(job["Owner"], `"`), description)[0]
		runTimes[id] = time.Duration(seconds * float64(time.Second))
	}
	for time.Since(begin) < w.within {
		status := pool.Statuses()
		waiting := 0
		for id := range runTimes {
			if status[id] != pooltest.Completed {
				waiting++
			}
		}
		if waiting == 0 {
			break
		}
		time.Sleep(2 * time.Second)
	}
	return sum(pool.Audit(), runTimes, crashes(pool))
}

func sum(a pooltest.Audit, runTimes map[pooltest.JobID]time.Duration, crashes int) outcome {
	o := outcome{Measures: a.Measure(4*8, slices.Collect(maps.Keys(runTimes))...), crashes: crashes}
	for id, seconds := range runTimes {
		var end time.Time
		starts := 0
		for _, r := range runsOf(a, id) {
			if r.Part != 0 {
				continue // the first node stands for its gang
			}
			if starts++; r.Success {
				end = r.End
			}
		}
		o.restarts += max(0, starts-1)
		if end.IsZero() {
			continue
		}
		took := end.Sub(a.Submits[id])
		o.done++
		o.meanWait += took - seconds
		o.slowdown += max(1, took.Seconds()/max(10, seconds.Seconds()))
	}
	o.meanWait /= time.Duration(max(1, o.done))
	o.slowdown /= float64(max(1, o.done))
	return o
}

// lineAds parses ads in line form, with values as text.
func lineAds(text string) []map[string]string {
	var ads []map[string]string
	for block := range strings.SplitSeq(text, "\n\n") {
		ad := map[string]string{}
		for line := range strings.Lines(block) {
			if name, value, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "#") {
				ad[name] = strings.TrimSpace(value)
			}
		}
		if len(ad) > 0 {
			ads = append(ads, ad)
		}
	}
	return ads
}

// TestWideJobAmongSmallOnes measures how long a job that needs a whole node waits while small ones
// keep coming.
func TestWideJobAmongSmallOnes(t *testing.T) {
	t.Parallel()
	pool := pooltest.Start(t, "NODES=2", "SLOTS=consumption")
	passed, waited := wideAmongSmall(t, pool, func(pooltest.JobID) {})
	t.Logf("stock: %d small jobs that came after the wide one started before it; it waited %.0f s", passed,
		waited.Seconds())
	require.Greater(t, passed, 20, "the stock negotiator starves the wide job for as long as small ones come")
}

// wideAmongSmall keeps two nodes of 8 cores busy with jobs of one core for 50 s, asks for a whole
// node at the start, and then calls watch every second. It returns how many of the later small jobs
// started earlier than the wide one, and how long that waited.
func wideAmongSmall(t *testing.T, pool *pooltest.Pool,
	watch func(wide pooltest.JobID),
) (passed int, waited time.Duration) {
	t.Helper()
	// A job that outlives its estimate counts for twice that, later than a guarantee allows for. So
	// the estimate leaves room for what a noisy machine adds to 12 s.
	const estimate = "+EstimatedRunTime = 18"
	begin := time.Now()
	// The first jobs end one after the other, so that no node becomes free by chance.
	jobs := pool.Submit("alice", strings.Replace(sleep(12, 1, 16, estimate), "arguments = 12",
		"seconds = $(Process) * 3 / 4\narguments = $INT(seconds)", 1))
	var wide []pooltest.JobID
	const seconds = 50
	for sent := 0; sent < seconds; {
		// One job a second, also where one submission takes seconds: else the nodes are not busy.
		due := max(1, min(seconds, int(time.Since(begin).Seconds())+1)-sent)
		jobs = append(jobs, pool.Submit("alice", sleep(12, 1+sent%3/2, due, estimate))...)
		if sent += due; sent > 3 && wide == nil {
			wide = pool.Submit("alice", sleep(5, 8, 1, "+EstimatedRunTime = 10"))
		}
		if wide != nil {
			watch(wide[0])
		}
		time.Sleep(time.Until(begin.Add(time.Duration(sent) * time.Second)))
	}
	pool.WaitDone(3*time.Minute, append(jobs, wide...)...)
	audit := pool.Audit()
	var start time.Time
	for _, run := range audit.Runs {
		if run.Job == wide[0] {
			start = run.Start
			break
		}
	}
	came := audit.Submits[wide[0]]
	for _, run := range audit.Runs {
		if audit.Submits[run.Job].After(came) && run.Start.Before(start) {
			passed++
		}
	}
	return passed, start.Sub(came)
}
