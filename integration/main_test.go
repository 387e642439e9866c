package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binaries is the folder with every binary of the project, built once.
var binaries string //nolint:gochecknoglobals // set by TestMain before any test

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "condor-backfill-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	binaries = dir
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), module+"/...")
	build.Stderr = os.Stderr
	if err = build.Run(); err != nil {
		return fail(err)
	}
	// The plugins have a folder of their own, so that no test finds one by accident.
	plugins, err := filepath.Glob(filepath.Join(dir, "backfill-*"))
	if err != nil {
		return fail(err)
	}
	if err = os.Mkdir(pluginDir(), 0o755); err != nil {
		return fail(err)
	}
	for _, path := range plugins {
		if err = os.Rename(path, filepath.Join(pluginDir(), filepath.Base(path))); err != nil {
			return fail(err)
		}
	}
	return m.Run()
}

func fail(err error) int {
	_, _ = os.Stderr.WriteString(err.Error() + "\n")
	return 1
}

func pluginDir() string { return filepath.Join(binaries, "plugins") }

// TestScripts runs the command lines of testdata/script, one folder each. In
// them $PLUGINS is the folder of the policy plugins, and
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

// exits runs a program and requires its exit code; what it printed can be looked
// at with stdout and stderr.
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
