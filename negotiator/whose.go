package negotiator

import "github.com/condor-backfill/condor-backfill/classad"

// JobAd is what [Whose] says of the ads of jobs.
const JobAd = "ads of jobs"

// Whose says whose ad it is: a job's, a slot's, or that of a daemon of some type; "" if it does not tell.
func Whose(ad *classad.ClassAd) string {
	has := func(attr string) bool {
		_, given := ad.Lookup(attr)
		return given
	}
	kind, typed := ad.Text("MyType")
	switch {
	case has("ClusterId") || typed && kind == "Job":
		return JobAd
	case typed && kind != "Machine" && kind != "Slot":
		return "ads of type " + kind
	case typed, has("SlotType"), has("PartitionableSlot"), has("State") && has("Name"), has("Cpus") && has("Name"):
		return "ads of slots"
	default:
		return ""
	}
}
