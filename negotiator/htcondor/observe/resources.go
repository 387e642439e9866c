package observe

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// The resources of a plan are configured, as a saved state and policies know them by number. A slot may list
// further ones, such as licences of a machine (MACHINE_RESOURCE_LICENSES): its jobs are judged by what is left of
// these when they start, and no plan counts what they take. Whose jobs ask for such a resource is to be told.

// mostBeyond bounds how many resources are noted that are not planned with.
const mostBeyond = 32

// noteResources notes which resources a slot lists that are not planned with.
func (o *Observer) noteResources(name string, ad *classad.ClassAd) {
	for _, resource := range negotiator.MachineResources(ad) {
		planned := slices.ContainsFunc(o.s.Schema.Resources, func(r string) bool { return strings.EqualFold(r, resource) })
		if _, known := o.beyond[resource]; !planned && (known || len(o.beyond) < mostBeyond) {
			o.beyond[resource] = name
		}
	}
}

// tellResources lists as problems the resources that are not planned with and for which jobs ask.
func (o *Observer) tellResources(l *look) {
	for _, resource := range slices.Sorted(maps.Keys(o.beyond)) {
		slot := o.beyond[resource]
		if o.slots[slot] == nil {
			delete(o.beyond, resource) // other slots that list it say so in their next ads
		} else if o.slotAttributes.asked(resource) {
			l.problem("jobs ask for %s, which slots list (such as %s) and no plan counts, so that startds may refuse starts: "+
				"add it to BACKFILL_RESOURCES and restart the negotiator", resource, backfill.Printable(slot, longestTold))
		}
	}
}
