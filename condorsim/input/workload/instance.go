package workload

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// Instance is a small workload and the results that schedulers must reach.
type Instance struct {
	Trace    *Trace
	Expected map[string]Expected // by name of the policy, such as "easy" or "pc-sjf"
}

// Expected are the results of one policy. Slices have an entry per job, in the order of Trace.Jobs,
// or are nil if the instance does not say.
type Expected struct {
	Start      []int64            `json:"start"`
	Guarantee  []int64            `json:"guarantee"`   // the planned start given at arrival
	StrictFST  []int64            `json:"strict_fst"`  // fair start time if no job came after it
	RelaxedFST []int64            `json:"relaxed_fst"` // fair start time if the job came last
	Metrics    map[string]float64 `json:"metrics"`     // by name
}

// instanceFile is the JSON form.
type instanceFile struct {
	Name       string              `json:"name"`
	Processors int64               `json:"processors"`
	Memory     int64               `json:"memory"`
	GPUs       int64               `json:"gpus"`
	Filled     bool                `json:"filled"`
	Jobs       []instanceJob       `json:"jobs"`
	Expected   map[string]Expected `json:"expected"`
}

type instanceJob struct {
	ID       int64 `json:"id"`
	Submit   int64 `json:"submit"`
	Run      int64 `json:"run"`
	Estimate int64 `json:"estimate"`
	Procs    int64 `json:"procs"`
	Memory   int64 `json:"memory"`
	GPUs     int64 `json:"gpus"`
	Release  int64 `json:"release"`
	After    int64 `json:"after"` // the id of the preceding job; 0: none
	Think    int64 `json:"think"`

	User      string `json:"user"` // these are "" if unknown
	Group     string `json:"group"`
	Queue     string `json:"queue"`
	Scavenger bool   `json:"scavenger"`
}

// maxInstance bounds the bytes of an instance, decompressed; it is some 700,000 jobs.
const maxInstance = 64 << 20

var instance = regexp.MustCompile(`^\s*\{(?s:.*)"(processors|jobs|expected)"\s*:`)

// IsInstance reports whether a text may be an instance, by how it begins.
func IsInstance(head []byte) bool { return instance.Match(head) }

// OpenInstance reads the instance in the file path; see ReadInstance.
func OpenInstance(path string) (*Instance, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read instance: %w; check the path", err)
	}
	defer file.Close() //nolint:errcheck // only read
	return ReadInstance(file, path)
}

// ReadInstance reads an [Instance] from JSON, which may be compressed. Unknown keys and values that
// no scheduler can work with are faults, returned as *Error, with the path, and the line if JSON
// gives one. Jobs are sorted by submit time, and expected results with them. Jobs larger than the
// machine are kept: a simulation puts them on hold.
func ReadInstance(from io.Reader, path string) (*Instance, error) {
	unpacked, err := Text(from, path)
	if err != nil {
		return nil, err
	}
	defer unpacked.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(unpacked, maxInstance+1))
	if err != nil {
		return nil, unreadable(path, 0, err)
	}
	if len(text) > maxInstance {
		return nil, &Error{File: path, Problem: "the instance is longer than 64 MiB", Hint: "give it as a trace in SWF"}
	}
	var file instanceFile
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, FaultOfJSON(path, text, decoder.InputOffset(), err, describesInstances)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, FaultOfJSON(path, text, decoder.InputOffset(),
			errors.New("there is more behind the end of the instance"), describesInstances)
	}
	if problem := file.problem(); problem != "" {
		return nil, &Error{File: path, Problem: problem, Hint: "correct the instance"}
	}
	return file.instance(), nil
}

