// Package pools describes simulated pools: which slots there are, how a trace's
// jobs are cut into chunks for them, and what goes wrong with them when.
//
// A description is read by its content ([Open], [Read]):
//
//   - slot ads in any form that classad.ReadAds knows, such as the output of
//     condor_status -long, -json or -xml: see [FromAds];
//   - YAML, for classes of slots, failures and drains: see [description]; and for
//     machines that are divided into partitions, such as Blue Gene: see [partition]
//     and [grid].
//
// Slots are what the negotiator knows; outages ([Outage]) are what only the
// simulated pool knows.
package pools

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Pool is a pool to be simulated.
type Pool struct {
	Name   string // of the file, without folder and extensions
	Ads    string // the file of slot ads that a description refers to; "": none
	Schema negotiator.Schema
	Slots  []*negotiator.Slot
	// Bundles are the partitions of a partitioned machine; none: jobs take parts of
	// slots.
	Bundles []*negotiator.Bundle
	// Pack cuts a trace's jobs into chunks; job ads say themselves how many they
	// have.
	Pack    Pack
	Outages []Outage
	// GiveUpAfter is how often a job may lose its slot before it is held; 0: as
	// often as [DefaultGiveUpAfter].
	GiveUpAfter int
	LeftOut     LeftOut

	asked map[string]bool // see Asked; nil: not known yet
}

// DefaultGiveUpAfter bounds how often one job may lose its slot.
const DefaultGiveUpAfter = 100

// LeftOut counts the ads of a dump that are no slots of the pool.
type LeftOut struct {
	Dynamic    int // parts of a partitionable slot, which has it all
	Offline    int // hibernating, kept by the collector
	Backfill   int // slots that offer again what others have
	Duplicates int // older ads of a slot that is in the dump twice
	Others     int // daemons, submitters
}

// Outage is a reason why slots are not to be had for some time: they fail, and
// what runs on them is lost, or they are drained, and what runs on them runs on.
// It comes by schedule, once, or by chance, again and again.
type Outage struct {
	Slots []int // indexes of Pool.Slots, ascending
	Drain bool

	// By schedule: At is the beginning, in seconds from the first submission on,
	// For its length; 0: for good.
	At, For backfill.Time

	// By chance, if MTBF is not 0: the mean time in seconds from a repair to the
	// next failure, by the Weibull distribution of that shape (1 is the
	// exponential one), and the mean time to repair, which is exponential. Each
	// slot fails for itself.
	MTBF, MTTR backfill.Time
	Shape      float64
}

// Bounds stands for the trace's machine where the pool takes its place: a trace is
// read as if that had as many processors as a job may have chunks and, if the pool has
// memory, any amount of it, since the pool holds what is too much. A nil pool leaves it
// to the trace.
func (p *Pool) Bounds() (m workload.Machine) {
	const chunks, memory = 1 << 20, 1e12
	if p == nil {
		return m
	}
	m.Processors = chunks
	if p.HasMemory() {
		m.Memory = memory
	}
	return m
}

// HasMemory says that memory is planned with and there is some.
func (p *Pool) HasMemory() bool {
	i := slices.Index(p.Schema.Resources, "memory")
	return i >= 0 && slices.ContainsFunc(p.Slots, func(s *negotiator.Slot) bool { return s.Capacity[i] > 0 })
}

// Asked lists the attributes of jobs that any expression of the slots refers to, in
// lower case.
func (p *Pool) Asked() []string {
	asked := p.asked
	if asked == nil {
		asked = map[string]bool{}
		for _, slot := range p.Slots {
			note(asked, slot.Ad)
		}
	}
	return slices.Sorted(maps.Keys(asked))
}

// note adds what an ad's expressions refer to outside of it.
func note(asked map[string]bool, ad *classad.ClassAd) {
	for _, e := range ad.All() {
		_, external, _ := e.Refs(ad) // what is in a circle is error on both sides
		for _, name := range external {
			asked[strings.ToLower(name)] = true
		}
	}
}

// Open reads the description of a pool in a file, which may be compressed.
func Open(path string) (*Pool, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the pool: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	return Read(file, path)
}

// Read reads the description of a pool. Errors name the file and the line.
func Read(r io.Reader, name string) (*Pool, error) {
	text, stop, err := workload.Text(r)
	if err != nil {
		return nil, fmt.Errorf("read the pool: %s: %w", name, err)
	}
	defer stop()
	yaml, err := isYAML(text)
	if err != nil {
		return nil, fmt.Errorf("read the pool: %s: %w", name, err)
	}
	var p *Pool
	if yaml {
		p, err = readYAML(text, name)
	} else {
		p, err = FromAds(name, negotiator.DefaultSchema(), classad.ReadAds(text, name))
	}
	if err != nil {
		return nil, fmt.Errorf("read the pool: %w", err)
	}
	p.Name = baseName(name)
	return p, nil
}

func baseName(path string) string {
	base := filepath.Base(path)
	for _, ext := range []string{".gz", ".yaml", ".yml", ".ads", ".json", ".xml"} {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

// yamlKey is the beginning of a YAML mapping. No ad has a colon there.
var yamlKey = regexp.MustCompile(`^(---|[A-Za-z_]\w*\s*:)`)

// isYAML looks at the first line that says something.
func isYAML(text *bufio.Reader) (bool, error) {
	const most = 64 << 10
	for size := 512; ; size *= 2 {
		head, err := text.Peek(size)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
		for line := range strings.Lines(string(head)) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' {
				return yamlKey.MatchString(line), nil
			}
		}
		if err != nil || size >= most {
			return false, nil
		}
	}
}
