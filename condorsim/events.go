package condorsim

import (
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profileevents"
	"github.com/condor-backfill/condor-backfill/condorsim/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// EventCounter counts the profile events of one run; see package profileevents.
type EventCounter struct{ counter *profileevents.Counter }

// CountEvents makes a counter for a run of the workload and puts it around the
// configured policy, which decides as before. It fails where there is nothing to
// be counted: for policies other than the linked-in conservative, pc and dc, and on
// more than one slot or partitions.
func CountEvents(w *Workload, c *negotiator.Config) (*EventCounter, error) {
	if n := len(w.Bundles); n > 0 {
		return nil, fmt.Errorf("the pool has %d partitions; profile events are those of a single machine's profile", n)
	}
	if n := len(w.Slots); n != 1 {
		return nil, fmt.Errorf("the pool has %d slots; profile events are those of a single machine's profile", n)
	}
	policy, linked := c.Policy.(*backfill.Linked)
	if !linked {
		return nil, errors.New("the policy runs in a process of its own; only those that are linked in can be counted")
	}
	counter, err := profileevents.Count(policy)
	if err != nil {
		return nil, err
	}
	c.Policy = counter
	return &EventCounter{counter}, nil
}

// Add adds the count to the measures of the run when it is over.
func (e *EventCounter) Add(r *Result) error {
	n, err := e.counter.Count()
	if err != nil {
		return err
	}
	r.Extra = append(r.Extra, metrics.Measure{Name: "profile_events", Label: "profile events scanned by the textbook", Unit: metrics.Count, Value: float64(n)})
	return nil
}
