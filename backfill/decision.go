package backfill

import "strconv"

// Cause is why a guarantee did not bind.
type Cause uint8

// The only causes that lift a guarantee.
const (
	CauseNone Cause = iota
	CauseSlotLost
	CauseSlotChanged
	CauseOverrun
	CauseStartFailed
	CauseStartLate
	CauseJobChanged
	CausePolicyChanged
)

var causeNames = [...]string{
	"none", "slot lost", "slot changed", "overrun", "start failed", "start late",
	"job changed", "policy changed",
}

func (c Cause) String() string { return nameOf(causeNames[:], int(c)) }

// nameOf is a name by its number, whatever number another process sent.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown " + strconv.Itoa(i)
}

// How says in which way a job came to start.
type How uint8

// The ways, as algorithms and papers count them.
const (
	// ByQueue: it came to the front of the queue.
	ByQueue How = iota
	// AtHead: no other job waited when it arrived.
	AtHead
	// ByBackfill: after the starts of its round a job that is earlier in the
	// queue's order still waits.
	ByBackfill
)

var howNames = [...]string{"queue", "head", "backfill"}

func (h How) String() string { return nameOf(howNames[:], int(h)) }

// Started is a job that a decision starts.
type Started struct {
	Job       *Job
	Placement Placement
	How       How
	Promised  bool
	Guarantee Time // the latest start, if Promised

	key   float64
	alone bool
}

// Broken is a guarantee that could not be kept.
type Broken struct {
	Job           *Job
	Promised, Now Time // the latest start as it was and as it is
	Cause         Cause
}

// HeldJob is a job that left the queue without running.
type HeldJob struct {
	Job    *Job
	Reason string
}

// ReasonNeverFits is why the state itself holds a job that not even an empty
// pool could run. It returns by itself when the slots or its candidates come to
// fit it.
const ReasonNeverFits = "fits on no slot of the pool, even an empty one"

// Decision is an accepted round: what the policy did, and what follows.
type Decision struct {
	Now      Time
	Revision uint64 // of the state that it led to
	By       string // the policy that took it
	// Actions are the journal. It holds until the next cycle is opened on the
	// state.
	Actions []Action
	Started []Started
	Held    []HeldJob
	Broken  []Broken // in the order of jobs
}
