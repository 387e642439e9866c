// Package survey describes a trace: its header, what cleaning dropped, how much it asks of the
// machine, how wide and how long the jobs are, how good their estimates, how much memory they need
// and whose they are.
//
// [Of] makes the survey; [Survey.Table] prints it for people, with bars, and [Survey.Plots] draws
// it. As JSON it is an object with the keys below.
package survey

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Survey describes a trace. Times are in seconds, work in processor seconds.
type Survey struct {
	clock instant.Clock

	Trace     string            `json:"trace"`
	Header    []Line            `json:"header"`
	Starts    string            `json:"starts,omitempty"` // UTC, if the header says
	Machine   Machine           `json:"machine"`
	Statuses  []Status          `json:"statuses"` // of all job lines
	Cleaning  workload.Cleaning `json:"cleaning"`
	Jobs      int               `json:"jobs"`      // remaining jobs, which all below is about
	Span      int64             `json:"span"`      // from the first submission to the last
	Work      float64           `json:"work"`      // run time × processors of all jobs
	Load      float64           `json:"load"`      // work over what the machine has in the span; 0 without a span
	Widths    Numbers           `json:"widths"`    // processors
	RunTimes  Numbers           `json:"run_times"` // seconds
	Estimates Estimates         `json:"estimates"` //
	Memory    Memory            `json:"memory"`    //
	Resources []Resource        `json:"resources"` // besides these, of job ads
	Arrivals  []Bin             `json:"arrivals"`  // jobs by the hour of the day
	// LocalTime says that the hours are those of the trace's time zone; else they are UTC, or those of
	// the trace.
	LocalTime bool   `json:"local_time"`
	Users     Users  `json:"users"`
	Queues    []Name `json:"queues"` // with jobs
}

// Line is a line of the header.
type Line struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Machine is the machine that the jobs run on.
type Machine struct {
	Processors int64 `json:"processors"`
	Memory     int64 `json:"memory"` // MiB; 0: none
}

// Status counts the job lines with a status.
type Status struct {
	Status  int64  `json:"status"`
	Meaning string `json:"meaning"`
	Jobs    int    `json:"jobs"`
}

// Bin is a class of jobs.
type Bin struct {
	Label string  `json:"label"`
	Jobs  int     `json:"jobs"`
	Work  float64 `json:"work"`
}

// Numbers sum up one number of each job; percentiles are by nearest rank.
type Numbers struct {
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Most   float64 `json:"most"`
	Bins   []Bin   `json:"bins"`
}

// Estimates say how good the users' estimates are. R is run time over estimate.
type Estimates struct {
	Unknown  int       `json:"unknown"` // job lines without one; the run time replaces it
	Exact    int       `json:"exact"`   // jobs that ran as long as estimated
	Distinct int       `json:"distinct"`
	R        Numbers   `json:"r"`
	Popular  []Popular `json:"popular"` // the 20 most popular values
}

// Popular is an estimate and how many jobs use it.
type Popular struct {
	Seconds int64 `json:"seconds"`
	Jobs    int   `json:"jobs"`
}

// Memory is the memory of the jobs that need any.
type Memory struct {
	Jobs   int     `json:"jobs"`
	PerCPU Numbers `json:"per_cpu"` // MiB
	// Load is work over capacity, as for processors.
	Load float64 `json:"load"`
	// Used and Requested are what the trace records, also if the machine has no memory and the
	// jobs need none.
	Used      Recorded `json:"recorded_used"`
	Requested Recorded `json:"recorded_requested"`
}

// Recorded is one of the fields in which a trace records memory. Job ads have requests only.
type Recorded struct {
	Jobs   int     `json:"jobs"`    // with a value
	PerCPU Numbers `json:"per_cpu"` // MiB
}

// Users are the owners of the jobs.
type Users struct {
	Known int    `json:"known"` // distinct ones
	Top   []Name `json:"top"`   // those with most jobs
}

// Name is a user or a queue and its jobs.
type Name struct {
	Name string  `json:"name"`
	Says string  `json:"says,omitempty"` // what the header says of it
	Jobs int     `json:"jobs"`
	Work float64 `json:"work"`
}

// known reports whether any of the job lines that were read (c) has an estimate.
func (e Estimates) known(c workload.Cleaning) bool { return e.Unknown < c.JobsLeft }

// estimated returns how many jobs have an estimate.
func (s *Survey) estimated() int { return s.Jobs - s.Estimates.Unknown }

const (
	topUsers     = 10
	topEstimates = 20
)

// Of makes the survey of a trace. What is recorded of memory is missing unless the trace was read
// with [workload.Options.KeepRecorded].
func Of(t *workload.Trace) *Survey {
	s := &Survey{
		Trace: t.Name, Machine: Machine{t.Machine.Processors, t.Machine.Memory}, Cleaning: t.Cleaning,
		Jobs:   len(t.Jobs),
		Header: []Line{}, Statuses: []Status{}, Resources: []Resource{},
	}
	for _, key := range t.Header.Keys() {
		for value := range strings.SplitSeq(t.Header[key], "\n") {
			s.Header = append(s.Header, Line{key, value})
		}
	}
	for _, status := range slices.Sorted(maps.Keys(t.Statuses)) {
		s.Statuses = append(s.Statuses, Status{status, meaning(status), t.Statuses[status]})
	}
	s.clock = t.Clock()
	if start := t.Header.Start(); start > 0 {
		s.Starts = s.clock.Date(0).UTC().Format(time.RFC3339)
	}
	if len(t.Jobs) > 0 {
		s.Span = t.Jobs[len(t.Jobs)-1].Submit - t.Jobs[0].Submit
	}
	s.count(t)
	s.countArrivals(t)
	s.addGPUs(t)
	return s
}

