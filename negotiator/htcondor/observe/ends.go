package observe

import "github.com/condor-backfill/condor-backfill/classad"

// noteEnds notes which attributes that may say when slots end an ad has.
func (o *Observer) noteEnds(ad *classad.ClassAd) {
	for _, name := range o.s.Schema.SlotEnds {
		if _, has := ad.Lookup(name); has {
			o.ends[name] = true
		}
	}
}

// tellEnds lists as a problem that no slot ever had what BACKFILL_SLOT_END names.
func (o *Observer) tellEnds(l *look) {
	absent := o.s.Schema.AbsentEnds(func(name string) bool { return o.ends[name] })
	if absent != "" && len(o.slots) > 0 {
		l.problem("no slot has the attribute that is to say when it ends (BACKFILL_SLOT_END = %s): look at what slots advertise, "+
			"with condor_status -long", absent)
	}
}
