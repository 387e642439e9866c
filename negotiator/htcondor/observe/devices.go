package observe

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// giveBack has the ad of a partitionable slot list all of its devices as available, such as GPUs,
// whatever is in use, as its amounts are those of the whole slot: a startd lists those that are
// free (AvailableGPUs), so a job with require_gpus would match no slot, and have no start time,
// while all are taken. It does so only if the devices are of one kind. Else a job would be planned
// onto a free device of the wrong kind.
//
// It returns the attributes that it needs, which are asked for only if something refers to the
// list.
func (o *Observer) giveBack(ad *classad.ClassAd) (needs []string) {
	for _, resource := range o.s.Schema.Resources {
		tag := negotiator.Attribute(resource)
		if !o.slotAttributes.asked(strings.ToLower("Available" + tag)) {
			continue
		}
		needs = append(needs, "Assigned"+tag, "Offline"+tag)
		names, offline := negotiator.Devices(ad, "Assigned", tag), negotiator.Devices(ad, "Offline", tag)
		if max(len(names), len(offline)) > negotiator.MostDevices {
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(offline, name) })
		needs = append(needs, names...)
		if len(names) > 0 && ofOneKind(ad, names) {
			_ = ad.SetExpr("Available"+tag, "{"+strings.Join(names, ", ")+"}") // names of that form can be read
		}
	}
	return needs
}

// ofOneKind tells whether the ad has the properties of all devices of these names, and they differ
// in nothing that makes a kind.
func ofOneKind(ad *classad.ClassAd, names []string) bool {
	var first string
	for i, name := range names {
		e, known := ad.Lookup(name)
		if !known {
			return false
		}
		if _, isAd := e.Tree().(*ast.Record); !isAd { // nothing else is evaluated
			return false
		}
		properties, _ := e.Eval(classad.Scope{MaxSteps: slotSteps}).Ad()
		kind := negotiator.DeviceKind(properties)
		if i == 0 {
			first = kind
		}
		if kind != first {
			return false
		}
	}
	return true
}
