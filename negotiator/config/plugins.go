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

// Plugins is how policies in other processes are found, admitted and watched.
// Single ones are given as policy would be: a name, with or without backfill-,
// or a path.
type Plugins struct {
	Dirs []string `yaml:"dirs"`
	// InProcess links the policy in, where that is possible.
	InProcess bool `yaml:"in_process"`
	// Running is how they are run, Each how some are instead; there, what is not
	// said is as in Running.
	Running `yaml:",inline"`
	Each    map[string]Running `yaml:"each"`
	// Allow are the plugins that may be started; nil: all.
	Allow []string `yaml:"allow"`
	// Checksums are the SHA-256 sums that some must have at every start.
	Checksums map[string]Checksum `yaml:"checksums"`
}

// Running is how a plugin is run.
type Running struct {
	// StartTimeout is how long a plugin may take to say hello, Deadline how long
	// to decide a cycle.
	StartTimeout Duration `yaml:"start_timeout"`
	Deadline     Duration `yaml:"deadline"`
	// MTLS is auto, or off for a plugin that cannot do it.
	MTLS string `yaml:"mtls"`
	// Memory is how much a plugin may use; 0: as much as there is.
	Memory Size `yaml:"memory"`
	// Restarts is how often a plugin that fails again and again is restarted
	// before it is given up.
	Restarts Count `yaml:"restarts"`
}

// complete reads what is said of single plugins over what is said of all.
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

// faults are the settings that cannot be.
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

// setting is how plugins are run, and where the file says so.
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
	must("memory", s.Memory == 0 || s.Memory >= leastMemory, int64(s.Memory), "must be 0 or at least 1MiB, and a plugin written in Go needs 128MiB")
	return all
}

// leastMemory catches a forgotten unit.
const leastMemory = 1 << 20

// Count is a whole number of at least 0 in a configuration file.
type Count int

// UnmarshalYAML reads a number; what is wrong is told with its place.
func (c *Count) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return &yaml.SyntaxError{Message: text + " is no whole number of at least 0, or too large", Token: node.GetToken()}
	}
	*c = Count(n)
	return nil
}

// Size is an amount of bytes in a configuration file, such as 512MiB.
type Size int64

// UnmarshalYAML reads a size; what is wrong is told with its place.
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

// UnmarshalYAML reads a sum; what is wrong is told with its place.
func (c *Checksum) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(c) {
		return &yaml.SyntaxError{Message: text + " is no SHA-256 sum: 64 hexadecimal digits, as sha256sum prints them", Token: node.GetToken()}
	}
	*c = Checksum(sum)
	return nil
}

// plain is what a node says, without the marks of a string.
func plain(node ast.Node) string { return strings.Trim(node.String(), `"'`) }
