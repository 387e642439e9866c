// Command negotiator-bench measures a negotiator's cycle on a large pool: a real collector full of
// fake slots, and a real schedd with jobs in 20 autoclusters. It prints the phases of the stock
// negotiator beside those of this project's, which runs alternately with the stock one on the same
// pool, plans, and matches nothing (--observe).
//
//	go run ./integration/htcondor/negotiator-bench --slots 10000 --jobs 10000 --cycles 5
//	go run ./integration/htcondor/negotiator-bench --slots 10000 --jobs 10000 --busy
//
// The jobs match no slot, so that no cycle changes anything; with --busy they match all slots,
// which are all busy: the stock negotiator finds no match, and this one plans a start for each job.
// Needs root, as every pool does.
//
// With --autoclusters the daemons are fakes, and nothing needs root or HTCondor: every slot runs a
// job, and the queue is as long as is asked for. Then it prints our first cycle, the next ones, in
// which 50 jobs end, 50 start and 50 arrive, and the memory that the negotiator took at most.
//
//	go run ./integration/htcondor/negotiator-bench --slots 10000 --jobs 1000000 --autoclusters 2000
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var cli struct {
	Slots  int    `help:"Fake slots." default:"1000"`
	Jobs   int    `help:"Idle jobs." default:"1000"`
	Cycles int    `help:"Cycles of each negotiator in each round." default:"4"`
	Rounds int    `help:"Rounds: in each the stock negotiator runs, then ours." default:"1"`
	Busy   bool   `help:"All slots are busy, and the jobs could run on any."`
	Policy string `help:"Policy of this project's negotiator." default:"conservative"`
	Order  string `help:"Order of the queue, with --autoclusters." default:"fairshare"`

	Autoclusters int    `help:"Fake schedds, with jobs in so many autoclusters."`
	CPUProfile   string `name:"cpuprofile" placeholder:"FILE" help:"Where our time went, with --autoclusters."`
	MemProfile   string `name:"memprofile" placeholder:"FILE" help:"Where our memory went, with --autoclusters."`
}

// cycle is the cost of one cycle: seconds and MiB.
type cycle struct{ fetch, rest, rss float64 }

func main() {
	kong.Parse(&cli, kong.Description("Measure negotiators on a large pool of fake slots."))
	_ = flag.Set("pool", "true")
	r := &run{}
	failed := r.protect(func() {
		if cli.Autoclusters > 0 {
			benchFake(r)
		} else {
			bench(r)
		}
	})
	for _, f := range slices.Backward(r.cleanups) {
		failed = r.protect(f) || failed
	}
	if failed {
		os.Exit(1)
	}
}

func bench(r *run) {
	pool := pooltest.Start(r, "NODES=1", "CPUS=1", "SLOTS=static", "SECURITY=host",
		"EXTRA=CLASSAD_LIFETIME = 7200\nNEGOTIATOR_DEBUG = D_SUB_SECOND\nNEGOTIATOR_INTERVAL = 10\n"+
			"NEGOTIATOR_CYCLE_DELAY = 2\n"+
			"BACKFILL_ESTIMATE_ATTRIBUTES = EstimatedRunTime\nBACKFILL_DEFAULT_ESTIMATE = 3600")
	program := pool.Install(build(r))
	slot := pool.As("root", "condor_status", "-long", "-slots")
	if err := fill("127.0.0.1:"+strconv.Itoa(pool.Port), slot, cli.Slots, cli.Busy); err != nil {
		r.Fatalf("%v", err)
	}
	pool.Wait("all fake slots", time.Minute, func() bool {
		return strings.Count(pool.As("root", "condor_status", "-slots", "-af", "Name"), "\n") >= cli.Slots
	})
	const clusters = 20
	for i := range clusters {
		where := fmt.Sprintf("TARGET.Nowhere == %d", i)
		if cli.Busy {
			where = "TARGET.Fake =?= True"
		}
		pool.Submit("alice", fmt.Sprintf("executable = /bin/sleep\narguments = 60\nrequest_cpus = 1\n"+
			"request_memory = %d\nrequest_disk = 1000\n"+
			"requirements = %s\n+EstimatedRunTime = %d\nqueue %d", 100+i, where, 600+60*i, cli.Jobs/clusters))
	}
	measured := map[string][]cycle{}
	for range cli.Rounds {
		measured["stock"] = append(measured["stock"], stock(pool)...)
		pool.Signal("negotiator", syscall.SIGSTOP)
		measured["ours"] = append(measured["ours"], ours(r, pool, program)...)
		pool.Signal("negotiator", syscall.SIGCONT)
	}
	show(measured)
	pool.As("root", "condor_rm", "-all")
}

