package pools

import (
	"cmp"
	_ "embed" // keys.yaml
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

//go:embed keys.yaml
var keys string

// Keys is text for people: descriptions of pools, one behind the other, that have every key.
func Keys() string { return keys }

// showKeys is the command that prints [Keys].
const showKeys = "condorsim keys pool"

// description is the YAML form of a pool; keys.yaml has each key with an example. Its slots are those of the
// classes, named after their class and numbered from 1 (node1, node2…), or those of a file of ads; at most
// [MaxSlots] in all. A partitioned machine is of another kind; see [partition] and [grid].
type description struct {
	Kind string `yaml:"kind"` // partitioned, or "": jobs take parts of slots
	// Ads is a file of slot ads, or of nodes of Slurm or PBS, in the folder of the description, instead of classes.
	Ads     string  `yaml:"ads"`
	Classes []class `yaml:"classes"`
	// Resources are the resources to plan with, cpus first; if empty, all that any class has.
	Resources []string `yaml:"resources"`
	Pack      struct {
		ChunkCpus  int64 `yaml:"chunk_cpus"`
		WholeSlots bool  `yaml:"whole_slots"`
	} `yaml:"pack"`
	// For partitioned machines only: a grid, or partitions of classes and wires.
	Grid       *grid       `yaml:"grid"`
	Wires      []string    `yaml:"wires"`
	Partitions []partition `yaml:"partitions"`

	Failures    []outage `yaml:"failures"`
	Drains      []outage `yaml:"drains"`
	Ends        []ending `yaml:"ends"`
	GiveUpAfter int      `yaml:"give_up_after"`

	Limits map[string]*height `yaml:"limits"` // nil: nothing is written

	Preemption *preemption `yaml:"preemption"` // nil: no job makes way for another
	Scavengers *scavengers `yaml:"scavengers"` // nil: those that say it themselves

	GPUJobs *gpuJobs `yaml:"gpu_jobs"` // nil: no job of a trace asks for GPUs

	Groups   []group           `yaml:"groups"`
	Ceilings map[string]*int64 `yaml:"ceilings"` // of users; nil: nothing is written
}

// class is a number of slots that are alike.
type class struct {
	Name       string                `yaml:"name"`
	Type       string                `yaml:"type"`  // static: each slot runs one job at a time; or partitionable
	Count      *int                  `yaml:"count"` // nil: 1
	Cpus       int64                 `yaml:"cpus"`
	Memory     *size                 `yaml:"memory"` // in MiB without a unit
	Disk       *size                 `yaml:"disk"`   // in KiB without a unit
	Gpus       *int64                `yaml:"gpus"`
	Resources  map[string]int64      `yaml:"resources"`  // others
	Attributes map[string]expression `yaml:"attributes"` // of the ads
	Start      *expression           `yaml:"start"`      // which jobs may start there

	alone bool // its only slot has the class's name, without a number
}

// outage is a failure or a drain. Slots are names or shell patterns; none: all slots.
type outage struct {
	Slots []string `yaml:"slots"`
	At    *moment  `yaml:"at"`
	For   *span    `yaml:"for"`
	MTBF  *span    `yaml:"mtbf"`
	MTTR  *span    `yaml:"mttr"`
	Shape *float64 `yaml:"shape"`
	// Notice is how long before it a drain is known.
	Notice *span `yaml:"notice"`
}

// opener opens a file.
type opener func(path string) (io.ReadCloser, error)

func openRegular(path string) (io.ReadCloser, error) { return packed.OpenRegular(path) }

// readYAML reads a description strictly: a misspelt key is an error with its line.
func readYAML(r io.Reader, name string, schema negotiator.Schema, open opener) (*Description, error) {
	content, err := strictyaml.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	pool, err := parse(content, filepath.Dir(name), schema, open)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, true))
	}
	return pool, nil
}

