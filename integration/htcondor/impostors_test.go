package htcondor_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestImpostors has others advertise a schedd under the name of the pool's own, one of another name
// at its address, a slot of its machine's name that was started in the future, and its slot as full
// and in its owner's use: jobs run as before, and the log tells whose address that is. So it is
// when the negotiator begins anew, without its saved state, among them.
func TestImpostors(t *testing.T) {
	t.Parallel()
	pool := ours(t, nil)
	const job = "executable = /bin/true\nrequest_cpus = 1\n+EstimatedRunTime = 5\nqueue 3\n"
	pool.WaitDone(time.Minute, pool.Submit("alice", job)...)
	schedd, slot := pool.Ads("-schedd")[0], pool.Slots("-constraint", "PartitionableSlot")[0]
	advertise := func(command string, lines ...string) {
		ad := "CondorVersion = \"$CondorVersion: 23.9.6 2024-08-08 BuildID: 1 $\"\n" + strings.Join(lines, "\n") + "\n"
		require.NoError(t, os.WriteFile(pool.Dir+"/tmp/impostor.ad", []byte(ad), 0o644))
		pool.As("root", "condor_advertise", command, "/tmp/impostor.ad")
	}
	at := func(address string) string {
		return fmt.Sprintf("MyAddress = %q\nScheddIpAddr = %q\nStartdIpAddr = %q", address, address, address)
	}
	const far = "MyCurrentTime = 4000000000000000000\nDaemonStartTime = 4000000000000000000"
	impostors := func() {
		advertise("UPDATE_SCHEDD_AD", "MyType = \"Scheduler\"", fmt.Sprintf("Name = %q", schedd.Text("Name")),
			at("<10.0.0.1:1>"), far)
		advertise("UPDATE_SCHEDD_AD", "MyType = \"Scheduler\"", `Name = "mallory"`, at(schedd.Text("MyAddress")), far)
		advertise("UPDATE_STARTD_AD", "MyType = \"Machine\"", `Name = "slot9@`+strings.SplitN(slot.Text("Name"), "@", 2)[1]+`"`,
			at("<10.0.0.2:1>"), far, "State = \"Owner\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 1\nSlotID = 9\n"+
				"Machine = \"evil\"\nRequirements = false")
		advertise("UPDATE_STARTD_AD", "MyType = \"Machine\"", fmt.Sprintf("Name = %q", slot.Text("Name")), at(slot.Text("MyAddress")),
			far, "State = \"Owner\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 1\nSlotID = 1\nRequirements = false")
	}
	impostors()
	pool.Wait("the conflict to be told", time.Minute, func() bool {
		return strings.Contains(pool.Log("NegotiatorLog"), "are advertised at one address, "+schedd.Text("MyAddress"))
	})
	serves := func() {
		t.Helper()
		for range 3 {
			impostors()
			began := time.Now()
			pool.WaitDone(time.Minute, pool.Submit("bob", job)...)
			t.Logf("three jobs took %.1f s", time.Since(began).Seconds())
		}
	}
	serves()
	require.Contains(t, pool.Log("NegotiatorLog"), "is advertised at its own address, "+slot.Text("MyAddress"))

	spool := strings.TrimSpace(pool.As("root", "condor_config_val", "SPOOL"))
	pool.Signal("negotiator", syscall.SIGSTOP)
	require.NoError(t, os.RemoveAll(pool.Dir+spool+"/backfill"))
	impostors()
	before := len(pool.Log("NegotiatorLog"))
	pool.Kill("negotiator")
	anew := func(text string) bool { return strings.Contains(pool.Log("NegotiatorLog")[before:], text) }
	pool.Wait("the next negotiator", time.Minute, func() bool { return anew(" cycle 1: ") })
	serves()
	require.True(t, anew(schedd.Text("MyAddress")+", sent by condor@family"))
	contested := pool.Ads("-negotiator")[0].Int("BackfillContestedNames")
	require.Positive(t, contested)
	pool.Audit().Check(t)
}
