package host

import (
	"fmt"
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

const (
	// fewActions is the number of actions that a decision may have in any pool.
	fewActions = 1000
	// fewChunks is the number of chunks that a decision may place in any pool.
	fewChunks = 100_000
	// moves is how often a policy may move each job after each event. Those that compress their plans
	// give a reservation up and make another.
	moves = 4
	// maxWakes is how often a policy may ask to be woken in one decision.
	maxWakes = 1000
	// maxReason is the maximum length of a text for a job's owner.
	maxReason = 4 << 10
)

// bounded returns an error if the journal, a plugin's list of actions, or one of the actions is so
// large that the core would take too long to check it. The core itself decides whether the journal
// is possible.
func bounded(journal []*policyv1.Action, c *backfill.Cycle) error {
	if len(journal) > fewActions {
		// A policy may move each job after each event.
		events := len(c.Fast().Round().Events)
		if most := fewActions + moves*(1+events)*(count(c.Waiting())+count(c.Running())+events); len(journal) > most {
			return fmt.Errorf("the decision has %d actions, more than %d", len(journal), most)
		}
	}
	slots, wakes, places := len(c.State().Slots())+len(c.Fast().Round().Events), 0, 0
	for _, a := range journal {
		places += len(a.GetPlacement().GetSlots())
		if a.GetKind() == policyv1.ActionKind_ACTION_KIND_WAKE {
			wakes++
		}
		switch chunks := len(a.GetPlacement().GetSlots()); {
		case wakes > maxWakes:
			return fmt.Errorf("the decision asks to be woken more than %d times", maxWakes)
		case chunks > slots:
			return fmt.Errorf("the decision puts job %d on %d slots, and there are %d at most", a.GetJob(),
				chunks, slots)
		case len(a.GetReason()) > maxReason:
			return fmt.Errorf("the decision holds job %d for a reason of %d bytes, more than %d", a.GetJob(),
				len(a.GetReason()), maxReason)
		}
	}
	if places > fewChunks {
		if most := fewChunks + mostPlaces(c, slots); places > most {
			return fmt.Errorf("the decision puts chunks on slots %d times, more than %d", places, most)
		}
	}
	return nil
}

// mostPlaces returns on how many slots in all an honest decision may put chunks: those of each job
// that waits or comes to wait, as often as the policy may move it.
func mostPlaces(c *backfill.Cycle, slots int) int {
	events, places := c.Fast().Round().Events, 0
	add := func(j *backfill.Job) {
		if places += min(j.Nodes, slots); j.Whole {
			places += slots // of the bundle, whichever
		}
	}
	for j := range c.Waiting() {
		add(j)
	}
	for r := range c.Running() { // an event may queue it again
		add(r.Job)
	}
	for _, e := range events {
		if e.Job != nil {
			add(e.Job)
		}
	}
	return moves * (1 + len(events)) * places
}

func count[T any](seq iter.Seq[T]) (n int) {
	for range seq {
		n++
	}
	return n
}
