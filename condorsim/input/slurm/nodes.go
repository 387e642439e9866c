package slurm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Node is a node of a cluster.
type Node struct {
	Name       string
	Cpus       int64 // that jobs can have
	Memory     int64 // MiB that jobs can have; 0: not said
	GPUs       int64
	Partitions []string // that it is in, ascending
	Features   []string // that jobs may ask for, ascending
}

// Nodes are the nodes of a cluster that can run jobs, in the order of the file.
type Nodes struct {
	Usable []Node
	Down   int // others: down, drained, failed, or not responding
}

// ReadNodes reads the nodes that scontrol show node prints, with or without -o, or sinfo with -o or -O and a line of
// titles. A node of several rows is in the partitions of all of them. Errors are of type *[workload.Error] and give
// file and line.
func ReadNodes(text io.Reader, name string) (*Nodes, error) {
	lines := &rows{text: bufio.NewReaderSize(text, maxLine)}
	b := &nodeBuilder{index: map[string]int{}}
	var h *titles
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, lines.fault(name, err)
		}
		fault := b.line(&h, strings.TrimSpace(line))
		if fault != nil {
			fault.File, fault.Line = name, lines.line
			return nil, fault
		}
	}
	if fault := b.finish(); fault != nil {
		fault.File = name
		return nil, fault
	}
	return &b.nodes, nil
}

// IsNodes reports whether a text is nodes as [ReadNodes] reads them, by how it begins.
func IsNodes(begin []byte) bool {
	for line := range bytes.Lines(begin) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 || trimmed[0] == '#' {
			continue
		}
		return nodeBegins.Match(trimmed) || readTitles(string(trimmed)).isSinfo()
	}
	return false
}

var nodeBegins = regexp.MustCompile(`^NodeName=\S+(\s|$)`)

// nodeBuilder makes nodes of lines.
type nodeBuilder struct {
	nodes  Nodes
	index  map[string]int // by name, the index in nodes.Usable; -1: it is down
	fields map[string]string
	key    string // of the last field, whose text may go on
}

// line reads a line of either form. Titles are those of sinfo.
func (b *nodeBuilder) line(h **titles, line string) *workload.Error {
	switch {
	case line == "" || line[0] == '#':
		return nil
	case *h != nil:
		return b.row(*h, line)
	case b.fields == nil && !nodeBegins.MatchString(line):
		*h = readTitles(line)
		return (*h).check()
	default:
		return b.node(line)
	}
}

var field = regexp.MustCompile(`^([A-Z][A-Za-z_]*)=(.*)$`)

// node reads a line of scontrol show node.
func (b *nodeBuilder) node(line string) *workload.Error {
	for word := range strings.FieldsSeq(line) {
		m := field.FindStringSubmatch(word)
		switch {
		case m == nil && b.key != "":
			b.fields[b.key] += " " + word
		case m == nil:
		case m[1] == "NodeName":
			if fault := b.finish(); fault != nil {
				return fault
			}
			b.fields, b.key = map[string]string{"NodeName": m[2]}, "NodeName"
		default:
			if _, again := b.fields[m[1]]; !again { // a reason may have anything in it
				b.fields[m[1]], b.key = m[2], m[1]
			}
		}
	}
	return nil
}

