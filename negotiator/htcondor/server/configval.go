package server

import (
	"context"
	"regexp"
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

// setting answers DC_CONFIG_VAL with a knob's value and where it comes from, but not how often it was
// used, which comes last; or with the names of knobs.
func (n *Negotiator) setting(_ context.Context, call *security.Call) error {
	name, err := readAlone(call)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "?") {
		for _, line := range n.special(name) {
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
// another case, and all other questions with an error in the form that condor_config_val shows.
func (n *Negotiator) special(question string) (lines []string) {
	kind, pattern, given := strings.Cut(question, ":")
	const summary = ".*|.summary" // asks for other lines
	if kind != "?names" || pattern == summary {
		return []string{"!error:unsup:1: '" + question + "' is not supported"}
	}
	if !given {
		pattern = ".*"
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return []string{"!error:regex:0: " + err.Error()}
	}
	for _, name := range n.Configuration.Names() {
		if re.MatchString(name) {
			lines = append(lines, name)
		}
	}
	if lines == nil {
		return []string{""}
	}
	return lines
}
