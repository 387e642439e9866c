package htcondor_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestSecurityVariants checks for each variant that a job runs to its end, that a submit starts a
// cycle, and that condor_userprio works.
func TestSecurityVariants(t *testing.T) {
	pooltest.Need(t)
	for _, security := range []string{"default", "fs", "idtokens", "claimtobe", "host"} {
		t.Run(security, func(t *testing.T) {
			t.Parallel()
			// Only RESCHEDULE starts a cycle during the test.
			pool := ours(t, []string{"SECURITY=" + security}, "NEGOTIATOR_INTERVAL = 600", "SCHEDD_INTERVAL = 600")
			pool.Wait("the first cycle", time.Minute,
				func() bool { return strings.Contains(pool.Log("NegotiatorLog"), "cycle 1:") })
			time.Sleep(2 * time.Second) // the minimum time between cycles is over
			job := pool.Submit("alice", sleep(1, 1, 1))[0]
			pool.WaitDone(time.Minute, job)
			require.Contains(t, pool.As("root", "condor_userprio", "-allusers"), "alice@pool.test")
			pool.promptly(t, job)
			switch security {
			case "default":
				tools(t, pool)
			case "idtokens":
				strangers(t, pool)
			}
		})
	}
}

// logged returns when the negotiator's log first had a line with a text, to the second.
func (p *ourPool) logged(t *testing.T, text string) time.Time {
	t.Helper()
	for line := range strings.Lines(p.Log("NegotiatorLog")) {
		if strings.Contains(line, text) {
			at, err := time.Parse("01/02/06 15:04:05", line[:len("01/02/06 15:04:05")])
			require.NoError(t, err)
			return at
		}
	}
	t.Fatalf("the negotiator's log does not have %q", text)
	return time.Time{}
}

// promptly checks that a job was matched within a second of its submit. The schedd sends RESCHEDULE
// about a second after condor_submit, so the second counts from there; times in the log are
// truncated to seconds.
func (p *ourPool) promptly(t *testing.T, job pooltest.JobID) {
	t.Helper()
	submitted := p.Audit().Submits[job]
	var asked time.Time
	for line := range strings.Lines(p.Log("NegotiatorLog")) {
		if !strings.Contains(line, "command=RESCHEDULE") {
			continue
		}
		at, err := time.Parse("01/02/06 15:04:05", line[:len("01/02/06 15:04:05")])
		require.NoError(t, err)
		if !at.Before(submitted.Truncate(time.Second)) {
			asked = at
			break
		}
	}
	require.False(t, asked.IsZero(), "the schedd asked for a cycle")
	matched := p.logged(t, "matched: job="+job.String()+" ")
	t.Logf("submitted %s, RESCHEDULE %s, matched %s", submitted.Format("15:04:05.0"), asked.Format(time.TimeOnly),
		matched.Format(time.TimeOnly))
	require.LessOrEqual(t, matched.Sub(asked), 2*time.Second, "cut to seconds, a second may look like two")
}

// tools checks that commands without a payload, each of which takes a handshake of its own, work with
// HTCondor's tools.
func tools(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.As("root", "condor_userprio", "-resetall")
	pool.As("root", "condor_reconfig", "-daemon", "negotiator")
	for _, command := range []string{"RESET_ALL_USAGE", "DC_RECONFIG_FULL"} {
		pool.Wait(command, time.Minute, func() bool {
			return strings.Contains(pool.Log("NegotiatorLog"), "command="+command)
		})
	}
	for _, level := range []string{"READ", "WRITE", "ADMINISTRATOR", "DAEMON"} {
		require.Contains(t, pool.As("root", "condor_ping", "-type", "NEGOTIATOR", level),
			level+" command using (AES, AES, and FS) succeeded")
	}
}

// strangers tries to replace the pool's negotiator: with a wrong token, an expired one, none, one
// of a user, and with a valid one while another negotiator runs. Each attempt gets a clear error;
// then the valid one succeeds.
func strangers(t *testing.T, pool *ourPool) {
	t.Helper()
	good, err := os.ReadFile(pool.Dir + "/etc/condor/tokens.d/condor@pool")
	require.NoError(t, err)
	signed := strings.TrimSpace(string(good))
	at := strings.LastIndex(signed, ".") + 10 // within the signature
	other := "A"
	if signed[at] == 'A' {
		other = "B"
	}
	tokens := map[string]string{
		"good": signed, "none": "# none", "wrong": signed[:at] + other + signed[at+1:],
		"expired": pool.As("root", "condor_token_create", "-identity", "condor@pool.test", "-lifetime", "1"),
		"alice":   pool.As("root", "condor_token_create", "-identity", "alice@pool.test"),
	}
	time.Sleep(2 * time.Second) // one token expires
	try := func(token, seconds string, more ...string) (string, error) {
		file := "/tmp/token-" + token
		require.NoError(t, os.WriteFile(pool.Dir+file, []byte(tokens[token]+"\n"), 0o600))
		command := []string{
			"timeout", seconds, "negotiator", "--pool",
			fmt.Sprintf("htcondor://127.0.0.1:%d", pool.Port),
		}
		command = append(command, "--token", file, "--policy", "conservative", "--state", "/tmp/state-"+token)
		return pool.Try("root", append(command, more...)...)
	}
	for _, c := range []struct {
		token, status, told string
	}{
		{"none", "exit status 1", "of 0 that are there"},
		{"wrong", "exit status 1", "does not know the key that the token was signed with"},
		{"expired", "exit status 1", "expired"},
		{"alice", "exit status 2", "another negotiator, pool.test at "}, // a user may ask for that
		{"good", "exit status 2", "another negotiator, pool.test at "},
	} {
		_, err = try(c.token, "20", "--once")
		require.Error(t, err, c.token)
		require.Contains(t, err.Error(), c.status, c.token)
		require.Contains(t, err.Error(), c.told, c.token)
		require.NotContains(t, err.Error(), tokens[c.token][max(0, len(tokens[c.token])-20):],
			"the signature is a secret")
	}
	_, err = try("wrong", "6")
	require.ErrorContains(t, err, "exit status 124", "a daemon goes on trying")
	tries := strings.Count(err.Error(), "cannot be asked whether another negotiator is at work")
	require.True(t, tries > 0 && tries < 6, "with growing pauses: %d", tries)

	pool.As("root", "condor_off", "-daemon", "negotiator")
	pool.Wait("no negotiator", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 0 })
	_, err = try("alice", "20", "--once")
	require.ErrorContains(t, err, "denied: alice@pool.test may not give this command")
	pool.Submit("alice", sleep(600, 100, 1))
	out, err := try("good", "20", "--once")
	require.NoError(t, err)
	require.Contains(t, out, "cannot run in this pool")
	pool.remove()
}
