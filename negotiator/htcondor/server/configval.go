package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Configuration is HTCondor's configuration as a daemon knows it.
type Configuration interface {
	// Setting returns the setting that the value of a knob comes from; false if there is none.
	Setting(name string) (Setting, bool)
	// Names returns the full names of all settings, in order.
	Names() []string
}

// Setting is a knob's value, and where it comes from.
type Setting struct {
	// Name is the knob's full name, such as NEGOTIATOR.LOG, and Value its value with macros expanded.
	Name, Value string
	// Raw is the value as it is written, Source the place where it is written, and Default what it
	// would be otherwise.
	Raw, Source, Default string
}

// configuration adds the commands of condor_config_val and condor_who. As under the stock daemons,
// readers may ask for everything.
func (n *Negotiator) configuration(all handlers) {
	all.add(457, "CONFIG_VAL", security.ByPayload, n.value, security.Read)
	all.add(60007, "DC_CONFIG_VAL", security.ByPayload, n.setting, security.Read)
}

// value answers CONFIG_VAL with a knob's value.
func (n *Negotiator) value(_ context.Context, call *security.Call) error {
	name, err := readAlone(call)
	if err != nil {
		return err
	}
	if s, _ := n.Configuration.Setting(name); s.Value != "" {
		call.PutString(s.Value)
	} else {
		call.PutString("Not defined")
	}
	return call.Send()
}

// setting answers DC_CONFIG_VAL with a knob's value and where it comes from, but not how often it
// was used, which comes last; or with the names of knobs.
func (n *Negotiator) setting(ctx context.Context, call *security.Call) error {
	name, err := readAlone(call)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "?") {
		lines, err := n.special(ctx, call, name)
		if err != nil {
			return err
		}
		for _, line := range lines {
			call.PutString(line)
		}
		return call.Send()
	}
	s, known := n.Configuration.Setting(name)
	if !known {
		call.PutNull()
		return call.Send()
	}
	call.PutString(s.Value)
	call.PutString(strings.ToUpper(s.Name) + " = " + s.Raw)
	call.PutString(s.Source)
	if s.Default == "" {
		call.PutNull()
	} else {
		call.PutString(s.Default)
	}
	return call.Send()
}

// special answers ?names and ?names:REGEXP with the names that match, if only by a part and in
// another case, and all other questions with an error in the form that condor_config_val shows. A
// host has one turn at a time, as for queries, which ends when the client hangs up.
func (n *Negotiator) special(ctx context.Context, call *security.Call, question string) (lines []string, err error) {
	kind, pattern, given := strings.Cut(question, ":")
	const summary = ".*|.summary" // asks for other lines
	if kind != "?names" || pattern == summary {
		return []string{"!error:unsup:1: '" + question + "' is not supported"}, nil
	}
	if !given {
		pattern = ".*"
	}
	done, err := n.turns.takeFor(ctx, call)
	if err != nil {
		return nil, err
	}
	defer done()
	names := n.Configuration.Names()
	re, wrong := affordable("(?i)"+pattern, names)
	if wrong != nil {
		return []string{"!error:regex:0: " + wrong.Error()}, nil
	}
	stop := interest(ctx, call.Stream)
	for _, name := range names {
		if err = stop(); err != nil {
			return nil, err
		}
		if len(name) <= longestKnob && re.MatchString(name) {
			lines = append(lines, name)
		}
	}
	if lines == nil {
		return []string{""}, nil
	}
	return lines, nil
}

// The bounds of a pattern, since it is compared with thousands of names: its bytes, and the size of
// the program that it becomes, which grows with the product of all counts in it. A letter has size 1.
const (
	longestPattern = 256
	largestPattern = 1000
	longestKnob    = 1024
)

// compile compiles a regular expression of a stranger, unless it is too large.
func compile(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > longestPattern {
		return nil, fmt.Errorf("the pattern has %d bytes: at most %d are allowed", len(pattern), longestPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if size := sizeOf(tree); size > largestPattern {
		return nil, errors.New("the pattern is too large: count less often or less far, such as in a{9}")
	}
	return regexp.Compile(pattern)
}

// What it may cost to compare a pattern with all names: the steps of the program that it becomes,
// in each of their bytes. The dearest patterns known take 33 ms of a processor of 2024 then
// (BenchmarkPattern). Small programs may always be compared.
const (
	mostCompared = 4_000_000
	smallProgram = 64
)

// affordable is compile for a pattern that is compared with names, unless that takes too long.
func affordable(pattern string, names []string) (*regexp.Regexp, error) {
	re, err := compile(pattern)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	bytes := 0
	for _, name := range names {
		if len(name) <= longestKnob {
			bytes += len(name) + 1
		}
	}
	if size := len(program.Inst); size > smallProgram && size*bytes > mostCompared {
		return nil, fmt.Errorf("the pattern has %d steps, too many for %d bytes of names: at most %d are allowed",
			size, bytes, max(smallProgram, mostCompared/bytes))
	}
	return re, nil
}

// sizeOf returns about how large the program of a regular expression is; a size above
// largestPattern may be less than the real one.
func sizeOf(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		size = min(size+sizeOf(sub), largestPattern+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(1, re.Min, re.Max)
	}
	return min(size, largestPattern+1)
}
