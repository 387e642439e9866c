package integration_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// thorough is for what takes long and fails where something cheaper fails as well, nearly always.
//
//nolint:gochecknoglobals // a flag of the test binary
var thorough = flag.Bool("thorough", false, "try every policy where one of each kind stands for all")

// binaries is the folder with every binary of the project.
var binaries string //nolint:gochecknoglobals // set by TestMain before any test

// goFlags are those of every build here, after the caller's, with which most is compiled already:
// without a symbol table a program links in half the time, and a second build with the same flags
// finds it up to date.
//
//nolint:gochecknoglobals // never changed
var goFlags = "GOFLAGS=" + os.Getenv("GOFLAGS") + " -buildvcs=false -ldflags=-s"

// standIns returns the policies that the tests' executable serves under the name of a plugin, and a
// bad one. Linking each plugin would take longer than most tests; TestEveryPolicyIsAPlugin compares
// their mains.
func standIns() []backfill.PolicySpec { return append(policies.All(), bad()) }

// linkedPlugin is the plugin whose real binary is used.
const linkedPlugin = "easy"

func TestMain(m *testing.M) {
	if name, plugin := strings.CutPrefix(filepath.Base(os.Args[0]), host.Prefix); plugin {
		for _, spec := range standIns() {
			if spec.Name == name {
				sdk.Serve(spec)
				os.Exit(0)
			}
		}
		os.Exit(fail(fmt.Errorf("there is no policy %s", name)))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	dir, err := os.MkdirTemp("", "condor-backfill-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	binaries = dir
	// The plugins are in a folder of their own, so that no test finds one by accident.
	if err = os.Mkdir(pluginDir(), 0o755); err != nil {
		return fail(err)
	}
	commands := []string{"/classad/cmd/classad", "/condorsim/cmd/condorsim", "/negotiator/cmd/negotiator"}
	if err = errors.Join(build(dir, commands...),
		build(pluginDir(), "/plugins/"+host.Prefix+linkedPlugin)); err != nil {
		return fail(err)
	}
	for _, spec := range policies.All() {
		if spec.Name != linkedPlugin {
			if err = standIn(filepath.Join(pluginDir(), host.Prefix+spec.Name)); err != nil {
				return fail(err)
			}
		}
	}
	return m.Run()
}

// build builds packages of the module into a folder.
func build(dir string, packages ...string) error {
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, p := range packages {
		args = append(args, module+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), goFlags), os.Stderr
	return cmd.Run()
}

// TestTheCacheKnowsEverySource opens every source of the module, so that Go's cache of test results
// depends on them. It does not know what TestMain builds, and would otherwise return results from
// before a change of a command.
func TestTheCacheKnowsEverySource(t *testing.T) {
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "bin" || name == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, "_test.go") && filepath.Ext(name) == ".go":
			_, err = os.Stat(path)
		}
		return err
	}))
}

// standIn puts the tests' executable where a plugin is looked for. It is a separate file, because
// links to a plugin are resolved before it is started.
func standIn(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if os.Link(self, path) == nil {
		return nil
	}
	text, err := os.ReadFile(self) // for another file system
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o755) //nolint:gosec // it is executed
}

func fail(err error) int {
	_, _ = os.Stderr.WriteString(err.Error() + "\n")
	return 1
}

func pluginDir() string { return filepath.Join(binaries, "plugins") }

// TestEveryPolicyIsAPlugin checks that every policy has a main that differs from the linked
// plugin's only in the name.
func TestEveryPolicyIsAPlugin(t *testing.T) {
	main := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "plugins", host.Prefix+name, "main.go"))
		require.NoError(t, err)
		return string(text)
	}
	for _, spec := range policies.All() {
		folder := strings.ReplaceAll(spec.Name, "-", "")
		want := strings.ReplaceAll(main(linkedPlugin), "policies/"+linkedPlugin, "policies/"+folder)
		want = strings.ReplaceAll(want, linkedPlugin+".Spec", folder+".Spec")
		want = strings.ReplaceAll(want, host.Prefix+linkedPlugin, host.Prefix+spec.Name)
		require.Equal(t, strings.ReplaceAll(want, "the "+linkedPlugin+" policy", "the "+spec.Name+" policy"),
			main(spec.Name))
	}
}

// TestScripts runs the command lines of testdata/script, one folder each. In them $PLUGINS is the
// folder of the policy plugins, and
//
//	exits CODE PROGRAM ARGS…
//
// requires an exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", binaries+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("PLUGINS", pluginDir())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a program and requires its exit code; stdout and stderr refer to its output.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Exec returns it bare
		code = strconv.Itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}
