package backfill

import (
	"fmt"
	"slices"
)

// Freed is what one job gave back on one slot when it ended or was taken off the slot.
type Freed struct {
	At     Time
	Slot   SlotID
	Amount Vector // of all its chunks there
}

// freedLog lists what jobs gave back recently. It stays empty and costs nothing unless a policy
// asked for it with [Fast.KeepFreed].
type freedLog struct {
	keep  Time // how long each part is remembered; 0: not at all
	parts []Freed
}

// MaxKeepFreed limits for how many seconds [Fast.KeepFreed] logs what jobs give back: a week.
const MaxKeepFreed = 7 * 24 * 3600

// mostFreed limits the parts in the log, because the state stores them all and clones copy them.
const mostFreed = 100_000

// KeepFreed asks the state to log what running jobs give back from now on, each part for the given
// number of seconds, up to [MaxKeepFreed]; 0 deletes the log and stops. The last 100,000 parts are
// kept. The setting holds until another policy takes over.
func (f Fast) KeepFreed(keep Time) {
	c := f.c
	switch {
	case c.err != nil || keep == c.s.freed.keep:
		return
	case keep < 0 || keep > MaxKeepFreed:
		c.fail("keep what is freed for %d s: must be from 0 to %d", keep, MaxKeepFreed)
		return
	case keep == 0:
		c.setFreed(freedLog{})
	default:
		c.setFreed(freedLog{keep: keep, parts: c.s.freed.parts})
	}
	c.log(Action{Kind: ActKeepFreed, At: keep})
}

// Freed lists the parts that jobs gave back and that are still in the log, oldest first. Other jobs
// may have taken them since. The list must not be changed. See [Fast.KeepFreed].
func (f Fast) Freed() []Freed { return f.c.s.freed.since(f.c.round.Now) }

// setFreed replaces the log; a rollback restores the old one.
func (c *Cycle) setFreed(log freedLog) {
	old := c.s.freed
	c.onUndo(func() { c.s.freed = old })
	c.s.freed = log
}

// recordFreed logs what a job gives back when its old record is replaced: its whole placement, if
// it ran there and no longer does.
func (c *Cycle) recordFreed(old, now *record) {
	log := c.s.freed
	if !old.in(running) || now.in(running) && now.placement.Equal(old.placement) {
		return
	}
	for _, chunks := range old.placement {
		amount := c.s.Holds(old.job, Placement{chunks})
		log.parts = append(log.parts, Freed{At: c.round.Now, Slot: chunks.Slot, Amount: amount})
	}
	log.parts = log.parts[max(0, len(log.parts)-mostFreed):]
	c.setFreed(log)
}

// since returns the parts that are still to be remembered at the given instant.
func (l *freedLog) since(now Time) []Freed {
	i := slices.IndexFunc(l.parts, func(f Freed) bool { return f.At+l.keep > now })
	if i < 0 {
		return nil
	}
	return l.parts[i:]
}

// forget drops the parts that are no longer to be remembered at the given instant.
func (l *freedLog) forget(now Time) { l.parts = l.since(now) }

// validate returns an error if keep is out of range, or 0 although there are parts; if there are too
// many parts, or they are not in order of time; or if one has an unknown slot or the wrong number of
// resources.
func (l *freedLog) validate(slots, resources int) error {
	if l.keep < 0 || l.keep > MaxKeepFreed || l.keep == 0 && len(l.parts) > 0 || len(l.parts) > mostFreed {
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
