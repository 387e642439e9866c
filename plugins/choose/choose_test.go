package choose

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
)

// The tests' executable is its own plugin.
func TestMain(m *testing.M) {
	serve.IfChild(os.Args[1:], policies.All())
	os.Exit(m.Run())
}

// plugin writes a plugin of any name that serves a linked-in policy.
func plugin(t *testing.T, path, policy string) string {
	t.Helper()
	self, err := host.Self(policy)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	own := path + ".program" // a script may execute what is in its folder
	if _, err = os.Stat(own); err != nil {
		require.NoError(t, os.Link(self.Path, own))
	}
	text := "#!/bin/sh\nexec '" + own + "' " + strings.Join(self.Args, " ") + "\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755)) //nolint:gosec // it is executed
	return path
}

// choice returns a small request.
func choice(r Request) Request {
	r.Run = host.Options{Logger: hclog.NewNullLogger(), NoMTLS: true}
	return r
}

// A path is a plugin; a name is searched in the directories, in order, and otherwise linked in.
func TestPolicy(t *testing.T) {
	if testing.Short() {
		t.Skip("starts plugins")
	}
	dir := t.TempDir()
	// The policy that each plugin serves shows which one was found.
	plugin(t, filepath.Join(dir, "a", "backfill-easy"), "fcfs")
	plugin(t, filepath.Join(dir, "b", "backfill-easy"), "bb")
	mine := plugin(t, filepath.Join(dir, "b", "backfill-mine"), "conservative")
	a, b, none := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "none")

	for _, c := range []struct {
		name     string
		request  Request
		policy   string
		linked   bool
		fallback string
	}{
		{
			name: "linked in", request: Request{Policy: "ibb", InProcess: true}, policy: "ibb", linked: true,
			fallback: "easy",
		},
		{
			name: "linked in, with promises", request: Request{Policy: "conservative", InProcess: true},
			policy: "conservative", linked: true, fallback: "conservative",
		},
		{
			name: "the papers' spelling", request: Request{Policy: "firstfit", InProcess: true}, policy: "first-fit",
			linked: true, fallback: "easy",
		},
		{name: "this executable as a plugin", request: Request{Policy: "ibb"}, policy: "ibb", fallback: "easy"},
		{
			name: "this executable, the papers' spelling", request: Request{Policy: "firstfit"}, policy: "first-fit",
			fallback: "easy",
		},
		{
			name: "the first directory", request: Request{Policy: "easy", Dirs: []string{none, a, b}}, policy: "fcfs",
			fallback: "easy",
		},
		{
			name: "the other directory", request: Request{Policy: "easy", Dirs: []string{b, a}}, policy: "bb",
			fallback: "easy",
		},
		{
			name:    "a directory comes before what is linked in",
			request: Request{Policy: "easy", Dirs: []string{a}, InProcess: true}, policy: "fcfs", fallback: "easy",
		},
		{
			name: "not in the directory", request: Request{Policy: "ibb", Dirs: []string{a}}, policy: "ibb",
			fallback: "easy",
		},
		{name: "not in the directory, in this process", request: Request{
			Policy: "ibb", Dirs: []string{a},
			InProcess: true,
		}, policy: "ibb", linked: true, fallback: "easy"},
		{
			name: "a stranger's policy", request: Request{Policy: "mine", Dirs: []string{a, b}}, policy: "conservative",
			fallback: "conservative",
		},
		{name: "a path", request: Request{Policy: mine}, policy: "conservative", fallback: "conservative"},
		{
			name: "a path is a plugin in any case", request: Request{Policy: mine, InProcess: true},
			policy: "conservative", fallback: "conservative",
		},
		{
			name: "options", request: Request{Policy: "easy", Options: map[string]string{"depth": "3"}}, policy: "easy",
			fallback: "easy",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, err := Policy(t.Context(), choice(c.request))
			require.NoError(t, err)
			defer chosen.Close()
			require.Equal(t, c.policy, chosen.Main.Spec().Name)
			require.Equal(t, c.fallback, chosen.Fallback.Spec().Name)
			require.Equal(t, chosen.Main.Spec().Guarantees, chosen.Fallback.Spec().Guarantees)
			require.IsType(t, &backfill.Linked{}, chosen.Fallback)
			if c.linked {
				require.IsType(t, &backfill.Linked{}, chosen.Main)
			} else {
				require.IsType(t, &host.Remote{}, chosen.Main)
			}
		})
	}
}

func TestPolicyErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "backfill-text"), []byte("text"), 0o600))
	for _, c := range []struct {
		name    string
		request Request
		err     string
	}{
		{"no name", Request{}, "no policy is named"},
		{"no name, in this process", Request{InProcess: true}, "no policy is named"},
		{"unknown", Request{Policy: "nonesuch"}, `unknown policy "nonesuch": choose one of bb, `},
		{"unknown, in this process", Request{Policy: "nonesuch", InProcess: true}, `unknown policy "nonesuch"`},
		{"unknown, in a directory", Request{Policy: "nonesuch", Dirs: []string{dir}}, `unknown policy "nonesuch"`},
		{"a path to nothing", Request{Policy: "./nonesuch"}, "nonesuch: is not a policy plugin"},
		{"a path to a folder", Request{Policy: dir}, "is not a policy plugin: is a directory"},
		{
			"a plugin that is none",
			Request{Policy: "text", Dirs: []string{dir}},
			"backfill-text: is not a policy plugin: permission denied",
		},
		{
			"an option that is none",
			Request{Policy: "easy", Options: map[string]string{"dept": "1"}},
			`policy easy has no option "dept", did you mean depth?: it has depth`,
		},
		{
			"an option that is none, in this process",
			Request{Policy: "easy", InProcess: true, Options: map[string]string{"dept": "1"}},
			`has no option "dept"`,
		},
		{"a misspelt name", Request{Policy: "esay"}, `unknown policy "esay", did you mean easy?`},
		{
			"a resource that the pool has not",
			Request{
				Policy: "ibb", InProcess: true, Options: map[string]string{"resources": "cpu"},
				Resources: []string{"cpus", "disk"},
			},
			`option resources="cpu": the pool has no resource cpu, did you mean cpus?: it has cpus, disk`,
		},
		{
			"a resource that the pool has not, in another process",
			Request{Policy: "ibb", Options: map[string]string{"resources": "cpu"}, Resources: []string{"cpus", "disk"}},
			`the pool has no resource cpu`,
		},
		{
			"an option of no worth",
			Request{Policy: "easy", Options: map[string]string{"depth": "-1"}},
			"must be a whole number",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, err := Policy(t.Context(), choice(c.request))
			require.ErrorContains(t, err, c.err)
			require.Nil(t, chosen)
		})
	}
}

func TestAnInterruptedStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Policy(ctx, choice(Request{Policy: "easy"}))
	require.ErrorIs(t, err, context.Canceled)
}

func TestCloseEndsTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a plugin")
	}
	chosen, err := Policy(t.Context(), choice(Request{Policy: "easy"}))
	require.NoError(t, err)
	remote, ok := chosen.Main.(*host.Remote)
	require.True(t, ok)
	pid := remote.Stats().PID
	require.NoError(t, syscall.Kill(pid, 0))
	chosen.Close()
	chosen.Close()
	poll.Equal(t, error(syscall.ESRCH), func() error { return syscall.Kill(pid, 0) })

	(&Chosen{}).Close()
}
