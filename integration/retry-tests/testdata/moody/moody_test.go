// Package moody has tests that fail as RETRY_MOOD says, most of them only once, as recorded in the
// folder RETRY_MEMORY.
package moody

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fails reports whether a test must fail in this run.
func fails(name string) bool {
	for mood := range strings.FieldsSeq(os.Getenv("RETRY_MOOD")) {
		if mood == "always-"+name {
			return true
		}
		if mood == name {
			before := filepath.Join(os.Getenv("RETRY_MEMORY"), name)
			_, err := os.Stat(before)
			return err != nil && os.WriteFile(before, nil, 0o600) == nil
		}
	}
	return false
}

func TestMain(m *testing.M) {
	code := m.Run()
	if fails("main") {
		fmt.Println("something was left behind")
		code = 1
	}
	os.Exit(code)
}

func TestA(t *testing.T) {
	fmt.Println("A runs")
	if fails("A") {
		t.Error("A lost a race")
	}
	if fails("panic") {
		panic("A hit the ceiling")
	}
}

func TestB(t *testing.T) {
	for _, name := range []string{"sub one", "sub(2"} {
		t.Run(name, func(t *testing.T) {
			fmt.Println(name, "runs")
			if fails(strings.Fields(name)[0]) {
				t.Error(name, "lost a race")
			}
		})
	}
}

func TestC(t *testing.T) {
	if fails("C") {
		t.Error("C lost a race")
	}
	if fails("race") {
		t.Error("WARNING: DATA RACE") // as the race detector prints it
	}
}

func TestD(*testing.T) { fmt.Println("D runs") }
