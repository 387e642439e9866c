package negotiator

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Claims is the resource that says how many jobs a slot can host; see [matchmaker.Claims].
const Claims = matchmaker.Claims

// unlimited is how many jobs a slot can host whose ad does not say.
const unlimited = 1 << 20

// CountJobs adds [matchmaker.Claims] to a schema, and to slots that were read by it, if the Requirements
// of one of them ask how many jobs run there: so a plan knows. Otherwise it changes nothing.
func CountJobs(schema *Schema, slots []*Slot) {
	if slices.Contains(schema.Resources, matchmaker.Claims) || !slices.ContainsFunc(slots, countsJobs) {
		return
	}
	schema.Resources = append(slices.Clone(schema.Resources), matchmaker.Claims)
	for _, slot := range slots {
		slot.Ad = slot.Ad.Clone()
		slot.Ad.SetInt("Claims", unlimited)
		slot.Capacity = append(slices.Clone(slot.Capacity), unlimited)
	}
}

// countsJobs reports whether a slot's Requirements ask how many jobs run there.
func countsJobs(slot *Slot) bool {
	requirements, has := slot.Ad.Lookup("Requirements")
	if !has {
		return false
	}
	internal, external, _ := (classad.Scope{My: slot.Ad, MaxSteps: classad.FewSteps}).Refs(requirements)
	return slices.ContainsFunc(slices.Concat(internal, external), matchmaker.Counts)
}