// meaning returns what the Standard Workload Format says of a status.
func meaning(status int64) string {
	switch status {
	case 0:
		return "failed"
	case 1:
		return "completed"
	case 2:
		return "partial execution, to be continued"
	case 3:
		return "partial execution, the last, completed"
	case 4:
		return "partial execution, the last, failed"
	case 5:
		return "cancelled"
	default:
		return "unknown"
	}
}

// count sets what is counted over all jobs: work, load, widths, run times, estimates, memory, users
// and queues.
func (s *Survey) count(t *workload.Trace) {
	widths, runs, rs, memory := newSample(widthBounds(t.Machine.Processors)), newSample(runBounds()),
		newSample(rBounds()), newSample(memoryBounds())
	used, requested := newSample(memoryBounds()), newSample(memoryBounds())
	users, queues, estimates := map[string]*Name{}, map[string]*Name{}, map[int64]int{}
	memoryWork := 0.0
	for _, j := range t.Jobs {
		work := float64(j.Procs) * float64(j.Run)
		s.Work += work
		widths.add(float64(j.Procs), work)
		runs.add(float64(j.Run), work)
		if j.Memory > 0 {
			memory.add(float64(j.Memory)/float64(j.Procs), work)
			memoryWork += float64(j.Memory) * float64(j.Run)
		}
		if j.Recorded != nil {
			used.addKB(j.Recorded.Used, work)
			requested.addKB(j.Recorded.Requested, work)
		}
		if j.Origin != workload.Assumed { // else nobody said anything
			rs.add(float64(j.Run)/float64(j.Estimate), work)
			if j.Estimate == max(j.Run, 1) {
				s.Estimates.Exact++
			}
			estimates[j.Estimate]++
		}
		tally(users, j.User, work)
		tally(queues, j.Queue, work)
	}
	if s.Span > 0 {
		s.Load = s.Work / float64(t.Machine.Processors) / float64(s.Span)
		s.Memory.Load = memoryWork / max(float64(t.Machine.Memory), 1) / float64(s.Span)
	}
	s.Widths, s.RunTimes, s.Estimates.R = widths.numbers(), runs.numbers(), rs.numbers()
	s.Memory.Jobs, s.Memory.PerCPU = len(memory.values), memory.numbers()
	s.Memory.Used = Recorded{len(used.values), used.numbers()}
	s.Memory.Requested = Recorded{len(requested.values), requested.numbers()}
	s.Estimates.Unknown, s.Estimates.Distinct, s.Estimates.Popular = t.Cleaning.EstimateUnknown, len(estimates),
		mostPopular(estimates)
	s.Users.Known = len(users)
	s.Users.Top = ranked(users)
	s.Users.Top = s.Users.Top[:min(topUsers, len(s.Users.Top))]
	s.Queues = ranked(queues)
	says := t.Header.Names("Queue")
	for i, q := range s.Queues {
		if number, err := strconv.ParseInt(q.Name, 10, 64); err == nil {
			s.Queues[i].Says = says[number]
		}
	}
}

// tally adds a job and its work to the user or queue with this name; "" is unknown and not counted.
func tally(names map[string]*Name, name string, work float64) {
	if name == "" {
		return
	}
	if names[name] == nil {
		names[name] = &Name{Name: name}
	}
	names[name].Jobs++
	names[name].Work += work
}

// ranked returns the names with most jobs first.
func ranked(names map[string]*Name) []Name {
	list := make([]Name, 0, len(names))
	for _, n := range names {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func mostPopular(estimates map[int64]int) []Popular {
	list := make([]Popular, 0, len(estimates))
	for seconds, jobs := range estimates {
		list = append(list, Popular{seconds, jobs})
	}
	slices.SortFunc(list, func(a, b Popular) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Seconds, b.Seconds))
	})
	return list[:min(topEstimates, len(list))]
}

// countArrivals counts jobs by the hour of the day, in the zone of the trace if it says when it starts.
func (s *Survey) countArrivals(t *workload.Trace) {
	s.LocalTime = s.clock.Dated && s.clock.Zone != nil && s.clock.Zone != time.UTC
	for h := range 24 {
		s.Arrivals = append(s.Arrivals, Bin{Label: strconv.Itoa(h)})
	}
	for _, j := range t.Jobs {
		at := s.clock.Date(j.Submit)
		if !s.clock.Dated { // the hours are from the start of the trace, wherever that was
			at = at.UTC()
		}
		bin := &s.Arrivals[at.Hour()]
		bin.Jobs++
		bin.Work += float64(j.Procs) * float64(j.Run)
	}
}
