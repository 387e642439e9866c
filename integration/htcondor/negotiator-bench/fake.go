package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// fakePool is a collector and schedds that are fakes. Each slot runs a job. The other jobs wait, in
// groups of those that are alike, one for each autocluster; the groups are spread over the schedds.
type fakePool struct {
	tb        testing.TB
	collector *fakes.Collector
	schedds   []*fakes.Schedd
	began     time.Time
	last      int     // the number of the last job, a cluster of its own
	waiting   [][]int // the numbers of the jobs that wait, by autocluster
	runs      []ran   // by slot
	slots     []*classad.ClassAd
	running   []*classad.ClassAd // the group of the job that runs on a slot
}

// ran is a job that runs: its autocluster and its number.
type ran struct{ kind, number int }

// events is how many jobs end, start and arrive between two cycles, each.
const events = 50

const fakeSchedds = 4

// fakeTB lets fakes use a run where they expect a test.
type fakeTB struct {
	testing.TB
	*run
}

func (t fakeTB) Helper()                           {}
func (t fakeTB) Name() string                      { return t.run.Name() }
func (t fakeTB) Failed() bool                      { return t.run.Failed() }
func (t fakeTB) Cleanup(f func())                  { t.run.Cleanup(f) }
func (t fakeTB) FailNow()                          { t.run.Fatalf("a fake daemon failed") }
func (t fakeTB) Logf(format string, args ...any)   { t.run.Logf(format, args...) }
func (t fakeTB) Skipf(format string, args ...any)  { t.run.Skipf(format, args...) }
func (t fakeTB) Errorf(format string, args ...any) { t.run.Errorf(format, args...) }
func (t fakeTB) Fatalf(format string, args ...any) { t.run.Fatalf(format, args...) }

func newFakePool(r *run, slots, jobs, autoclusters int) *fakePool {
	tb := fakeTB{run: r}
	p := &fakePool{
		tb: tb, collector: fakes.NewCollector(tb), began: time.Now(), waiting: make([][]int, autoclusters),
		runs: make([]ran, slots), slots: make([]*classad.ClassAd, slots), running: make([]*classad.ClassAd, slots),
	}
	for i := range fakeSchedds {
		p.schedds = append(p.schedds, fakes.NewSchedd(tb, fmt.Sprintf("schedd%d@test", i)))
	}
	for i := range slots + jobs {
		p.arrive(i % autoclusters)
	}
	for i := range slots {
		p.start(i, i%autoclusters)
	}
	p.publish()
	return p
}

// arrive adds a job to those that wait.
func (p *fakePool) arrive(kind int) {
	p.last++
	p.waiting[kind] = append(p.waiting[kind], p.last)
}

// start has a slot run the first waiting job of an autocluster, in place of the one that it runs.
func (p *fakePool) start(slot, kind int) {
	p.runs[slot] = ran{kind, p.waiting[kind][0]}
	p.waiting[kind] = p.waiting[kind][1:]
	now := time.Now().Unix()
	p.slots[slot] = p.parse(fmt.Sprintf("MyType = \"Machine\"\nName = \"slot1@n%d\"\nMachine = \"n%d\"\n"+
		"MyAddress = \"<127.0.0.1:%d>\"\nState = \"Claimed\"\nActivity = \"Busy\"\nJobId = \"%d.0\"\n"+
		"GlobalJobId = \"%s#%d.0#1\"\nJobStart = %d\nRemoteUser = \"user%d@test\"\nCpus = 1\nMemory = 4096\n"+
		"Disk = 1000000\nArch = \"X86_64\"\nOpSys = \"LINUX\"\nSTART = true\n"+
		"Requirements = START && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory\n",
		slot, slot, 10_000+slot%50_000, p.runs[slot].number, p.schedd(kind).Name, p.runs[slot].number, now, kind%50))
	p.running[slot] = p.group(kind, fmt.Sprintf("JobStatus = 2\nRemoteHost = \"slot1@n%d\"\nJobCurrentStartDate = %d\n",
		slot, now), p.runs[slot].number)
}

// pass is what happens between two cycles. On each slot the same number of jobs has run.
func (p *fakePool) pass(round int) {
	for i := range events {
		slot := (round*events + i) % len(p.slots)
		kind := p.runs[slot].kind
		p.arrive(kind)
		p.start(slot, kind)
	}
	p.publish()
}

func (p *fakePool) schedd(kind int) *fakes.Schedd { return p.schedds[kind%fakeSchedds] }

func (p *fakePool) parse(text string) *classad.ClassAd {
	ad, err := classad.ParseOld(text)
	if err != nil {
		p.tb.Fatalf("%v: %s", err, text)
	}
	return ad
}

// group is what a schedd tells of jobs of an autocluster that are alike.
func (p *fakePool) group(kind int, state string, numbers ...int) *classad.ClassAd {
	ids := make([]byte, 0, 10*len(numbers))
	for _, n := range numbers {
		ids = append(strconv.AppendInt(ids, int64(n), 10), ".0 "...)
	}
	return p.parse(fmt.Sprintf("User = \"user%d@test\"\nOwner = \"user%d\"\nJobUniverse = 5\nQDate = %d\nJobPrio = 0\n"+
		"MinHosts = 1\nMaxHosts = 1\nRequestCpus = 1\nRequestMemory = %d\nRequestDisk = 1000\nEstimatedRunTime = %d\n"+
		"Cmd = \"/home/user%d/bin/simulate\"\n"+
		"Requirements = TARGET.Arch == \"X86_64\" && TARGET.OpSys == \"LINUX\" && "+
		"TARGET.Memory >= RequestMemory\n%sJobCount = %d\nJobIds = \"%s\"\n",
		kind%50, kind%50, p.began.Unix()-int64(10*kind), 4000-kind%3900, 3600*(1+kind%24), kind%50,
		state, len(numbers), ids))
}

