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

// timed says how long a test took, without its subtests' names.
type timed struct {
	name    string
	seconds float64
}

// failure is a test that failed, or a package in which no test did.
type failure struct {
	pkg, test string // test is "" when the package failed as a whole
	output    string
	final     bool   // trying again would prove nothing
	line      string // what is said of it if it is flaky
}

func (f failure) name() string {
	if f.test == "" {
		return f.pkg
	}
	return f.pkg + "." + f.test
}

// args are those of go test that try it again, alone.
func (f failure) args(flags []string) []string {
	args := []string{f.pkg}
	for i := 0; i < len(flags); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(flags[i], "-"), "=")
		if name == "run" && f.test != "" {
			if !joined {
				i++ // its value
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

// tally reads the events of one go test, prints them as go test does without
// -json, and says what failed.
type tally struct {
	out      io.Writer
	open     map[string]*pkg // those whose tests run
	failures []failure       // in the order of names
	passed   map[string]bool // whether a test or a package that has ended did, by its name
	times    []timed
}

// pkg is a package whose tests run.
type pkg struct {
	output  []event         // in the order in which it came
	running map[string]bool // tests that began and have not ended
	failed  map[string]bool
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, open: map[string]*pkg{}, passed: map[string]bool{}}
}

// read takes all events. A package of which no end was told has failed.
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
				_, _ = t.out.Write(line) // what go itself says
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

// end is at the end of a package: it prints what go test prints of it.
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
	f := failure{pkg: e.Package, output: shown.String(), final: e.FailedBuild != "" || strings.Contains(shown.String(), "WARNING: DATA RACE")}
	switch leaves := leaves(p.failed); {
	// The tests after a panic have not run.
	case len(leaves) == 0 || len(p.running) > 0 || died.MatchString(f.output):
		t.failures = append(t.failures, f)
	default:
		for _, f.test = range leaves {
			t.failures = append(t.failures, f)
		}
	}
}

var died = regexp.MustCompile(`(?m)^(panic|fatal error): `)

// leaves are the tests of a set of which no subtest is in it.
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
