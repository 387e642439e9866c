package pooltest

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Host is the host name of every pool, its user domain, and the name of its first schedd.
const Host = "pool.test"

var asked = flag.Bool("pool", os.Getenv("CONDOR_POOL") != "",
	"run the tests that start real HTCondor pools (as root, on Debian); also CONDOR_POOL=1")

// T is the part of a test that a pool needs; programs may bring their own.
type T interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Failed() bool
	Cleanup(f func())
}

// Pool is a running pool. Its methods fail the test if something cannot be done. It is not safe for
// concurrent use.
type Pool struct {
	Dir  string // the chroot
	Port int    // of the collector, on 127.0.0.1

	t         T
	process   *exec.Cmd
	ended     chan struct{}
	submitted []JobID
	capacity  map[string]Resources // of each node
	settings  map[string]string
	watch     *watch // nil unless our negotiator is the pool's
	mayIdle   bool
}

// Need skips the test unless pools were asked for, and fails it if this machine cannot run one.
func Need(t T) {
	t.Helper()
	if !*asked {
		t.Skipf("skipped: needs a real HTCondor pool; run it as root with: go test ./integration/htcondor/... -pool")
	}
	if out, err := exec.Command(script(), "check").CombinedOutput(); err != nil {
		t.Fatalf("no pool on this machine: %s", out)
	}
}

// Start creates a pool and waits until its daemons have reported. Settings are NAME=VALUE as in
// pool.sh --help; PORT is chosen here.
func Start(t T, settings ...string) *Pool {
	t.Helper()
	p := Prepare(t, settings...)
	p.Up()
	return p
}

// Prepare creates a pool that is down, so that files can be added before Up.
func Prepare(t T, settings ...string) *Pool {
	t.Helper()
	Need(t)
	p := &Pool{
		t: t, capacity: map[string]Resources{},
		settings: map[string]string{"CPUS": "8", "MEMORY": "16384", "NODES": "0"},
	}
	p.reserve()
	t.Cleanup(p.end)
	p.script(5*time.Minute, append([]string{"setup", p.Dir, "PORT=" + strconv.Itoa(p.Port)}, settings...)...)
	p.remember(settings)
	return p
}

// reserve takes the first free port and its folder. Creating the folder is the lock. A folder whose
// owner is dead was left by a killed test, and is emptied.
func (p *Pool) reserve() {
	p.t.Helper()
	reserving.Lock() // parallel tests would delete the same one
	defer reserving.Unlock()
	base := os.Getenv("CONDOR_POOL_DIR")
	if base == "" {
		base = filepath.Join(os.TempDir(), "condor-backfill-pools")
	}
	first := 9700
	if text := os.Getenv("CONDOR_POOL_PORT"); text != "" {
		var err error
		if first, err = strconv.Atoi(text); err != nil {
			p.t.Fatalf("CONDOR_POOL_PORT: %v", err)
		}
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		p.t.Fatalf("folder of pools: %v", err)
	}
	for p.Port = first; p.Port < first+10; p.Port++ {
		lock := filepath.Join(base, strconv.Itoa(p.Port))
		p.Dir = filepath.Join(lock, "root")
		if err := os.Mkdir(lock, 0o755); errors.Is(err, os.ErrExist) {
			if !abandoned(lock) {
				continue
			}
			p.t.Logf("deleting %s, which a dead process left", p.Dir)
			p.script(3*time.Minute, "stop", p.Dir)
			if err = os.RemoveAll(p.Dir); err != nil { // also one that was deleted in part
				p.t.Fatalf("delete an old pool: %v", err)
			}
		} else if err != nil {
			p.t.Fatalf("folder of the pool: %v", err)
		}
		if err := os.WriteFile(filepath.Join(lock, "owner"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			p.t.Fatalf("owner of the pool: %v", err)
		}
		if listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(p.Port)); err == nil {
			_ = listener.Close()
			return
		}
		_ = os.RemoveAll(lock)
	}
	p.t.Fatalf("no free port from %d on; set CONDOR_POOL_PORT", first)
}

var reserving sync.Mutex

