package matchmaker

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Some jobs take of limits that depend on the slot on which they run. No plan knows of which they will,
// so nothing is promised to them: a slot is a candidate that is open in a Match only if what the limits
// come to with its ad has room then. All other jobs cost nothing.

// SlotLimits is the attribute of jobs whose concurrency limits depend on the slot: an expression that
// gives them for each.
const SlotLimits = "BackfillSlotLimits"

// Room says why limits have no room for a job that is to start now and that names them so; "": they
// have. The text can stand behind "is".
type Room func(limits string) (why string)

// unknownRoom is why a slot is closed if nobody knows what limits leave.
const unknownRoom = "closed while nobody knows what room its limits have"

// SetRoom says what room limits have, for the Matches from now on.
func (m *Matchmaker) SetRoom(room Room) { m.room = room }

// keepRoom notes whether a pair that matches is open now, as far as limits go that depend on the slot.
func (s *search) keepRoom(o offer, class int) {
	if !s.c.bySlot {
		return
	}
	now := s.m.clock.now
	h, has := s.c.holds[class]
	if !has {
		h = hold{wakes: never}
	}
	at := backfill.Time(now - s.m.world.Start)
	h.until = now + 1
	if h.windows != nil && !slices.ContainsFunc(h.windows, func(w backfill.Window) bool { return w.From <= at && at < w.To }) {
		h.windows = unforeseen
	} else if h.awaits = s.noRoom(o); h.awaits != "" {
		h.windows = unforeseen
	} else {
		h.windows = s.m.intern([]backfill.Window{{From: at, To: at + 1}})
	}
	s.c.keep(class, h)
}

// noRoom returns why an offer is closed to the autocluster's jobs by limits that depend on it.
func (s *search) noRoom(o offer) string {
	if s.m.room == nil {
		return unknownRoom
	}
	s.m.clock.begin(s.c.ad, o.ad)
	limits, _ := classad.Scope{
		My: s.c.ad, Target: o.ad, Host: s.supplier(), MaxSteps: s.limit, Meter: &s.meter,
	}.Attr(SlotLimits).Text()
	return s.m.room(limits)
}
