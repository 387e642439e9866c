package backfill

import (
	"fmt"
	"slices"
)

// Freed is what one job gave back on one slot when it ended or was taken off it.
type Freed struct {
	At     Time
	Slot   SlotID
	Amount Vector // of all its chunks there
}

// freedLog is what was given back of late. It is empty, and costs nothing,
// unless a policy asked for it.
type freedLog struct {
	keep  Time // how long each part is remembered; 0: not at all
	parts []Freed
}

// KeepFreed asks the state to remember what running jobs give back from here on,
// each part for so many seconds; 0: to forget it all. It holds until another
// policy takes over.
func (c *Cycle) KeepFreed(keep Time) {
	switch {
	case c.err != nil || keep == c.s.freed.keep:
		return
	case keep < 0 || keep > maxEstimate:
		c.fail("keep what is freed for %d s: must be from 0 to %d", keep, maxEstimate)
		return
	case keep == 0:
		c.setFreed(freedLog{})
	default:
		c.setFreed(freedLog{keep: keep, parts: c.s.freed.parts})
	}
	c.log(Action{Kind: ActKeepFreed, At: keep})
}

// Freed lists what was given back and is still to be remembered, the earliest
// first. Others may have taken it since. It must not be changed.
func (c *Cycle) Freed() []Freed { return c.s.freed.since(c.round.Now) }

// setFreed changes the log so that it can be undone.
func (c *Cycle) setFreed(log freedLog) {
	old := c.s.freed
	c.onUndo(func() { c.s.freed = old })
	c.s.freed = log
}

// recordFreed remembers what a job gave back whose record changes.
func (c *Cycle) recordFreed(old, now *record) {
	log := c.s.freed
	if !old.in(running) || now.in(running) && now.placement.Equal(old.placement) {
		return
	}
	for _, chunks := range old.placement {
		amount := c.s.Holds(old.job, Placement{chunks})
		log.parts = append(log.parts, Freed{At: c.round.Now, Slot: chunks.Slot, Amount: amount})
	}
	c.setFreed(log)
}

// since is what is still to be remembered at an instant.
func (l *freedLog) since(now Time) []Freed {
	i := slices.IndexFunc(l.parts, func(f Freed) bool { return f.At+l.keep > now })
	if i < 0 {
		return nil
	}
	return l.parts[i:]
}

// forget lets go of what need not be remembered any more.
func (l *freedLog) forget(now Time) { l.parts = l.since(now) }

// validate refuses a log that no state can have.
func (l *freedLog) validate(slots, resources int) error {
	if l.keep < 0 || l.keep > maxEstimate || l.keep == 0 && len(l.parts) > 0 {
		return fmt.Errorf("%d parts that were freed are kept for %d s", len(l.parts), l.keep)
	}
	for i, f := range l.parts {
		switch {
		case f.Slot < 0 || int(f.Slot) >= slots:
			return fmt.Errorf("what was freed at %d is on an unknown slot %d", f.At, f.Slot)
		case len(f.Amount) != resources:
			return fmt.Errorf("what was freed at %d has %d resources, the pool %d", f.At, len(f.Amount), resources)
		case i > 0 && f.At < l.parts[i-1].At:
			return fmt.Errorf("what was freed at %d stands behind what was freed at %d", f.At, l.parts[i-1].At)
		}
	}
	return nil
}