func abandoned(lock string) bool {
	owner, err := os.ReadFile(filepath.Join(lock, "owner"))
	if err != nil {
		return false // somebody is about to write it
	}
	pid, err := strconv.Atoi(string(owner))
	return err != nil || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// Up starts a pool that is down, with changed settings if any.
func (p *Pool) Up(settings ...string) {
	p.t.Helper()
	p.remember(settings)
	p.process = exec.Command(script(), append([]string{"run", p.Dir}, settings...)...)
	// The kernel kills the pool when we die, and Ctrl-C reaches only us.
	p.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.ended = make(chan struct{})
	started := make(chan error)
	go func(process *exec.Cmd, ended chan struct{}) {
		runtime.LockOSThread() // the signal is sent at the death of this thread
		defer runtime.UnlockOSThread()
		err := process.Start()
		started <- err
		if err == nil {
			_ = process.Wait()
		}
		close(ended)
	}(p.process, p.ended)
	if err := <-started; err != nil {
		p.t.Fatalf("pool: %v", err)
	}
	nodes, schedds := max(1, p.number("NODES")), max(1, p.number("SCHEDDS"))
	p.Wait("all daemons to report", 3*time.Minute, func() bool {
		select {
		case <-p.ended:
			log, _ := os.ReadFile(p.Dir + "/pool.log")
			p.t.Fatalf("the pool died as it started: %s", log)
		default:
		}
		up, _ := p.Try("root", "condor_status", "-af", "SlotID", "Name")
		queues, _ := p.Try("root", "condor_status", "-schedd", "-af", "Name")
		seen := map[string]bool{}
		for line := range strings.Lines(up) {
			_, node, _ := strings.Cut(strings.TrimSpace(line), "@")
			seen[node] = true
		}
		return len(seen) >= nodes && strings.Count(queues, "\n") >= schedds
	})
	if negotiator := p.settings["NEGOTIATOR"]; strings.HasPrefix(negotiator, "/") && p.watch == nil {
		p.watch = startWatch(p)
	}
}

// Down stops the pool: running jobs go back to the queue. Up starts it again. A pool that is down
// at the end of its test is not audited.
func (p *Pool) Down() {
	p.t.Helper()
	p.script(3*time.Minute, "stop", p.Dir)
	<-p.ended
	p.process = nil
}

// Config changes settings of the running pool and makes its daemons read them.
func (p *Pool) Config(settings ...string) {
	p.t.Helper()
	p.remember(settings)
	p.watch.gap()
	p.script(3*time.Minute, append([]string{"config", p.Dir}, settings...)...)
}

// Kill sends SIGKILL to a daemon: collector, negotiator, schedd, s2, startd, n1, shadow, starter.
// condor_master restarts the first five after a second or more.
func (p *Pool) Kill(daemon string) {
	p.t.Helper()
	p.Signal(daemon, syscall.SIGKILL)
}

// Signal sends a signal to a daemon, such as SIGSTOP and SIGCONT.
func (p *Pool) Signal(daemon string, signal syscall.Signal) {
	p.t.Helper()
	p.watch.gap()
	p.script(3*time.Minute, "kill", p.Dir, daemon, strconv.Itoa(int(signal)))
}

// Install copies a program into the pool and returns its path there, for NEGOTIATOR=.
func (p *Pool) Install(program string) string {
	p.t.Helper()
	inside := "/usr/local/bin/" + filepath.Base(program)
	content, err := os.ReadFile(program)
	if err == nil {
		// A running program cannot be written to, but it can be replaced.
		_ = os.Remove(p.Dir + inside)
		err = os.WriteFile(p.Dir+inside, content, 0o755)
	}
	if err != nil {
		p.t.Fatalf("install: %v", err)
	}
	return inside
}

// Log returns the content of a log file of the pool, such as SchedLog, or "" if there is none yet.
func (p *Pool) Log(name string) string {
	log, _ := os.ReadFile(p.Dir + "/var/log/condor/" + name)
	return string(log)
}

func (p *Pool) remember(settings []string) {
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		p.settings[name] = value
	}
	// Nodes that no longer exist are kept, because their records are.
	each := Resources{Cpus: p.number("CPUS"), Memory: p.number("MEMORY")}
	if p.number("NODES") == 0 {
		p.capacity[""] = each
	}
	for i := range p.number("NODES") {
		p.capacity["n"+strconv.Itoa(i+1)] = each
	}
}

func (p *Pool) number(setting string) int {
	n, _ := strconv.Atoi(p.settings[setting])
	return n
}

// end audits the pool, keeps its logs if the test failed, and deletes it.
func (p *Pool) end() {
	p.watch.end()
	if p.process != nil && !p.t.Failed() {
		p.Audit().Check(p.t)
	}
	if p.ended != nil && p.t.Failed() {
		p.keepLogs()
	}
	if out, err := exec.Command(script(), "destroy", p.Dir).CombinedOutput(); err != nil {
		p.t.Errorf("destroy: %v: %s", err, out)
	}
	if p.process != nil {
		<-p.ended
	}
	_ = os.RemoveAll(filepath.Dir(p.Dir))
}

func (p *Pool) keepLogs() {
	kept, err := os.MkdirTemp("", "pool-logs-")
	if err == nil {
		err = os.CopyFS(kept+"/log", os.DirFS(p.Dir+"/var/log/condor"))
	}
	p.t.Logf("the pool's logs are in %s (%v)", kept, err)
	for _, name := range []string{"MasterLog", "NegotiatorLog"} {
		p.t.Logf("the end of %s:\n%s", name, tail(p.Log(name), 15))
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// script runs pool.sh.
func (p *Pool) script(within time.Duration, args ...string) {
	p.t.Helper()
	if out, err := command(within, script(), args...); err != nil {
		p.t.Fatalf("pool.sh %s: %v: %s", args[0], err, out)
	}
}

// script returns the path of pool.sh, which is beside this package's folder.
var script = sync.OnceValue(func() string { return filepath.Join(Root(), "integration", "htcondor", "pool.sh") })

// Root returns the folder of this project, which holds the working directory: that of a test's
// package, or of who calls go run. Paths in a program are no help, as -trimpath takes them away.
func Root() string {
	here, wrong := os.Getwd()
	for folder := here; wrong == nil; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "integration", "htcondor", "pool.sh")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	panic(fmt.Sprintf("%s (%v) is not in a checkout of this project: go to one", here, wrong))
}
