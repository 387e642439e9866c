package htcondor_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// used is a line of condor_userprio -getreslist.
var used = regexp.MustCompile(`(?m)^slot1_\d@pool.test +\d+/\d+ \d+:\d+ +0\+00:0\d:\d+$`)

// TestTools asks our negotiator what HTCondor's tools ask of any negotiator.
func TestTools(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=4"}, "COLOUR = blue $(TONE)", "TONE = light", "NEGOTIATOR.TONE = dark")
	jobs := pool.Submit("alice", sleep(20, 1, 2))
	pool.Wait("a cycle that saw the jobs run", time.Minute, func() bool {
		out, err := pool.Try("bob", "condor_userprio", "-getreslist", "alice@pool.test")
		return err == nil && len(used.FindAllString(out, -1)) == 2
	})
	require.Contains(t, pool.As("bob", "condor_userprio", "-getreslist", "bob@pool.test"),
		"Number of Resources Used: 0")

	ask := func(options ...string) string {
		return pool.As("bob", append([]string{"condor_config_val", "-negotiator"}, options...)...)
	}
	require.Equal(t, "blue dark\n", ask("COLOUR"))
	require.Equal(t, "Not defined\n", ask("NO_SUCH_KNOB"))
	require.Equal(t, "blue $(TONE)\n", ask("-name", "pool.test", "-raw", "colour"))
	verbose := ask("-verbose", "COLOUR")
	require.Contains(t, verbose, "COLOUR = blue dark\n # at: /etc/condor/config.d/99-pool.conf, line ")
	require.Contains(t, verbose, "\n # raw: COLOUR = blue $(TONE)\n")
	dump := ask("-dump", "tone")
	require.Contains(t, dump, "\nNEGOTIATOR.TONE = dark\nTONE = dark\n", "its own, as the stock daemons tell it")

	who := pool.As("root", "condor_who", "-daemons")
	require.Regexp(t, `(?m)^Negotiator +yes +\d+ +\d+ +no +<127.0.0.1:\d+\S*> +/usr/local/bin/negotiator$`, who)
	quick := pool.As("root", "condor_who", "-quick", "-daemons")
	require.Regexp(t, `(?m)^NEGOTIATOR = "Alive"$`, quick)
	require.Regexp(t, `(?m)^NEGOTIATOR_PID = \d+$`, quick)
	require.Regexp(t, `(?m)^Negotiator +\d+ +no +<127.0.0.1:\d+\S*>$`, quick)
	pool.WaitDone(time.Minute, jobs...)
}
