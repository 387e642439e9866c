package htcondor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// halves are lines of configuration that start two negotiators of ours, each for one of two nodes.
// condor_master leaves a killed west dead.
const halves = `
NEGOTIATOR_NAME = east
NEGOTIATOR_SLOT_CONSTRAINT = regexp("@n1@", Name)
NEGOTIATOR_WEST = $(NEGOTIATOR)
NEGOTIATOR_WEST_ARGS = -f -local-name west
west.NEGOTIATOR_NAME = west
west.NEGOTIATOR_LOG = $(LOG)/NegotiatorLog.west
west.NEGOTIATOR_ADDRESS_FILE = $(LOG)/.negotiator_address.west
west.NEGOTIATOR_SLOT_CONSTRAINT = regexp("@n2@", Name)
west.BACKFILL_STATE = $(SPOOL)/backfill-west
west.BACKFILL_RECORD = $(SPOOL)/backfill-west.rec
MASTER_NEGOTIATOR_WEST_BACKOFF_CONSTANT = 3600
MASTER_NEGOTIATOR_WEST_BACKOFF_CEILING = 3600
DAEMON_LIST = $(DAEMON_LIST) NEGOTIATOR_WEST
DC_DAEMON_LIST = $(DC_DAEMON_LIST) NEGOTIATOR_WEST
`

// killNamed sends SIGKILL to the negotiator of the pool that runs under a local name.
func (p *ourPool) killNamed(t *testing.T, localName string) {
	t.Helper()
	killed := 0
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range processes {
		root, _ := os.Readlink(dir + "/root") // it may have ended
		line, _ := os.ReadFile(dir + "/cmdline")
		args := strings.Split(string(line), "\x00")
		if root != p.Dir || !strings.HasSuffix(args[0], "negotiator") || !strings.Contains(string(line), "-local-name\x00"+localName+"\x00") {
			continue
		}
		pid, wrong := strconv.Atoi(filepath.Base(dir))
		require.NoError(t, wrong)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		killed++
	}
	require.Equal(t, 1, killed)
}

// TestHalves runs two of our negotiators side by side, each on its half of the pool. Users ask both at
// once; one that was killed is named, and the other answers.
func TestHalves(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=2", "CPUS=4"}, halves)
	pool.permit("start failed", "start late", "not believed")
	pool.Wait("both negotiators", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 2 })
	long := pool.Submit("alice", sleep(60, 4, 1, on("n1"), estimate+"70"))
	short := pool.Submit("alice", sleep(30, 4, 1, on("n2"), estimate+"35"))
	pool.WaitStatus(pooltest.Running, time.Minute, long[0], short[0])
	only := pool.Submit("bob", sleep(1, 4, 1, on("n1"), estimate+"5"))
	both := pool.Submit("bob", sleep(1, 4, 2, estimate+"5"))
	pool.Wait("all jobs to be planned", time.Minute, func() bool { return len(pool.startTimes(t)) == 3 })
	t.Log(pool.As("alice", "negotiator", "start-times"))
	t.Log(pool.As("alice", "negotiator", "explain", both[0].String()))
	t.Log(pool.As("alice", "negotiator", "explain", only[0].String()))
	t.Log(pool.As("alice", "negotiator", "explain", long[0].String()))
	t.Log(pool.As("alice", "negotiator", "explain", short[0].String()))
	t.Log(pool.As("alice", "negotiator", "what-if", "--cpus", "1", "--time", "5m"))
	t.Log(pool.As("alice", "negotiator", "what-if", "--without", "n1"))
	t.Log(pool.As("alice", "negotiator", "what-if", "--policy", "easy"))
	t.Log(pool.As("alice", "negotiator", "start-times", "--json"))
	pool.killNamed(t, "west")
	out, err := pool.Try("alice", "negotiator", "start-times")
	t.Log(out, err)
	poll.Equal(t, true, func() bool { return true })
}
