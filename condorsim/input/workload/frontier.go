package workload

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

// The trace of Frontier, an exascale machine of Oak Ridge, has 21 fields in a line: behind those of SWF the
// GPUs that the job used, a soft limit of its run time, and a text such as
//
//	frontier:excl:2500x112
//
// which says that it had 2500 nodes, with 112 hardware threads each, for itself. Field 5 has nodes of some jobs
// and threads of others, so the text is what counts: widths are whole nodes there.
var descriptor = regexp.MustCompile(`^([^:\s]+:[^:\s]+:)([1-9]\d{0,11})(x[1-9]\d*)$`)

// exclusive is what a descriptor says of jobs that have whole nodes.
var exclusive = []byte(":excl:")

// nodesBehind returns the nodes that the 21st field of a job line says; 0: it says none. The line has exactly so
// many fields.
func nodesBehind(line []byte) (nodes int64, whole bool) {
	fields := bytes.Fields(beyond(line))
	if len(fields) != 3 {
		return 0, false
	}
	parts := descriptor.FindSubmatch(fields[2])
	if parts == nil {
		return 0, false
	}
	nodes, _ = strconv.ParseInt(string(parts[2]), 10, 64) // the expression bounds it
	return nodes, bytes.Contains(parts[1], exclusive)
}

// more is what was read behind the fields of SWF.
type more struct {
	fields bool  // the first job line has more than those
	gpus   bool  // the nineteenth is the GPUs of the job, as the header says
	nodes  int   // so many lines say nodes
	shared int   // of these, of jobs that share nodes
	raw    int   // so many other lines there are
	ofJob  int64 // the GPUs of the line
	width  int64 // its nodes; 0: it does not say
}

// readMore reads what stands behind the eighteenth field of a line.
func (c *cleaner) readMore(line []byte) (fault *Error) {
	m := &c.more
	m.ofJob, m.width = 0, 0
	if !m.fields {
		return nil
	}
	whole := false
	switch m.width, whole = nodesBehind(line); {
	case m.width == 0:
		m.raw++
	case whole:
		m.nodes++
	default:
		m.nodes++
		m.shared++
	}
	if m.gpus || m.width > 0 {
		m.ofJob, fault = gpusBehind(line)
	}
	return fault
}

// settleMore says what of the lines was not read, or otherwise than the format says.
func (c *cleaner) settleMore() {
	m := &c.more
	if m.nodes == 0 {
		return
	}
	c.trace.inNodes = true
	say := func(format string, args ...any) {
		c.trace.Warnings = append(c.trace.Warnings, fmt.Sprintf(format, args...))
	}
	say("the jobs are as wide as the last field says, in nodes, and the machine has as many as MaxNodes or --cpus says")
	if m.raw > 0 {
		say("%s jobs have no such last field, and are as wide as field 5 says", Part(m.raw, m.nodes+m.raw))
	}
	if m.shared > 0 {
		say("%s jobs shared nodes, and have them whole here", Part(m.shared, m.nodes+m.raw))
	}
	if c.opts.CPUs == 0 && c.trace.Header.Number(keyNodes) == 0 && c.trace.Header.Number("MaxProcs") > 0 {
		say("the header has no MaxNodes: MaxProcs is taken for nodes, which --cpus corrects")
	}
}

// withNodes returns the line of a job whose last field says its nodes.
func (r *Recorded) withNodes(line []byte, nodes int64) []byte {
	at := bytes.LastIndexAny(line, " \t") + 1
	parts := descriptor.FindSubmatch(line[at:])
	if r.nodes == 0 || r.nodes == nodes || parts == nil {
		return line
	}
	return fmt.Appendf(bytes.Clone(line[:at]), "%s%d%s", parts[1], nodes, parts[3])
}
