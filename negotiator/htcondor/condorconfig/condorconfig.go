package condorconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Program is the tool that prints HTCondor's configuration.
const Program = "condor_config_val"

// Source says which program prints the configuration, and for which daemon.
type Source struct {
	// Program is the executable; empty means condor_config_val in the PATH.
	Program string
	// LocalName is the daemon's -local-name, if any.
	LocalName string
}

// subsystem is HTCondor's name for our kind of daemon.
const subsystem = "NEGOTIATOR"

// ErrNone says that condor_config_val is not in the PATH: this machine has no HTCondor.
var ErrNone = errors.New(Program +
	" is not there: is HTCondor installed, and its bin folder in the PATH? Standing alone, name the pool with --pool " +
	"htcondor://HOST:PORT")

// patience limits the time to read the configuration.
const patience = 30 * time.Second

// Config is HTCondor's configuration as it was when it was read.
type Config struct {
	settings map[string]Setting // by name in capitals
	local    string
	userMaps userMaps
}

// Setting is a knob's value, and where it comes from.
type Setting struct {
	// Name is the knob's full name, such as NEGOTIATOR.LOG, and Value its value with macros expanded.
	Name, Value string
	// Raw is the value as it is written, Source the place where it is written ("FILE, line N",
	// "<Default>"), and Default what it would be otherwise, if there is a default.
	Raw, Source, Default string
}

// Read reads the whole configuration from condor_config_val.
func Read(ctx context.Context, s Source) (*Config, error) {
	program := s.Program
	if program == "" {
		var err error
		if program, err = exec.LookPath(Program); err != nil {
			return nil, ErrNone
		}
	}
	args := []string{"-subsystem", subsystem}
	if s.LocalName != "" {
		args = append(args, "-local-name", s.LocalName)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "-dump", "-verbose", "-expanded")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("read HTCondor's configuration: %s: %w: %s", program, err, why)
	}
	c := Parse(string(out), s.LocalName)
	for name, id := range map[string]int{"PID": os.Getpid(), "PPID": os.Getppid()} {
		text := strconv.Itoa(id) // for condor_who; the program has told its own
		c.settings[name] = Setting{Name: name, Value: text, Raw: text, Source: "<Detected>"}
	}
	return c, nil
}

// Parse reads the output of condor_config_val -dump -expanded, with or without -verbose; localName is
// the daemon's -local-name, or "".
func Parse(dump, localName string) *Config {
	c := &Config{settings: map[string]Setting{}, local: strings.ToUpper(localName)}
	lines := strings.Split(dump, "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		i++
		var s Setting
		if name, end, long := strings.Cut(line, " @="); long && !strings.Contains(name, " ") {
			var text []string
			for ; i < len(lines) && strings.TrimSpace(lines[i]) != "@"+end; i++ {
				text = append(text, strings.TrimSpace(lines[i]))
			}
			s.Name, s.Value = name, strings.Join(text, "\n")
			i = min(i+1, len(lines)) // a text without an end was cut off
		} else if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			s.Name, s.Value = strings.TrimSpace(name), strings.TrimSpace(value)
		} else {
			continue
		}
		i += s.comment(lines[i:])
		c.settings[strings.ToUpper(s.Name)] = s
	}
	return c
}

// comment reads the lines after a setting that say where it comes from, and returns how many there
// are. The first line of a text of several is empty.
func (s *Setting) comment(lines []string) int {
	var last *string
	for i, line := range lines {
		text, ok := strings.CutPrefix(line, " # ")
		if !ok {
			return i
		}
		field, value, _ := strings.Cut(text, ": ")
		switch more, indented := strings.CutPrefix(text, "    "); {
		case indented && last != nil:
			*last = strings.TrimPrefix(*last+"\n"+more, "\n")
			continue
		case field == "at":
			last = &s.Source
		case field == "raw":
			last = &s.Raw
		case field == "default":
			last = &s.Default
		default: // a description
			last = nil
			continue
		}
		*last = value
	}
	return len(lines)
}

// Lookup returns the value of a knob with its macros expanded; an empty value counts as not set. A
// value for this daemon alone (NEGOTIATOR.NAME) overrides the general one.
func (c *Config) Lookup(name string) (string, bool) {
	s, _ := c.Setting(name)
	return s.Value, s.Value != ""
}

// Setting returns where the value of a knob comes from. If the value is empty everywhere, it is one
// of these; false if there is none.
func (c *Config) Setting(name string) (empty Setting, known bool) {
	for _, own := range []string{c.local + ".", subsystem + ".", ""} {
		if s, ok := c.settings[own+strings.ToUpper(name)]; ok {
			if s.Value != "" {
				return s, true
			}
			empty, known = s, true
		}
	}
	return empty, known
}

// Same reports whether two configurations say the same. What is written counts, where it is known:
// $RANDOM_CHOICE and the like have another value each time.
func Same(a, b *Config) bool {
	return maps.EqualFunc(a.settings, b.settings, func(a, b Setting) bool {
		return a.Raw == b.Raw && (a.Raw != "" || a.Value == b.Value)
	})
}

// Names returns the full names of all settings, those of other daemons included, in order.
func (c *Config) Names() []string {
	names := make([]string, 0, len(c.settings))
	for _, s := range c.settings {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// Ending returns the values of all knobs whose names have an ending, those of other daemons included
// (N1.STARTD_ADDRESS_FILE), by name.
func (c *Config) Ending(suffix string) map[string]string {
	found := map[string]string{}
	for name, s := range c.settings {
		if strings.HasSuffix(name, suffix) && s.Value != "" {
			found[name] = s.Value
		}
	}
	return found
}

// Unknown returns warnings for knobs that begin with BACKFILL_ but do not exist: misspelt ones
// would otherwise silently do nothing.
func (c *Config) Unknown() (warnings []string) {
	var known []string
	for _, k := range Knobs() {
		if strings.HasPrefix(k.Knob, prefix) {
			known = append(known, strings.ToLower(k.Knob))
		}
	}
	for name := range c.settings {
		name = strings.TrimPrefix(strings.TrimPrefix(name, c.local+"."), subsystem+".")
		if strings.HasPrefix(name, prefix) && !slices.Contains(known, strings.ToLower(name)) &&
			name != "BACKFILL_SYSTEM" && !ofObserver.MatchString(name) {
			warnings = append(warnings, "there is no knob "+name+backfill.DidYouMean(name, known))
		}
	}
	slices.Sort(warnings)
	return slices.Compact(warnings)
}

// prefix is the start of the names of our own knobs. HTCondor itself has one knob of that form,
// BACKFILL_SYSTEM, and condor_master reads those of the observer that negotiator setup has it start.
const prefix = "BACKFILL_"

var ofObserver = regexp.MustCompile(`^BACKFILL_OBSERVER(_ARGS|_ENVIRONMENT|_LOG|\..*)?$`)
