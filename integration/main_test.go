package integration_test

import (
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

	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// binaries is the folder with every binary of the project.
var binaries string //nolint:gochecknoglobals // set by TestMain before any test

// goFlags are those of every build here, after the caller's, with which most is compiled already:
// without a symbol table a program links in half the time, and a second build with the same flags
// finds it up to date.
//
//nolint:gochecknoglobals // never changed
var goFlags = "GOFLAGS=" + os.Getenv("GOFLAGS") + " -buildvcs=false -ldflags=-s"

// Under the name of a plugin the tests' executable serves a bad policy.
func TestMain(m *testing.M) {
	if kind, isPlugin := strings.CutPrefix(filepath.Base(os.Args[0]), host.Prefix); isPlugin {
		sdk.Serve(bad(kind))
		os.Exit(0)
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
	if err = build(dir, "/classad/cmd/classad", "/condorsim/cmd/condorsim", "/negotiator/cmd/negotiator",
		"/plugins/cmd/policy-plugins"); err != nil {
		return fail(err)
	}
	if err = exec.Command(filepath.Join(dir, "policy-plugins"), "link", pluginDir()).Run(); err != nil {
		return fail(fmt.Errorf("link the plugins: %w", err))
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

func fail(err error) int {
	_, _ = os.Stderr.WriteString(err.Error() + "\n")
	return 1
}

func pluginDir() string { return filepath.Join(binaries, "plugins") }

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
