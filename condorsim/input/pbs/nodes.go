package pbs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/settle"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Node is one of a cluster, or a part of one: a vnode.
type Node struct {
	Name               string
	Cpus, Memory, GPUs int64  // MiB of memory
	Properties         string // of Torque, with commas between them
	Queue              string // the only one whose jobs may run there; "": any
}

// Nodes are those of a cluster.
type Nodes struct {
	Usable []Node
	// Down counts those that are down, offline, or of which the server knows nothing; Bare those without
	// cpus, whose vnodes have them.
	Down, Bare int
}

var (
	nodesAsText = regexp.MustCompile(`^\s*[^\s=:;{}\[\]<>]+[ \t]*\r?\n([ \t]+[\w.-]+ = [^\n]*\n)*` +
		`[ \t]+(state|np|ntype|pcpus|Mom|resources_available\.\w+) = `)
	nodesAsJSON = regexp.MustCompile(`^\s*\{(?s:.*)"pbs_(version|server)"\s*:(?s:.*)"nodes"\s*:`)
)

// IsNodes reports whether a text is what pbsnodes -a prints, with -F json or without, by how it begins.
func IsNodes(head []byte) bool { return nodesAsText.Match(head) || nodesAsJSON.Match(head) }

// most is the most bytes of nodes in JSON, whose text is read as a whole: some 50,000 nodes.
const most = 256 << 20

// ReadNodes reads nodes as pbsnodes -a prints them, with -F json or without, decompressed already. Those in
// JSON are in the order of their names. Errors are of type *[workload.Error].
func ReadNodes(from io.Reader, name string) (*Nodes, error) {
	text := bufio.NewReader(from)
	if head, _ := text.Peek(1 << 10); strings.HasPrefix(strings.TrimSpace(string(head)), "{") { // reading gives the error
		return nodesOfJSON(text, name)
	}
	var found Nodes
	var node map[string]string
	title, line := "", 0
	for read, err := range settle.Lines(text, name) {
		if err != nil {
			return nil, err
		}
		word := strings.TrimSpace(read.Text)
		switch attribute, value, named := strings.Cut(word, " = "); {
		case word == "":
		case read.Text[0] != ' ' && read.Text[0] != '\t':
			if fault := found.add(name, line, title, node); fault != nil {
				return nil, fault
			}
			title, line, node = word, read.Number, map[string]string{}
		case node == nil:
			return nil, settle.Fault(name, read.Number, "node", word, "is below no node", "give what pbsnodes -a prints")
		case named:
			node[attribute] = value
		}
	}
	if fault := found.add(name, line, title, node); fault != nil {
		return nil, fault
	}
	return &found, nil
}

// nodesOfJSON reads nodes that are printed as JSON.
func nodesOfJSON(text io.Reader, name string) (*Nodes, error) {
	var file struct {
		Nodes map[string]map[string]any `json:"nodes"`
	}
	decoder := json.NewDecoder(io.LimitReader(text, most))
	decoder.UseNumber()
	if err := decoder.Decode(&file); err != nil {
		return nil, &workload.Error{
			File: name, Err: err, Problem: fmt.Sprintf("the nodes in JSON cannot be read: %v", err),
			Hint: "print them without: pbsnodes -a",
		}
	}
	var found Nodes
	for _, title := range slices.Sorted(maps.Keys(file.Nodes)) {
		node := map[string]string{}
		for attribute, value := range file.Nodes[title] {
			parts, several := value.(map[string]any)
			if !several {
				node[attribute] = fmt.Sprint(value)
			}
			for part, inner := range parts {
				node[attribute+"."+part] = fmt.Sprint(inner)
			}
		}
		if fault := found.add(name, 0, title, node); fault != nil {
			return nil, fault
		}
	}
	return &found, nil
}

// add adds a node by its attributes; nil: there is none.
func (n *Nodes) add(file string, line int, name string, all map[string]string) *workload.Error {
	if all == nil {
		return nil
	}
	status := map[string]string{}
	for pair := range strings.SplitSeq(all["status"], ",") {
		key, value, _ := strings.Cut(pair, "=")
		status[key] = value
	}
	node := Node{Name: name, Properties: all["properties"], Queue: all["queue"]}
	kib := int64(0)
	for _, one := range []struct {
		to    *int64
		read  func(text string) (int64, bool)
		texts []string // the first that is given counts
	}{
		{&node.Cpus, whole, []string{all["resources_available.ncpus"], all["np"], status["ncpus"], all["pcpus"]}},
		{&node.GPUs, whole, []string{all["resources_available.ngpus"], all["gpus"]}},
		{&kib, size, []string{all["resources_available.mem"], status["physmem"]}},
	} {
		for _, text := range one.texts {
			if text == "" {
				continue
			}
			amount, fine := one.read(text)
			if !fine {
				return settle.Fault(file, line, "node "+name, text, "is no amount of what it has", "correct it, or delete the node")
			}
			*one.to = amount
			break
		}
	}
	node.Memory = kib / 1024 // less than a MiB is none
	switch {
	case unusable(all["state"]):
		n.Down++
	case node.Cpus == 0:
		n.Bare++
	default:
		n.Usable = append(n.Usable, node)
	}
	return nil
}

// unusable reports whether a node in a state, or several with commas between them, runs no jobs.
func unusable(state string) bool {
	for one := range strings.SplitSeq(state, ",") {
		switch strings.TrimSpace(one) {
		case "down", "offline", "unknown", "state-unknown", "state-unknown-down", "unresolvable", "stale", "maintenance":
			return true
		}
	}
	return false
}