// WriteInstance writes the trace as JSON in the form that [ReadInstance] reads, one line for each
// job, with its user, group and queue, without its executable and the header. Errors are those of w.
func (t *Trace) WriteInstance(w io.Writer) error {
	out := bufio.NewWriter(w)
	name, err := json.Marshal(t.Name)
	if err != nil {
		return fmt.Errorf("write instance %s: %w", t.Name, err)
	}
	_, _ = fmt.Fprintf(out, "{\n \"name\": %s,\n \"processors\": %d,\n \"memory\": %d,\n", name,
		t.Machine.Processors, t.Machine.Memory)
	if t.Machine.GPUs > 0 {
		_, _ = fmt.Fprintf(out, " \"gpus\": %d,\n", t.Machine.GPUs)
	}
	if t.Filled {
		_, _ = out.WriteString(" \"filled\": true,\n")
	}
	_, _ = out.WriteString(" \"jobs\": [")
	between := "\n"
	anew, predecessors := t.numberedTwice(), t.Predecessors()
	for i, j := range t.Jobs {
		if anew {
			j.ID = int64(i) + 1
		}
		more := ""
		if j.GPUs > 0 {
			more = fmt.Sprintf(`, "gpus": %d`, j.GPUs)
		}
		if j.Release != 0 {
			more += fmt.Sprintf(`, "release": %d`, j.Release)
		}
		if predecessors != nil && predecessors[i] >= 0 {
			more += fmt.Sprintf(`, "after": %d, "think": %d`, t.precedes(i, predecessors, anew), j.After.Think)
		}
		more += j.origin()
		if t.Scavengers[t.Jobs[i].ID] {
			more += `, "scavenger": true`
		}
		_, err = fmt.Fprintf(out, `%s  {"id": %d, "submit": %d, "run": %d, "estimate": %d, "procs": %d, "memory": %d%s}`,
			between, j.ID, j.Submit, j.Run, j.Estimate, j.Procs, j.Memory, more)
		if err != nil {
			return fmt.Errorf("write instance %s: %w", t.Name, err)
		}
		between = ",\n"
	}
	_, _ = out.WriteString("\n ]\n}\n") // Flush returns the error
	if err = out.Flush(); err != nil {
		return fmt.Errorf("write instance %s: %w", t.Name, err)
	}
	return nil
}

// origin returns the keys of an instance that say whose the job is.
func (j *Job) origin() string {
	var text strings.Builder
	for _, label := range [][2]string{{"user", j.User}, {"group", j.Group}, {"queue", j.Queue}} {
		if label[1] == "" {
			continue
		}
		name, _ := json.Marshal(label[1]) // a string always has a form
		_, _ = fmt.Fprintf(&text, `, "%s": %s`, label[0], name)
	}
	return text.String()
}

const describesInstances = "condorsim workload formats describes instances"

// FaultOfJSON returns the error of a decoder of JSON with its place: that of the fault if the decoder tells
// where it is, else the one at which the decoder stopped. The hint says what to do.
func FaultOfJSON(path string, text []byte, offset int64, err error, hint string) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset - 1 // of the character that is wrong
	case errors.As(err, &kind):
		offset = kind.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(text))
	default:
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			offset = max(0, int64(bytes.Index(text, []byte(name)))) // the decoder stops behind its value
		}
	}
	fault := &Error{
		File: path, Problem: inwords.JSON(err), Hint: hint, Err: err,
	}
	fault.point(text, int(max(0, min(offset, int64(len(text))))))
	return fault
}

// point has the error show the place at an offset of a text.
func (e *Error) point(text []byte, offset int) {
	const around = 60 // bytes of a long line on either side
	begin := bytes.LastIndexByte(text[:offset], '\n') + 1
	e.Line, e.Column = 1+bytes.Count(text[:begin], []byte("\n")), 1+utf8.RuneCount(text[begin:offset])
	line, _, _ := bytes.Cut(text[offset:], []byte("\n"))
	before, after := shown(text[max(begin, offset-around):offset]), shown(line[:min(len(line), around)])
	if e.Caret = utf8.RuneCountInString(before); strings.TrimSpace(before+after) != "" {
		e.Excerpt = before + strings.TrimRight(after, " ")
	}
}

// shown returns a part of a line with a blank for each character that cannot be printed.
func shown(part []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(part), "?"))
}

