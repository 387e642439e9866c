package track

import (
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
)

// seeDrains takes in which slots are to be empty.
func (b *Belief) seeDrains() {
	b.drains = nil
	if b.s.Drains == nil {
		return
	}
	if book := b.s.Drains(); book != nil {
		b.drains = *book
	}
}

// draining is a slot as it is reported while a drain of it lasts, and what it was made of.
type draining struct {
	made, own *negotiator.Slot
	drain     drains.Drain
	closed    bool
}

// draining returns the slot as it is reported to the negotiator: until its drain's time it ends
// then, and afterwards it takes no jobs.
func (s *slot) draining(own *negotiator.Slot, b *Belief) *negotiator.Slot {
	now := b.now.Now
	d, drained := b.drains[own.Name]
	if !drained || d.Over(now) {
		s.drained = draining{}
		return own
	}
	d.Gone = 0
	if closed := d.Closes(now); s.drained.own != own || s.drained.drain != d || s.drained.closed != closed {
		s.drained = draining{forDrain(own, d, closed, b.zone()), own, d, closed}
	}
	return s.drained.made
}

// forDrain returns a copy of the slot for a drain, before its time or closed by it.
func forDrain(own *negotiator.Slot, d drains.Drain, closed bool, zone *time.Location) *negotiator.Slot {
	if closed {
		var until time.Time
		if d.Until != 0 {
			until = time.Unix(d.Until, 0)
		}
		return refusing(own, d.Why(zone), until)
	}
	c := *own
	c.End = negotiator.Earliest(own.End, backfill.Time(d.By))
	return &c
}

// shut tells whether a drain keeps all jobs from starting on a slot now.
func (b *Belief) shut(name string) bool {
	d, drained := b.drains[name]
	return drained && d.Closes(b.now.Now)
}

// zone is the pool's time zone.
func (b *Belief) zone() *time.Location {
	if b.s.World == nil || b.s.World.Zone == nil {
		return time.UTC
	}
	return b.s.World.Zone
}
