package choose

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// sumOf returns the sum of a file.
func sumOf(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	return sum[:]
}

// TestPermit checks that permissions and checksums apply to files, whatever they are called: no
// link and no other path evades them.
func TestPermit(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	dir, other := filepath.Join(root, "dir"), filepath.Join(root, "other")
	mine := plugin(t, filepath.Join(dir, "backfill-mine"), "easy")
	evil := plugin(t, filepath.Join(other, "backfill-mine"), "fcfs")
	link := filepath.Join(other, "backfill-link")
	require.NoError(t, os.Symlink(mine, link))
	disguised := filepath.Join(root, "backfill-disguised")
	require.NoError(t, os.Symlink(evil, disguised))
	hard := filepath.Join(other, "backfill-hard")
	require.NoError(t, os.Link(mine, hard))
	good, bad := sumOf(t, mine), sumOf(t, evil)

	const refused, unlike = "may not be started, since it is not named here; if it may, add the line \"- ",
		"checksums did not match"
	for _, c := range []struct {
		name, policy string
		plugins      Plugins
		err          string
	}{
		{"by name", "mine", Plugins{Allow: []string{"mine"}}, ""},
		{"by the file's name", "mine", Plugins{Allow: []string{"backfill-mine"}}, ""},
		{"by path", "mine", Plugins{Allow: []string{mine}}, ""},
		{"by a relative path", "mine", Plugins{Allow: []string{"dir/../dir/backfill-mine"}}, ""},
		{"by a link", "mine", Plugins{Allow: []string{link}}, ""},
		{"a path to what is allowed by name", "./dir/backfill-mine", Plugins{Allow: []string{"mine"}}, ""},
		{"a link to what is allowed", link, Plugins{Allow: []string{"other", "mine"}}, ""},
		{
			"nothing is allowed", "mine",
			Plugins{Allow: []string{}},
			"plugins.allow: " + mine + " " + refused + mine + `"`,
		},
		{"another is allowed", evil, Plugins{Allow: []string{mine}}, refused},
		{"another of that name", evil, Plugins{Allow: []string{"mine"}}, refused},
		{
			"another of that name, by a relative path", "other/backfill-mine",
			Plugins{Allow: []string{"mine", "none", "./none"}},
			refused,
		},
		{"a link to another", disguised, Plugins{Allow: []string{"mine", "./dir"}}, refused},
		{"what is linked in", "ibb", Plugins{Allow: []string{}}, ""},

		{"its sum", "mine", Plugins{Checksums: map[string][]byte{"mine": good}}, ""},
		{"another's sum", "mine", Plugins{Checksums: map[string][]byte{"mine": bad}}, unlike},
		{
			"another's sum, by path", "./dir/backfill-mine",
			Plugins{Checksums: map[string][]byte{"backfill-mine": bad}},
			unlike,
		},
		{"another's sum, by a link", link, Plugins{Checksums: map[string][]byte{"mine": bad}}, unlike},
		{"another's sum, by a hard link", hard, Plugins{Checksums: map[string][]byte{mine: bad}}, unlike},
		{
			"another's sum, called otherwise", mine,
			Plugins{Checksums: map[string][]byte{"./other/backfill-link": bad}},
			unlike,
		},
		{"the sum of another", "mine", Plugins{Checksums: map[string][]byte{evil: bad}}, ""},
		{
			"two sums", "mine",
			Plugins{Checksums: map[string][]byte{"mine": bad, mine: good}},
			"plugins.checksums: " + mine + " and mine are the same file, " + mine + ": give it once",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.err == "" {
				t.Skip("starts plugins")
			}
			r := choice(Request{Policy: c.policy, Dirs: []string{dir}})
			r.Allow, r.Checksums = c.plugins.Allow, c.plugins.Checksums
			chosen, err := Policy(t.Context(), r)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			chosen.Close()
		})
	}
}

// TestTheSumCountsAtEveryStart also checks that a changed link does not change what is restarted.
func TestTheSumCountsAtEveryStart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts plugins")
	}
	dir := t.TempDir()
	first, second := plugin(t, filepath.Join(dir, "v1"), "easy"), plugin(t, filepath.Join(dir, "v2"), "easy")
	link := filepath.Join(dir, "backfill-mine")
	require.NoError(t, os.Symlink(first, link))
	sum := sumOf(t, first)
	for _, c := range []struct {
		name string
		do   func()
		err  string
	}{
		{"the link leads elsewhere", func() {
			require.NoError(t, os.Remove(link))
			require.NoError(t, os.WriteFile(second, []byte("#!/bin/false\n"), 0o755)) //nolint:gosec // it is executed
			require.NoError(t, os.Symlink(second, link))
		}, ""},
		{"the file is another", func() {
			//nolint:gosec // it is executed
			require.NoError(t, os.WriteFile(first, []byte("#!/bin/sh\nexec "+second+"\n"), 0o755))
		}, "checksums did not match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(link))
			require.NoError(t, os.Symlink(first, link))
			r := choice(Request{Policy: link})
			r.Checksums = map[string][]byte{link: sum}
			chosen, err := Policy(t.Context(), r)
			require.NoError(t, err)
			defer chosen.Close()
			remote, ok := chosen.Main.(*host.Remote)
			require.True(t, ok)
			c.do()
			var errs []string
			h, err := backfill.NewHost(backfill.NewState([]string{"cpus"}, profile.ByRank), nil, remote,
				chosen.Fallback, func(r backfill.Refusal) {
					errs = append(errs, r.Err.Error())
				})
			require.NoError(t, err)
			process, err := os.FindProcess(remote.Stats().PID)
			require.NoError(t, err)
			require.NoError(t, process.Kill())
			job := &backfill.Job{ID: 1, Nodes: 1, Request: backfill.Vector{1}, Estimate: 1}
			_, err = h.Decide(t.Context(), backfill.Round{
				Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
				Events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{
					Name:     "a",
					Capacity: backfill.Vector{1},
				}}, {Kind: backfill.Submitted, Job: job}},
			})
			require.NoError(t, err)
			second := *job
			second.ID, second.Position.Proc = 2, 1
			_, err = h.Decide(t.Context(),
				backfill.Round{Events: []backfill.Event{{Kind: backfill.Submitted, Job: &second}}})
			require.NoError(t, err)
			require.NotEmpty(t, errs, "it was killed")
			if c.err == "" {
				require.Len(t, errs, 1, "and started anew")
			} else {
				require.Contains(t, errs[1], c.err)
			}
		})
	}
}