var moment = regexp.MustCompile(`(?m)^\d+/\d+/\d+ (\d+):(\d+):([0-9.]+) .*?(Started Negotiation|Phase ` +
	`2:|Finished Negotiation)`)

// stock waits for cycles of the stock negotiator and reads their phases from its log. It skips the
// first two of a round, which began before everything was in place or fill caches for later ones.
func stock(pool *pooltest.Pool) []cycle {
	before := len(stockCycles(pool.Log("NegotiatorLog")))
	var found []cycle
	pool.Wait("cycles of the stock negotiator", 10*time.Minute, func() bool {
		found = stockCycles(pool.Log("NegotiatorLog"))
		return len(found) >= before+2+cli.Cycles
	})
	status := pool.As("root", "sh", "-c", "grep VmRSS /proc/$(pgrep -xo condor_negotiat)/status")
	kib, _ := strconv.ParseFloat(strings.Fields(status)[1], 64)
	found = found[before+2:]
	for i := range found {
		found[i].rss = kib / 1024
	}
	return found
}

func stockCycles(log string) []cycle {
	var cycles []cycle
	var began, fetched float64
	for _, m := range moment.FindAllStringSubmatch(log, -1) {
		var at float64
		for i, seconds := range []float64{3600, 60, 1} {
			n, _ := strconv.ParseFloat(m[1+i], 64)
			at += n * seconds
		}
		switch m[4] {
		case "Started Negotiation":
			began, fetched = at, 0
		case "Phase 2:":
			fetched = at
		default:
			if began > 0 && fetched > 0 {
				cycles = append(cycles, cycle{fetch: fetched - began, rest: at - fetched})
			}
		}
	}
	return cycles
}

// build builds this project's negotiator in a folder of its own; a failure ends the run.
func build(r *run) (path string) {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		r.Fatalf("%v", err)
	}
	r.Cleanup(func() { _ = os.RemoveAll(folder) })
	command := exec.Command("go", "build", "-o", filepath.Join(folder, "negotiator"), "./negotiator/cmd/negotiator")
	command.Dir = pooltest.Root()
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // the pool may have other libraries
	if out, err := command.CombinedOutput(); err != nil {
		r.Fatalf("go build: %v: %s", err, out)
	}
	return filepath.Join(folder, "negotiator")
}

// warm is how many of our first cycles are skipped. With --busy, all jobs are held in the first of
// these (believing): they take ten seconds, after which our negotiator accepts that a slot runs a
// job that is in no queue. Then the jobs are released, to be planned on the busy slots.
const warm, believing = 7, 3

// part matches a phase of a cycle in our log: "plan=0.123s", "rss=120MiB".
var part = regexp.MustCompile(`\b(fetch|match|plan|act|publish|rest|rss)=([0-9.]+)`)

