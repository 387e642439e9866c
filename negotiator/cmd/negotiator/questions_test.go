package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestARunningNegotiatorAnswers each question about a pool, in words and in JSON.
func TestARunningNegotiatorAnswers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	p := newBesieged(t, 1, 2, 0, 4)
	s := newSite(t, map[string]string{
		"COLLECTOR_HOST":      strings.Trim(p.collector.Address().String(), "<>"),
		"NEGOTIATOR_INTERVAL": "3600", "NEGOTIATOR_UPDATE_INTERVAL": "1",
	})
	s.knobs["BACKFILL_STATE"] = s.path("state/kept") // an observer's is beside it
	s.write()
	d := s.start("--observe")
	ask := func(args ...string) (said string, exit int) {
		cmd, stdout, stderr := launched(t, args...)
		cmd.Env = append(cmd.Env, "PATH="+s.folder+":"+os.Getenv("PATH"))
		exit = code(t, cmd.Run())
		return stdout.String() + stderr.String(), exit
	}
	d.await("cycle 1:")
	poll.Until(t, "start times", func() (seen string, ok bool) {
		seen, exit := ask("start-times")
		return seen, exit == 0
	})
	for _, c := range []struct {
		args, says string
		exit       int
	}{
		{"start-times", `(?s)^ job +owner .*\n 3\.0 +alice +\d{4}-.* slot1@n[01].*\n 4\.0 +alice `, 0},
		{"start-times --limit 1", `\n … and 1 more\n$`, 0},
		{"start-times --owner bob", `^ job[^\n]*\n$`, 0},
		{"start-times --accuracy", `^ told +jobs `, 0},
		{"explain 4.0", `(?s)^Job 4\.0 at schedd@test, of alice: .*\n  expected start .*\n  slots +2 in the pool, 2 match`, 0},
		{"explain 4", `^Job 4\.0 at`, 0},
		{"explain 99.0", `no job 99\.0 waits or runs in this pool`, 2},
		{"explain all", `"all" names no job`, 2},
		{"what-if --cpus 1 --time 1h", `(?s)^A job of 1 cpu for 1h \(.*\n  would start `, 0},
		{"what-if --policy conservative", `(?s)^Present: .*\nWhat if: .* 2 at the same time\n`, 0},
		{"what-if --without nowhere", `nowhere`, 2},
		{"what-if --under easy", `--under is of a simulation`, 2},
	} {
		said, exit := ask(strings.Fields(c.args)...)
		require.Equal(t, c.exit, exit, "%s: %s", c.args, said)
		require.Regexp(t, c.says, said, c.args)
	}
	for args, parts := range map[string]int{
		"start-times --json": 2, "start-times --json --limit 1": 1, "start-times --json --accuracy": 2, "explain --json 4.0": 1,
	} {
		said, exit := ask(strings.Fields(args)...)
		require.Zero(t, exit, said)
		var all []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(said), &all), said)
		require.Len(t, all, parts, "%s: %s", args, said)
	}
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Zero(t, d.end(), &d.log)
}
