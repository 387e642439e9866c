package workload

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// WriteSWF writes the trace in the Standard Workload Format: a header and a line of 18 fields for each
// job; if the machine has GPUs, those of the job are a nineteenth field, as the header's MachineGPUs says. If the trace was read with [Options.KeepRecorded], the comments and the lines are those of the
// file, but for what was changed since: see [Trace.Changes]. If not, all jobs have the status 1
// (completed), and if a number stands for several jobs, which ReadSWF does not accept, all are numbered
// anew from 1.
//
// ReadSWF reads the same trace back, with one exception. Memory is in whole KB per processor, so a job of
// more than 1024 processors may lose up to a MiB for each 1024 of them, unless its memory came from such a
// file. An estimate for which the run time stands in is written as unknown, one that was raised to the run
// time as it was stated. Jobs that run beyond their estimates ([Job.Lies]) are an error: a reader would
// raise these.
//
// Labels that are not numbers get one each, which header lines explain, such as
//
//	; UserName: 12 "alice"
//
// Errors are those of w, and that a job is submitted before second 0, which the format cannot say.
func (t *Trace) WriteSWF(w io.Writer) error {
	if err := t.Writable(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	numbers := t.labelNumbers()
	for _, line := range t.header(numbers) {
		_, _ = out.WriteString(line + "\n") // Flush returns the error
	}
	lines := t.lines(numbers)
	var text []byte
	for i := range t.Jobs {
		rec, _ := lines.of(i)
		text = appendLine(text[:0], &rec)
		if recorded := t.Jobs[i].Recorded; recorded.hasLine() {
			text = recorded.withNodes(recorded.append(text[:0], &rec), t.Jobs[i].Procs)
		}
		if t.Machine.GPUs > 0 {
			text = t.Jobs[i].withGPUs(text)
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			return fmt.Errorf("write trace %s: %w", t.Name, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write trace %s: %w", t.Name, err)
	}
	return nil
}

// ErrLies is why a trace is not written.
var ErrLies = errors.New("jobs that run beyond what their users say have no place in a file, whose readers raise " +
	"an estimate to the run time; give --estimate-model liars to condorsim run or to a sweep instead")

// lines makes the lines of a trace's jobs.
type lines struct {
	*Trace
	numbers      *[len(nameKeys)]map[string]int64
	anew         bool // jobs are numbered from 1
	predecessors []int
	misplaced    map[int64]bool
}

func (t *Trace) lines(numbers *[len(nameKeys)]map[string]int64) *lines {
	l := &lines{Trace: t, numbers: numbers, predecessors: t.Predecessors(), misplaced: map[int64]bool{}}
	if t.Cleaning.OutOfOrder == 0 { // else they might no longer be misplaced
		for _, id := range t.Misplaced {
			l.misplaced[id] = true
		}
	}
	asTheyAre := slices.ContainsFunc(t.Jobs, func(j Job) bool { return j.Recorded.hasLine() })
	l.anew = !asTheyAre && t.numberedTwice()
	return l
}

// of returns the fields of the line of a job, and which of them differ from those of the file.
func (l *lines) of(i int) (rec record, changed []int) {
	j := l.Jobs[i]
	if !j.Recorded.hasLine() {
		return l.newLine(i), nil
	}
	var before record
	_ = parseRecord([]byte(j.Recorded.Line), &before) // it was read before
	rec = before
	rec[0], rec[1], rec[3] = j.ID, j.Submit, j.Run
	if l.waitless || j.Ran() > j.Run {
		rec[2] = -1 // a reader would take it to have happened with these times
	}
	asNodes := j.Recorded.nodes == j.Procs && !j.Recorded.merged // which the line says behind these fields
	if !asNodes && firstPositive(rec[4], rec[7]) != j.Procs {
		rec[4], rec[7] = j.Procs, j.Procs
	}
	if stated := j.stated(); stated > 0 || rec[8] > 0 {
		rec[8] = stated
	}
	if l.Machine.Memory > 0 {
		j.remember(&rec)
	}
	if j.Recorded.merged {
		copy(rec[11:15], l.labelsOf(j))
	}
	l.precede(i, &rec)
	for n := range rec {
		if rec[n] != before[n] {
			changed = append(changed, n)
		}
	}
	return rec, changed
}

// stated returns what the user stated of the run time; -1: nothing.
func (j *Job) stated() int64 {
	switch j.Origin {
	case Assumed: // else the file would say that its user knew it
		return -1
	case Raised:
		return int64(j.Beside)
	case Stated:
	}
	return j.Estimate
}

// remember has a line say the memory of its job, unless it does.
func (j *Job) remember(rec *record) {
	switch {
	case mibOf(firstPositive(rec[6], rec[9]), j.Procs) == j.Memory:
	case mibOf(rec[9], j.Procs) == j.Memory:
		rec[6] = rec[9]
	default:
		rec[6] = kbOf(j.Memory, j.Procs)
		rec[9] = rec[6]
	}
}

// kbOf returns the memory of each processor in KB; -1: none.
func kbOf(mib, procs int64) int64 {
	if kb := mib * 1024 / procs; kb > 0 {
		return min(kb, maxNumber)
	}
	return -1
}

// precede has a line name the preceding job of its job, if it has one.
func (l *lines) precede(i int, rec *record) {
	j := &l.Jobs[i]
	switch id := l.precedes(i, l.predecessors, l.anew); {
	case id > 0:
		if rec[16] = id; max(rec[17], -1) != j.After.Think {
			rec[17] = j.After.Think
		}
	case rec[16] > 0 && !l.misplaced[j.ID]:
		rec[16], rec[17] = -1, -1
	}
}

// newLine returns the line of a job that no line was read of.
func (l *lines) newLine(i int) record {
	const completed = 1
	j := l.Jobs[i]
	if l.anew {
		j.ID = int64(i) + 1
	}
	memory := kbOf(j.Memory, j.Procs)
	wait := cmp.Or(j.Wait, -1)
	switch {
	case j.Ran() > j.Run:
		wait = -1
	case j.HasWaited: // also 0
		wait = j.Waited
	}
	rec := record{
		j.ID, j.Submit, wait, j.Run, j.Procs, -1, memory, j.Procs, j.stated(), memory, completed, 0, 0, 0, 0, -1, -1, -1,
	}
	copy(rec[11:15], l.labelsOf(j))
	l.precede(i, &rec)
	return rec
}

// labelsOf returns the numbers of a job's labels.
func (l *lines) labelsOf(j Job) []int64 {
	list := make([]int64, len(nameKeys))
	for kind, label := range j.labels() {
		if list[kind] = -1; label != "" {
			list[kind] = l.numbers[kind][label]
		}
	}
	return list
}

func (r *Recorded) hasLine() bool { return r != nil && r.Line != "" }

// append appends the line, with the fields that differ from it.
func (r *Recorded) append(text []byte, rec *record) []byte {
	var before record
	line := []byte(r.Line)
	_ = parseRecord(line, &before) // it was read before
	at := 0
	for n := range rec {
		for isBlank(line[at]) {
			text = append(text, line[at])
			at++
		}
		begin := at
		for at < len(line) && !isBlank(line[at]) {
			at++
		}
		if rec[n] == before[n] {
			text = append(text, line[begin:at]...)
		} else {
			text = strconv.AppendInt(text, rec[n], 10)
		}
	}
	return append(text, line[at:]...)
}

// appendLine appends a line with one blank between the fields.
func appendLine(text []byte, rec *record) []byte {
	for n, field := range rec {
		if n > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, field, 10)
	}
	return text
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
		if r := t.Jobs[i].Recorded; r.hasLine() && !r.merged {
			continue // its line has them
		}
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