// finish adds the node that the fields describe, if there is one.
func (b *nodeBuilder) finish() *workload.Error {
	if b.fields == nil {
		return nil
	}
	f := b.fields
	b.fields, b.key = nil, ""
	fail := func(key string, err error) *workload.Error {
		return &workload.Error{
			Problem: fmt.Sprintf("node %s: %s=%s %v", head(f["NodeName"]), key, head(f[key]), err),
			Hint:    "print it again: scontrol show node",
		}
	}
	var n Node
	all := unknownAmounts
	if err := all.readTRES(f["CfgTRES"]); err != nil {
		return fail("CfgTRES", err)
	}
	n.Cpus, n.Memory = all.cpus, all.memory
	for _, said := range []struct {
		key    string
		amount *int64
	}{{"CPUTot", &n.Cpus}, {"CPUEfctv", &n.Cpus}, {"RealMemory", &n.Memory}} { // the last that is there counts
		if text := f[said.key]; !unsaid(text) {
			unit := one
			if said.key == "RealMemory" {
				unit = mib
			}
			amount, err := amountIn(text, unit)
			if err != nil {
				return fail(said.key, err)
			}
			*said.amount = amount
		}
	}
	if text := f["MemSpecLimit"]; !unsaid(text) && n.Memory > 0 {
		kept, err := amountIn(text, mib)
		if err != nil {
			return fail("MemSpecLimit", err)
		}
		n.Memory = max(n.Memory-kept, 0)
	}
	gpus, err := readGRES(f["Gres"])
	if err != nil {
		return fail("Gres", err)
	}
	n.GPUs, n.Memory = max(all.anyGPUs(), gpus, 0), max(n.Memory, 0)
	if n.Cpus <= 0 {
		return fail("CPUTot", errors.New("is no number of cpus"))
	}
	features := f["AvailableFeatures"]
	if features == "" {
		features = f["Features"]
	}
	n.Partitions, n.Features = list(f["Partitions"]), list(features)
	names, err := hosts(f["NodeName"])
	if err != nil {
		return fail("NodeName", err)
	}
	return b.add(names, &n, isDown(f["State"]))
}

// add adds nodes that are alike, or the partitions of those that are there.
func (b *nodeBuilder) add(names []string, n *Node, down bool) *workload.Error {
	for _, name := range names {
		i, known := b.index[name]
		switch {
		case known && i >= 0:
			first := &b.nodes.Usable[i]
			first.Partitions = merged(first.Partitions, n.Partitions)
			first.Features = merged(first.Features, n.Features)
		case known:
		case down:
			b.index[name] = -1
			b.nodes.Down++
		default:
			if len(b.nodes.Usable) == maxNodes {
				return &workload.Error{Problem: fmt.Sprintf("there are more than %d nodes in it", maxNodes)}
			}
			b.index[name] = len(b.nodes.Usable)
			node := *n
			node.Name = name
			b.nodes.Usable = append(b.nodes.Usable, node)
		}
	}
	return nil
}

// list returns what stands between commas, ascending, without the sign of the default partition.
func list(text string) []string {
	if unsaid(text) {
		return nil
	}
	var all []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSuffix(strings.TrimSpace(name), "*"); name != "" {
			all = append(all, name)
		}
	}
	return merged(all, nil)
}

// merged returns the names of two lists, ascending.
func merged(a, b []string) []string {
	if len(b) == 0 && slices.IsSorted(a) {
		return slices.Compact(a)
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// unusable are the states of nodes that run no jobs, as scontrol and sinfo write them.
var unusable = []string{
	"DOWN", "DRAIN", "DRAINED", "DRAINING", "DRNG", "FAIL", "FAILED", "FAILING", "FAILG", "ERROR", "ERR", "UNKNOWN", "UNK",
	"UNKN", "FUTURE", "FUTR", "NO_RESPOND", "NOT_RESPONDING", "INVAL", "INVALID", "INVALID_REG",
}

// isDown reports whether a state such as IDLE+DRAIN or down* says that a node runs no jobs. Nodes that are powered
// down, or in maintenance, are there for jobs at other times.
func isDown(state string) bool {
	state = strings.ToUpper(state)
	if word, _, more := strings.Cut(state, " "); more {
		state = word
	}
	if strings.HasSuffix(state, "*") {
		return true // it does not respond
	}
	for flag := range strings.SplitSeq(state, "+") {
		if slices.Contains(unusable, strings.TrimRight(flag, "~#!%$@^-*")) {
			return true
		}
	}
	return false
}
