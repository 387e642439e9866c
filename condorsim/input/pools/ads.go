package pools

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// FromAds makes a pool of slot ads as condor_status prints them. It leaves out, and counts, ads
// that are not slots to plan with: dynamic slots, since they are parts of a partitionable slot
// whose capacity includes them, offline slots, backfill slots, and ads of other daemons. Of several
// ads with one name, the one with the latest LastHeardFrom counts. A file without slots is an
// error, and so is one with more than [MaxSlots]. Errors give file and line. An ad without
// Requirements accepts every job that it has room for. Resources that slots list in MachineResources
// are resources of the pool, see [negotiator.AddMachineResources].
func FromAds(file string, schema negotiator.Schema, ads iter.Seq2[*classad.ClassAd, error]) (*Description, error) {
	p := &Description{Schema: schema}
	index := map[string]int{} // by name, the index in p.Slots
	var heard []float64       // by slot, LastHeardFrom
	var parts []string        // the names of dynamic slots
	var others string         // what ads of others are
	for ad, err := range ads {
		if err != nil {
			return nil, err
		}
		p.Unread.Note(file, ad)
		if dynamic := p.LeftOut.Dynamic; !p.LeftOut.wants(ad) {
			if p.LeftOut.Dynamic > dynamic {
				name, _ := ad.Text("Name")
				parts = append(parts, name)
			}
			if p.LeftOut.Others == 1 {
				others = cmp.Or(others, negotiator.Whose(ad)) // the first
			}
			continue
		}
		negotiator.RequireNothing(ad)
		slot, err := schema.SlotFromAd(ad)
		if err != nil && negotiator.Whose(ad) == negotiator.JobAd {
			return nil, fmt.Errorf("%s:%d: looks like %s, which are no pool; %s", file, ad.StreamLine(), negotiator.JobAd,
				kinds.SlotAds)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, ad.StreamLine(), err)
		}
		last, _ := ad.Real("LastHeardFrom")
		i, known := index[slot.Name]
		switch {
		case !known && len(p.Slots) == MaxSlots:
			return nil, fmt.Errorf("%s:%d: there are more than %d slots in it", file, ad.StreamLine(), MaxSlots)
		case !known:
			index[slot.Name] = len(p.Slots)
			p.Slots, heard = append(p.Slots, slot), append(heard, last)
			continue
		case last >= heard[i]:
			p.Slots[i], heard[i] = slot, last
		}
		p.LeftOut.Duplicates++
	}
	if len(p.Slots) == 0 {
		return nil, fmt.Errorf("%s: there is no slot in it%s", file, p.LeftOut.instead(others))
	}
	if err := negotiator.AddMachineResources(&p.Schema, p.Slots); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	negotiator.CountJobs(&p.Schema, p.Slots)
	for _, name := range parts {
		if _, known := index[wholeOf(name)]; !known {
			p.LeftOut.Orphans++
		}
	}
	return p, nil
}

// instead goes on after "there is no slot in it": it says what there is, and what to do.
func (l LeftOut) instead(others string) string {
	switch {
	case l.Dynamic > 0:
		return fmt.Sprintf(" but %d dynamic ones; print the partitionable slots as well", l.Dynamic)
	case l.Any():
		return " that can run jobs, but " + l.words(others) + "; " + kinds.SlotAds
	default:
		return "; " + kinds.SlotAds
	}
}

// words says what was left out, and what others are: "2 ads of offline slots, 1 ads of type Negotiator".
func (l LeftOut) words(others string) string {
	var list []string
	for _, left := range []struct {
		count int
		what  string
	}{
		{l.Offline, "ads of offline slots"}, {l.Backfill, "ads of backfill slots"}, {l.Others, others},
	} {
		if left.count > 0 {
			list = append(list, fmt.Sprintf("%d %s", left.count, left.what))
		}
	}
	return strings.Join(list, ", ")
}

var part = regexp.MustCompile(`^([^@]*)_[0-9]+(@.*)?$`)

// wholeOf returns the name of the partitionable slot that a dynamic one is a part of: slot1@n1 for slot1_2@n1.
func wholeOf(name string) string { return part.ReplaceAllString(name, "$1$2") }

// wants reports whether an ad is a slot of the pool; if not, it counts why.
func (l *LeftOut) wants(ad *classad.ClassAd) bool {
	truth := func(attr string) bool { return ad.Eval(attr, nil).IsTrue() }
	kind, typed := ad.Text("MyType")
	slotType, _ := ad.Text("SlotType")
	switch {
	case typed && kind != "Machine" && kind != "Slot":
		l.Others++
	case truth("DynamicSlot") || slotType == "Dynamic":
		l.Dynamic++
	case truth("Offline"):
		l.Offline++
	case truth("BackfillSlot"):
		l.Backfill++
	default:
		return true
	}
	return false
}
