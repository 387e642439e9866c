package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// entry is a job, or one of its executions, as the accounting has it so far.
type entry struct {
	job   workload.Job // Submit is Unix time, ID is 0 if the number is not known
	asked int64        // Unix time of the submission
	end   int64        // Unix time; 0: unknown
	tasks int64        // so many jobs that wait are alike
	state ending
	// partial says that the job was run again, as another entry.
	partial, started bool
}

// key identifies a job at one time: numbers come again after years.
type key struct {
	cluster        int32 // a number of its name
	number         int64 // of JobIDRaw; else of the job or array, if there is no such number
	task           int64
	heterogeneous  bool
	isRaw, waiting bool
}

// collector makes jobs of records.
type collector struct {
	o        workload.Options
	entries  []entry
	last     map[key]int // by job, the index of its last entry
	parts    map[part]bool
	texts    map[string]string
	clusters map[string]int32

	lines, steps, repeated int
	waiting                int64 // tasks that wait, of records that stand for several
	warnings               []string
	constraints            [3]int // jobs that ask for constraints, a reservation, licenses
}

// part is a component of a heterogeneous job that has been read.
type part struct {
	entry  int
	offset int64
}

func newCollector(o workload.Options) *collector {
	return &collector{
		o: o, last: map[key]int{}, parts: map[part]bool{}, texts: map[string]string{}, clusters: map[string]int32{"": 0},
	}
}

// text returns a text that shares memory with equal ones and with no line of the file.
func (c *collector) text(t string) string {
	if t == "" || unsaid(t) {
		return ""
	}
	known, found := c.texts[t]
	if !found {
		known = strings.Clone(t)
		c.texts[known] = known
	}
	return known
}

// again is how long after the end of an execution, in seconds, the next one of the same job is submitted at most.
// A job with the same number that comes later is another one.
const again = day

// add adds the job of a record, or what the record says more of one.
func (c *collector) add(r *record) *workload.Error {
	if r.step {
		c.steps++
		return nil
	}
	if r.id.tasks > 1 {
		if c.waiting += r.id.tasks; c.waiting > maxTasks {
			return &workload.Error{
				Problem: fmt.Sprintf("more than %d tasks of arrays wait", maxTasks), Hint: "print jobs that ended: sacct --state=CD,F,TO,CA",
			}
		}
	}
	e := c.entry(r)
	k := key{cluster: c.cluster(r.cluster), number: r.id.raw, task: -1, isRaw: true}
	switch {
	case r.id.part >= 0:
		k.number, k.heterogeneous = r.id.job, true
	case k.number == 0:
		k.number, k.task, k.isRaw, k.waiting = r.id.job, r.id.task, false, r.id.tasks > 1
	}
	i, known := c.last[k]
	switch {
	case !known:
	case c.entries[i].asked == e.asked && k.heterogeneous:
		c.join(i, &e, r.id.part)
		return nil
	case c.entries[i].asked == e.asked:
		c.repeated++
		if e.state != unfinished || c.entries[i].state == unfinished {
			c.entries[i] = e
		}
		return nil
	case e.asked < c.entries[i].asked:
		e.partial = e.leadsTo(&c.entries[i])
		e.job.ID = 0 // the last one has the number
		c.entries = append(c.entries, e)
		return nil
	default:
		before := &c.entries[i]
		before.partial = before.leadsTo(&e)
		before.job.ID = 0
	}
	c.last[k] = len(c.entries)
	if k.heterogeneous {
		c.parts[part{len(c.entries), r.id.part}] = true
	}
	c.entries = append(c.entries, e)
	return nil
}

// cluster returns the number of a cluster, in the order in which they occur; 0 has no name.
func (c *collector) cluster(name string) int32 {
	number, known := c.clusters[name]
	if !known {
		number = int32(len(c.clusters)) //nolint:gosec // each needs a row
		c.clusters[strings.Clone(name)] = number
	}
	return number
}

// leadsTo reports whether an execution is followed by another one of the same job.
func (e *entry) leadsTo(next *entry) bool {
	return e.job.User == next.job.User &&
		(e.state == requeued || e.state == unfinished || e.end == 0 || next.asked-e.end <= again)
}

