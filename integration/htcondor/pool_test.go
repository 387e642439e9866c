// Package htcondor tests the negotiator on real HTCondor pools and measures the stock negotiator
// for comparison. See README.md for how to run it.
package htcondor_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(programs)
		os.Exit(code)
	}))
}

// sleep returns a submit description of jobs that sleep.
func sleep(seconds, cpus, count int, more ...string) string {
	return fmt.Sprintf("executable = /bin/sleep\narguments = %d\nrequest_cpus = %d\nrequest_memory = 100\n"+
		"request_disk = 1000\n%s\nqueue %d",
		seconds, cpus, strings.Join(more, "\n"), count)
}

// gang returns a submit description of one gang of nodes with that many cores each.
func gang(seconds, nodes, cpus int, more ...string) string {
	return sleep(seconds, cpus, 1, append(more, "universe = parallel", fmt.Sprint("machine_count = ", nodes),
		"should_transfer_files = yes", "when_to_transfer_output = on_exit")...)
}

// TestPool checks what later tests rely on: users, gangs, two schedds, killed daemons.
func TestPool(t *testing.T) {
	t.Parallel()
	pool := pooltest.Start(t, "NODES=3", "CPUS=4", "SCHEDDS=2", "EXTRA=SOME_TEXT = one, two")
	require.Equal(t, "one, two\n", pool.As("alice", "condor_config_val", "SOME_TEXT"))
	require.Len(t, pool.Slots(), 3)

	jobs := pool.Submit("alice", sleep(2, 2, 3))
	jobs = append(jobs, pool.SubmitTo("s2@pool.test", "bob", sleep(2, 1, 2))...)
	require.Len(t, jobs, 5)
	pool.WaitDone(time.Minute, jobs...)

	long := pool.Submit("dave", sleep(600, 4, 3))
	pool.WaitStatus(pooltest.Running, time.Minute, long...)
	pool.Kill("negotiator")
	pool.Kill("n1")
	pool.Wait("the job of n1 to start again", time.Minute, func() bool {
		return len(pool.Queue("-constraint", "NumJobStarts == 2 && JobStatus == 2")) == 1
	})
	pool.As("dave", "condor_rm", "dave")
	pool.Wait("an empty queue", time.Minute, func() bool { return len(pool.Queue()) == 0 })
	// The gang is last, because the schedd can keep its slots for minutes.
	jobs = append(jobs, pool.Submit("carol", gang(3, 3, 2))...)
	pool.WaitDone(2*time.Minute, jobs...)

	audit := pool.Audit()
	audit.Check(t)
	measures := audit.Measure(12, jobs...)
	require.Equal(t, 6, measures.Jobs)
	require.Positive(t, measures.MeanWait)
	pool.Down()
	another, knob := filepath.Join(pool.Dir, "usr/local/bin/another"),
		filepath.Join(pool.Dir, "etc/condor/config.d/50-another.conf")
	require.NoError(t, os.Symlink("/usr/sbin/condor_negotiator", another))
	//nolint:gosec // nothing is secret
	require.NoError(t, os.WriteFile(knob, []byte("NEGOTIATOR = /usr/local/bin/another\n"), 0o644))
	t.Cleanup(func() { _, _ = os.Remove(another), os.Remove(knob) })
	pool.Up("NODES=1", "SLOTS=static")
	require.Len(t, pool.Slots(), 4)
	pool.Kill("negotiator") // under the name that configuration files use
}

// TestPoolsDieWithTheirTests kills a test that has a pool: none of its processes may survive, and
// the next pool cleans up.
func TestPoolsDieWithTheirTests(t *testing.T) {
	pooltest.Need(t)
	folder := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run", "^TestHoldAPool$", "-pool", "-test.v")
	child.Env = append(os.Environ(), "POOL_TO_HOLD=1", "CONDOR_POOL_DIR="+folder)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var root string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, dir, found := strings.Cut(lines.Text(), "holding "); found {
			root = dir
			break
		}
	}
	require.NotEmpty(t, root, "the child never had a pool")
	require.NotEmpty(t, processesIn(root))
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()

	poll.Until(t, "their end", func() (left []string, so bool) {
		left = processesIn(root)
		return left, len(left) == 0
	})
	mounts, err := os.ReadFile("/proc/mounts")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), folder)
	require.DirExists(t, root)

	t.Setenv("CONDOR_POOL_DIR", folder)
	pool := pooltest.Start(t)
	require.Equal(t, root, pool.Dir, "the place of the dead pool is used again")
	pool.WaitDone(time.Minute, pool.Submit("alice", sleep(1, 1, 1))...)
}

// TestHoldAPool is the test that TestPoolsDieWithTheirTests kills.
func TestHoldAPool(t *testing.T) {
	if os.Getenv("POOL_TO_HOLD") == "" {
		t.Skip("only TestPoolsDieWithTheirTests runs this")
	}
	pool := pooltest.Start(t)
	fmt.Println("holding " + pool.Dir)
	time.Sleep(time.Minute)
}

// processesIn lists the processes whose root is a folder.
func processesIn(root string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/root")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && at == root {
			found = append(found, link)
		}
	}
	return found
}
