// Package pools describes simulated pools: which slots there are, how a trace's jobs are cut into
// chunks for them, and what fails when.
//
// The form of a description is recognised by its content ([Open], [Read]):
//
//   - slot ads in any form that classad.ReadAds knows, such as the output of condor_status -long,
//     -json or -xml: see [FromAds];
//   - nodes of Slurm, as scontrol show node and sinfo print them, and of PBS or Torque, as pbsnodes -a does;
//   - YAML, for classes of slots, failures, drains, ends, preemption, scavengers and groups: see
//     [description]; and for machines that are divided into partitions, such as Blue Gene: see [partition]
//     and [grid]. [Keys] shows each key.
//
// A pool with more or fewer slots is another one: see [Description.Changed].
//
// The negotiator sees the slots. Only the simulated pool knows the outages ([Outage]).
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
	"github.com/condor-backfill/condor-backfill/condorsim/input/pbs"
	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// Description is a pool to simulate.
type Description struct {
	Name   string // of the file, without folder and extensions
	Ads    string // the file of slot ads that the description refers to; "": none
	Schema negotiator.Schema
	Slots  []*negotiator.Slot
	// Bundles are the partitions of a partitioned machine; none: jobs take parts of slots.
	Bundles []*negotiator.Bundle
	// Limits are amounts that all slots share, as HTCondor's concurrency limits: jobs take of them while
	// they run, if their ads name them (ConcurrencyLimits).
	Limits []negotiator.Limit
	// Pack cuts a trace's jobs into chunks. Job ads give their number of chunks themselves.
	Pack    Pack
	Outages []Outage
	// GiveUpAfter is how often a job may lose its slot before it is held; 0: [DefaultGiveUpAfter].
	GiveUpAfter int
	// Preemption is how jobs make way for others; nil: none does.
	Preemption *Preemption
	// Scavengers says which jobs are scavengers; nil: those that say it themselves.
	Scavengers *Scavengers
	// GPUJobs says which jobs of a trace ask for GPUs; nil: none does.
	GPUJobs *GPUJobs
	// Groups are accounting groups, which share the pool by their quotas, and Ceilings are how many cpus
	// submitters may have at once, by name.
	Groups   Groups
	Ceilings map[string]int64
	LeftOut  LeftOut
	// Unread counts the ads that have lines which may have been meant otherwise.
	Unread classad.UnreadAds

	asked map[string]bool // see Asked; nil: not computed yet
}

// DefaultGiveUpAfter is how often a job may lose its slot by default.
const DefaultGiveUpAfter = 100

// LeftOut counts the ads that are not slots of the pool.
type LeftOut struct {
	Dynamic    int // parts of a partitionable slot, which counts as a whole
	Orphans    int // of these, those whose partitionable slot is not there
	Offline    int // hibernating, kept by the collector
	Backfill   int // slots that offer the resources of others a second time
	Duplicates int // older ads of a slot that occurs twice
	Others     int // daemons, submitters
	Down       int // nodes of other systems that are down or drained
}

// LeftOutText is the message that ads were left out; its details are [LeftOut.Counts].
const LeftOutText = "left out ads that are no slots of the pool"

// Any reports whether any ad was left out.
func (l LeftOut) Any() bool { return l != LeftOut{} }

// Unheeded says what of the pool was left out that no other slot stands for, and what of its ads was not read.
func (p *Description) Unheeded() (list []string) {
	if p.LeftOut.Orphans > 0 {
		list = append(list, fmt.Sprintf("%d dynamic slots are left out, as the partitionable slots that they are parts of "+
			"are not among the ads: print these as well", p.LeftOut.Orphans))
	}
	if p.LeftOut.Offline > 0 {
		list = append(list, fmt.Sprintf("offline slots (%d) are left out, which hibernate: no job is started on them, though a "+
			"real pool may wake them", p.LeftOut.Offline))
	}
	if p.LeftOut.Down > 0 {
		list = append(list, fmt.Sprintf("nodes that are down or drained (%d) are left out", p.LeftOut.Down))
	}
	return append(list, p.Unread.Warnings()...)
}

// Counts lists the counts by name, as loggers take them.
func (l LeftOut) Counts() []any {
	all := []any{
		"dynamic", l.Dynamic, "offline", l.Offline, "backfill", l.Backfill, "duplicate", l.Duplicates, "other", l.Others,
	}
	if l.Down > 0 {
		all = append(all, "down", l.Down)
	}
	return all
}

