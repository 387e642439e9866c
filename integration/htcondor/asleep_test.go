package htcondor_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestSleepingMachine: a machine that sleeps is woken for a job that wants it, as condor_rooster sees,
// and takes the job once it is awake.
func TestSleepingMachine(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=2", "CPUS=2"}, "UPDATE_INTERVAL = 5", []scenario{{"a machine sleeps", sleepingMachine}})
}

func sleepingMachine(t *testing.T, pool *ourPool) {
	t.Helper()
	name := fallAsleep(t, pool, "n2")
	lastMatch := func() int { return pool.Slots("-constraint", `Name == "`+name+`"`)[0].Int("MachineLastMatchTime") }
	began := time.Now().Unix()
	anywhere := pool.Submit("alice", sleep(2, 1, 1, estimate+"5"))
	pool.WaitDone(time.Minute, anywhere...)
	require.Zero(t, lastMatch(), "nobody needs it")
	there := pool.Submit("alice", sleep(2, 2, 1, estimate+"5", `requirements = regexp("^slot1@n2", TARGET.Name)`))
	poll.Until(t, "the machine to be wanted", func() (int, bool) { return lastMatch(), int64(lastMatch()) >= began })
	require.Equal(t, pooltest.Idle, pool.Statuses()[there[0]])
	if pool.explains() {
		poll.Contains(t, "waits for "+name+" to wake up", func() string {
			return pool.As("alice", "negotiator", "explain", there[0].String())
		})
		poll.Contains(t, "waits for "+name+" to wake up", func() string {
			return pool.As("alice", "negotiator", "start-times")
		})
		pool.cycles(t, 3)
		require.NotContains(t, pool.Log("NegotiatorLog"), "a slot is gone")
	}
	require.Regexp(t, `Matched `+there[0].String()+` .* preempting none <.*> `+name+` \(offline\)`, pool.Log("MatchLog"))
	pool.Signal("n2", resumed)
	awake := time.Now()
	pool.WaitDone(time.Minute, there...)
	t.Logf("it was awake again, and the job done, after %v", time.Since(awake).Round(100*time.Millisecond))
	require.Empty(t, pool.Slots("-constraint", "Offline =?= true"))
}

// explains tells whether the pool's negotiator is ours.
func (p *ourPool) explains() bool {
	_, err := os.Stat(p.Dir + "/usr/local/bin/negotiator")
	return err == nil
}

// fallAsleep has a node sleep: its startd stands still, and the collector has its ad as one of a
// machine that sleeps. It returns the name of the node's slot.
func fallAsleep(t *testing.T, pool *ourPool, node string) (slot string) {
	t.Helper()
	pool.Signal(node, stopped)
	slot = pool.Slots("-constraint", `regexp("@`+node+`", Name)`)[0].Text("Name")
	ad := pool.As("root", "condor_status", "-long", slot)
	var kept []string
	for line := range strings.Lines(ad) {
		if name, _, assigned := strings.Cut(line, " = "); assigned && !strings.HasPrefix(name, "LastHeardFrom") {
			kept = append(kept, line)
		}
	}
	text := strings.Join(kept, "") + "Offline = true\n"
	require.NoError(t, os.WriteFile(pool.Dir+"/tmp/asleep.ad", []byte(text), 0o644))
	pool.As("root", "condor_advertise", "UPDATE_STARTD_AD", "/tmp/asleep.ad")
	pool.Wait("a machine to sleep", 30*time.Second, func() bool {
		return len(pool.Slots("-constraint", "Offline =?= true")) == 1
	})
	return slot
}
