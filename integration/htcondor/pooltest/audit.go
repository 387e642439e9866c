package pooltest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Run is one execution of a job, or of one node of a gang (a job on several nodes at once), in one
// slot.
type Run struct {
	Job        JobID
	Part       int // of a gang: which of its nodes, from 0
	Node, Slot string
	Given      Resources
	Start, End time.Time // End is zero while it runs
	Success    bool      // it ended on its own
}

// Evidence is what an audit examines: the pool's records.
type Evidence struct {
	Events    []Event
	Submitted []JobID              // the jobs that condor_submit reported as queued
	Jobs      []Ad                 // queue and history
	Capacity  map[string]Resources // of each node
	Looks     []Look               // at slots and waiting jobs; none where slots may be idle
}

// Audit lists what ran, and which rules were broken.
type Audit struct {
	Runs       []Run // by start
	Submits    map[JobID]time.Time
	Violations []string
}

// Audit examines the pool's own records.
func (p *Pool) Audit() Audit {
	p.t.Helper()
	return Examine(p.Evidence())
}

// Evidence collects the pool's records. Jobs of schedds that do not answer are missing, and appear
// as lost.
func (p *Pool) Evidence() Evidence {
	p.t.Helper()
	// Read the queue before the history, so that a job that moves from one to the other is not
	// missed.
	jobs := p.Queue("-attributes", "ClusterId,ProcId,GlobalJobId,JobStatus,JobUniverse,MaxHosts")
	jobs = append(jobs, p.History("-attributes", "ClusterId,ProcId,GlobalJobId,JobStatus,JobUniverse,MaxHosts")...)
	e := Evidence{Events: p.Events(), Submitted: p.submitted, Jobs: jobs, Capacity: p.capacity}
	if !p.mayIdle {
		e.Looks = p.watch.all()
	}
	return e
}

// MayIdle says that the pool's slots may be idle beside jobs that fit them, and why: nobody matches
// for a time, or the negotiator keeps to limits that no ad tells.
func (p *Pool) MayIdle(why string) {
	p.t.Logf("not audited: slots that are idle beside jobs that fit, as %s", why)
	p.mayIdle = true
}

// Check reports every violation as an error of the test.
func (a Audit) Check(t T) {
	t.Helper()
	for _, violation := range a.Violations {
		t.Errorf("audit: %s", violation)
	}
}

// Examine builds the timelines of all executions and checks the rules: no slot has two runs at once
// and no node hands out more than it has; no job runs twice at once, or again after it ended
// successfully; every submitted job is in the queue or in the history; a gang starts with all its
// nodes, each in a slot of its own; no slot is idle for long beside a job that fits it and may run.
func Examine(e Evidence) Audit {
	a := Audit{Submits: map[JobID]time.Time{}}
	hosts := map[JobID]int{}
	known := map[JobID]bool{}
	for _, ad := range e.Jobs {
		known[ad.Job()] = true
		if ad.Int("JobUniverse") == parallel {
			hosts[ad.Job()] = ad.Int("MaxHosts")
		}
	}
	byJob := map[JobID][]Event{}
	var order []JobID
	for _, event := range e.Events {
		if _, seen := byJob[event.Job]; !seen {
			order = append(order, event.Job)
		}
		byJob[event.Job] = append(byJob[event.Job], event)
	}
	for _, id := range order {
		life := life{job: id, hosts: hosts[id]}
		for _, event := range byJob[id] {
			if event.Type == Submitted {
				a.Submits[id] = event.At
			}
			life.apply(event)
		}
		a.Runs = append(a.Runs, life.runs...)
		a.Violations = append(a.Violations, life.violations...)
		if !known[id] {
			a.violated("job %v is lost: submitted, and neither in the queue nor in the history", id)
		}
	}
	for _, id := range e.Submitted {
		if _, logged := byJob[id]; !known[id] && !logged {
			a.violated("job %v is lost: condor_submit named it, and nothing else knows it", id)
		}
	}
	slices.SortStableFunc(a.Runs, func(x, y Run) int { return x.Start.Compare(y.Start) })
	a.oversubscribed(e)
	a.idleBesideWork(e.Looks)
	return a
}

// parallel is the JobUniverse of gangs.
const parallel = 11

func (a *Audit) violated(format string, args ...any) {
	a.Violations = append(a.Violations, fmt.Sprintf(format, args...))
}

// life follows one job through its events and notes its runs.
type life struct {
	job        JobID
	hosts      int // nodes of a gang, 0 if it is none
	runs       []Run
	open       []int // indices of current runs
	lost       []int // indices of runs that lost contact and may be found again
	done       bool
	violations []string
}

func (l *life) violated(at time.Time, format string, args ...any) {
	l.violations = append(l.violations,
		fmt.Sprintf("job %v at %s: ", l.job, at.Format("15:04:05.000"))+fmt.Sprintf(format, args...))
}

