package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConfigCheck: the command reports each error that a start would report, with its place in the
// file.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, mine, none := filepath.Join(dir, "negotiator.yaml"), filepath.Join(dir, "backfill-mine"),
		filepath.Join(dir, "none")
	stand(t, mine, "easy")
	sum := strings.Repeat("ab", 32)
	for _, c := range []struct{ text, says string }{
		{"", ""},
		{"policy: easy\npolicy_options: {depth: '2'}", ""},
		{"policy: ibb\nfallback: fcfs", ""},
		{"policy: mine\nplugins: {dirs: [" + dir + "]}", ""},
		{"policy: " + mine + "\npolicy_options: {depth: '2'}\nplugins: {allow: [" + mine + "]}", ""},
		{"polcy: mine", `[1:1] unknown field "polcy"`},
		{"speed: max\npolicy: nonesuch", `[2:9] policy: unknown policy "nonesuch"`},
		{"policy: " + none, "[1:9] policy: " + none + ": is not a policy plugin"},
		{"policy: " + path, "[1:9] policy: " + path + ": is not a policy plugin: permission denied"},
		{"policy: easy\npolicy_options: {dept: '2'}", `[2:17] policy_options: policy easy has no option "dept"`},
		{"policy: " + mine + "\npolicy_options: {dept: '2'}", `has no option "dept"`},
		{
			"policy: easy\npolicy_options: {depth: '0'}",
			"[2:17] policy_options: policy easy: option depth=\"0\" must be a whole number",
		},
		{
			"policy: ibb\npolicy_options: {resources: cpu}",
			"[2:17] policy_options: policy ibb: option resources=\"cpu\": the pool has no resource cpu",
		},
		{
			"policy: pc\nfallback: easy",
			"[2:11] fallback: pc gives guarantees, so its fallback must as well, and easy does not: choose " +
				"conservative, dc, pc, slack or slack-small\n   1 | policy: pc\n>  2 | fallback: easy\n                 ^",
		},
		{"policy: ibb\nfallback: dc", "[2:11] fallback: ibb gives no guarantees, so its fallback must not either"},
		{"pool: " + none, "[1:7] pool: read the pool: open " + none},
		{"workload: " + none, "[1:11] workload: read the workload: open " + none},
		{"policy: " + mine + "\nplugins: {allow: []}", "[2:18] plugins.allow: " + mine +
			" may not be started, since it is not named here; if it may, add the line"},
		{
			"policy: " + mine + "\nplugins:\n  checksums: {" + mine + ": " + sum + "}",
			"plugins.checksums: start " + mine + ": checksums did not match",
		},
		{
			"policy: " + mine + "\nplugins: {dirs: [" + dir + "], each: {mine: {}, " + mine + ": {}}}",
			"plugins.each: " + mine + " and mine are the same file",
		},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		cmd, stdout, stderr := launched(t, "config", "check", path)
		failed := cmd.Run()
		if c.says == "" {
			require.NoError(t, failed, "%s\n%s", c.text, stderr)
			require.Equal(t, path+": ok\n", stdout.String())
			continue
		}
		require.Equal(t, 2, code(t, failed), c.text)
		require.Contains(t, stderr.String(), "negotiator: "+path+": ")
		require.Contains(t, stderr.String(), c.says)
		require.Empty(t, stdout.String())
	}
}

// TestConfigCheckOfCollectors checks that HTCondor's configuration must name a collector that can be
// found.
func TestConfigCheckOfCollectors(t *testing.T) {
	t.Parallel()
	for hosts, says := range map[string]string{
		"127.0.0.1:1": "", "a:b": "COLLECTOR_HOST: a:b", "a:0": "COLLECTOR_ADDRESS_FILE, which is not set",
		"": "COLLECTOR_HOST is not set",
	} {
		s := newSite(t, map[string]string{"COLLECTOR_HOST": hosts})
		cmd, _, stderr := launched(t, "config", "check")
		cmd.Env = append(cmd.Env, "PATH="+s.folder+":"+os.Getenv("PATH"))
		failed := cmd.Run()
		if says == "" {
			require.NoError(t, failed, stderr)
			continue
		}
		require.Equal(t, 2, code(t, failed), hosts)
		require.Contains(t, stderr.String(), says)
	}
}
