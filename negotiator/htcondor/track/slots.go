package track

import (
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A slot may be missing for grace before it is gone. If most are missing at once, the collector has
// forgotten them, and startds report to it again within longGrace. A startd that has restarted
// advertises its slots within settling (UPDATE_SPREAD_TIME, 8 s).
const (
	grace     = 20 * time.Second
	longGrace = 15 * time.Minute
	settling  = 10 * time.Second
)

// slotsDiffer reports slots that are new, changed, or gone for good.
func (c *comparison) slotsDiffer() {
	missing, all := 0, 0
	for name, s := range c.b.slots {
		if s.up {
			all++
			if o := c.b.Slot(name); o == nil || !o.Missing.IsZero() {
				missing++
			}
		}
	}
	c.grace = grace
	if 2*missing > all {
		c.grace = longGrace
	}
	busy := c.b.busy()
	for name, o := range c.b.observed {
		switch {
		case o.Ad == nil: // a dynamic slot
			s := c.b.slots[name]
			switch {
			case o.Missing.IsZero() || o.Advertised || s != nil && s.foreign > 0 || c.b.lending.holders[name] != nil:
			case s != nil && busy[name]: // it was none when its job was sent
				c.closeSlot(name)
			default:
				c.reportDown(name)
				c.give(name)
			}
		case o.Missing.IsZero():
			c.slotIsThere(name, o)
		case !c.longGone(o):
		case busy[name]:
			c.closeSlot(name)
		default:
			c.reportDown(name)
			c.give(name)
		}
	}
}

// reportDown reports that a slot is gone, if the negotiator plans with it.
func (c *comparison) reportDown(name string) {
	if c.b.isUp(name) {
		c.delta.SlotsDown = append(c.delta.SlotsDown, name)
		c.b.log.Warn("a slot is gone", "slot", name)
	}
}

// give forgets a slot that is gone for good.
func (c *comparison) give(name string) {
	delete(c.b.slots, name)
	delete(c.b.lost, name)
	c.b.dropped[name] = true
	c.out.Dropped = append(c.out.Dropped, name)
}

// slotIsThere reports a slot that is there, unless the negotiator was told of it as it is now.
func (c *comparison) slotIsThere(name string, o *observe.Slot) {
	s := c.b.slot(name)
	if now := s.draining(s.masking(o, c.leftOut), c.b); !s.up || s.reported != now {
		if s.up {
			c.changes("slot", name, s.reported.Ad, now.Ad)
		}
		s.up, s.reported, s.closed = true, now, false
		c.delta.SlotsUp = append(c.delta.SlotsUp, now)
	}
}

// closeSlot adds to the delta that a slot takes no more jobs: its ad is gone. The jobs on it count
// as running on, since their schedd may reconnect to them.
func (c *comparison) closeSlot(name string) {
	s := c.b.slots[name]
	if s == nil || !s.up || s.closed {
		return
	}
	s.closed, s.reported = true, refusing(s.reported, "missing in the collector", time.Time{})
	c.delta.SlotsUp = append(c.delta.SlotsUp, s.reported)
	c.b.log.Warn("a slot is gone; its jobs have not been given up", "slot", name)
}

// longGone tells whether a slot has been missing for too long to come back: for the grace period,
// or for a shorter time if its startd has restarted without it.
func (c *comparison) longGone(o *observe.Slot) bool {
	outlived := !o.Outlived.IsZero() && c.b.now.Began.Sub(o.Outlived) >= settling
	return outlived || !o.Missing.IsZero() && c.b.now.Began.Sub(o.Missing) >= c.grace
}

// refusing returns a copy of the slot that takes no job, and says why, and until when if that is
// known.
func refusing(s *negotiator.Slot, why string, until time.Time) *negotiator.Slot {
	ad := s.Ad.Clone()
	ad.SetBool("Requirements", false)
	ad.SetString(negotiator.WhyClosed, why)
	if !until.IsZero() {
		ad.SetInt(negotiator.ClosedUntil, until.Unix())
	}
	return &negotiator.Slot{Name: s.Name, Capacity: s.Capacity, End: s.End, Ad: ad}
}

// Aside returns the slots that no plan has, and in which jobs may start all the same, by name: those
// of machines that sleep, as they will be once these are awake, and those whose resources are those
// of their machines' other slots. Slots are missing that are left out since starts failed there.
func (b *Belief) Aside() (asleep []*negotiator.Slot, overlapping []negotiator.Overlapping) {
	return b.asleep(), b.overlapping()
}

func (b *Belief) asleep() (slots []*negotiator.Slot) {
	for name, o := range b.observed {
		if s := b.slots[name]; o.Asleep != nil && o.Missing.IsZero() && s != nil && s.masked == nil && !b.shut(name) {
			slots = append(slots, o.Asleep)
		}
	}
	slices.SortFunc(slots, func(x, y *negotiator.Slot) int { return strings.Compare(x.Name, y.Name) })
	return slots
}

func (b *Belief) overlapping() (open []negotiator.Overlapping) {
	others, overlapping, startds := map[string][]string{}, map[string][]string{}, []string{}
	for name, o := range b.observed {
		s := b.slots[name]
		if s == nil || !s.up || o.Dynamic || !o.Missing.IsZero() {
			continue
		}
		kind := others
		if o.Overlaps {
			kind = overlapping
		}
		kind[o.Startd()] = append(kind[o.Startd()], name)
		if o.Overlapping != nil && s.masked == nil && !b.shut(name) {
			open = append(open, negotiator.Overlapping{Slot: o.Overlapping})
			startds = append(startds, o.Startd())
		}
	}
	for i, startd := range startds {
		open[i].Machine, open[i].Primary, open[i].Overlapping = startd, others[startd], overlapping[startd]
	}
	slices.SortFunc(open, func(x, y negotiator.Overlapping) int { return strings.Compare(x.Name, y.Name) })
	return open
}

// masking returns the slot as it is reported to the negotiator: if it is left out because starts
// fail there, it takes no jobs, or none of one schedd or of one user.
func (s *slot) masking(o *observe.Slot, leftOut map[string]LeftOut) *negotiator.Slot {
	pause, out := leftOut[o.Name]
	if !out {
		s.masked = nil
		return o.Ad
	}
	if s.masked == nil || s.unmasked != o.Ad || s.maskedFor != pause {
		s.unmasked, s.maskedFor = o.Ad, pause
		s.masked = refusing(o.Ad, "left out (starts fail there)", pause.Until)
		if own, ok := o.Ad.Ad.Lookup("Requirements"); ok && pause.spares() != "" {
			_ = s.masked.Ad.SetExpr("Requirements", "("+own.String()+") && "+pause.spares()) // if that fails, it refuses everybody
		}
	}
	return s.masked
}

// spares is true of the jobs that the slot gets all the same; "" if there are none.
func (l LeftOut) spares() (text string) {
	var users []string
	for user := range strings.FieldsSeq(l.Users) {
		users = append(users, "TARGET.User =!= "+quote(user))
	}
	text = strings.Join(users, " && ")
	if l.Of == Everybody {
		return text
	}
	others := "TARGET." + observe.ScheddAttribute + " =!= " + quote(l.Of)
	if text == "" {
		return others
	}
	return "(" + others + " || " + text + ")"
}

// quote writes a text as expressions have it.
func quote(text string) string { return string(ast.AppendString(nil, text, ast.Canonical)) }

// busy returns the slots on which jobs are recorded as running, or claims of no known job are.
func (b *Belief) busy() map[string]bool {
	busy := map[string]bool{}
	for _, j := range b.all {
		if j.Phase == Running {
			for _, at := range j.Places {
				busy[at.Slot] = true
			}
		}
	}
	for h := range b.vacated {
		busy[h.lease.Slot] = true
	}
	for name, s := range b.slots {
		if o := b.Slot(name); s.foreign != 0 && o != nil {
			busy[o.Host] = true
		}
	}
	return busy
}
