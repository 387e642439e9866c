package workload

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// Machine is the one slot that a trace runs on.
type Machine struct {
	Processors int64 // at least 1
	Memory     int64 // MiB of the whole machine; 0: memory is no resource
	GPUs       int64 // of the whole machine; 0: GPUs are no resource
}

// Job is one rigid job of a trace. Times are whole seconds.
type Job struct {
	ID       int64 // the number in the file, not necessarily unique there
	Submit   int64 // since the start of the trace
	Release  int64 // the earliest start, as Submit is counted; 0: any. Only instances have it
	Run      int64 // actual run time, 0 or more; only the simulator may know it
	Estimate int64 // what the scheduler knows of Run; at least 1 and, unless it Lies, at least Run
	// HasWaited, WrongStart, Lies, Origin and Beside share a word of memory; see Waited.
	HasWaited  bool
	WrongStart bool   // the file records a start before the submission
	Lies       bool   // the job may run beyond its estimate, and nobody ends it then
	Origin     Origin // where Estimate is from
	// Beside is what the user stated, in seconds, if Origin is Raised. If it is Stated, Beside is how much
	// longer the job ran than Run, which was cut to that; see [Job.Ran]. [math.MaxUint32] is that or more.
	Beside uint32
	Procs  int64 // in total, at least 1
	Memory int64 // MiB in total; 0: none asked, or the machine has no memory
	GPUs   int64 // in total; 0: none asked, or the machine has none
	// Wait is how long the job waited, if recorded; else 0.
	Wait int64
	// Waited is how long it waited until the start that the file records, if HasWaited: what really
	// happened, where Wait may be made up from other times.
	Waited int64
	// After is the job whose end the submission waits for; nil: none.
	After *Preceding
	// Recorded is what the file says of the job; nil unless [Options.KeepRecorded] asks for it.
	Recorded *Recorded

	// Held says that it could not run when it was submitted: Submit is when it could first.
	Held bool

	// User, Group, Executable and Queue are the numbers of the file as text, or the names that its
	// header gives them; "" if unknown.
	User, Group, Executable, Queue string
}

// Origin says where an estimate is from.
type Origin uint8

// The values of Origin.
const (
	Stated  Origin = iota // by the user, or by a model of users
	Assumed               // unknown: the run time stands in
	Raised                // stated, but the run time is longer and counts
)

// Preceding is the job after which another one is submitted.
type Preceding struct {
	ID int64 // of the preceding job, which is in the trace
	// Think is how long after the end of that job its successor is submitted; below 0: unknown. Then it
	// is submitted when it was, or at that end if that is later.
	Think int64
	// Later says that the file records a later submission than that, so a run submits it earlier.
	Later bool
}

// move gives the job another submit time; its earliest start is as long after that as before.
func (j *Job) move(submit int64) {
	if j.Release != 0 {
		j.Release = max(0, j.Release-j.Submit+submit)
	}
	j.Submit = submit
}

// Ran returns how long the job ran by its file, also if Run was cut to the estimate.
func (j *Job) Ran() int64 {
	if j.Origin == Stated {
		return j.Run + int64(j.Beside)
	}
	return j.Run
}

// Recorded is what a file says of a job, whatever was made of it.
type Recorded struct {
	// Used and Requested memory are in KB per processor; 0: nothing. The machine may have none.
	Used, Requested int64
	// Line is the line of SWF, with blanks between its fields; "" for other formats.
	Line string
	// place is where the line was in the file.
	place int
	// nodes is the width that the line says in nodes, behind the fields of the format; 0: none.
	nodes int64
	// merged says that the numbers of the line are those of another file.
	merged bool
}

