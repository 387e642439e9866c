package htcondor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// sixtyCells take a second or two each; half of them are of a trace that the kit brings.
const sixtyCells = `name: sixty
baseline: easy-fcfs
traces:
  - {name: model, generate: {model: lublin, jobs: 15000, cpus: 128}}
  - {name: file, file: "a trace, of alice.swf"}
schedulers:
  - {policies: [easy, pc], orders: [sjf, wfp, fcfs]}
seeds: [1, 2, 3, 4, 5]
`

// haltOnN1 stops a job on n1 where it is, so that it cannot end before its machine is lost.
const haltOnN1 = `for starter in $(pgrep -f condor_starter -P "$(pgrep -d, -f '^([^ ]*/)?condor_startd .*n1')"); do
pkill -STOP -P "$starter" && exit; done; exit 1`

// TestSweepOnThePool runs a sweep as jobs, loses a machine on the way, and gets the bytes of a sweep on one
// machine; then the same with a driver that is killed, and jobs that a user holds and removes.
func TestSweepOnThePool(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=2", "CPUS=2", "MEMORY=4096"}, "", []scenario{
		{"a sweep", sweepOnThePool}, {"its driver is killed", driverKilled},
	})
}

// sweeper is a sweep of alice in the pool.
type sweeper struct {
	*ourPool
	t    *testing.T
	home string // of alice, from outside
}

func newSweeper(t *testing.T, pool *ourPool) *sweeper {
	t.Helper()
	pool.permit("slot lost", "slot ended", "slot changed", "start failed", "start late", "lease", "overrun", "queue changed")
	pool.MayIdle("a slot is kept for a sweep's next job")
	s := &sweeper{pool, t, pool.Dir + "/home/alice"}
	pool.Install(built(t, "../../condorsim/cmd/condorsim"))
	require.NoError(t, os.WriteFile(s.home+"/sixty.yaml", []byte(sixtyCells), 0o644))
	pool.As("alice", "condorsim", "workload", "generate", "lublin", "--jobs", "15000", "--cpus", "128", "--seed", "9", "--out",
		"a trace, of alice.swf")
	return s
}

// start starts the driver in the background; its process writes to the file OUT.said, and its exit code to
// OUT.code.
func (s *sweeper) start(out string, args ...string) {
	s.t.Helper()
	_ = os.Remove(filepath.Join(s.home, out+".code"))
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + arg + "'"
	}
	s.As("alice", "sh", "-c", "(condorsim sweep sixty.yaml --out "+out+" "+strings.Join(quoted, " ")+" >> "+out+".said 2>&1 & "+
		"echo $! > "+out+".pid; wait $!; echo $? > "+out+".code) < /dev/null > /dev/null 2>&1 &")
}

func (s *sweeper) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.home, name)) // it may not be there yet
	return strings.TrimSpace(string(text))
}

// cells waits until so many cells are finished.
func (s *sweeper) cells(out string, n int) {
	s.t.Helper()
	s.Wait("finished cells", 5*time.Minute, func() bool {
		cells, err := filepath.Glob(filepath.Join(s.home, out, "cells", "*.json"))
		return err == nil && len(cells) >= n
	})
}

// ends waits for the driver's end, and compares its folder with that of a sweep here.
func (s *sweeper) ends(out string) {
	s.t.Helper()
	s.Wait("the sweep's end", 8*time.Minute, func() bool { return s.read(out+".code") != "" })
	for line := range strings.Lines(s.read(out + ".said")) {
		if !strings.Contains(line, ": mean wait ") && !strings.ContainsAny(line, "│─") {
			s.t.Log(strings.TrimSpace(line))
		}
	}
	require.Equal(s.t, "0", s.read(out+".code"))
	s.start("here")
	s.Wait("the sweep's end", 5*time.Minute, func() bool { return s.read("here.code") != "" })
	s.As("alice", "diff", "-r", "here", out)
	require.Equal(s.t, 60, strings.Count(s.As("alice", "ls", out+"/cells"), ".json"))
	require.NoDirExists(s.t, filepath.Join(s.home, out, ".htcondor"))
	s.emptyQueue()
}

// emptyQueue waits until no job of the sweep is left; those that are removed end first.
func (s *sweeper) emptyQueue() {
	s.t.Helper()
	poll.Until(s.t, "an empty queue", func() (string, bool) {
		queue := s.As("alice", "condor_q", "-af", "ClusterId")
		return queue, strings.TrimSpace(queue) == ""
	})
}

func sweepOnThePool(t *testing.T, pool *ourPool) {
	t.Helper()
	s := newSweeper(t, pool)
	began := time.Now()
	s.start("out", "--on", "htcondor", "--submit", "accounting_group_user = alice")
	s.cells("out", 15)
	pool.Wait("a job on the machine", time.Minute, func() bool {
		_, err := pool.Try("root", "bash", "-c", haltOnN1)
		return err == nil
	})
	pool.Kill("n1")
	s.ends("out")
	said := s.read("out.said")
	require.Contains(t, said, "60 cells submitted as cluster ")
	require.Equal(t, 1, strings.Count(said, " submitted as cluster "), "HTCondor ran again what was lost")
	require.Contains(t, said, "lost its slot, and will be given another one: ")
	t.Logf("60 cells took %.0f s", time.Since(began).Seconds())
}

// driverKilled transfers all files, as if no machine shared them.
func driverKilled(t *testing.T, pool *ourPool) {
	t.Helper()
	s := newSweeper(t, pool)
	args := []string{"--on", "htcondor", "--slots", "4", "--submit", "should_transfer_files = YES"}
	s.start("killed", args...)
	s.cells("killed", 6)
	second, err := pool.Try("alice", append([]string{"condorsim", "sweep", "sixty.yaml", "--out", "killed"}, args...)...)
	require.Error(t, err, second)
	require.Contains(t, err.Error(), "another sweep is writing its results there")
	pool.As("alice", "kill", "-9", s.read("killed.pid"))
	cluster := pool.As("alice", "condor_q", "-limit", "1", "-af", "ClusterId")
	waits := strings.Fields(pool.As("alice", "condor_q", "-af:j", "JobStatus"))
	require.NotEmpty(t, waits)
	job := waits[len(waits)-2]
	pool.As("alice", "condor_rm", job)
	s.start("killed", args...)
	s.cells("killed", 20)
	said := s.read("killed.said")
	require.Contains(t, said, "the jobs of cluster "+strings.TrimSpace(cluster)+" are taken over")
	require.Contains(t, said, "will be run again: via condor_rm (by user alice)")
	pid, err := strconv.Atoi(s.read("killed.pid"))
	require.NoError(t, err)
	pool.As("alice", "kill", "-INT", strconv.Itoa(pid))
	pool.Wait("the sweep's end", time.Minute, func() bool { return s.read("killed.code") != "" })
	require.Equal(t, "130", s.read("killed.code"))
	require.Contains(t, s.read("killed.said"), "are finished and kept in killed; the same command goes on from there")
	s.emptyQueue()
	s.start("killed", args...)
	s.ends("killed")
}