// join adds a component to a heterogeneous job, whose components start together.
func (c *collector) join(i int, e *entry, offset int64) {
	whole := &c.entries[i]
	p := part{i, offset}
	if c.parts[p] {
		c.repeated++
	} else {
		c.parts[p] = true
		whole.job.Procs = sum(whole.job.Procs, e.job.Procs)
		whole.job.Memory = sum(whole.job.Memory, e.job.Memory)
		whole.job.GPUs = sum(whole.job.GPUs, e.job.GPUs)
		whole.job.Estimate = max(whole.job.Estimate, e.job.Estimate)
	}
	whole.job.Run = max(whole.job.Run, e.job.Run)
	whole.end = max(whole.end, e.end)
	if e.started && !whole.started {
		whole.started, whole.job.Wait, whole.job.WrongStart = true, e.job.Wait, e.job.WrongStart
	}
	if whole.state == unfinished || whole.state == noState {
		whole.state = e.state
	}
	if offset == 0 { // the first component has the names, and the number
		j := &whole.job
		j.User, j.Group, j.Executable, j.Queue = e.job.User, e.job.Group, e.job.Executable, e.job.Queue
	}
}

// sum adds two amounts; it is at most the bound of amounts.
func sum(a, b int64) int64 { return min(a+b, maxNumber) }

// entry returns what a record says of a job.
func (c *collector) entry(r *record) entry {
	e := entry{asked: cmp.Or(r.submit, r.eligible), end: r.end, tasks: r.id.tasks, state: r.state}
	j := &e.job
	switch {
	case r.id.part >= 0:
		j.ID = r.id.job
	case r.id.tasks > 1:
	case r.id.raw > 0 || r.id.task < 0:
		j.ID = cmp.Or(r.id.raw, r.id.job)
	}
	arrival := e.asked
	if r.eligible > arrival {
		arrival = r.eligible
		if r.start > 0 { // jobs that ran could run
			arrival = max(min(arrival, r.start), e.asked)
		}
	}
	j.Submit, j.Held = arrival, arrival > e.asked
	run := r.elapsed
	if run < 0 && r.start > 0 && r.end >= r.start {
		run = r.end - r.start
	}
	e.started = r.start > 0
	j.Run, j.Estimate = run, r.limit
	if e.started {
		j.Wait, j.WrongStart = max(0, r.start-arrival), r.start < e.asked
	} else if run <= 0 {
		j.Run = -1
	}
	j.Procs, j.Memory, j.GPUs = c.size(r)
	j.User, j.Group, j.Executable, j.Queue = c.text(r.user), c.text(r.account), c.text(r.name), c.text(queue(r))
	for i, asks := range [...]bool{r.constraints, r.reservation, r.licenses} {
		if asks {
			c.constraints[i]++
		}
	}
	return e
}

// queue names what service a job gets: its partition, and its qos unless that is normal.
func queue(r *record) string {
	partition, qos := r.partition, r.qos
	if unsaid(partition) {
		partition = ""
	}
	switch {
	case unsaid(qos) || qos == "normal" || qos == partition:
		return partition
	case partition == "":
		return qos
	default:
		return partition + "/" + qos
	}
}

// size returns what a job has: what was allocated to it, else what it asked for; or the other way round if the
// options ask for that.
func (c *collector) size(r *record) (procs, memory, gpus int64) {
	allocated, requested := r.allocated, r.requested
	if requested.memory < 0 {
		cpus := requested.cpus
		if cpus <= 0 {
			cpus = allocated.cpus
		}
		requested.memory = r.memory.total(max(r.nodes, 1), cpus)
	}
	if requested.anyGPUs() < 0 && r.gpusOfNode >= 0 {
		requested.gpus = times(r.gpusOfNode, max(r.nodes, 1))
	}
	first, second := &allocated, &requested
	if c.o.ProcsField == workload.ProcsRequested {
		first, second = second, first
	}
	procs, gpus = positive(first.cpus, second.cpus), positive(first.anyGPUs(), second.anyGPUs())
	switch c.o.MemoryModel {
	case workload.MemoryRequested:
		first, second = &requested, &allocated
	case workload.MemoryUsed:
		first, second = &allocated, &requested
	}
	return procs, positive(first.memory, second.memory), gpus
}

// positive returns the first of two amounts that is positive; else 0.
func positive(a, b int64) int64 {
	if a > 0 {
		return a
	}
	return max(b, 0)
}

// doubts are warnings of what jobs ask for that is not heeded.
func (c *collector) doubts() []string {
	all := c.warnings
	if n := len(c.clusters) - 1; n > 1 {
		all = append(all, fmt.Sprintf("it has jobs of %d clusters, which are read as those of one machine: print those of one "+
			"(sacct -M NAME)", n))
	}
	for i, what := range []string{"constraints", "a reservation", "licenses"} {
		if n := c.constraints[i]; n > 0 {
			all = append(all, fmt.Sprintf("%d jobs ask for %s, which is not heeded: they run where there is room", n, what))
		}
	}
	return slices.Clip(all)
}