// Outage makes slots unusable for some time. They fail, and what runs on them is lost; or they are
// drained, and what runs on them goes on. It is scheduled, once, or random, again and again.
//
// A slot may also end: then it fails, and its ad has told when, as pilots' ads do.
type Outage struct {
	Slots []int // indices of Pool.Slots, ascending
	Drain bool
	// Told says that the slots end: their ads have [ToDie], and [ToRetire], which is Retire before.
	Told   bool
	Retire backfill.Time

	// A scheduled outage begins at At, in seconds from the first submission, and lasts For; 0: for
	// good. Date is when it begins, if that was said as a date or Unix time, whose place among the jobs only
	// the workload knows.
	At, For backfill.Time
	Date    string
	// Notice is how long before At a drain is known: from then on its slots have an end.
	Notice backfill.Time

	// An outage is random if MTBF is not 0. MTBF is the mean time in seconds from a repair to the
	// next failure, by the Weibull distribution of that shape (1: exponential); MTTR is the mean
	// time to repair, which is exponential. Each slot fails independently.
	MTBF, MTTR backfill.Time
	Shape      float64

	// Slots that end again and again last from Lasts[0] to Lasts[1], all lengths as likely, and others
	// are there in their place For after their ends. The first ones are of any age at the beginning.
	Lasts [2]backfill.Time
}

// ToDie and ToRetire are the attributes of the ads of slots that end, in seconds since 1970: when they
// end, and until when they accept jobs if their START says so.
const (
	ToDie    = "GLIDEIN_ToDie"
	ToRetire = "GLIDEIN_ToRetire"
)

// Random reports whether the outage comes again and again, at times that are drawn.
func (o *Outage) Random() bool { return o.MTBF > 0 || o.Lasts[1] > 0 }

// Bounds returns the machine to read a trace with if the pool replaces the trace's own machine. It
// has [backfill.MaxChunks] processors and, if the pool has memory or GPUs, as much of them as a job can ask
// for. So no job is dropped for its size; the simulation holds those that are too large for the
// pool. A nil pool returns the zero value, which keeps the trace's machine.
func (p *Description) Bounds() (m workload.Machine) {
	if p == nil {
		return m
	}
	m.Processors = backfill.MaxChunks
	if p.HasMemory() {
		m.Memory = backfill.MaxInputAmount
	}
	if p.Capacity()["gpus"] > 0 {
		m.GPUs = workload.AnyGPUs
	}
	return m
}

// Capacity returns what all slots have together, by resource; not the count of jobs.
func (p *Description) Capacity() map[string]int64 {
	all := map[string]int64{}
	for i, name := range p.Schema.Resources {
		for _, slot := range p.Slots {
			if !negotiator.IsCount(name) {
				all[name] += slot.Capacity[i]
			}
		}
	}
	return all
}

// HasMemory reports whether memory is a resource and some slot has any.
func (p *Description) HasMemory() bool {
	i := slices.Index(p.Schema.Resources, "memory")
	return i >= 0 && slices.ContainsFunc(p.Slots, func(s *negotiator.Slot) bool { return s.Capacity[i] > 0 })
}

// Asked returns the attributes of jobs that any expression of the slots or of preemption refers to, and
// that name limits if there are any, in lower case.
func (p *Description) Asked() []string {
	asked := p.asked
	if asked == nil {
		asked = map[string]bool{}
		for _, slot := range p.Slots {
			note(asked, slot.Ad)
		}
	}
	if p.Preemption != nil {
		asked = maps.Clone(asked)
		p.Preemption.note(asked)
	}
	if name := strings.ToLower(LimitsOfJobs); len(p.Limits) > 0 && !asked[name] {
		asked = maps.Clone(asked)
		asked[name] = true
	}
	return slices.Sorted(maps.Keys(asked))
}

// Has returns a function that reports whether slots have an attribute. It is for one goroutine.
func (p *Description) Has() func(name string) bool {
	known := map[string]bool{}
	return func(name string) bool {
		has, found := known[name]
		if !found {
			has = slices.ContainsFunc(p.Slots, func(s *negotiator.Slot) bool {
				_, given := s.Ad.Lookup(name)
				return given
			})
			known[name] = has
		}
		return has
	}
}

// LimitsOfJobs is the attribute by which jobs name what they take of limits.
const LimitsOfJobs = "ConcurrencyLimits"

// note adds to the set the attributes that an ad's expressions refer to but the ad does not have,
// in lower case.
func note(asked map[string]bool, ad *classad.ClassAd) {
	for _, e := range ad.All() {
		_, external, _ := e.Refs(ad) // references in a circle evaluate to error
		for _, name := range external {
			asked[strings.ToLower(name)] = true
		}
	}
}

// Open reads the description of a pool from a file, which may be compressed.
func Open(path string) (*Description, error) { return open(path, negotiator.DefaultSchema()) }

