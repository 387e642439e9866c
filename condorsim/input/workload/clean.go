package workload

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// cleaner builds a trace from the lines of a file.
type cleaner struct {
	file       string
	opts       Options
	text       []byte // of the line, if it is to be kept
	more       more
	commented  int // how long the kept comments are together
	trace      *Trace
	lastSubmit int64                           // of the previous job line
	highestID  int64                           // so far
	ids        map[int64]bool                  // seen so far; nil while they ascend
	labels     []string                        // one string for each number up to mostLabels
	rare       map[int64]string                // and for others
	names      [len(nameKeys)]map[int64]string // the header's names for numbers
	labelsRead int                             // how many of these there were
	labelBytes int                             // and how long they were together
	columns    *columns                        // what a line of column names says; nil: there is none
	hidden     int                             // the first line that looks like a job behind a semicolon; 0: none
	hiddenAll  int                             // how many there are
	after      int                             // how many jobs have a preceding one
	afterOne   int64                           // the number of the first of these
	afterOther bool                            // some jobs have another one, or none
}

func newCleaner(file string, opts Options) *cleaner {
	return &cleaner{
		file:       file,
		opts:       opts,
		trace:      &Trace{Name: traceName(file), Header: Header{}, Statuses: map[int64]int{}},
		lastSubmit: math.MinInt64,
		highestID:  math.MinInt64,
		rare:       map[int64]string{},
	}
}

// mostLabels is the greatest number whose text is kept in a list, as users and executables are mostly
// numbered from 1.
const mostLabels = 1 << 16

// mostExpected bounds the memory that is set aside for the jobs that the header announces: a header
// may be wrong.
const mostExpected = 1 << 18

// record turns a job line into a job, or drops it and counts why. The rules and their order are
// those of the published studies of these traces. It returns an error if an earlier job has the
// same number, unless this one is a partial execution.
func (c *cleaner) record(rec *record) *Error {
	id, submit, run, status := rec[0], rec[1], rec[3], rec[10]
	count := &c.trace.Cleaning
	count.JobsRead++
	c.trace.Statuses[status]++
	if submit < c.lastSubmit {
		count.OutOfOrder++
	}
	c.lastSubmit = submit

	processors := c.processors(rec)
	procs := cmp.Or(c.more.width, processors)
	if processors <= 0 {
		processors = procs
	}
	switch {
	case c.drops(CleanPartial) && 2 <= status && status <= 4:
		c.trace.drop(&count.Partial, id, WhyPartial)
		return nil
	case c.drops(CleanCancelled) && status == 5 && run <= 0:
		c.trace.drop(&count.Cancelled, id, WhyCancelled)
		return nil
	case run < 0:
		c.trace.drop(&count.NegativeRun, id, WhyNegativeRun)
		return nil
	case c.opts.Clean == CleanStrong && run == 0:
		c.trace.drop(&count.NoRun, id, WhyNoRun)
		return nil
	case c.opts.Clean == CleanStrong && rec[8] <= 0:
		c.trace.drop(&count.NoRequest, id, WhyNoRequest)
		return nil
	case procs <= 0:
		c.trace.drop(&count.NoProcessors, id, WhyNoProcessors)
		return nil
	case submit < 0:
		c.trace.drop(&count.NoSubmit, id, WhyNoSubmit)
		return nil
	}
	partial := 2 <= status && status <= 4 // the parts of a job share its number
	if !partial && c.known(id) {
		return &Error{
			Field: 1, Text: strconv.FormatInt(id, 10),
			Problem: strconv.FormatInt(id, 10) + " is the number of a job above",
			Hint:    "give each job a number of its own",
		}
	}
	played, estimate, origin, beside := c.times(run, rec[8])
	if c.trace.Jobs == nil {
		c.trace.Jobs = make([]Job, 0, min(c.trace.Header.Number("MaxRecords"), mostExpected))
	}
	c.trace.Jobs = append(c.trace.Jobs, Job{
		ID: id, Submit: submit, Run: played, Estimate: estimate,
		Procs: procs, Memory: c.memory(rec, processors), GPUs: c.more.ofJob, Wait: max(rec[2], 0), Recorded: c.recorded(rec[6], rec[9], c.text),
		Waited: max(rec[2], 0), HasWaited: rec[2] >= 0 && (status != 5 || run > 0), // else it was cancelled
		User: c.label(0, rec[11]), Group: c.label(1, rec[12]), Executable: c.label(2, rec[13]),
		Queue: c.label(3, rec[14]), Origin: origin, Beside: beside, After: c.preceding(rec),
	})
	return nil
}

