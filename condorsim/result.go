package condorsim

import (
	"cmp"
	"errors"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Outcome is what became of a job.
type Outcome struct {
	Start, End     backfill.Time
	Placement      negotiator.Placement
	Estimate       backfill.Time // the requested time, or the default
	Guarantee      backfill.Time // the first promised latest start, usually from its arrival, if Promised
	Held           string        // why it will never run; "" if it can
	Started, Ended bool
	Promised       bool
	Backfilled     bool // passed a job, on a slot reserved for one before it: [backfill.State.OnReserved]
	How            backfill.How
	// Requeues is how often the job lost its slot and went back to the queue; only its last run
	// counts. Lost is what the other runs took, in cpu seconds.
	Requeues int
	Lost     float64
	// Displacements is how often, of these, the job made way for another, and Saved how many seconds of
	// work checkpoints saved in the runs that do not count. TookOver says that others made way for a run.
	Displacements int
	Saved         backfill.Time
	TookOver      bool
	// Delay is how much later it began than it was started, as scavengers had to leave first.
	Delay backfill.Time
}

// kept returns what is left of the outcome when the job's run does not count: its guarantee, its
// requeues, what they cost and what was saved.
func (o Outcome) kept() Outcome {
	return Outcome{
		Promised: o.Promised, Guarantee: o.Guarantee, Requeues: o.Requeues, Lost: o.Lost,
		Displacements: o.Displacements, Saved: o.Saved, TookOver: o.TookOver,
	}
}

// Result is a finished simulation.
type Result struct {
	Workload *Workload // with the submit times of this run, if some depend on it; see [After]
	Outcomes []Outcome // by job, as in Workload.Jobs; scavengers too, which are in no measure of the others
	Cycles   int
	Decided  int // cycles that a policy or its fallback decided: in others nothing waited
	// Refusals are the rounds that a fallback policy decided, grouped by the policy that failed.
	Refusals []Refusals
	// Broken is how often a guarantee was broken, BrokenBy how often by each cause: one of the core's
	// or [BrokenByDrain]. Guarantees of jobs that had to be held count. [Result.Promises] counts jobs.
	Broken   int
	BrokenBy map[string]int
	// Moved is how often a reservation got other slots at the same start; see [backfill.Decision].
	Moved int
	// Requeues and LostCoreSeconds are the sums of the outcomes' Requeues and Lost.
	Requeues        int
	LostCoreSeconds float64
	// Displacements and DisplacedCoreSeconds are the part of these that is of jobs that made way for others.
	Displacements        int
	DisplacedCoreSeconds float64
	// ReservedIdle is the cpu seconds that were idle because they were reserved; see
	// [backfill.State.ReservedIdle].
	ReservedIdle float64
	// Unordered says that the order is an expression that gave no job a number.
	Unordered bool
	// StrictFST and RelaxedFST are the fair start times by job, if [RunFair] was asked for them.
	// They mean nothing for jobs that never ran.
	StrictFST, RelaxedFST []backfill.Time
	// Eta is what jobs were told about their starts; nil unless [RunEta] was asked for it.
	Eta *EtaResult
	// Predictions are the run times that the started jobs were planned with, by job. It is nil if
	// all were planned with their requested times. See [Result.Predicted].
	Predictions []estimate.Uses
	// Bound is the bound of bounded slowdowns in seconds; 0: [metrics.DefaultBound].
	Bound backfill.Time
	// PerQueue asks for measures of the jobs of each queue, also if no job makes way for another.
	PerQueue bool
	// Work is what the completed jobs used of each resource, in amounts times seconds.
	Work []float64
	// Extra are additional measures, such as those of [EventCounter.Add].
	Extra metrics.Measures

	// chunks are what each chunk of a job takes in the plan, of those that occupy anything else than their ads
	// tell; see [Result.Occupies].
	chunks map[backfill.JobID]backfill.Vector

	// totals are what each job occupies, if that is not known by its placement; see [Happened].
	totals []backfill.Vector

	happened bool // it is made of recorded starts
	vague    bool // what some job occupied of the pool is not known
	partial  bool // some jobs are left out
	pool     *SimulatedPool
	unknown  backfill.Time // the requested time of jobs without an estimate
	promises bool
	reserved int64 // idle cpus that are reserved, since the last cycle
	last     backfill.Time

	scavenged scavenged
}

// Refusals are the decisions of one policy that were refused.
type Refusals struct {
	Policy string
	Count  int
	First  backfill.Refusal
	// Failures are the kinds of them, by when they first came, see [backfill.Refusal.Kind]: 20 at most,
	// of which the last is then all others. After a policy was given up, none is added.
	Failures []Failure
	// NotAsked counts the rounds of these in which the policy was not asked, as it was to be started again
	// after it failed; none is counted once it was given up.
	NotAsked int
	// GivenUp says that the policy failed too often and was asked no more, so that the fallback
	// decided the rest.
	GivenUp bool
}

// Failure is a kind of failures of a policy.
type Failure struct {
	Count int
	First backfill.Refusal
	kind  string
}

// add counts a refusal.
func (r *Refusals) add(refusal backfill.Refusal) {
	const most = 20
	r.Count++
	wasGivenUp := r.GivenUp
	if r.GivenUp = errors.Is(refusal.Err, backfill.ErrGivenUp); wasGivenUp && r.GivenUp {
		return
	}
	if !refusal.Asked() && !r.GivenUp {
		r.NotAsked++
		return
	}
	kind := refusal.Kind()
	i := slices.IndexFunc(r.Failures, func(f Failure) bool { return f.kind == kind })
	switch {
	case i < 0 && len(r.Failures) == most:
		i = most - 1
	case i < 0:
		i = len(r.Failures)
		r.Failures = append(r.Failures, Failure{First: refusal, kind: kind})
	}
	r.Failures[i].Count++
}

// BrokenByDrain is the cause of guarantees that were broken because a slot is drained.
const BrokenByDrain = "slot drained"

// GivenUp is the reason in [Outcome.Held] for jobs that lost their slots too often.
const GivenUp = "given up: it lost its slot too often"

// LeftQueue is the reason in [Outcome.Held] for jobs that were removed while they waited, by a record.
const LeftQueue = "removed while it waited, as it was"

// NeverSubmitted is the reason in [Outcome.Held] for jobs that wait for the end of such a job.
const NeverSubmitted = "never submitted: its preceding job did not end"

// Ran returns the jobs that ran to their ends and are no scavengers, as package metrics takes them: by submit time.
func (r *Result) Ran() []metrics.Job {
	return r.ranOf(func(job int) bool { return !r.Workload.Jobs[job].Scavenger })
}

// HasRun reports whether some job ran to its end, scavengers left out.
func (r *Result) HasRun() bool {
	for i := range r.Outcomes {
		if r.Outcomes[i].Ended && !r.Workload.Jobs[i].Scavenger {
			return true
		}
	}
	return false
}

// ranOf returns those of the jobs that ran to their ends that are chosen.
func (r *Result) ranOf(chosen func(job int) bool) []metrics.Job {
	jobs := make([]metrics.Job, 0, len(r.Outcomes))
	for i := range r.Outcomes {
		o, j := &r.Outcomes[i], &r.Workload.Jobs[i]
		if !o.Ended || !chosen(i) {
			continue
		}
		cpus, memory := r.Occupies(backfill.JobID(i))
		jobs = append(jobs, metrics.Job{
			Submit: int64(j.Submit), Start: int64(o.Start), Run: int64(o.End - o.Start), Saved: int64(o.Saved),
			Estimate: int64(o.Estimate), Procs: cpus, Memory: memory, User: j.User,
		})
	}
	if r.Workload.dependent() {
		slices.SortStableFunc(jobs, func(a, b metrics.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	}
	return jobs
}

// Held counts the jobs that are held and will never run, without scavengers.
func (r *Result) Held() int {
	n := 0
	for _, count := range r.HeldBecause() {
		n += count
	}
	return n
}

// HeldBecause counts the held jobs by reason, without scavengers.
func (r *Result) HeldBecause() map[string]int {
	count := map[string]int{}
	for i, o := range r.Outcomes {
		if o.Held != "" && !r.Workload.Jobs[i].Scavenger {
			count[o.Held]++
		}
	}
	return count
}

// Metrics computes the usual measures of the schedule, such as waits and utilisation, over the
// completed jobs.
func (r *Result) Metrics() metrics.Metrics {
	capacity := r.Workload.Capacity()
	machine := metrics.Machine{Processors: capacity[0], Memory: r.Workload.Memory()}
	return metrics.ComputeBounded(machine, r.Ran(), int64(cmp.Or(r.Bound, metrics.DefaultBound)))
}

// Users returns the measures of each user's completed jobs.
func (r *Result) Users() []metrics.User {
	return metrics.ByUser(r.Ran(), int64(cmp.Or(r.Bound, metrics.DefaultBound)))
}
