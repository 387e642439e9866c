package backfill

import "strconv"

// Cause is why a guarantee was lifted, so that it did not bind the policy in a round.
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
	CauseSlotEnded
	// CauseNotBelieved: jobs of the job's user outlive the run times that were stated for them. The core
	// knows of no users: it is told that the job is gone and arrives anew.
	CauseNotBelieved
	// CauseLimitChanged: a limit was reduced, and the reservation has no room in it any more.
	CauseLimitChanged
	// CauseSlotEnds: a slot is to end at another time than before, and the job does not end by then.
	CauseSlotEnds
	// CausePreempted: others make way on the slot for a job that is given it by preemption, and the
	// reservation has no room beside that job; or the job itself ran and made way.
	CausePreempted
)

var causeNames = [...]string{
	"none", "slot lost", "slot changed", "overrun", "start failed", "start late",
	"job changed", "policy changed", "slot ended", "not believed", "limit changed", "slot ends",
	"preempted",
}

func (c Cause) String() string { return nameOf(causeNames[:], int(c)) }

// nameOf returns the name with the given index, or "unknown" with the index if it has no name: the
// index may come from another process.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown " + strconv.Itoa(i)
}

// How says in which way a job came to start.
type How uint8

// The ways in which a job comes to start, as papers on scheduling count them.
const (
	// ByQueue: the job came to the front of the queue.
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

	key     float64
	alone   bool
	planned bool // it had a reservation
}

// Broken is a guarantee that could not be kept.
type Broken struct {
	Job *Job
	// Promised and Now are the latest start before and from now on. Now is the start itself of a job that
	// runs, and Forever of one that is promised nothing any more, as its candidates close or end before it
	// could begin or end.
	Promised, Now Time
	Cause         Cause
}

// HeldJob is a job that was taken out of the queue instead of started, and why.
type HeldJob struct {
	Job    *Job
	Reason string
}

// ReasonNeverFits is the reason of a job that the state itself, not the policy, holds, because not
// even an empty pool could run the job. The job returns to the queue once changed slots or
// candidates let it fit. Where that is because of a limit the reason names it; see [NeverFits].
const ReasonNeverFits = "fits on no slot of the pool, even an empty one"

// Decision is an accepted round: what the policy did, and what follows.
type Decision struct {
	Now      Time
	Revision uint64 // of the state that it led to
	By       string // name of the policy that decided
	// Actions are the journal. They and Started are valid until the next cycle is opened on the state.
	Actions []Action
	Started []Started
	Held    []HeldJob
	Broken  []Broken // by submit time, then queue position
	// Lifted is how many waiting jobs lost their guarantee, as the round's [PolicyChanged] brought
	// a policy that gives none. They are not broken: nobody is promised anything any more.
	Lifted int
	// Replaced are the reservations that have other slots at the same start than before the round, in
	// rounds in which the policy gave reservations up or moved them so, or an event took places; by start,
	// then submit time and queue position. A promise is a start: no one was told a place.
	Replaced []Moved
}