// problem returns what is wrong with the values, or "".
func (f *instanceFile) problem() string {
	switch {
	case strings.ContainsFunc(f.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("name: %q has a character that cannot be printed", f.Name)
	case f.Processors < 1 || f.Processors > maxNumber:
		return fmt.Sprintf("processors: %d: must be from 1 to 1e12", f.Processors)
	case f.Memory < 0 || f.Memory > maxNumber:
		return fmt.Sprintf("memory: %d: must be 0 (no memory) or MiB up to 1e12", f.Memory)
	case f.GPUs < 0 || f.GPUs > maxNumber:
		return fmt.Sprintf("gpus: %d: must be 0 (no GPUs) or a number up to 1e12", f.GPUs)
	}
	ids := map[int64]int{}
	for i, j := range f.Jobs {
		problem := j.problem()
		if first, known := ids[j.ID]; known && problem == "" {
			problem = fmt.Sprintf("jobs[%d] has the same id", first)
		}
		if _, before := ids[j.After]; j.After != 0 && !before && problem == "" {
			problem = fmt.Sprintf("after: %d: must be the id of a job before", j.After)
		}
		if problem != "" {
			return fmt.Sprintf("jobs[%d] (id %d): %s", i, j.ID, problem)
		}
		ids[j.ID] = i
	}
	for _, policy := range slices.Sorted(maps.Keys(f.Expected)) {
		e := f.Expected[policy]
		for _, list := range e.lists() {
			if *list != nil && len(*list) != len(f.Jobs) {
				return fmt.Sprintf("expected.%s: a list of %d entries for %d jobs", policy, len(*list), len(f.Jobs))
			}
		}
	}
	return ""
}

func (j instanceJob) problem() string {
	for _, c := range []struct {
		key        string
		value, min int64
		rule       string
	}{
		{"submit", j.Submit, -maxNumber, "not before -1e12"},
		{"run", j.Run, 0, "at least 0"},
		{"estimate", j.Estimate, 1, "at least 1"},
		{"estimate", j.Estimate, j.Run, "at least run, " + strconv.FormatInt(j.Run, 10)},
		{"procs", j.Procs, 1, "at least 1"},
		{"memory", j.Memory, 0, "at least 0"},
		{"gpus", j.GPUs, 0, "at least 0"},
		{"release", j.Release, 0, "at least 0, which is any time"},
		{"after", j.After, 0, "at least 0, which is none"},
		{"think", j.Think, -1, "at least -1, which is unknown"},
	} {
		if c.value < c.min {
			return fmt.Sprintf("%s: %d: must be %s", c.key, c.value, c.rule)
		}
		if c.value > maxNumber {
			return fmt.Sprintf("%s: %d: must be at most 1e12", c.key, c.value)
		}
	}
	return ""
}

func (j instanceJob) after() *Preceding {
	if j.After == 0 {
		return nil
	}
	return &Preceding{ID: j.After, Think: j.Think}
}

// lists returns the results that have an entry per job.
func (e *Expected) lists() []*[]int64 {
	return []*[]int64{&e.Start, &e.Guarantee, &e.StrictFST, &e.RelaxedFST}
}

// instance makes the trace and its expected results, both by submit time.
func (f *instanceFile) instance() *Instance {
	order := make([]int, len(f.Jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.Jobs[a].Submit, f.Jobs[b].Submit) })

	trace := &Trace{Name: f.Name, Filled: f.Filled, Machine: Machine{
		Processors: f.Processors, Memory: f.Memory, GPUs: f.GPUs,
	}}
	for _, i := range order {
		j := f.Jobs[i]
		if f.Memory == 0 {
			j.Memory = 0 // memory is no resource
		}
		if f.GPUs == 0 {
			j.GPUs = 0 // nor are GPUs
		}
		if i > 0 && f.Jobs[i].Submit < f.Jobs[i-1].Submit {
			trace.Cleaning.OutOfOrder++
		}
		if j.Scavenger {
			if trace.Scavengers == nil {
				trace.Scavengers = map[int64]bool{}
			}
			trace.Scavengers[j.ID] = true
		}
		trace.Jobs = append(trace.Jobs, Job{
			ID: j.ID, Submit: j.Submit, Run: j.Run, Estimate: j.Estimate, Procs: j.Procs, Memory: j.Memory, GPUs: j.GPUs,
			Release: j.Release, After: j.after(), User: j.User, Group: j.Group, Queue: j.Queue,
		})
	}
	trace.Cleaning.JobsRead = len(f.Jobs)
	trace.countLeft()

	expected := make(map[string]Expected, len(f.Expected))
	for policy, e := range f.Expected {
		for _, list := range e.lists() {
			*list = permuted(*list, order)
		}
		expected[policy] = e
	}
	return &Instance{Trace: trace, Expected: expected}
}

// permuted returns list[order[0]], list[order[1]], …; nil stays nil.
func permuted(list []int64, order []int) []int64 {
	if list == nil {
		return nil
	}
	sorted := make([]int64, len(list))
	for place, i := range order {
		sorted[place] = list[i]
	}
	return sorted
}
