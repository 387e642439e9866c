package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// keysOfJobs are the keys of lines that a change of the jobs or the machine makes untrue.
func keysOfJobs() []string {
	return []string{"MaxJobs", "MaxRecords", keyEnd, "MaxProcs", keyNodes, keyMemory, keyGPUs}
}

// toWrite returns the header with what is true of the trace: the machine, and how many jobs it has.
func (t *Trace) toWrite() Header {
	h := maps.Clone(t.Header)
	if h == nil {
		h = Header{}
	}
	count := strconv.Itoa(len(t.Jobs))
	if t.Comments == nil && h["Version"] == "" {
		h["Version"] = "2.2"
	}
	for _, key := range []string{"MaxJobs", "MaxRecords"} {
		if t.Comments == nil || h[key] != "" && h.Number(key) != int64(len(t.Jobs)) {
			h[key] = count
		}
	}
	if h.processors() != t.Machine.Processors {
		h["MaxProcs"] = strconv.FormatInt(t.Machine.Processors, 10)
	}
	if t.inNodes && h.Number(keyNodes) != t.Machine.Processors {
		h[keyNodes] = strconv.FormatInt(t.Machine.Processors, 10)
	}
	switch {
	case t.Machine.Memory == 0:
		delete(h, keyMemory)
	case h.Number(keyMemory) != t.Machine.Memory:
		h[keyMemory] = strconv.FormatInt(t.Machine.Memory, 10)
	}
	switch {
	case t.Machine.GPUs == 0:
		delete(h, keyGPUs)
	case h.Number(keyGPUs) != t.Machine.GPUs:
		h[keyGPUs] = strconv.FormatInt(t.Machine.GPUs, 10)
	}
	return h
}

// header returns the lines above the jobs: the comments of the file, without those that are not true any
// more, then what else the header has, and the labels behind numbers that no line explains yet.
func (t *Trace) header(numbers *[len(nameKeys)]map[string]int64) (all []string) {
	h := t.toWrite()
	changed := t.changedKeys(h)
	written := map[string]bool{}
	for _, line := range t.Comments {
		key, value, found := commentLine(line)
		switch {
		case !found || !slices.Contains(changed, key):
			written[key+": "+value] = true
			all = append(all, line)
		case h[key] != "" && !written[key+": "+h[key]]:
			written[key+": "+h[key]] = true
			all = append(all, "; "+key+": "+h[key])
		}
	}
	for _, key := range h.Keys() {
		for value := range strings.SplitSeq(h[key], "\n") {
			if !written[key+": "+value] {
				all = append(all, "; "+key+": "+value)
			}
		}
	}
	return append(all, nameLines(numbers)...)
}

// nameLines returns the lines that explain numbers that stand for labels.
func nameLines(numbers *[len(nameKeys)]map[string]int64) (all []string) {
	for kind, key := range nameKeys {
		byNumber := map[int64]string{}
		for label, n := range numbers[kind] {
			if label != strconv.FormatInt(n, 10) {
				byNumber[n] = label
			}
		}
		for _, n := range slices.Sorted(maps.Keys(byNumber)) {
			all = append(all, fmt.Sprintf("; %s: %d %q", key, n, byNumber[n]))
		}
	}
	return all
}

// commentLine splits a line of the header, unless it is a comment of another kind.
func commentLine(line string) (key, value string, found bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, ";") {
		return "", "", false
	}
	return headerLine(line)
}

// changedKeys returns the keys whose values in the header to be written are not those of the file's comments.
func (t *Trace) changedKeys(h Header) (changed []string) {
	before := Header{}
	for _, line := range t.Comments {
		if key, value, found := commentLine(line); found {
			before.add(key, value)
		}
	}
	for _, key := range keysOfJobs() {
		if t.Comments != nil && before[key] != h[key] {
			changed = append(changed, key)
		}
	}
	return changed
}

// Change is what a trace that was read says otherwise when it is written.
type Change struct {
	What string `json:"what"` // a field of the jobs' lines or a key of the header
	// Lines counts the jobs' lines; 0 for a key.
	Lines int `json:"lines,omitempty"`
	// Now is the new value of a key; "": the line is left out.
	Now string `json:"now,omitempty"`
}

// String says it in words: "changed 3: wait time", "changed: MaxJobs: 4", "left out: EndTime".
func (c Change) String() string {
	switch {
	case c.Lines > 0:
		return fmt.Sprintf("changed %d: %s", c.Lines, c.What)
	case c.Now != "":
		return "changed: " + c.What + ": " + c.Now
	default:
		return "left out: " + c.What
	}
}

// Changes lists what [Trace.WriteSWF] writes otherwise than the file had it, besides jobs that were
// dropped, by field, then by key of the header. It lists nothing of traces whose lines were not kept.
func (t *Trace) Changes() (all []Change) {
	lines := t.lines(t.labelNumbers())
	var counts [numFields]int
	for i := range t.Jobs {
		_, changed := lines.of(i)
		for _, n := range changed {
			counts[n]++
		}
	}
	for n, count := range counts {
		if count > 0 {
			all = append(all, Change{What: fieldName(n + 1), Lines: count})
		}
	}
	if changed := t.changedGPUs(); changed > 0 {
		all = append(all, Change{What: "GPUs, field 19", Lines: changed})
	}
	if moved := t.moved(); moved > 0 {
		all = append(all, Change{What: "place of the line, by submit time", Lines: moved})
	}
	h := t.toWrite()
	for _, key := range t.changedKeys(h) {
		all = append(all, Change{What: key, Now: h[key]})
	}
	return all
}

// moved counts the lines that come after one that they came before.
func (t *Trace) moved() (n int) {
	last := 0
	for i := range t.Jobs {
		recorded := t.Jobs[i].Recorded
		if !recorded.hasLine() || recorded.merged {
			continue
		}
		if recorded.place < last {
			n++
		}
		last = max(last, recorded.place)
	}
	return n
}
