package slurm

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// Read reads the jobs of an accounting of Slurm, as sacct prints it with -P, --parsable or --json, and makes a trace
// of them. If the options give no number of processors, the machine gets the most that these jobs used at one time,
// and at least those of the widest job. The name is used in errors, which are of type *[workload.Error], and, without
// folder and extensions, for the trace.
func Read(text *packed.Reader, name string, o workload.Options) (*workload.Trace, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := newCollector(o)
	var err error
	if isObject(text.Peek(1 << 12)) {
		err = readJSON(text, name, c)
	} else {
		err = readTable(text, name, o.Location(), c)
	}
	if err != nil {
		return nil, err
	}
	return c.trace(name)
}

// trace makes a trace of what was read.
func (c *collector) trace(name string) (*workload.Trace, error) {
	if len(c.entries) == 0 {
		return nil, &workload.Error{File: name, Problem: "there is no job in it", Hint: "print jobs: " + Command}
	}
	k := c.kept()
	c.entries, c.last, c.parts = nil, nil, nil // a year of jobs is large
	o := c.o
	if o.CPUs == 0 {
		o.CPUs = max(peak(k.jobs), 1)
	}
	t, err := workload.Collect(name, k.jobs, k.count, o)
	if err != nil {
		return nil, err
	}
	t.Drops = append(k.drops, t.Drops...)
	t.Statuses = k.statuses
	t.Warnings = append(t.Warnings, c.doubts()...)
	t.Header.StartAt(k.start)
	t.Header.SetZone(o.Zone)
	for _, ext := range []string{".txt", ".psv", ".csv", ".tsv", ".json", ".sacct"} {
		t.Name = strings.TrimSuffix(t.Name, ext)
	}
	t.Name = cmp.Or(t.Name, filepath.Base(name))
	return t, nil
}

// kept is what is kept of an accounting, and what is counted of the rest.
type kept struct {
	jobs     []workload.Job // times are counted from the start
	start    int64          // Unix time of the first arrival
	count    workload.Cleaning
	drops    []workload.Drop
	statuses map[int64]int
}

// kept decides which jobs are kept, in order of their arrivals.
func (c *collector) kept() kept {
	slices.SortStableFunc(c.entries, func(a, b entry) int { return cmp.Compare(a.job.Submit, b.job.Submit) })
	c.number()
	k := kept{statuses: map[int64]int{}, jobs: make([]workload.Job, 0, len(c.entries))}
	k.count.Lines, k.count.Repeated, k.count.Steps = c.lines, c.repeated, c.steps
	k.count.JobsRead = c.repeated
	next := c.highest() + 1
	for i := range c.entries {
		e := &c.entries[i]
		k.count.JobsRead += int(e.tasks)
		status := e.state.status()
		if e.partial {
			status = requeued.status()
		}
		k.statuses[status] += int(e.tasks)
		if count, why := c.drop(e, &k.count); count != nil {
			*count += int(e.tasks)
			if why != "" && e.tasks == 1 {
				k.drops = append(k.drops, workload.Drop{ID: e.job.ID, Why: why})
			}
			continue
		}
		for n := range e.tasks {
			if k.jobs = append(k.jobs, e.job); n > 0 {
				k.jobs[len(k.jobs)-1].ID = next
				next++
			}
		}
	}
	if len(k.jobs) > 0 {
		k.start = k.jobs[0].Submit
	}
	for i := range k.jobs {
		k.jobs[i].Submit -= k.start
	}
	return k
}

// drop returns where a job is counted that is dropped, and why as far as the trace notes it; nil if it is kept. It
// settles how long a job is taken to run that did not finish.
func (c *collector) drop(e *entry, count *workload.Cleaning) (counted *int, why string) {
	j, strong := &e.job, c.o.Clean == workload.CleanStrong
	partial := e.partial || e.state == requeued
	open := e.state == unfinished || e.state == noState && e.end == 0 && j.Run < 0
	switch {
	case partial && c.drops(workload.CleanPartial):
		return &count.Partial, workload.WhyPartial
	case open && c.drops(workload.CleanPartial):
		return &count.Unfinished, ""
	case e.state == cancelled && j.Run <= 0 && c.drops(workload.CleanCancelled):
		return &count.Cancelled, workload.WhyCancelled
	case open && !partial && j.Estimate > 0:
		j.Run, e.started = j.Estimate, false
		count.RunAssumed += int(e.tasks)
	case j.Run < 0 || open && !partial:
		return &count.NegativeRun, workload.WhyNegativeRun
	}
	switch {
	case strong && j.Run == 0:
		return &count.NoRun, workload.WhyNoRun
	case strong && j.Estimate == 0:
		return &count.NoRequest, workload.WhyNoRequest
	case j.Procs == 0:
		return &count.NoProcessors, workload.WhyNoProcessors
	case j.Submit == 0:
		return &count.NoSubmit, workload.WhyNoSubmit
	}
	j.HasWaited = e.started && !j.WrongStart && (e.state != cancelled || j.Run > 0)
	if j.HasWaited {
		j.Waited = j.Wait
	}
	return nil, ""
}

// drops reports whether the options ask for a rule by which jobs are dropped.
func (c *collector) drops(rule workload.Clean) bool {
	return c.o.Clean == rule || c.o.Clean == workload.CleanPapers || c.o.Clean == ""
}

// number gives a number to each entry without one: tasks of arrays, if the file does not say theirs, earlier
// executions, and jobs whose number came again. It is above all others, in order of arrivals.
func (c *collector) number() {
	numbers := make([]int64, len(c.entries)) // smaller than a map of them
	for i := range c.entries {
		numbers[i] = c.entries[i].job.ID
	}
	slices.Sort(numbers)
	used := map[int64]bool{} // of those that occur several times
	for i := 1; i < len(numbers); i++ {
		if numbers[i] == numbers[i-1] {
			used[numbers[i]] = false
		}
	}
	next := c.highest()
	for i := range c.entries {
		j := &c.entries[i].job
		taken, several := used[j.ID]
		if j.ID == 0 || taken {
			next++
			j.ID = next
		} else if several {
			used[j.ID] = true
		}
	}
}

// highest returns the highest number of an entry.
func (c *collector) highest() (highest int64) {
	for i := range c.entries {
		highest = max(highest, c.entries[i].job.ID)
	}
	return highest
}

// peak returns the most processors that jobs with a known start used at one time, and at least those of the widest
// job.
func peak(jobs []workload.Job) (most int64) {
	var together workload.Peak
	for i := range jobs {
		j := &jobs[i]
		most = max(most, j.Procs)
		if j.HasWaited {
			together.Add(j.Submit+j.Waited, j.Run, j.Procs)
		}
	}
	return max(most, together.Most())
}