func parse(content []byte, folder string, schema negotiator.Schema, open opener) (*Description, error) {
	file, err := strictyaml.Parse(content)
	if err != nil {
		return nil, err
	}
	b := builder{file: file, schema: schema}
	if err = strictyaml.Decode(content, &b.d); err != nil {
		return nil, strictyaml.Suggest(file, err, reflect.TypeFor[description](), backfill.DidYouMean, showKeys)
	}
	switch {
	case b.d.Kind != "" && b.d.Kind != partitioned:
		err = b.wrong("kind", "%q: must be %s, or be left out", b.d.Kind, partitioned)
	case b.d.Kind == partitioned:
		err = b.makePartitions()
	case b.d.Grid != nil || len(b.d.Wires)+len(b.d.Partitions) > 0:
		err = b.wrong("", "only a machine of kind: %s has a grid, wires or partitions", partitioned)
	case b.d.Ads != "":
		err = b.readAds(folder, open)
	default:
		err = b.makeSlots()
	}
	if err != nil {
		return nil, err
	}
	return &b.pool, b.finish()
}

// builder makes a pool of a description.
type builder struct {
	file   *ast.File
	schema negotiator.Schema
	d      description
	pool   Description
}

// wrong returns an error with the line of a path in the file, such as classes[0].cpus. If the file
// has nothing at that path, the line is that of the nearest path above.
func (b *builder) wrong(at, format string, args ...any) error {
	message := at + ": " + fmt.Sprintf(format, args...)
	for text := at; text != ""; text = parent(text) {
		p, err := yaml.PathString("$." + text)
		if err != nil {
			continue
		}
		if node, err := p.FilterFile(b.file); err == nil {
			return &yaml.SyntaxError{Message: message, Token: node.GetToken()}
		}
	}
	return errors.New(message)
}

// has reports whether the file has a key at its top, also one without a value.
func (b *builder) has(key string) bool {
	p, err := yaml.PathString("$." + key)
	if err != nil {
		return false
	}
	_, err = p.FilterFile(b.file)
	return err == nil
}

// parent returns a path without its last step.
func parent(at string) string {
	for i := len(at) - 1; i > 0; i-- {
		if at[i] == '.' || at[i] == '[' {
			return at[:i]
		}
	}
	return ""
}

func (b *builder) readAds(folder string, open opener) error {
	switch {
	case len(b.d.Classes) > 0:
		return b.wrong("classes", "the slots are those of the file %s; leave one of the two out", b.d.Ads)
	case b.d.Pack.WholeSlots:
		return b.wrong("pack.whole_slots", "must be left out where slots come from ads, which may be in use by parts")
	}
	name := b.d.Ads
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
	}
	file, err := open(name)
	if err != nil {
		return b.wrong("ads", "%v", err)
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := packed.NewReader(file)
	if err != nil {
		return b.wrong("ads", "%s: %v", name, err)
	}
	defer text.Close() //nolint:errcheck // only read
	schema := b.schema
	if len(b.d.Resources) > 0 {
		schema.Resources = b.d.Resources
	}
	pool, err := readSlots(text, text.Peek(bufferedHead), name, schema)
	if err != nil {
		return b.wrong("ads", "%v", err)
	}
	b.pool = *pool
	b.pool.Ads = name
	return b.checkResources()
}

