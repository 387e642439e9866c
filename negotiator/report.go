package negotiator

import (
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// Report says what a cycle did. It is valid until the next cycle.
type Report struct {
	// Delta is what the pool reported, without scavengers: those are in Scavengers.
	Delta    Delta
	Decision backfill.Decision
	// Matches are the jobs that start: those that the decision has started, those of Preempted, and
	// scavengers. Held are those that leave the queue without running.
	Matches []Match
	Held    []Held
	// Preempted are the jobs that get the place of others, which make way. Their matches come after those
	// of the jobs that the decision has started, among which they are not.
	Preempted []preempt.Preemption
	// Quiet says that the cycle brought nothing but news of scavengers, and the policy was not asked: in a pool
	// without scavengers there would be no such cycle. Who counts cycles, or acts at them, passes it over.
	Quiet bool
	// Scavengers says what happened to scavengers; nil: nothing.
	Scavengers *Scavenged
	// Left are the jobs that have made way for others since the last cycle.
	Left []preempt.Left
	// Unmatched counts the jobs that are held only because it is not known yet which slots they may
	// use. Expensive says whose jobs were too expensive to find that out, and were put off in this
	// cycle. Unbearable are the names of slots whose own Requirements are too expensive; of slots
	// that are alike it names one.
	Unmatched  int
	Expensive  []matchmaker.Expensive
	Unbearable []string
	// State is the schedule after the cycle.
	State *backfill.State
	// Unordered says that the order is an expression whose value was not yet a number for any job;
	// see [UnorderedText].
	Unordered bool
	// Last are the jobs that come last in the order, an expression, because it takes too many steps
	// with their attributes; see [ExpensiveText].
	Last []*Job
	// Changed says that a new policy became active with this cycle; see [Config.Changes].
	Changed bool
	// Learned are the completed jobs from which the estimators learned.
	Learned []estimate.Ended
	// Took is how long the cycle took, by the configured clock. Matched is the part of it up to
	// the end of matching.
	Took, Matched time.Duration

	predictions *predictions
	negotiator  *Negotiator
}

// Lifted tells that the cycle lifted promises, as the policy that took over gives none; "" if it
// did not.
func (r *Report) Lifted() string {
	if r.Decision.Lifted == 0 {
		return ""
	}
	policy, _ := r.State.Policy()
	return fmt.Sprintf("promises lifted: %d, as the policy %s gives none", r.Decision.Lifted, policy)
}

// Negotiator returns the negotiator, for who looks at it between this cycle and the next.
func (r *Report) Negotiator() *Negotiator { return r.negotiator }

// Scavenged is what happened to scavengers in a cycle.
type Scavenged struct {
	// Completed and Removed have ended. Back came back to the queue; Displaced are those of them that
	// made way for others.
	Completed, Removed, Back, Displaced []backfill.JobID
	// Found are those that run although nobody started them, and Began those that are now known to run.
	Found []Running
	Began []Began
	// Matches are those of scavengers that start: the last ones of the report.
	Matches []Match
	// MadeWay is for which jobs scavengers were told to leave.
	MadeWay []MadeWay
}

// MadeWay is a job for which scavengers are to leave: one that the decision has started, or that gets the
// place of others.
type MadeWay struct {
	Job backfill.JobID
	// Scavengers are the youngest first. They have left At, at the latest, as far as is known.
	Scavengers []backfill.JobID
	At         backfill.Time
}

// Held is a job that left the queue without running, and why.
type Held struct {
	Job    *Job
	Reason string
	// Unmatched says that it is not known yet which slots the job may use.
	Unmatched bool
	// Closed says that some slots would do that are closed, for a while mostly: it may still start.
	Closed bool
}

// Predicted returns the run times with which a job is planned. The job must wait or run after the
// cycle.
func (r *Report) Predicted(id backfill.JobID) estimate.Uses {
	p := r.predictions
	t := p.requested(p.jobs.get(id))
	uses := usesOf(p.known.Find(id), t)
	if p.guarantees {
		uses.Backfill, uses.Running = t, t
	}
	return uses
}

// Expect returns a job that waits, runs or is held after the cycle, as plays take one that may come
// again; false if there is none.
func (r *Report) Expect(id backfill.JobID) (e Expected, ok bool) {
	job, planned := r.predictions.jobs.get(id), r.State.Job(id)
	if job == nil || planned == nil {
		return e, false
	}
	return r.predictions.expected(job, planned), true
}
