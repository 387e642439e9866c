package workload

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WriteSWF writes the trace in the Standard Workload Format: the header, with the machine's
// processors and memory, and a line of 18 fields for each job.
//
// ReadSWF reads the same trace back, with three exceptions. Memory is in whole KB per processor, so
// a job of more than 1024 processors may lose up to a MiB for each 1024 of them, unless its memory
// came from such a file. All jobs have the status 1 (completed). If a number stands for several
// jobs, which ReadSWF does not accept, all jobs are numbered anew from 1. An estimate for which the
// run time stands in is written as unknown.
//
// Labels that are not numbers get one each, which header lines explain, such as
//
//	; UserName: 12 "alice"
//
// Errors are those of w, and that a job is submitted before second 0, which the format cannot say.
func (t *Trace) WriteSWF(w io.Writer) error {
	if len(t.Jobs) > 0 && t.Jobs[0].Submit < 0 {
		return fmt.Errorf("write trace %s: job %d is submitted at %d: in SWF a time below 0 is unknown; add to all times",
			t.Name, t.Jobs[0].ID, t.Jobs[0].Submit)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	numbers := t.labelNumbers()
	t.writeHeader(out, numbers)
	anew, predecessors := t.numberedTwice(), t.Predecessors()
	var line []byte
	for i, j := range t.Jobs {
		if anew {
			j.ID = int64(i) + 1
		}
		line = appendLine(line[:0], j, t.precedes(i, predecessors, anew), numbers)
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write trace %s: %w", t.Name, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write trace %s: %w", t.Name, err)
	}
	return nil
}

// appendLine appends the line of a job. preceding is the number of its preceding job in the file; 0:
// none.
func appendLine(line []byte, j Job, preceding int64, numbers *[len(nameKeys)]map[string]int64) []byte {
	const unknown, completed = -1, 1
	memory := int64(unknown)
	if kb := j.Memory * 1024 / j.Procs; kb > 0 {
		memory = min(kb, maxNumber)
	}
	wait := cmp.Or(j.Wait, unknown)
	if j.HasWaited { // also 0
		wait = j.Waited
	}
	rec := record{
		j.ID, j.Submit, wait, j.Run, j.Procs, unknown, memory, j.Procs, j.Estimate,
		memory, completed,
		0, 0, 0, 0, unknown, unknown, unknown,
	}
	if j.Origin == Assumed { // else the file would say that its user knew it
		rec[8] = unknown
	}
	if preceding > 0 {
		rec[16], rec[17] = preceding, j.After.Think
	}
	for kind, label := range j.labels() {
		rec[11+kind] = unknown
		if label != "" {
			rec[11+kind] = numbers[kind][label]
		}
	}
	for n, field := range rec {
		if n > 0 {
			line = append(line, ' ')
		}
		line = strconv.AppendInt(line, field, 10)
	}
	return append(line, '\n')
}

// writeHeader writes the trace's header, with the machine and the labels behind the numbers. Write
// errors are returned by the final flush.
func (t *Trace) writeHeader(out *bufio.Writer, numbers *[len(nameKeys)]map[string]int64) {
	h := maps.Clone(t.Header)
	if h == nil {
		h = Header{}
	}
	count := strconv.Itoa(len(t.Jobs))
	for _, line := range [][2]string{{"Version", "2.2"}, {"MaxJobs", count}} {
		if h[line[0]] == "" {
			h[line[0]] = line[1]
		}
	}
	h["MaxRecords"] = count
	if h.processors() != t.Machine.Processors {
		h["MaxProcs"] = strconv.FormatInt(t.Machine.Processors, 10)
	}
	delete(h, keyMemory)
	if t.Machine.Memory > 0 {
		h[keyMemory] = strconv.FormatInt(t.Machine.Memory, 10)
	}
	for _, key := range h.Keys() {
		for value := range strings.SplitSeq(h[key], "\n") {
			_, _ = fmt.Fprintf(out, "; %s: %s\n", key, value)
		}
	}
	for kind, key := range nameKeys {
		byNumber := map[int64]string{}
		for label, n := range numbers[kind] {
			if label != strconv.FormatInt(n, 10) {
				byNumber[n] = label
			}
		}
		for _, n := range slices.Sorted(maps.Keys(byNumber)) {
			_, _ = fmt.Fprintf(out, "; %s: %d %q\n", key, n, byNumber[n])
		}
	}
}

// labels returns the four kinds of labels, in the order of the fields.
func (j *Job) labels() [len(nameKeys)]string {
	return [...]string{j.User, j.Group, j.Executable, j.Queue}
}

// labelNumbers returns the numbers that stand for labels. A number stands for itself; any other
// label gets the least unused number, in the order in which the labels occur.
func (t *Trace) labelNumbers() *[len(nameKeys)]map[string]int64 {
	var numbers [len(nameKeys)]map[string]int64
	var names [len(nameKeys)][]string
	var taken [len(nameKeys)]map[int64]bool
	for kind := range numbers {
		numbers[kind], taken[kind] = map[string]int64{}, map[int64]bool{}
	}
	for i := range t.Jobs {
		for kind, label := range t.Jobs[i].labels() {
			if _, known := numbers[kind][label]; known || label == "" {
				continue
			}
			n, err := strconv.ParseInt(label, 10, 64)
			if err != nil || n < 0 || n > maxNumber || strconv.FormatInt(n, 10) != label {
				names[kind] = append(names[kind], label)
				n = 0 // chosen below
			} else {
				taken[kind][n] = true
			}
			numbers[kind][label] = n
		}
	}
	for kind := range names {
		next := int64(1)
		for _, label := range names[kind] {
			for taken[kind][next] {
				next++
			}
			numbers[kind][label] = next
			next++
		}
	}
	return &numbers
}

// numberedTwice reports whether two jobs have the same number. It stores no numbers as long as they
// ascend, as they usually do.
func (t *Trace) numberedTwice() bool {
	var seen map[int64]bool
	for i := range t.Jobs {
		id := t.Jobs[i].ID
		if seen == nil && (i == 0 || t.Jobs[i-1].ID < id) {
			continue
		}
		if seen == nil {
			seen = make(map[int64]bool, len(t.Jobs))
			for _, j := range t.Jobs[:i] {
				seen[j.ID] = true
			}
		}
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}
