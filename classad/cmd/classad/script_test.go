package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// The tests' executable is also the command.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"classad": main})
}

// TestScripts runs the command lines of testdata/script, where
//
//	exits CODE PROGRAM ARGS…
//
// requires an exit code, and binary FILE writes a file that is not text.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"binary": func(ts *testscript.TestScript, _ bool, args []string) {
				garbage := make([]byte, 4096)
				for i := range garbage {
					garbage[i] = byte(i*i>>3 + i)
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), garbage, 0o600))
			},
		},
	})
}

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

// FUNCTIONS.md must be the output of functions --markdown; go test -update writes it.
func TestFunctionsDocument(t *testing.T) {
	var all []function
	for _, b := range classad.Builtins() {
		all = append(all, newFunction(b))
	}
	file := filepath.Join("..", "..", "FUNCTIONS.md")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(markdown(all)), 0o644))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(text), markdown(all), "write it anew with go test -update")
}
