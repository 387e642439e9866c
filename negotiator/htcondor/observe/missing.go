package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// maxClockSkew is how far ahead the clock of a machine may be.
const maxClockSkew = time.Hour

// noteStart notes when the startd of a slot started, and whether that is news.
func (o *Observer) noteStart(s *Slot, ad *classad.ClassAd) {
	started, ok := ad.Literal("DaemonStartTime").Int()
	if !ok || started == s.started || started > o.looked.Add(maxClockSkew).Unix() {
		return
	}
	if s.started != 0 {
		s.Restarted = o.looked
	}
	s.started = started
}

// noteMissing marks as missing the slots whose ads this look did not get. A collector keeps the
// last ad of a slot for a quarter of an hour after the slot has gone (CLASSAD_LIFETIME). So
// noteMissing also marks a slot if other slots of its startd show that the startd has restarted
// since, or if its partitionable slot has deleted it.
func (o *Observer) noteMissing(l *look) {
	newest := map[startd]int64{}
	type known struct {
		*slotText
		slot *Slot
	}
	all := make([]known, 0, len(o.slots))
	for name, s := range o.slots {
		all = append(all, known{o.read[name], s})
	}
	slices.SortFunc(all, func(a, b known) int { return cmp.Compare(a.first, b.first) })
	counted := 0
	for _, t := range all {
		s, name := t.slot, t.slot.Name
		// Slots that came later may be another's, who may have started whenever he says.
		for ; counted < len(all) && all[counted].first <= t.first; counted++ {
			if other := all[counted]; other.look == l.Number {
				its := startdOf(other.slot)
				newest[its] = max(newest[its], other.slot.started)
			}
		}
		start := newest[startdOf(s)]
		if host := o.slots[s.Host]; s.Dynamic && host != nil &&
			o.read[s.Host].look == l.Number && o.read[s.Host].first <= t.first {
			start = max(start, host.started) // it may be at another port now
		}
		outlived := s.started != 0 && s.started < start
		if outlived == s.Outlived.IsZero() {
			if s = o.edit(name); outlived {
				s.Outlived = l.Began
			} else {
				s.Outlived = time.Time{}
			}
		}
		unseen := t.look != l.Number
		if s.Missing.IsZero() && (unseen || outlived || o.deleted(s) || o.partOfAnother(s)) {
			s = o.edit(name)
			s.Missing = l.Began
		}
		if s.Advertised && unseen {
			o.edit(name).Advertised = false
		}
	}
}

// startd tells slots of one startd from those that another gives its machine's name.
type startd struct {
	name, home string
	sender     sender
}

func startdOf(s *Slot) startd { return startd{s.Startd(), s.Home(), s.sender} }

// deleted tells whether a dynamic slot no longer exists although the collector has its ad, as when
// its last ad reached the collector after the news that it is gone. The parent's ad lists the
// dynamic slots that there were when that ad was made. So a slot is deleted if it is not listed
// although it was claimed before, or its ad was made before if that does not say since when it is
// claimed; the startd's clock gives both times. Whatever its ad says, which may be another's, it is
// deleted if the parent does not list it in an ad that comes a minute later.
func (o *Observer) deleted(s *Slot) bool {
	host := o.slots[s.Host]
	if !s.Claimed || host == nil || s.Host == s.Name || host.Parts == nil || host.Parts[s.Name] {
		o.read[s.Name].unlisted = time.Time{}
		return false
	}
	t, since, latest := o.read[s.Name], s.ClaimedSince, backfill.Time(o.looked.Add(maxClockSkew).Unix())
	if t.unlisted.IsZero() {
		t.unlisted = o.looked
	}
	if !s.Data && (since <= 0 || since > latest) {
		if since = s.made; since <= 0 || since > latest {
			return host.made > 0
		}
	}
	return 0 < since && since < host.made || !s.Data && host.Changed.Sub(t.unlisted) >= unlistedFor
}

// unlistedFor is how long after a dynamic slot its parent's ad must come that lists it.
const unlistedFor = time.Minute

// version returns the number that a startd gave to an ad, and when it made it, by its own clock.
// The two tell an ad of a slot from any other of its ads.
func version(ad *classad.ClassAd) (sequence int64, made backfill.Time) {
	sequence, _ = ad.Literal("UpdateSequenceNumber").Int()
	at, _ := ad.Literal("MyCurrentTime").Int()
	return sequence, backfill.Time(at)
}

// readParts reads which dynamic slots a partitionable one has; nil if the ad does not say.
func readParts(ad *classad.ClassAd) map[string]bool {
	names, ok := Texts(ad, "ChildName")
	if !ok {
		return nil
	}
	parts := make(map[string]bool, len(names))
	for _, name := range names {
		parts[name] = true
	}
	return parts
}
