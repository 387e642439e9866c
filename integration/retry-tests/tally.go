package main

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
	FailedBuild                   string
	ImportPath                    string
}

// timed is the duration of a test, subtests included.
type timed struct {
	name    string
	seconds float64
}

// failure is a test that failed, or a package in which no test did.
type failure struct {
	pkg, test string // test is "" when the package failed as a whole
	output    string
	final     bool   // trying again would prove nothing
	line      string // the message if it is flaky
}

func (f failure) name() string {
	if f.test == "" {
		return f.pkg
	}
	return f.pkg + "." + f.test
}

// args returns the arguments of go test that run the failed test alone, or the failed package.
func (f failure) args(flags []string) []string {
	args := []string{f.pkg}
	for i := 0; i < len(flags); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(flags[i], "-"), "=")
		if name == "run" && f.test != "" {
			if !joined {
				i++ // skip the flag's value
			}
			continue
		}
		args = append(args, flags[i])
	}
	if f.test != "" {
		parts := strings.Split(f.test, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		args = append(args, "-run", strings.Join(parts, "/"))
	}
	return append(args, "-count=1")
}

func names(failures []failure) []string {
	list := make([]string, len(failures))
	for i, f := range failures {
		list[i] = f.name()
	}
	return list
}

// tally reads the events of one go test, prints them as go test does without -json, and collects
// the failures.
type tally struct {
	out      io.Writer
	open     map[string]*pkg // packages whose tests are running
	failures []failure       // in the order of names
	passed   map[string]bool // by name, whether a finished test or package passed
	times    []timed
}

// pkg is a package whose tests run.
type pkg struct {
	output  []event         // in the order in which it came
	running map[string]bool // tests in progress
	failed  map[string]bool
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, open: map[string]*pkg{}, passed: map[string]bool{}}
}

// read reads all events. A package whose end is missing counts as failed.
func (t *tally) read(events io.Reader) error {
	defer func() {
		for _, name := range slices.Sorted(maps.Keys(t.open)) {
			t.end(t.open[name], event{Action: "fail", Package: name})
		}
		slices.SortFunc(t.failures, func(a, b failure) int { return strings.Compare(a.name(), b.name()) })
	}()
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				_, _ = t.out.Write(line) // output of go itself
			} else {
				t.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) take(e event) {
	if e.Action == "build-output" {
		_, _ = io.WriteString(t.out, e.Output)
	}
	if _, ended := t.passed[e.Package]; ended || e.Package == "" {
		return
	}
	p := t.open[e.Package]
	if p == nil {
		p = &pkg{running: map[string]bool{}, failed: map[string]bool{}}
		t.open[e.Package] = p
	}
	switch e.Action {
	case "run":
		p.running[e.Test] = true
	case "output":
		p.output = append(p.output, e)
	case "pass", "skip", "fail":
		t.passed[failure{pkg: e.Package, test: e.Test}.name()] = e.Action == "pass"
		if e.Test == "" {
			t.end(p, e)
			delete(t.open, e.Package)
			return
		}
		delete(p.running, e.Test)
		if e.Action == "fail" {
			p.failed[e.Test] = true
		}
		if !strings.Contains(e.Test, "/") {
			t.times = append(t.times, timed{e.Package + "." + e.Test, e.Elapsed})
		}
	}
}

// end handles the end of a package: it notes the failures and prints what go test prints.
func (t *tally) end(p *pkg, e event) {
	if e.Action != "fail" {
		for _, line := range p.output {
			if line.Test == "" && (strings.HasPrefix(line.Output, "ok ") || strings.HasPrefix(line.Output, "? ")) {
				_, _ = io.WriteString(t.out, line.Output)
			}
		}
		return
	}
	var shown strings.Builder
	for _, line := range p.output {
		if line.Test == "" || p.failed[line.Test] || p.running[line.Test] {
			shown.WriteString(line.Output)
		}
	}
	_, _ = io.WriteString(t.out, shown.String())
	f := failure{
		pkg: e.Package, output: shown.String(),
		final: e.FailedBuild != "" || strings.Contains(shown.String(), "WARNING: DATA RACE"),
	}
	switch leaves := leaves(p.failed); {
	// After a panic, later tests have not run.
	case len(leaves) == 0 || len(p.running) > 0 || died.MatchString(f.output):
		t.failures = append(t.failures, f)
	default:
		for _, f.test = range leaves {
			t.failures = append(t.failures, f)
		}
	}
}

var died = regexp.MustCompile(`(?m)^(panic|fatal error): `)

// leaves returns the tests of a set without those whose subtests are in it.
func leaves(tests map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tests)), func(test string) bool {
		for other := range tests {
			if strings.HasPrefix(other, test+"/") {
				return true
			}
		}
		return false
	})
}
