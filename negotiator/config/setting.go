package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
)

// Setting is one setting of the negotiator. All that is said of it follows from its entry in the
// table: how the YAML file and HTCondor's configuration are read, what a reload changes, what is
// refused and why, the help, configs/negotiator.yaml, configs/htcondor/backfill.conf, and the list in
// negotiator/htcondor/KNOBS.md.
type Setting struct {
	// Key is the path in the YAML file, such as plugins.deadline; "" if only a knob sets it.
	Key string
	// Knob is the name in HTCondor's configuration, if there is one, and Kind that of its value.
	Knob string
	Kind Kind
	// Doc says in one line what it is for. More goes on where there is room: in the files of configs.
	Doc, More string
	// Restart says that a change takes effect only when the negotiator is started anew.
	Restart bool
	// Default is the value where nothing is said, OnReal that on real pools if it is another one, and
	// KnobDefault what HTCondor's configuration would say; it may refer to other knobs.
	Default, OnReal any
	KnobDefault     string
	// Example is a value to show in the files of configs, beside the default.
	Example any
	// Absent says that a file must not mention the default: an empty value is another one.
	Absent bool
	// Empty is how an empty text is called when it changes; "": by default.
	Empty string
	// Check errs if the configuration's value is out of bounds.
	Check func(c *Config) error
	// Target is where the value goes; nil if the knob is read for something else than a [Config].
	Target func(c *Config) any

	each  bool // it can be set for a single plugin
	copy  func(to, from *Config)
	reset func(c *Config, value any)
}

// Kind is the type of a knob's value.
type Kind string

// The kinds of knobs.
const (
	Text    Kind = "text"
	List    Kind = "list"    // separated by commas or blanks
	Pairs   Kind = "pairs"   // a list of NAME=VALUE
	Bool    Kind = "boolean" // or an expression that is one
	Whole   Kind = "number"  // whole, at least 0, or an expression that is one
	Seconds Kind = "seconds" // whole, at least 0, or an expression that is one
	LogSize Kind = "size"    // such as 10 Mb, or a time such as 1 day

	Expression Kind = "expression" // over ads
	Rank       Kind = "rank"       // an expression that is evaluated for each pair of a job and a slot
)

// set completes the entry of a setting that goes to a field of the configuration.
func set[T any](at func(*Config) *T, value T, s Setting) Setting {
	s.Default = value
	s.Target = func(c *Config) any { return at(c) }
	s.copy = func(to, from *Config) { *at(to) = *at(from) }
	s.reset = func(c *Config, value any) { *at(c) = value.(T) }
	s.Kind = cmp.Or(s.Kind, kindOf(value))
	if s.Knob != "" && s.KnobDefault == "" {
		s.KnobDefault = KnobText(value)
		if s.OnReal != nil {
			s.KnobDefault = KnobText(s.OnReal)
		}
	}
	return s
}

func kindOf(value any) Kind {
	switch value.(type) {
	case []string:
		return List
	case map[string]string:
		return Pairs
	case bool:
		return Bool
	case int:
		return Whole
	case time.Duration:
		return Seconds
	default:
		return Text
	}
}

// KnobText writes a value as HTCondor's configuration has it; "" for none.
func KnobText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(value, ", ")
	case map[string]string:
		return pairs(value)
	case time.Duration:
		return strconv.Itoa(int(value / time.Second))
	default:
		return fmt.Sprint(value)
	}
}

// Name is the key in the YAML file, else the knob.
func (s Setting) Name() string { return cmp.Or(s.Key, s.Knob) }

// text shows the value as messages about changes do.
func (s Setting) text(c *Config) string {
	switch value := s.Target(c).(type) {
	case *string:
		return cmp.Or(*value, s.Empty, "by default")
	case *map[string]string:
		return cmp.Or(pairs(*value), "none")
	default:
		return fmt.Sprint(reflect.ValueOf(value).Elem())
	}
}

// same reports whether two configurations have the same value.
func (s Setting) same(a, b *Config) bool { return reflect.DeepEqual(s.Target(a), s.Target(b)) }

// fault is an error of [Setting.Check] with the setting's path; nil if the value is right.
func (s Setting) fault(c *Config) *fault {
	if s.Check == nil {
		return nil
	}
	if err := s.Check(c); err != nil {
		return &fault{strings.Split(s.Name(), "."), err}
	}
	return nil
}

// must is the error of a value that breaks a rule.
func must(ok bool, value any, rule string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%v: %s", value, rule)
}

// pairs writes options as on the command line.
func pairs(options map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		parts = append(parts, name+"="+options[name])
	}
	return strings.Join(parts, " ")
}

// Section is a part of the table.
type Section struct {
	// Title says what the settings have in common.
	Title    string
	Settings []Setting
}

// Sections returns the table of all settings, in the order of configs/negotiator.yaml.
func Sections() []Section { return sections() }

// Settings returns all settings of the table.
func Settings() []Setting { return settings() }

var sections = sync.OnceValue(func() []Section {
	return []Section{
		{"What decides, and in which order.", deciding},
		{"How long jobs are taken to run.", estimating},
		{"Pools and jobs, simulated or real.", reading},
		{"Simulated pools only.", onSimulatedPools},
		{"Real pools only.", onRealPools},
		{"What is served over HTTP.", serving},
		{"What is written down of the cycles.", recording},
		{"The log.", logging},
		{"Plugins: policies in processes of their own.", plugins},
	}
})

var settings = sync.OnceValue(func() (all []Setting) {
	for _, s := range sections() {
		all = append(all, s.Settings...)
	}
	return all
})

// Named returns the setting that has this key in the YAML file, with . or _ between its parts; nil if
// there is none.
func Named(key string) *Setting {
	for i, s := range settings() {
		if s.Key != "" && (s.Key == key || strings.ReplaceAll(s.Key, ".", "_") == key) {
			return &settings()[i]
		}
	}
	return nil
}

// YAMLText writes a value in one line, as the YAML file has it.
func YAMLText(value any) string {
	text, err := yaml.MarshalWithOptions(value, yaml.Flow(true))
	if err != nil {
		return err.Error() // no value of the table's kinds is refused
	}
	return strings.TrimSpace(string(text))
}
