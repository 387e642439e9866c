package condorsim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// This file is about slots that end: [outages] has them fail then, and their ads tell it before. What
// the negotiator makes of the ads depends on its schema, as on a real pool.

// told is an end that a slot's ad tells, and when the slot retires.
type told struct{ at, retires backfill.Time }

// changes reports whether some slots fail, are drained, or end.
func (w *Workload) changes() bool {
	return len(w.Outages)+len(w.Changes) > 0 || len(endReader{w, 0}.inAds()) > 0
}

// WithEnds returns the workload for a scheduler that reads from these attributes when slots end, and none
// of [NoEnds].
func (w *Workload) WithEnds(attributes ...string) *Workload {
	own := *w
	own.Schema.SlotEnds = slices.DeleteFunc(slices.Clone(attributes), func(name string) bool {
		return strings.EqualFold(name, NoEnds)
	})
	return &own
}

// AbsentEnds is [negotiator.Schema.AbsentEnds] for the slots of the workload.
func (w *Workload) AbsentEnds() string {
	return w.Schema.AbsentEnds(func(attribute string) bool {
		return slices.ContainsFunc(w.Slots, func(s *negotiator.Slot) bool {
			_, has := s.Ad.Lookup(attribute)
			return has
		})
	})
}

// AbsentEndsText is the warning of what [Workload.AbsentEnds] names.
const AbsentEndsText = "no slot has the attribute that is to say when it ends"

// NoEnds is in the place of an attribute where a scheduler does not know when slots end.
const NoEnds = "none"

// Steady returns an error if slots of the pool fail, are drained or end; what is named needs a pool in
// which none does.
func (w *Workload) Steady(what string) error {
	if w.changes() {
		return fmt.Errorf("%s are those of a pool in which nothing fails or ends: leave its failures, drains and ends out", what)
	}
	return nil
}

// endReader reads from ads when slots end, as of an instant of the pool's clock.
type endReader struct {
	w  *Workload
	at backfill.Time
}

// of returns when a slot ends by its ad and a schema; 0: it does not.
func (r endReader) of(s *negotiator.Slot, schema negotiator.Schema) backfill.Time {
	end := schema.EndOf(s.Ad, r.w.UnixStart+int64(r.at), r.w.Zone)
	if end == 0 {
		return 0
	}
	return backfill.Time(max(1, end-r.w.UnixStart))
}

// inAds returns the outages of the slots that end by their ads, whether the negotiator reads it there
// or not: by [pools.ToDie], by what it reads, or because their startds shut down.
func (r endReader) inAds() (all []pools.Outage) {
	if r.w.Changes != nil {
		return nil // a record knows when slots were gone
	}
	schema := r.w.Schema
	pilots := negotiator.DefaultSchema().SlotEnds
	for i, s := range r.w.Slots {
		end := r.of(s, schema)
		if !slices.Equal(schema.SlotEnds, pilots) {
			schema := schema
			schema.SlotEnds = pilots
			end = negotiator.Earliest(end, r.of(s, schema))
		}
		if end = negotiator.Earliest(end, s.End); end != 0 {
			all = append(all, pools.Outage{Slots: []int{i}, At: max(0, end-r.at)})
		}
	}
	return all
}

// read returns a slot as the negotiator is told of it: with its end, as far as it can read it.
func (r endReader) read(s *negotiator.Slot) *negotiator.Slot {
	end := negotiator.Earliest(s.End, r.of(s, r.w.Schema))
	if end == s.End {
		return s
	}
	ended := *s
	ended.End = end
	return &ended
}

// ending returns a slot whose ad tells its next end, or none.
func (r endReader) ending(s *negotiator.Slot, end told) *negotiator.Slot {
	ad := s.Ad.Clone()
	ad.Delete(pools.ToDie)
	ad.Delete(pools.ToRetire)
	if end.at > 0 {
		ad.SetInt(pools.ToDie, r.w.UnixStart+int64(end.at))
		ad.SetInt(pools.ToRetire, r.w.UnixStart+int64(end.retires))
	}
	return r.read(&negotiator.Slot{Name: s.Name, Capacity: s.Capacity, Ad: ad})
}

// tell notes that a slot's ad is to tell of its end, if that is what the turn is.
func (o *outages) tell(t turn) {
	if !t.told || !t.begins {
		return
	}
	o.ends++
	s := &o.slots[t.slot]
	s.ends, s.renewed = append(s.ends, told{t.at, max(0, t.at-t.retire)}), true
}

// nextEnd returns the end of the slot that comes first; the zero value: none is to come.
func (s *slotState) nextEnd() told {
	if len(s.ends) == 0 {
		return told{}
	}
	return slices.MinFunc(s.ends, func(a, b told) int { return cmp.Compare(a.at, b.at) })
}

// mostLives is how many times as long as slots last at most the pool is idle until no more come, so that
// jobs which need one that lasts longer than any do not wait for ever.
const mostLives = 20

// givesUp reports whether no other slot comes for one that ends.
func (o *outages) givesUp(t turn) bool {
	c := o.chances[t.chance].outage
	return o.idle < t.at && t.at-o.idle > mostLives*(c.Lasts[1]+c.For)
}