// finish adds packing, failures and drains to the pool.
func (b *builder) finish() error {
	b.pool.Pack = Pack{ChunkCpus: b.d.Pack.ChunkCpus, WholeSlots: b.d.Pack.WholeSlots}
	if len(b.pool.Bundles) > 0 {
		b.pool.Pack = Pack{ChunkCpus: math.MaxInt64} // a job asks one partition for all its cpus
	}
	b.pool.GiveUpAfter = b.d.GiveUpAfter
	switch {
	case b.d.Pack.ChunkCpus < 0:
		return b.wrong("pack.chunk_cpus", "%d: must be at least 1", b.d.Pack.ChunkCpus)
	case b.d.GiveUpAfter < 0:
		return b.wrong("give_up_after", "%d: must be at least 1", b.d.GiveUpAfter)
	case b.pool.Pack.WholeSlots && b.pool.Pack.ChunkCpus == 0:
		b.pool.Pack.ChunkCpus = b.pool.Slots[0].Capacity[0]
		for _, s := range b.pool.Slots {
			b.pool.Pack.ChunkCpus = max(min(b.pool.Pack.ChunkCpus, s.Capacity[0]), 1)
		}
	}
	if !b.pool.Pack.WholeSlots && len(b.pool.Bundles) == 0 {
		negotiator.CountJobs(&b.pool.Schema, b.pool.Slots)
	}
	if err := cmp.Or(b.addLimits(), b.addGroups(), b.addPreemption(), b.addScavengers(), b.addGPUJobs()); err != nil {
		return err
	}
	for i := range b.d.Failures {
		if err := b.addOutage(fmt.Sprintf("failures[%d]", i), &b.d.Failures[i], false); err != nil {
			return err
		}
	}
	for i := range b.d.Drains {
		if err := b.addOutage(fmt.Sprintf("drains[%d]", i), &b.d.Drains[i], true); err != nil {
			return err
		}
	}
	for i := range b.d.Ends {
		if err := b.addEnd(fmt.Sprintf("ends[%d]", i), &b.d.Ends[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addOutage(at string, o *outage, drain bool) error {
	slots, err := b.find(at, o.Slots)
	if err != nil {
		return err
	}
	made := Outage{Slots: slots, Drain: drain, Shape: 1}
	scheduled, random := o.At != nil || o.For != nil, o.MTBF != nil || o.MTTR != nil || o.Shape != nil
	switch {
	case o.Notice != nil && !drain:
		return b.wrong(at+".notice", "failures come without notice")
	case scheduled == random:
		return b.wrong(at, "must have either at (and for), or mtbf and mttr")
	case random && drain:
		return b.wrong(at, "drains come by schedule: give at (and for)")
	case scheduled && o.At == nil:
		return b.wrong(at, "must say at what time, in seconds from the first submission on")
	case random && (o.MTBF == nil || o.MTTR == nil):
		return b.wrong(at, "must have both mtbf and mttr")
	case scheduled:
		made.At, made.Date = backfill.Time(o.At.after), o.At.date
		if o.Notice != nil {
			made.Notice = backfill.Time(*o.Notice)
		}
		if o.For != nil {
			if made.For = backfill.Time(*o.For); made.For == 0 {
				return b.wrong(at+".for", "must be at least a second; leave it out for good")
			}
		}
	default:
		made.MTBF, made.MTTR = backfill.Time(*o.MTBF), backfill.Time(*o.MTTR)
		if o.Shape != nil {
			made.Shape = *o.Shape
		}
		const low, high = 0.1, 10
		switch {
		case made.MTBF == 0:
			return b.wrong(at+".mtbf", "must be at least a second")
		case made.MTTR == 0:
			return b.wrong(at+".mttr", "must be at least a second")
		case !(made.Shape >= low && made.Shape <= high):
			return b.wrong(at+".shape", "%v: must be from %v to %v; 1 is the exponential distribution",
				made.Shape, low, high)
		}
	}
	b.pool.Outages = append(b.pool.Outages, made)
	return nil
}

// find returns the indices of the slots that a pattern means, by their names or their machines'; all if there
// are no patterns. It is an error if a pattern matches no slot.
func (b *builder) find(at string, patterns []string) (found []int, err error) {
	used := make([]bool, len(patterns))
	for i, slot := range b.pool.Slots {
		hit := len(patterns) == 0
		for n, pattern := range patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, b.wrong(fmt.Sprintf("%s.slots[%d]", at, n), "%q is no pattern", pattern)
			}
			if means(pattern, slot.Name) {
				hit, used[n] = true, true
			}
		}
		if hit {
			found = append(found, i)
		}
	}
	if n := slices.Index(used, false); n >= 0 {
		return nil, b.wrong(fmt.Sprintf("%s.slots[%d]", at, n), "%v", b.pool.absent(patterns[n]))
	}
	return found, nil
}