// known reports whether a job of that number occurred before, and records the number. It stores no
// numbers as long as they ascend, as they usually do.
func (c *cleaner) known(id int64) bool {
	if id > c.highestID && c.ids == nil {
		c.highestID = id
		return false
	}
	if c.ids == nil {
		c.ids = make(map[int64]bool, len(c.trace.Jobs))
		for _, j := range c.trace.Jobs {
			c.ids[j.ID] = true
		}
	}
	known := c.ids[id]
	c.ids[id] = true
	return known
}

// drops reports whether the options ask for a rule by which jobs are dropped.
func (c *cleaner) drops(rule Clean) bool {
	return c.opts.Clean == rule || c.opts.Clean == CleanPapers || c.opts.Clean == ""
}

func (c *cleaner) processors(rec *record) int64 {
	allocated, requested := rec[4], rec[7]
	if c.opts.ProcsField == ProcsRequested {
		return firstPositive(requested, allocated)
	}
	return firstPositive(allocated, requested)
}

// times settles run time and estimate: an unknown estimate becomes the run time, and no estimate is
// shorter than the run time or than a second. The last is [Job.Beside].
func (c *cleaner) times(run, requested int64) (newRun, estimate int64, origin Origin, beside uint32) {
	switch {
	case requested <= 0:
		return run, max(run, 1), Assumed, 0
	case run <= requested:
		return run, requested, Stated, 0
	case c.opts.Overrun == OverrunKill:
		c.trace.Cleaning.RunCut++
		return requested, requested, Stated, inWord(run - requested)
	default:
		return run, run, Raised, inWord(requested)
	}
}

// preceding returns the job that a line names as preceding, and the think time after it; nil if it
// names none.
func (c *cleaner) preceding(rec *record) *Preceding {
	if c.opts.Dependencies == DependenciesIgnore {
		return nil
	}
	id := rec[16]
	if c.after == 0 && len(c.trace.Jobs) == 0 {
		c.afterOne = id
	}
	c.afterOther = c.afterOther || id != c.afterOne
	if id <= 0 {
		return nil
	}
	c.after++
	return &Preceding{ID: id, Think: max(rec[17], -1)}
}

// order ignores, as long as jobs are in the order of their lines, preceding jobs that are in no line
// before: so no job waits for itself. Some files have the same number in all lines, which cannot be
// meant.
func (c *cleaner) order() {
	if c.after == 0 {
		return
	}
	t := c.trace
	first := make(map[int64]int, len(t.Jobs))
	for i := range t.Jobs {
		if _, known := first[t.Jobs[i].ID]; !known {
			first[t.Jobs[i].ID] = i
		}
	}
	_, there := first[c.afterOne]
	filler := there && !c.afterOther
	for i := range t.Jobs {
		j := &t.Jobs[i]
		if j.After == nil {
			continue
		}
		if at, known := first[j.After.ID]; filler || known && at >= i {
			j.After, t.Misplaced = nil, append(t.Misplaced, j.ID)
		} else if known {
			p := &t.Jobs[at]
			j.After.Later = p.HasWaited && j.After.Think >= 0 && j.Submit > p.Submit+p.Waited+p.Ran()+j.After.Think
		}
	}
	t.Cleaning.PrecedingWrong = len(t.Misplaced)
}

// memory returns the job's total in MiB, rounded up. The file has KB per processor, used in field 7
// and requested in field 10.
func (c *cleaner) memory(rec *record, procs int64) int64 {
	if c.opts.MemoryModel == MemoryRequested {
		return mibOf(firstPositive(rec[9], rec[6]), procs)
	}
	return mibOf(firstPositive(rec[6], rec[9]), procs)
}

// mibOf returns the total of a memory in KB per processor, in MiB, rounded up.
func mibOf(kb, procs int64) int64 {
	if kb <= 0 {
		return 0
	}
	if kb > (math.MaxInt64-1023)/procs {
		return math.MaxInt64 // more than any machine has
	}
	return (kb*procs + 1023) / 1024
}

// recorded keeps what the file says of a job, if the options ask for it.
func (c *cleaner) recorded(used, requested int64, line []byte) *Recorded {
	if !c.opts.KeepRecorded {
		return nil
	}
	return &Recorded{Used: max(used, 0), Requested: max(requested, 0), Line: string(line), place: c.trace.Cleaning.Lines, nodes: c.more.width}
}

func firstPositive(a, b int64) int64 {
	if a > 0 {
		return a
	}
	return b
}