// publish shows the pool to whoever asks.
func (p *fakePool) publish() {
	groups := map[*fakes.Schedd][]*classad.ClassAd{}
	idle := map[*fakes.Schedd][]int{}
	for kind, numbers := range p.waiting {
		s := p.schedd(kind)
		groups[s] = append(groups[s], p.group(kind, "JobStatus = 1\n", numbers...))
		if idle[s] == nil {
			idle[s] = make([]int, 50)
		}
		idle[s][kind%50] += len(numbers)
	}
	for slot, r := range p.runs {
		groups[p.schedd(r.kind)] = append(groups[p.schedd(r.kind)], p.running[slot])
	}
	var submitters, schedulers []*classad.ClassAd
	for _, s := range p.schedds {
		s.SetGroups(groups[s]...)
		s.SetTime(time.Now().Unix())
		schedulers = append(schedulers, p.parse(s.Ad()))
		for user, n := range idle[s] {
			submitters = append(submitters, p.parse(s.SubmitterAd(fmt.Sprintf("user%d@test", user), "", n, 0)))
		}
	}
	p.collector.SetAds("Machine", slices.Clone(p.slots)...)
	p.collector.SetAds("Scheduler", schedulers...)
	p.collector.SetAds("Submitter", submitters...)
}

// configure writes a configuration of HTCondor, and the program that prints it, and returns the
// folder.
func (p *fakePool) configure() string {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		p.tb.Fatalf("%v", err)
	}
	p.tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	text := fmt.Sprintf("COLLECTOR_HOST = %s\nSEC_CLIENT_AUTHENTICATION_METHODS = CLAIMTOBE\n"+
		"SEC_DEFAULT_AUTHENTICATION_METHODS = CLAIMTOBE\nUID_DOMAIN = test\nTRUST_DOMAIN = test\n"+
		"FULL_HOSTNAME = here.test\nIP_ADDRESS = 127.0.0.1\nBIND_ALL_INTERFACES = False\n"+
		"ALLOW_READ = *@test\nCONDOR_IDS = %d.%d\nNEGOTIATOR_INTERVAL = 2\nBACKFILL_CYCLE_DELAY = 1\n"+
		"BACKFILL_POLICY = %s\nBACKFILL_IN_PROCESS = true\nBACKFILL_ORDER = %s\nBACKFILL_STATE = %s\n"+
		"BACKFILL_ESTIMATE_ATTRIBUTES = EstimatedRunTime\n",
		strings.Trim(p.collector.Address().String(), "<>"), os.Getuid(), os.Getgid(), cli.Policy, cli.Order,
		filepath.Join(folder, "state"))
	script := "#!/bin/sh\ncat '" + filepath.Join(folder, "dump") + "'\n"
	if err = os.WriteFile(filepath.Join(folder, "dump"), []byte(text), 0o600); err == nil {
		err = os.WriteFile(filepath.Join(folder, condorconfig.Program), []byte(script), 0o700)
	}
	if err != nil {
		p.tb.Fatalf("%v", err)
	}
	return folder
}

// benchFake measures our negotiator on a pool of fakes.
func benchFake(r *run) {
	program := build(r)
	pool := newFakePool(r, cli.Slots, cli.Jobs, cli.Autoclusters)
	folder := pool.configure()
	arguments := []string{"-t", "--observe"}
	for flag, file := range map[string]string{"--cpuprofile": cli.CPUProfile, "--memprofile": cli.MemProfile} {
		if file != "" {
			arguments = append(arguments, flag, file)
		}
	}
	command := exec.Command(program, arguments...)
	command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "CONDOR_IDS=")
	out, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		r.Fatalf("%s: %v", program, err)
	}
	deadline := time.AfterFunc(10*time.Minute, func() { _ = command.Process.Kill() })
	defer deadline.Stop()
	var found []cycle
	var last []string
	for lines := bufio.NewScanner(out); len(found) <= cli.Cycles && lines.Scan(); {
		last = append(last[max(0, len(last)-4):], lines.Text())
		if !strings.Contains(lines.Text(), " fetch=") {
			continue
		}
		r.Logf("%s", lines.Text())
		found = append(found, readCycle(lines.Text()))
		pool.pass(len(found))
	}
	peak := peakMemory(command.Process.Pid)
	_ = command.Process.Signal(syscall.SIGTERM)
	_ = command.Wait()
	if len(found) <= cli.Cycles {
		r.Fatalf("our negotiator logged %d cycles of %d; it said last:\n%s", len(found), cli.Cycles+1,
			strings.Join(last, "\n"))
	}
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.AppendHeader(table.Row{"slots", "jobs", "autoclusters", "", "fetch, s", "after the fetch, s"})
	row := func(what string, c cycle) {
		t.AppendRow(table.Row{
			cli.Slots, cli.Jobs, cli.Autoclusters, what, fmt.Sprintf("%.2f", c.fetch), fmt.Sprintf("%.2f", c.rest),
		})
	}
	row("first cycle", found[0])
	next := slices.Clone(found[1:])
	slices.SortFunc(next, func(a, b cycle) int { return int(1000 * (a.fetch + a.rest - b.fetch - b.rest)) })
	row("next, median", next[len(next)/2])
	row("next, worst", next[len(next)-1])
	t.Render()
	fmt.Printf("at most %.0f MiB of memory, %.0f bytes for each job\n", peak, peak*(1<<20)/float64(cli.Jobs))
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMemory is how many MiB a process took at most.
func peakMemory(pid int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	found := highWater.FindSubmatch(status)
	if found == nil {
		return 0
	}
	kib, _ := strconv.ParseFloat(string(found[1]), 64)
	return kib / 1024
}
