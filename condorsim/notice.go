package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// This file is about drains that are known some time before they begin: until then their slots have
// an end, by which jobs fill them.

// announce adds the turn at which a drain becomes known that begins in a turn. It returns false if it
// is not known before.
func (o *outages) announce(t turn, outage *pools.Outage, origin backfill.Time) bool {
	if outage.Notice == 0 || outage.At == 0 {
		return false
	}
	known := origin + max(0, outage.At-outage.Notice)
	o.due = append(o.due, turn{at: known, begin: t.at, slot: t.slot, chance: -1})
	return true
}

// comes notes that a drain begins that was announced, if that is what the turn is.
func (s *slotState) comes(t turn) {
	if t.announced && t.begins {
		i := slices.Index(s.coming, t.at)
		s.coming = slices.Delete(s.coming, i, i+1)
	}
}

// end returns when the first of the drains begins that are announced; 0: none is.
func (s *slotState) end() backfill.Time {
	if len(s.coming) == 0 || s.standing() != whole {
		return 0
	}
	return slices.Min(s.coming)
}

// endingBy returns the slot as advertised when it ends at an instant, if not before; 0: it has its own
// end.
func endingBy(s *negotiator.Slot, end backfill.Time) *negotiator.Slot {
	first := negotiator.Earliest(s.End, end)
	if first == s.End {
		return s
	}
	c := *s
	c.End = first
	return &c
}