// label returns the text for a number of one of the four kinds of labels; "" if the number is
// negative, which means unknown.
func (c *cleaner) label(kind int, number int64) string {
	if number < 0 {
		return ""
	}
	if name, named := c.names[kind][number]; named {
		return name
	}
	if number > mostLabels {
		if c.rare[number] == "" {
			c.rare[number] = strconv.FormatInt(number, 10)
		}
		return c.rare[number]
	}
	if n := int(number) + 1; n > len(c.labels) {
		c.labels = append(c.labels, make([]string, n-len(c.labels))...)
	}
	if c.labels[number] == "" {
		c.labels[number] = strconv.FormatInt(number, 10)
	}
	return c.labels[number]
}

// finish does what needs all lines: machine size, jobs that never fit, order, load.
func (c *cleaner) finish() (*Trace, error) {
	count := &c.trace.Cleaning
	if count.JobsRead == 0 && c.hidden > 0 {
		return nil, &Error{
			File: c.file, Line: c.hidden, Problem: "the job line begins with a semicolon, which makes a comment of it",
			Hint: "delete the semicolons at the beginning of job lines: sed 's/^;//'",
		}
	}
	if count.JobsRead == 0 {
		return nil, &Error{
			File: c.file, Problem: "has no job line",
			Hint: "give a trace, or ads of jobs that ended: condorsim workload formats describes what is read",
		}
	}
	c.trace.Warnings = append(c.trace.Warnings, c.headerDoubts()...)
	c.settleMore()
	machine := Machine{Processors: c.machineProcessors(), Memory: c.machineMemory(), GPUs: c.machineGPUs()}
	if machine.Processors == 0 {
		return nil, &Error{
			File: c.file, Problem: c.trace.Header.withoutProcessors(),
			Hint: "give the machine's processors with --cpus",
		}
	}
	c.trace.Machine, c.trace.Overrun = machine, c.opts.Overrun
	if machine.Memory == 0 && c.opts.MemoryModel.IsField() {
		return nil, c.opts.MemoryModel.without(c.file)
	}
	if machine.Memory == 0 && !c.opts.KeepRequests { // memory is no resource
		for i := range c.trace.Jobs {
			c.trace.Jobs[i].Memory = 0
		}
	}
	c.heedGPUs()
	c.order()
	c.trace.Jobs = slices.DeleteFunc(c.trace.Jobs, c.trace.neverFits)
	if count.OutOfOrder > 0 {
		slices.SortStableFunc(c.trace.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	}
	c.trace.cut(nil, nil, c.opts.Max)
	c.trace.scaleLoad(c.opts.Load)
	c.trace.countLeft()
	return c.trace, nil
}

// machineProcessors returns the processors of the options, else of the header; 0 if neither has
// them.
func (c *cleaner) machineProcessors() int64 {
	if c.opts.CPUs > 0 {
		return c.opts.CPUs
	}
	if c.trace.inNodes {
		return firstPositive(c.trace.Header.Number(keyNodes), c.trace.Header.Number("MaxProcs"))
	}
	return c.trace.Header.processors()
}

// machineMemory returns the memory of the options, else of the header; 0 if neither has it.
func (c *cleaner) machineMemory() int64 {
	if c.opts.Memory > 0 {
		return c.opts.Memory
	}
	return c.trace.Header.Number(keyMemory)
}

// neverFits reports whether a job is larger than the machine, and counts it as dropped.
func (t *Trace) neverFits(j Job) bool {
	switch {
	case j.Procs > t.Machine.Processors:
		t.drop(&t.Cleaning.TooWide, j.ID, WhyTooWide)
	case j.Memory > t.Machine.Memory && t.Machine.Memory > 0:
		t.drop(&t.Cleaning.TooMuchMemory, j.ID, WhyTooMuchMemory)
	case j.GPUs > t.Machine.GPUs && t.Machine.GPUs > 0:
		t.drop(&t.Cleaning.TooManyGPUs, j.ID, WhyTooManyGPUs)
	default:
		return false
	}
	return true
}

// Collect makes a trace of jobs that another package has read. The counts of what that package read
// and dropped become part of the trace's. Collect corrects estimates and run times, drops jobs that
// the machine can never run, and applies the options, as when a trace file is read. An estimate of
// 0 is unknown. The name is used in errors and, without folder and extension, for the trace.
func Collect(name string, jobs []Job, counted Cleaning, opts Options) (*Trace, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	c := newCleaner(name, opts)
	c.trace.Cleaning = counted
	c.trace.Jobs = make([]Job, len(jobs))
	for i, j := range jobs {
		j.Run, j.Estimate, j.Origin, j.Beside = c.times(j.Run, j.Estimate)
		j.Recorded = c.recorded(0, int64(1024*float64(j.Memory)/float64(j.Procs)), nil)
		c.trace.holds = c.trace.holds || j.Held
		c.trace.Jobs[i] = j
	}
	return c.finish()
}
