package pools

import (
	"fmt"
	"iter"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// FromAds makes a pool of slot ads, such as condor_status prints them. A dump of
// a pool at work has more in it than slots to plan with: dynamic slots are parts
// of a partitionable one, which is planned with all that it has in all; offline
// and backfill slots and ads of other daemons are left out, too. Of two ads of one
// name the one counts that the collector heard of last. All of them are counted.
//
// Errors name the file and the line.
func FromAds(file string, schema negotiator.Schema, ads iter.Seq2[*classad.ClassAd, error]) (*Pool, error) {
	p := &Pool{Schema: schema}
	index := map[string]int{} // in p.Slots, by name
	var heard []float64       // of each slot
	for ad, err := range ads {
		if err != nil {
			return nil, err
		}
		if !p.LeftOut.wants(ad) {
			continue
		}
		slot, err := schema.SlotFromAd(ad)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, ad.StreamLine(), err)
		}
		last, _ := ad.Real("LastHeardFrom")
		i, known := index[slot.Name]
		switch {
		case !known:
			index[slot.Name] = len(p.Slots)
			p.Slots, heard = append(p.Slots, slot), append(heard, last)
			continue
		case last >= heard[i]:
			p.Slots[i], heard[i] = slot, last
		}
		p.LeftOut.Duplicates++
	}
	switch {
	case len(p.Slots) > 0:
		return p, nil
	case p.LeftOut.Dynamic > 0:
		return nil, fmt.Errorf("%s: there is no slot in it but %d dynamic ones; print the partitionable slots as well", file, p.LeftOut.Dynamic)
	default:
		return nil, fmt.Errorf("%s: there is no slot in it", file)
	}
}

// wants says that an ad is a slot of the pool, or counts why not.
func (l *LeftOut) wants(ad *classad.ClassAd) bool {
	is := func(attr string) bool { return ad.Eval(attr, nil).IsTrue() }
	kind, typed := ad.Text("MyType")
	slotType, _ := ad.Text("SlotType")
	switch {
	case typed && kind != "Machine" && kind != "Slot":
		l.Others++
	case is("DynamicSlot") || slotType == "Dynamic":
		l.Dynamic++
	case is("Offline"):
		l.Offline++
	case is("BackfillSlot"):
		l.Backfill++
	default:
		return true
	}
	return false
}
