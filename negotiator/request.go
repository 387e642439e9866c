package negotiator

import (
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// What jobs request that depends on the slot is found out by the matchmaker alone, for whoever asks.

// someBySlot reports whether what some job requests depends on the slot.
func someBySlot(jobs iter.Seq[*classad.ClassAd], resources []string) bool {
	for ad := range jobs {
		if RequestsBySlot(ad, resources) {
			return true
		}
	}
	return false
}

// RequestsBySlot reports whether what a job requests may depend on the slot; see [matchmaker.RequestsBySlot].
func RequestsBySlot(ad *classad.ClassAd, resources []string) bool {
	return matchmaker.RequestsBySlot(ad, resources)
}

// AsksSlot returns what a job's request for a resource that asks what the slot has is made of; see
// [matchmaker.AsksSlot].
func AsksSlot(ad *classad.ClassAd, resource string, slotsHave func(name string) bool) []string {
	return matchmaker.AsksSlot(ad, resource, slotsHave)
}

// RequestOn returns what each chunk of a job requests of a slot; nil if the slot can never give that.
func (s Schema) RequestOn(job *classad.ClassAd, slot *Slot) backfill.Vector {
	scope := classad.Scope{My: job, Target: slot.Ad, MaxSteps: classad.FewSteps}
	v, _ := matchmaker.RequestIn(scope, s.Resources, func(resource int) int64 { return slot.Capacity[resource] })
	return v
}