func open(path string, schema negotiator.Schema) (*Description, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the pool: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("read the pool: %s is a directory; give a file", path)
	}
	return ReadBy(schema, file, path)
}

// Read reads the description of a pool. Errors give file and line.
func Read(r io.Reader, name string) (*Description, error) {
	return ReadBy(negotiator.DefaultSchema(), r, name)
}

// ReadBy is [Read] by a schema, which says how ads are read; a description may list resources of its own.
func ReadBy(schema negotiator.Schema, r io.Reader, name string) (*Description, error) {
	return read(schema, openRegular, r, name)
}

// ReadWith is [Read] if the file of slot ads that a description refers to must be opened in another way,
// as it lies elsewhere.
func ReadWith(open func(path string) (io.ReadCloser, error), r io.Reader, name string) (*Description, error) {
	return read(negotiator.DefaultSchema(), open, r, name)
}

func read(schema negotiator.Schema, open opener, r io.Reader, name string) (*Description, error) {
	unpacked, err := packed.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read the pool: %s: %w", name, err)
	}
	defer unpacked.Close() //nolint:errcheck // only read
	text := bufio.NewReader(unpacked)
	yaml, err := isYAML(text)
	if err != nil {
		return nil, fmt.Errorf("read the pool: %s: %w", name, err)
	}
	var p *Description
	head, _ := text.Peek(bufferedHead) // a broken reader shows when it is read
	if yaml {
		p, err = readYAML(text, name, schema, open)
	} else {
		p, err = readSlots(text, head, name, schema)
	}
	if err != nil {
		return nil, fmt.Errorf("read the pool: %w", err)
	}
	p.Name = baseName(name)
	return p, nil
}

// readSlots reads slot ads, or nodes of another system, which are known by how the text begins.
func readSlots(text io.Reader, begin []byte, name string, schema negotiator.Schema) (*Description, error) {
	switch {
	case slurm.IsNodes(begin):
		return fromSlurm(text, name, schema)
	case pbs.IsNodes(begin):
		return fromPBS(text, name, schema)
	}
	if err := mistaken(begin, name); err != nil {
		return nil, err
	}
	return FromAds(name, schema, classad.ReadAds(text, name))
}

// mistaken returns an error for a text that is known as something else than ads, by how it begins.
func mistaken(head []byte, name string) error {
	kind := kinds.Of(head)
	special := kind != nil && !kind.General
	switch {
	case workload.IsSWF(head), !special && (workload.NamesFields(head) || workload.IsInstance(head)):
		return fmt.Errorf("%s: looks like a trace of jobs, which is no pool; %s", name, kinds.SlotAds)
	case kind == nil:
		return nil
	default:
		return fmt.Errorf("%s: %s; %s", name, kind.Problem(), kind.Slots)
	}
}

// bufferedHead is how much of a text is looked at to see what it is, in bytes.
const bufferedHead = 4 << 10

func baseName(path string) string {
	base := filepath.Base(path)
	for _, ext := range []string{".gz", ".yaml", ".yml", ".ads", ".json", ".xml"} {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

// yamlKey matches the beginning of a YAML mapping: a key and a colon. In ads no colon follows a
// name.
var yamlKey = regexp.MustCompile(`^(---|[A-Za-z_]\w*\s*:)`)

// isYAML reports whether a text is YAML, by the first line that is neither blank nor a comment. The
// text can still be read from its beginning.
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

// Pack says how to cut a trace's job of p processors into chunks for slots. The zero value makes p
// chunks of one cpu.
type Pack struct {
	// ChunkCpus is the most cpus of a chunk. A job has as few chunks as that allows, all of one
	// size.
	ChunkCpus int64
	// WholeSlots gives each chunk a whole slot.
	WholeSlots bool
}

// Chunks returns the number of chunks of a job, and the cpus and memory of each. As all chunks are
// alike, together they may have slightly more than the job requested.
func (p Pack) Chunks(cpus, memory int64) (nodes, chunkCpus, chunkMemory int64) {
	most := max(p.ChunkCpus, 1)
	nodes = ceil(cpus, most)
	return nodes, ceil(cpus, nodes), ceil(memory, nodes)
}

// Each returns how much of an amount each of some chunks has. As all chunks are alike, together they may
// have more than the job requested: of 2 GPUs for 3 chunks, each has one.
func (Pack) Each(amount, nodes int64) int64 { return ceil(amount, nodes) }

// ceil returns a/b, rounded up; a must not be negative.
func ceil(a, b int64) int64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}

// Whole is a resource of which each slot has one. A chunk that wants a whole slot requests it; see
// [Pack.WholeSlots].
const Whole = "slots"
