package negotiator

import (
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// RequireDevices is the attribute of jobs that says which kind of a resource's devices they accept.
func RequireDevices(resource string) string { return "Require" + Attribute(resource) }

// DeviceKind returns a text that is the same for devices of one kind, by their properties, which it takes: they differ
// in nothing but what is each device's own.
func DeviceKind(properties *classad.ClassAd) string {
	for _, own := range []string{"Id", "DeviceUuid", "DevicePciBusId"} {
		properties.Delete(own)
	}
	return properties.Format(ast.Long)
}

// MostDevices bounds how many devices of a slot are looked at on a real pool.
const MostDevices = 64

// notInNames matches what a startd replaces by _ in the names of devices' properties.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// Devices returns the attributes of a slot that describe the devices of an attribute which lists these by id, such as
// OfflineGPUs = "GPU-1,GPU-2": GPUs_GPU_1 and GPUs_GPU_2. Of more than [MostDevices] it returns one more than that.
func Devices(ad *classad.ClassAd, which, tag string) (names []string) {
	list, _ := ad.Literal(which + tag).Text()
	for id := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		name := notInNames.ReplaceAllString(tag+"_"+id, "_")
		if slices.Contains(names, name) {
			continue
		}
		if names = append(names, name); len(names) > MostDevices {
			break
		}
	}
	return names
}

// acceptsDevice reports whether a job accepts a device of a slot, by its attribute that says which, in so many steps.
func acceptsDevice(job *classad.ClassAd, attr string, slot *classad.ClassAd, device string, steps int) bool {
	e, err := classad.ParseExpr("countMatches(MY." + attr + ",{TARGET." + device + "})")
	if err != nil {
		return false
	}
	n, ok := e.Eval(classad.Scope{My: job, Target: slot, MaxSteps: steps}).Int()
	return ok && n > 0
}

// Deal takes off the lists of a slot's ad the devices that a startd gives to a chunk of a job, as such a list says
// what is free (AvailableGPUs): the first that the job accepts. It changes nothing else. Asking all devices takes as
// many steps as asking the slot once.
func Deal(ad *classad.ClassAd, resources []string, job *classad.ClassAd, request backfill.Vector) {
	for i, resource := range resources {
		attr := "Available" + Attribute(resource)
		e, listed := ad.Lookup(attr)
		if !listed || request[i] == 0 {
			continue
		}
		list, isList := e.Tree().(*ast.List)
		if !isList || len(list.Elems) > MostDevices {
			continue
		}
		var left []string
		_, chooses := job.Lookup(RequireDevices(resource))
		accepts := func(device ast.Expr) bool {
			one, isAttr := ast.Bare(device).(*ast.Attr)
			return isAttr && acceptsDevice(job, RequireDevices(resource), ad, one.Name, classad.FewSteps/MostDevices)
		}
		wanted := request[i]
		for _, elem := range list.Elems {
			if wanted > 0 && (!chooses || accepts(elem)) {
				wanted--
				continue
			}
			left = append(left, string(ast.Append(nil, elem, ast.Canonical)))
		}
		_ = ad.SetExpr(attr, "{"+strings.Join(left, ",")+"}") // its elements were read from such a text
	}
}