// ours runs this project's negotiator for some cycles and reads them from its output.
func ours(r *run, pool *pooltest.Pool, program string) []cycle {
	if cli.Busy {
		pool.As("root", "condor_hold", "-all")
	}
	command := exec.Command(filepath.Join(pooltest.Root(), "integration", "htcondor", "pool.sh"), "as", pool.Dir, "condor", "sh", "-c",
		program+" --pool htcondor --observe --policy "+cli.Policy+" 2>&1")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		r.Fatalf("%s: %v", program, err)
	}
	deadline := time.AfterFunc(10*time.Minute, func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
	defer deadline.Stop()
	var found []cycle
	var last []string
	for lines := bufio.NewScanner(out); len(found) < cli.Cycles+warm && lines.Scan(); {
		last = append(last[max(0, len(last)-4):], lines.Text())
		if !strings.Contains(lines.Text(), " fetch=") {
			continue
		}
		r.Logf("%s", lines.Text())
		if found = append(found, readCycle(lines.Text())); cli.Busy && len(found) == believing {
			pool.As("root", "condor_release", "-all")
		}
	}
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
	_ = command.Wait()
	if len(found) < cli.Cycles+warm {
		r.Fatalf("our negotiator logged %d cycles of %d; it said last:\n%s", len(found), cli.Cycles+warm,
			strings.Join(last, "\n"))
	}
	return found[warm:]
}

// readCycle reads a cycle from the line of our log that ends it.
func readCycle(line string) (c cycle) {
	for _, m := range part.FindAllStringSubmatch(line, -1) {
		n, _ := strconv.ParseFloat(m[2], 64)
		switch m[1] {
		case "fetch":
			c.fetch = n
		case "rss":
			c.rss = n
		default:
			c.rest += n
		}
	}
	return c
}

func show(measured map[string][]cycle) {
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.AppendHeader(table.Row{"slots", "jobs", "", "negotiator", "cycles", "min", "median", "max", "ours : stock"})
	for _, what := range []struct {
		name  string
		value func(cycle) float64
	}{
		{"fetch, s", func(c cycle) float64 { return c.fetch }},
		{"after the fetch, s", func(c cycle) float64 { return c.rest }},
		{"memory, MiB", func(c cycle) float64 { return c.rss }},
	} {
		medians := map[string]float64{}
		for _, name := range []string{"stock", "ours"} {
			var values []float64
			for _, c := range measured[name] {
				values = append(values, what.value(c))
			}
			slices.Sort(values)
			medians[name] = values[len(values)/2]
			ratio := ""
			if name == "ours" {
				ratio = fmt.Sprintf("%.2f", medians["ours"]/medians["stock"])
			}
			t.AppendRow(table.Row{
				cli.Slots, cli.Jobs, what.name, name, len(values),
				fmt.Sprintf("%.2f", values[0]), fmt.Sprintf("%.2f", medians[name]),
				fmt.Sprintf("%.2f", values[len(values)-1]), ratio,
			})
		}
	}
	t.Render()
}

// run is a pooltest.T for this program, which is no test.
type run struct {
	failed   bool
	cleanups []func()
}

// stopped is the panic with which Fatalf stops the function that called it.
type stopped struct{}

func (r *run) Helper()                     {}
func (r *run) Name() string                { return "bench" }
func (r *run) Failed() bool                { return r.failed }
func (r *run) Cleanup(f func())            { r.cleanups = append(r.cleanups, f) }
func (r *run) Logf(f string, args ...any)  { fmt.Fprintf(os.Stderr, "bench: "+f+"\n", args...) }
func (r *run) Skipf(f string, args ...any) { r.Fatalf(f, args...) }

func (r *run) Errorf(f string, args ...any) {
	r.failed = true
	r.Logf(f, args...)
}

func (r *run) Fatalf(f string, args ...any) {
	r.Errorf(f, args...)
	panic(stopped{})
}

// protect calls the function and reports whether the run has failed, there or before. It recovers
// from the panic with which Fatalf stops the function, not from others.
func (r *run) protect(f func()) (failed bool) {
	defer func() {
		if p := recover(); p != nil && p != (stopped{}) {
			panic(p)
		}
		failed = r.failed
	}()
	f()
	return
}