func (l *life) apply(e Event) {
	switch e.Type {
	case Executed:
		if e.Gang {
			l.whole(e)
		} else {
			l.start(e)
		}
	case NodeExecuted:
		l.start(e)
	case NodeTerminated:
		for _, i := range l.open {
			if l.runs[i].Part == e.Part {
				l.runs[i].Success = true
				l.end(i, e.At)
			}
		}
		l.open = slices.DeleteFunc(l.open, func(i int) bool { return !l.runs[i].End.IsZero() })
	case Terminated:
		for _, i := range l.open {
			l.runs[i].Success = true
		}
		l.endAll(e.At)
		l.done = true
	case Disconnected:
		l.lost = l.open
		l.endAll(e.At)
	case Reconnected:
		for _, i := range l.lost { // the job never stopped
			l.runs[i].End = time.Time{}
		}
		l.open, l.lost = append(l.open, l.lost...), nil
	case Evicted, ShadowFailed, Aborted, HeldEvent, ReconnectFailed:
		l.lost = nil
		l.endAll(e.At)
	}
}

func (l *life) start(e Event) {
	if l.done {
		l.violated(e.At, "started again after it had ended well")
	}
	for _, i := range l.open {
		if l.runs[i].Part == e.Part {
			l.violated(e.At, "started in %s while it ran in %s since %s", place(e.Node, e.Slot), l.runs[i].place(),
				l.runs[i].Start.Format("15:04:05.000"))
		}
	}
	l.open = append(l.open, len(l.runs))
	l.runs = append(l.runs, Run{Job: l.job, Part: e.Part, Node: e.Node, Slot: e.Slot, Given: e.Given, Start: e.At})
}

// whole checks that a gang which has started did so on all its nodes. It may have more: if its
// cluster has several procs, all events and the history name the first alone.
func (l *life) whole(e Event) {
	parts := map[int]bool{}
	for _, i := range l.open {
		parts[l.runs[i].Part] = true
	}
	if len(parts) < l.hosts {
		l.violated(e.At, "a gang of %d nodes started on %d", l.hosts, len(parts))
	}
}

func (l *life) end(i int, at time.Time) {
	if l.runs[i].End.IsZero() {
		l.runs[i].End = at
	}
}

func (l *life) endAll(at time.Time) {
	for _, i := range l.open {
		l.end(i, at)
	}
	l.open = nil
}

func (r Run) place() string { return place(r.Node, r.Slot) }

func place(node, slot string) string {
	if node == "" {
		return slot
	}
	return slot + "@" + node
}

// change is a run's start or end.
type change struct {
	at    time.Time
	start bool
	run   int
}

// oversubscribed goes through time and notes a violation if a slot has two runs at once, if the
// runs on a node hold more than its capacity, or if there is no such node.
func (a *Audit) oversubscribed(e Evidence) {
	var changes []change
	for i, run := range a.Runs {
		changes = append(changes, change{run.Start, true, i})
		if !run.End.IsZero() {
			changes = append(changes, change{run.End, false, i})
		}
	}
	slices.SortStableFunc(changes, func(x, y change) int {
		return cmp.Or(x.at.Compare(y.at), boolean(x.start)-boolean(y.start)) // ends before starts
	})
	slots := map[string]int{} // the run that has the slot, plus one
	used := map[string]Resources{}
	for _, c := range changes {
		run := a.Runs[c.run]
		now := used[run.Node]
		if !c.start {
			if slots[run.place()] == c.run+1 {
				delete(slots, run.place())
			}
			used[run.Node] = Resources{now.Cpus - run.Given.Cpus, now.Memory - run.Given.Memory}
			continue
		}
		if other := slots[run.place()]; other > 0 {
			a.violated("slot %s at %s: %v started while %v had it", run.place(), c.at.Format("15:04:05.000"), run.Job,
				a.Runs[other-1].Job)
		}
		slots[run.place()] = c.run + 1
		now = Resources{now.Cpus + run.Given.Cpus, now.Memory + run.Given.Memory}
		used[run.Node] = now
		has, exists := e.Capacity[run.Node]
		if !exists {
			a.violated("job %v ran on node %q, which does not exist", run.Job, run.Node)
		} else if now.Cpus > has.Cpus || now.Memory > has.Memory {
			a.violated("node %q at %s: %d cores and %d MiB are used of %d and %d: %s", run.Node,
				c.at.Format("15:04:05.000"),
				now.Cpus, now.Memory, has.Cpus, has.Memory, strings.Join(a.running(run.Node, c.at), ", "))
		}
	}
}

func (a *Audit) running(node string, at time.Time) []string {
	var jobs []string
	for _, run := range a.Runs {
		if run.Node == node && !run.Start.After(at) && (run.End.IsZero() || run.End.After(at)) {
			jobs = append(jobs, fmt.Sprintf("%v (%d cores)", run.Job, run.Given.Cpus))
		}
	}
	return jobs
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
