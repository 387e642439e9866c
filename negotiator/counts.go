package negotiator

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Claims is the resource that says how many jobs a slot can host; see [matchmaker.Claims]. Parts is one by which
// jobs take all of a slot, see [matchmaker.Parts].
const (
	Claims = matchmaker.Claims
	Parts  = matchmaker.Parts
)

// IsCount reports whether a resource is not of the slots' own, but counts jobs.
func IsCount(resource string) bool { return matchmaker.IsCount(resource) }

// unlimited is how many jobs a slot can host whose ad does not say.
const unlimited = 1 << 20

// Place has a slot's ad say what its startd will once further jobs run there; see [matchmaker.Place].
func Place(ad *classad.ClassAd, resources []string, taken backfill.Vector, jobs int64) {
	matchmaker.Place(ad, resources, taken, jobs)
}

// CountJobs adds [matchmaker.Claims] to a schema, and to slots that were read by it, if one of them asks
// how many jobs run there: so a plan knows. It does so, too, if one is static, see [IsStatic]: such a slot
// hosts one job. Slots whose ads leave out what is asked say that none runs yet. Otherwise it changes
// nothing.
func CountJobs(schema *Schema, slots []*Slot) {
	asked := matchmaker.Counted(adsOf(slots), noAds)
	if len(asked) > 0 || slices.ContainsFunc(slots, func(s *Slot) bool { return IsStatic(s.Ad) }) {
		count(schema, slots, asked)
	}
}

// IsStatic reports whether a slot's ad is that of a static slot, see [matchmaker.IsStatic].
func IsStatic(ad *classad.ClassAd) bool { return matchmaker.IsStatic(ad) }

// CountJobsFor is [CountJobs] for jobs that ask that, too, or whose requests depend on the slot: one may take
// all of a slot, see [RequestsBySlot]. For these it adds [Parts] if only some slots are static. It returns the
// slots, copied if it changes them.
func CountJobsFor(jobs iter.Seq[*classad.ClassAd], schema *Schema, slots []*Slot) []*Slot {
	asked := matchmaker.Counted(adsOf(slots), jobs)
	static := func(s *Slot) bool { return IsStatic(s.Ad) }
	divides := func(s *Slot) bool { return !IsStatic(s.Ad) }
	some, whole := slices.ContainsFunc(slots, static), someBySlot(jobs, schema.Resources)
	fixed := !slices.Contains(schema.Resources, Claims) && (some || whole)
	mixed := whole && some && slices.ContainsFunc(slots, divides)
	if len(asked) == 0 && !fixed && !mixed {
		return slots
	}
	counted := make([]*Slot, len(slots))
	for i, slot := range slots {
		one := *slot
		counted[i] = &one
	}
	count(schema, counted, asked)
	if mixed {
		schema.Resources = append(slices.Clone(schema.Resources), Parts)
		for _, slot := range counted {
			slot.Ad.SetInt(Parts, unlimited)
			slot.Capacity = append(slices.Clone(slot.Capacity), unlimited)
		}
	}
	return counted
}

func noAds(func(*classad.ClassAd) bool) {}

// adsOf yields the ads of slots.
func adsOf(slots []*Slot) iter.Seq[*classad.ClassAd] {
	return func(yield func(*classad.ClassAd) bool) {
		for _, slot := range slots {
			if !yield(slot.Ad) {
				return
			}
		}
	}
}

// count adds [matchmaker.Claims] to a schema and slots that are without it, and what is asked to their ads.
func count(schema *Schema, slots []*Slot, asked []string) {
	fresh := !slices.Contains(schema.Resources, matchmaker.Claims)
	if fresh {
		schema.Resources = append(slices.Clone(schema.Resources), matchmaker.Claims)
	}
	for _, slot := range slots {
		slot.Ad = slot.Ad.Clone()
		if matchmaker.SayVacant(slot.Ad, asked); fresh {
			jobs := int64(unlimited)
			if IsStatic(slot.Ad) {
				jobs = 1
			}
			slot.Ad.SetInt("Claims", jobs)
			slot.Capacity = append(slices.Clone(slot.Capacity), jobs)
		}
	}
}
