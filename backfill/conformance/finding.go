package conformance

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Rule is the name of one rule for policies.
type Rule string

// The mandatory rules.
const (
	// Accepted: the policy makes a decision, and the decision is possible and keeps the guarantees.
	Accepted Rule = "accepted"
	// Booked: exactly those jobs run that were started and have not ended, and the jobs have the
	// keys in the queue's order that they were given.
	Booked Rule = "booked"
	// Capacity: no slot and no row is oversubscribed, now or at any time in the plan.
	Capacity Rule = "capacity"
	// Guaranteed: every job within the depth of the plan has a guarantee and starts no later, unless
	// it was reported broken, with a cause. A policy that declares no guarantees gives none.
	Guaranteed Rule = "guaranteed"
	// Released: no job starts, or is planned to start, before its earliest start.
	Released Rule = "released"
	// Opened: no job starts, or is planned to start, where its candidates are closed then.
	Opened Rule = "opened"
	// Lasting: no job starts, or is planned to start, where a slot ends before it would; one without an
	// estimate of its own is taken to end then.
	Lasting Rule = "lasting"
	// Started: a job that is planned for now is started.
	Started Rule = "started"
	// Restored: the state restored from its snapshot is the same state.
	Restored Rule = "restored"
	// Untouched: the policy changes no job and no slot itself.
	Untouched Rule = "untouched"
	// Deterministic: the policy decides the same rounds in the same way every time; see [Repeat].
	Deterministic Rule = "deterministic"
	// Memoryless: the policy decides in the same way after it has lost its memory; see [Repeat].
	Memoryless Rule = "memory-less"
	// Promised: the policy keeps its own promises; see [Promise].
	Promised Rule = "promised"
)

// The rules that are advice. A policy that waits on purpose does not follow them.
const (
	// HeadStarts: the job at the head of the queue starts if it fits beside the running jobs.
	// Policies that give guarantees are exempt.
	HeadStarts Rule = "head starts"
	// Drains: once no more jobs arrive, every job that can run runs in the end.
	Drains Rule = "drains"
)

// Advice reports whether the rule is advice and not mandatory.
func (r Rule) Advice() bool { return r == HeadStarts || r == Drains }

// Finding reports a broken rule, and where it was broken.
type Finding struct {
	Rule  Rule          `json:"rule"`
	Seed  uint64        `json:"seed"`  // of the pool
	Round int           `json:"round"` // from 1
	Now   backfill.Time `json:"now"`
	// Job is the job concerned, nil if there is none.
	Job *backfill.JobID `json:"job,omitempty"`
	// Text says what was wrong.
	Text string `json:"text"`
	// Stack is where the policy panicked, if it did in this process.
	Stack string `json:"stack,omitempty"`
}

func (f Finding) String() string {
	return fmt.Sprintf("pool %d, round %d (t=%d): %s", f.Seed, f.Round, f.Now, f.Text)
}