// Labels returns the owner and other labels of the job under the names that job ads use. The queue
// is the qos, since it says what service the job gets.
func (j *Job) Labels() (labels map[string]string) {
	for _, l := range [][2]string{
		{"owner", j.User},
		{"group", j.Group},
		{"executable", j.Executable},
		{"qos", j.Queue},
	} {
		if l[1] == "" {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[l[0]] = l[1]
	}
	return labels
}

// Trace is a workload that is ready to run.
type Trace struct {
	Name     string // of the file without folder and extension, or as the instance says
	Machine  Machine
	Jobs     []Job    // in order of jobs: by submit time, equal ones as in the file
	Cleaning Cleaning // what was dropped and changed
	Overrun  Overrun  // the rule by which it was read
	Drops    []Drop   // the dropped jobs that have a number of their own: not those of merged traces
	// Misplaced are the jobs whose preceding job is ignored, since it is in no line before theirs.
	Misplaced []int64
	// Warnings are what its reader says of the file: what of it was not read.
	Warnings []string
	Header   Header // of the file
	// Comments are the lines of the file that are no jobs, with [Options.KeepRecorded].
	Comments []string
	// Filled says that the jobs that fill the pool are among these, so that none are added. Only instances have it.
	Filled bool
	// Scavengers are the IDs of jobs that are scavengers whatever the pool says; nil: none. Only instances have them.
	Scavengers map[int64]bool
	// waitless says that what really happened did not happen to these jobs: their waits are forgotten.
	waitless bool
	// holds says that jobs have Held, by which they are counted.
	holds bool
	// inNodes says that the widths are nodes, and that MaxNodes of the header has those of the machine.
	inNodes  bool
	Statuses map[int64]int // job lines of the file by their status, also of those dropped
}

// Cleaning counts what reading a trace did. The counts of dropped jobs and JobsLeft add up to
// JobsRead.
type Cleaning struct {
	Lines    int `json:"lines"`     // in the file, comments and blank ones included
	JobsRead int `json:"jobs_read"` // job lines

	// Dropped, in the order of the rules.
	Partial       int `json:"partial_executions"`      // status 2, 3, 4
	Cancelled     int `json:"cancelled_before_start"`  // status 5, run time 0 or unknown
	NegativeRun   int `json:"negative_run_time"`       // run time unknown
	NoRun         int `json:"no_run_time,omitempty"`   // run time 0; with CleanStrong
	NoRequest     int `json:"no_request,omitempty"`    // no requested time; with CleanStrong
	NoProcessors  int `json:"no_processors"`           // neither allocated nor requested
	NoSubmit      int `json:"no_submit,omitempty"`     // submit time unknown
	TooWide       int `json:"too_wide"`                // more processors than the machine
	TooMuchMemory int `json:"too_much_memory"`         // more memory than the machine
	TooManyGPUs   int `json:"too_many_gpus,omitempty"` // more GPUs than the machine
	BeyondMax     int `json:"beyond_max"`              // after the first Max jobs
	CutOut        int `json:"cut_out,omitempty"`       // submitted outside of From and Until; see Transform
	Learned       int `json:"learned,omitempty"`       // the first jobs, from which estimators learn

	// Dropped ads of an HTCondor history; 0 for a trace.
	Unreadable int `json:"unreadable,omitempty"`   // no ClusterId or QDate, or impossible amounts
	NoAmount   int `json:"no_amount,omitempty"`    // requests that are text, negative or else no amount
	BySlot     int `json:"by_slot,omitempty"`      // their requests depend on the slot, and there is none
	NotOnSlots int `json:"not_on_slots,omitempty"` // universes scheduler, local and grid
	Removed    int `json:"removed,omitempty"`      // while they ran
	Unfinished int `json:"unfinished,omitempty"`   // idle, running, held, suspended
	Repeated   int `json:"repeated_ads,omitempty"` // older ads, or records, of a job

	Steps int `json:"steps,omitempty"` // records of steps of jobs, which are no jobs and not among those read

	// Of the jobs left.
	EstimateUnknown int `json:"estimate_unknown"` // the run time replaces it
	// EstimateHindsight counts estimates by attributes that jobs have only after they ran.
	EstimateHindsight int `json:"estimate_hindsight,omitempty"`
	EstimateRaised    int `json:"estimate_raised"`            // to the run time, with OverrunRaise
	HeldBefore        int `json:"held_before,omitempty"`      // they arrive when they could first run, after their submission
	Dependent         int `json:"dependent,omitempty"`        // submitted after the end of a preceding job
	SubmittedLater    int `json:"submitted_later,omitempty"`  // of these, after that end and the think time
	PrecedingAbsent   int `json:"preceding_absent,omitempty"` // submitted when they were, as that one is not left
	EstimateDefault   int `json:"estimate_default,omitempty"` // a negotiator's default_estimate replaces it
	Overrunning       int `json:"overrunning,omitempty"`      // longer than the estimate that a negotiator plans with

	// Changed.
	MemoryDrawn    int `json:"memory_drawn,omitempty"`    // unknown: that of a drawn job replaces it
	EstimateScaled int `json:"estimate_scaled,omitempty"` // those that users stated
	RunCut         int `json:"run_cut"`                   // to the estimate, with OverrunKill
	RunAssumed     int `json:"run_assumed,omitempty"`     // the estimate replaces it: ads of jobs that did not finish
	PrecedingWrong int `json:"preceding_wrong,omitempty"` // ignored: no job of a line before; see Trace.Misplaced
	OutOfOrder     int `json:"out_of_order"`              // job lines submitted before the previous job line
	LeftQueue      int `json:"left_queue,omitempty"`      // removed while they waited: they leave when they did; of a record

	JobsLeft int `json:"jobs_left"` // in Trace.Jobs

	Ads bool `json:"-"` // the jobs are of ads, whose estimates are where one says
}

// Why jobs of a trace were dropped.
const (
	WhyPartial       = "partial executions"
	WhyCancelled     = "cancelled before the start"
	WhyNegativeRun   = "run time unknown"
	WhyNoRun         = "run time 0"
	WhyNoRequest     = "no requested time"
	WhyNoProcessors  = "no processors"
	WhyNoSubmit      = "submit time unknown"
	WhyTooWide       = "wider than the machine"
	WhyTooMuchMemory = "more memory than the machine"
	WhyTooManyGPUs   = "more GPUs than the machine"
	WhyCutOut        = "outside of the time asked for"
	WhyBeyondMax     = "beyond the number asked for"
	WhyLearned       = "learned from, not run"
)

// Drop is a job that was dropped, and why, as in [Omission].
type Drop struct {
	ID  int64
	Why string
}

// Dropped returns the numbers of the jobs that were dropped for a reason.
func Dropped(drops []Drop, why string) (ids []int64) {
	for _, d := range drops {
		if d.Why == why {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// drop counts a job that is dropped, and notes its number.
func (t *Trace) drop(count *int, id int64, why string) {
	*count++
	t.Drops = append(t.Drops, Drop{id, why})
}

// Omission is why a number of job lines were dropped.
type Omission struct {
	Why  string
	Jobs int
}

// Remark is something that reading a trace did to a number of its jobs, or noticed of them, and of how many.
type Remark struct {
	What     string
	Jobs, Of int
}

// Remarks lists what became of jobs that were not dropped, and what is unusual of them.
func (count Cleaning) Remarks() []Remark {
	all := []Remark{
		{"run time unknown: the estimate stands in", count.RunAssumed, count.JobsRead},
		{"estimate unknown: the run time stands in", count.EstimateUnknown, count.JobsLeft},
		{"estimate unknown: default_estimate stands in", count.EstimateDefault, count.JobsLeft},
		{"ran beyond the estimate", count.Overrunning, count.JobsLeft},
		{"memory unknown: that of a drawn job stands in", count.MemoryDrawn, count.JobsLeft},
		{"estimate scaled", count.EstimateScaled, count.JobsLeft},
		{"estimate raised to the run time", count.EstimateRaised, count.JobsLeft},
		{"run time cut to the estimate", count.RunCut, count.JobsLeft},
		{"held before they could run: they arrive then", count.HeldBefore, count.JobsLeft},
		{"submitted after a preceding job", count.Dependent, count.JobsLeft},
		{"recorded submission later than that", count.SubmittedLater, count.Dependent},
		{"preceding job left out", count.PrecedingAbsent, count.JobsLeft},
		{"preceding job ignored: in no line before", count.PrecedingWrong, count.JobsLeft},
		{"lines out of order", count.OutOfOrder, count.JobsRead},
		{"steps of jobs, which are no jobs", count.Steps, count.JobsRead + count.Steps},
		{"removed while they waited: they leave then", count.LeftQueue, count.JobsLeft},
	}
	return slices.DeleteFunc(all, func(r Remark) bool { return r.Jobs == 0 })
}

// LeftOut says in words what was dropped: "left out: 30 cancelled before the start"; "" if nothing was.
func (count Cleaning) LeftOut() string {
	var list []string
	for _, left := range count.Dropped() {
		list = append(list, inwords.Whole(left.Jobs)+" "+left.Why)
	}
	if list == nil {
		return ""
	}
	return "left out: " + strings.Join(list, ", ")
}

// older names what is older of a job that was read several times.
func (count Cleaning) older() string {
	if count.Ads {
		return "older ads"
	}
	return "older records"
}

// Uncleaned reports whether jobs were dropped that [CleanNone] keeps.
func (count Cleaning) Uncleaned() bool {
	return count.Partial+count.Cancelled+count.NoRun+count.NoRequest+count.Removed+count.Unfinished > 0
}

// Dropped lists what was dropped, in the order of the rules.
func (count Cleaning) Dropped() []Omission {
	all := []Omission{
		{WhyPartial, count.Partial},
		{WhyCancelled, count.Cancelled},
		{WhyNegativeRun, count.NegativeRun},
		{WhyNoRun, count.NoRun},
		{WhyNoRequest, count.NoRequest},
		{WhyNoProcessors, count.NoProcessors},
		{WhyNoSubmit, count.NoSubmit},
		{"ads that tell too little", count.Unreadable},
		{"whose requests are no amounts", count.NoAmount},
		{"whose requests depend on the slot (--pool gives slots)", count.BySlot},
		{"scheduler, local and grid universe", count.NotOnSlots},
		{"removed while they ran", count.Removed},
		{"still in a queue", count.Unfinished},
		{count.older() + " of a job", count.Repeated},
		{WhyTooWide, count.TooWide},
		{WhyTooMuchMemory, count.TooMuchMemory},
		{WhyTooManyGPUs, count.TooManyGPUs},
		{WhyCutOut, count.CutOut},
		{WhyBeyondMax, count.BeyondMax},
		{WhyLearned, count.Learned},
	}
	return slices.DeleteFunc(all, func(o Omission) bool { return o.Jobs == 0 })
}