// TestOptionsOfOne checks that options apply to the file that their key stands for.
func TestOptionsOfOne(t *testing.T) {
	dir := t.TempDir()
	mine := plugin(t, filepath.Join(dir, "backfill-mine"), "easy")
	other := filepath.Join(dir, "backfill-other")
	require.NoError(t, os.Symlink(mine, other))
	all, some := host.Options{Restarts: 1}, host.Options{Restarts: 2}
	for _, c := range []struct {
		name string
		each map[string]host.Options
		file executable
		want int
	}{
		{"none", nil, executable{command: host.Command{Path: mine}}, 1},
		{"by name", map[string]host.Options{"mine": some}, executable{command: host.Command{Path: mine}}, 2},
		{"by path", map[string]host.Options{mine: some, "ibb": all}, executable{command: host.Command{Path: mine}}, 2},
		{"another", map[string]host.Options{"ibb": some}, executable{command: host.Command{Path: mine}}, 1},
		{
			"by the link, of two to one file",
			map[string]host.Options{"mine": all, "other": some},
			executable{command: host.Command{Path: mine}, path: other},
			2,
		},
		{
			"by the file's other name alone",
			map[string]host.Options{"mine": some},
			executable{command: host.Command{Path: mine}, path: other},
			2,
		},
		{"linked in", map[string]host.Options{"ibb": some}, executable{linked: "ibb"}, 2},
		{"linked in, by the file's name", map[string]host.Options{"backfill-ibb": some}, executable{linked: "ibb"}, 2},
		{"linked in, another", map[string]host.Options{"mine": some, "easy": some}, executable{linked: "ibb"}, 1},
	} {
		r := Request{
			Dirs: []string{dir}, Options: map[string]string{"a": "b"},
			Plugins: Plugins{Run: all, Each: c.each},
		}
		got, err := r.options(&c.file)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got.Restarts, c.name)
		require.Equal(t, r.Options, got.Policy)
	}
}

func TestFallback(t *testing.T) {
	for _, c := range []struct{ policy, fallback, want, err string }{
		{"ibb", "", "easy", ""},
		{"pc", "", "conservative", ""},
		{"ibb", "fcfs", "fcfs", ""},
		{"pc", "dc", "dc", ""},
		{"pc", "easy", "", "pc gives guarantees, so its fallback must as well, and easy does not"},
		{"easy", "pc", "", "easy gives no guarantees, so its fallback must not either, and pc does"},
		{"easy", "esay", "", `unknown policy "esay", did you mean easy?`},
	} {
		chosen, err := Policy(t.Context(), Request{Policy: c.policy, Fallback: c.fallback, InProcess: true})
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, chosen.Fallback.Spec().Name)
	}
}

// TestWarnings checks the warnings about settings without effect.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	mine := plugin(t, filepath.Join(dir, "backfill-mine"), "easy")
	var log strings.Builder
	warned := func(r Request) string {
		log.Reset()
		r.Policy, r.InProcess, r.Run.Logger = "easy", true,
			hclog.New(&hclog.LoggerOptions{Output: &log, DisableTime: true})
		r.Dirs = append(r.Dirs, dir)
		chosen, err := Policy(t.Context(), r)
		require.NoError(t, err)
		chosen.Close()
		return log.String()
	}
	sum := sumOf(t, mine)
	require.Empty(t, warned(Request{Plugins: Plugins{
		Allow: []string{"mine", "easy"}, Each: map[string]host.Options{"backfill-mine": {}, "easy": {}},
		Checksums: map[string][]byte{mine: sum},
	}}))
	require.Regexp(t, "no plugin is found in a directory that cannot be read: error=.*nowhere",
		warned(Request{Dirs: []string{"nowhere"}}))
	const stray = `[WARN]  a setting is for a plugin that is not there: setting=plugins.`
	require.Equal(t, stray+"allow plugin=./mine\n"+stray+"each plugin=mien\n"+stray+"checksums plugin=mien\n",
		warned(Request{Plugins: Plugins{
			Allow: []string{"./mine"}, Each: map[string]host.Options{"mien": {}},
			Checksums: map[string][]byte{"mien": sum},
		}}))
	require.Contains(t, warned(Request{Plugins: Plugins{Checksums: map[string][]byte{"easy": sum}}}),
		"has no file of which the sum could be checked: setting=plugins.checksums policy=easy")
}
