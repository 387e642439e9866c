package conformance

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Rule is one thing that is asked of policies.
type Rule string

// What must be.
const (
	// Accepted: a decision comes, and it is possible and true to the guarantees.
	Accepted Rule = "accepted"
	// Booked: what runs is what was started and has not ended, and who comes first
	// in the queue is as it was told.
	Booked Rule = "booked"
	// Capacity: nothing is oversubscribed, at any time now or planned.
	Capacity Rule = "capacity"
	// Guaranteed: every start keeps its job's guarantee, unless that was reported
	// broken, with a cause; none is given by a policy that declares none.
	Guaranteed Rule = "guaranteed"
	// Started: no job is planned for now and left waiting.
	Started Rule = "started"
	// Restored: the state as plain data makes the same state again.
	Restored Rule = "restored"
	// Promised: what the policy promises beyond that; see [Promise].
	Promised Rule = "promised"
)

// What should be: advice. Whoever waits on purpose does not follow it.
const (
	// HeadStarts: no job at the head of the queue is left waiting although it fits
	// beside what runs. Not held against policies that give guarantees.
	HeadStarts Rule = "head starts"
	// Drains: once no more jobs come, every one that can run does in the end.
	Drains Rule = "drains"
)

// Advice reports whether the rule is one that need not be kept.
func (r Rule) Advice() bool { return r == HeadStarts || r == Drains }

// Finding is a rule that was not kept, and where.
type Finding struct {
	Rule  Rule          `json:"rule"`
	Seed  uint64        `json:"seed"`  // of the pool
	Round int           `json:"round"` // from 1
	Now   backfill.Time `json:"now"`
	// Job is the job concerned, nil if there is none.
	Job *backfill.JobID `json:"job,omitempty"`
	// Text says what was wrong.
	Text string `json:"text"`
}

func (f Finding) String() string {
	return fmt.Sprintf("pool %d, round %d (t=%d): %s", f.Seed, f.Round, f.Now, f.Text)
}
