package negotiator

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Claims is the resource that says how many jobs a slot can host; see [matchmaker.Claims].
const Claims = matchmaker.Claims

// unlimited is how many jobs a slot can host whose ad does not say.
const unlimited = 1 << 20

// Place has a slot's ad say what its startd will once further jobs run there; see [matchmaker.Place].
func Place(ad *classad.ClassAd, resources []string, taken backfill.Vector, jobs int64) {
	matchmaker.Place(ad, resources, taken, jobs)
}

// CountJobs adds [matchmaker.Claims] to a schema, and to slots that were read by it, if the Requirements
// of one of them ask how many jobs run there: so a plan knows. Otherwise it changes nothing.
func CountJobs(schema *Schema, slots []*Slot) {
	if !slices.Contains(schema.Resources, matchmaker.Claims) &&
		slices.ContainsFunc(slots, func(s *Slot) bool { return asksForJobs(s.Ad) }) {
		count(schema, slots)
	}
}

// CountJobsFor is [CountJobs] for jobs whose own Requirements ask that. It returns the slots, copied if it
// changes them.
func CountJobsFor(jobs iter.Seq[*classad.ClassAd], schema *Schema, slots []*Slot) []*Slot {
	if slices.Contains(schema.Resources, matchmaker.Claims) {
		return slots
	}
	known := map[*classad.Expr]bool{} // jobs have few that are different
	for ad := range jobs {
		if e, has := ad.Lookup("Requirements"); !has || known[e] {
			continue
		} else if known[e] = true; !asksForJobs(ad) {
			continue
		}
		counted := make([]*Slot, len(slots))
		for i, slot := range slots {
			one := *slot
			counted[i] = &one
		}
		count(schema, counted)
		return counted
	}
	return slots
}

// count adds [matchmaker.Claims] to a schema and slots.
func count(schema *Schema, slots []*Slot) {
	schema.Resources = append(slices.Clone(schema.Resources), matchmaker.Claims)
	for _, slot := range slots {
		slot.Ad = slot.Ad.Clone()
		slot.Ad.SetInt("Claims", unlimited)
		slot.Capacity = append(slices.Clone(slot.Capacity), unlimited)
	}
}

// asksForJobs reports whether the Requirements of an ad ask how many jobs run on a slot.
func asksForJobs(ad *classad.ClassAd) bool {
	requirements, has := ad.Lookup("Requirements")
	if !has {
		return false
	}
	internal, external, _ := (classad.Scope{My: ad, MaxSteps: classad.FewSteps}).Refs(requirements)
	return slices.ContainsFunc(slices.Concat(internal, external), matchmaker.Counts)
}
