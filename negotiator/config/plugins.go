package config

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// Plugins says how policies in other processes are found, admitted and supervised. Each, Allow and
// Checksums name a plugin as the setting policy does: a name, with or without backfill-, or a path.
type Plugins struct {
	Dirs []string `yaml:"dirs"`
	// InProcess runs a linked-in policy in this process instead of one of its own.
	InProcess bool `yaml:"in_process"`
	// Running says how plugins are run, Each how single ones are; what Each leaves out is as in
	// Running.
	Running `yaml:",inline"`
	Each    map[string]Running `yaml:"each"`
	// Allow lists the plugins that may be started; nil means all.
	Allow []string `yaml:"allow"`
	// Checksums are the SHA-256 sums that some plugins must have at every start.
	Checksums map[string]Checksum `yaml:"checksums"`
}

// Running is how a plugin is run.
type Running struct {
	// StartTimeout limits the handshake of a plugin that starts, Deadline the decision of a cycle.
	StartTimeout Duration `yaml:"start_timeout"`
	Deadline     Duration `yaml:"deadline"`
	// MTLS is auto, or off for a plugin that does not support it.
	MTLS string `yaml:"mtls"`
	// Memory limits a plugin's memory; 0 means no limit.
	Memory Size `yaml:"memory"`
	// Processes limits a plugin's processes and threads; 0 means no limit.
	Processes Count `yaml:"processes"`
	// Environment names variables that a plugin gets besides the usual ones.
	Environment []string `yaml:"environment"`
	// Restarts is how often a repeatedly failing plugin is restarted before it is given up.
	Restarts Count `yaml:"restarts"`
}

// complete fills in p.Each: what the file leaves out for a single plugin is as in p.Running.
func (p *Plugins) complete(file *ast.File) error {
	for name := range p.Each {
		node, err := find(file, "plugins", "each", name)
		if err != nil {
			return err
		}
		running := p.Running
		if node.Type() != ast.NullType {
			if err = strictyaml.DecodeNode(node, &running); err != nil {
				return err
			}
		}
		p.Each[name] = running
	}
	return nil
}

// faults returns the invalid settings.
func (p Plugins) faults() (all []fault) {
	for _, r := range append([]setting{{p.Running, []string{"plugins"}}}, p.each()...) {
		all = append(all, r.faults()...)
	}
	named := func(key string, names []string, rule string) {
		if slices.Contains(names, "") {
			all = append(all, fault{[]string{"plugins", key}, fmt.Errorf("%q: must be %s", names, rule)})
		}
	}
	named("dirs", p.Dirs, "paths")
	named("allow", p.Allow, "names or paths")
	named("each", slices.Sorted(maps.Keys(p.Each)), "given for names or paths")
	named("checksums", slices.Sorted(maps.Keys(p.Checksums)), "given for names or paths")
	return all
}

// setting is a Running with its path in the file.
type setting struct {
	Running
	path []string
}

func (p Plugins) each() (all []setting) {
	for _, name := range slices.Sorted(maps.Keys(p.Each)) {
		all = append(all, setting{p.Each[name], []string{"plugins", "each", name}})
	}
	return all
}

func (s setting) faults() (all []fault) {
	must := func(key string, ok bool, value any, rule string) {
		if !ok {
			all = append(all, fault{append(slices.Clone(s.path), key), fmt.Errorf("%v: %s", value, rule)})
		}
	}
	must("start_timeout", s.StartTimeout > 0, s.StartTimeout, "must be positive")
	must("deadline", s.Deadline > 0, s.Deadline, "must be positive")
	must("mtls", s.MTLS == "auto" || s.MTLS == "off", cmp.Or(s.MTLS, `""`), "must be auto or off")
	must("environment", !slices.ContainsFunc(s.Environment, notVariable), s.Environment, "must be names of variables")
	must("memory", s.Memory == 0 || s.Memory >= leastMemory, int64(s.Memory),
		"must be 0 or at least 1MiB, and a plugin written in Go needs 128MiB")
	return all
}

// notVariable tells whether a text cannot be the name of a variable.
func notVariable(name string) bool { return name == "" || strings.ContainsAny(name, "=\x00") }

// leastMemory is the smallest memory limit; a smaller one probably lacks its unit.
const leastMemory = 1 << 20

// Count is a whole number of at least 0 in a configuration file.
type Count int

// UnmarshalYAML reads a number; errors name the place in the file.
func (c *Count) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return &yaml.SyntaxError{
			Message: text + " is no whole number of at least 0, or too large",
			Token:   node.GetToken(),
		}
	}
	*c = Count(n)
	return nil
}

// Size is an amount of bytes in a configuration file, such as 512MiB.
type Size int64

// UnmarshalYAML reads a size; errors name the place in the file.
func (s *Size) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	digits := strings.TrimRight(text, "BKMGTi")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, known := map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[text[len(digits):]]
	if err != nil || !known || n < 0 || n > math.MaxInt64>>shift {
		return &yaml.SyntaxError{Message: text + " is no size such as 512MiB or 2GiB", Token: node.GetToken()}
	}
	*s = Size(n << shift)
	return nil
}

// Checksum is a SHA-256 sum.
type Checksum [32]byte

// UnmarshalYAML reads a sum; errors name the place in the file.
func (c *Checksum) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(c) {
		return &yaml.SyntaxError{
			Message: text + " is no SHA-256 sum: 64 hexadecimal digits, as sha256sum prints them",
			Token:   node.GetToken(),
		}
	}
	*c = Checksum(sum)
	return nil
}

// plain returns the text of a node without quotes.
func plain(node ast.Node) string { return strings.Trim(node.String(), `"'`) }
