package condorconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
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
	values map[string]string // by name in capitals
	local  string
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
	cmd := exec.CommandContext(ctx, program, append(args, "-dump", "-expanded")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("read HTCondor's configuration: %s: %w: %s", program, err, why)
	}
	return Parse(string(out), s.LocalName), nil
}

// Parse reads the output of condor_config_val -dump; localName is the daemon's -local-name, or "".
func Parse(dump, localName string) *Config {
	c := &Config{values: map[string]string{}, local: strings.ToUpper(localName)}
	lines := strings.Split(dump, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "#") {
			continue
		}
		if name, end, long := strings.Cut(lines[i], " @="); long && !strings.Contains(name, " ") {
			var text []string
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "@"+end; i++ {
				text = append(text, strings.TrimSpace(lines[i]))
			}
			c.values[strings.ToUpper(name)] = strings.Join(text, "\n")
			continue
		}
		if name, value, ok := strings.Cut(lines[i], "="); ok {
			c.values[strings.ToUpper(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return c
}

// Lookup returns the value of a knob with its macros expanded; an empty value counts as not set. A
// value for this daemon alone (NEGOTIATOR.NAME) overrides the general one.
func (c *Config) Lookup(name string) (string, bool) {
	for _, own := range []string{c.local + ".", subsystem + ".", ""} {
		if value, ok := c.values[own+strings.ToUpper(name)]; ok && value != "" {
			return value, true
		}
	}
	return "", false
}

// Ending returns the values of all knobs whose names have an ending, those of other daemons included
// (N1.STARTD_ADDRESS_FILE), by name.
func (c *Config) Ending(suffix string) map[string]string {
	found := map[string]string{}
	for name, value := range c.values {
		if strings.HasSuffix(name, suffix) && value != "" {
			found[name] = value
		}
	}
	return found
}

// Unknown returns warnings for knobs that begin with BACKFILL_ but do not exist: misspelt ones
// would otherwise silently do nothing.
func (c *Config) Unknown() (warnings []string) {
	var known []string
	for _, k := range Knobs() {
		if strings.HasPrefix(k.Name, prefix) {
			known = append(known, strings.ToLower(k.Name))
		}
	}
	for name := range c.values {
		name = strings.TrimPrefix(strings.TrimPrefix(name, c.local+"."), subsystem+".")
		if strings.HasPrefix(name, prefix) && !slices.Contains(known, strings.ToLower(name)) &&
			name != "BACKFILL_SYSTEM" {
			warnings = append(warnings, "there is no knob "+name+backfill.DidYouMean(name, known))
		}
	}
	slices.Sort(warnings)
	return slices.Compact(warnings)
}

// prefix is the start of the names of our own knobs. HTCondor itself has one knob of that form,
// BACKFILL_SYSTEM.
const prefix = "BACKFILL_"
