package claims

import (
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// The clock goes on while claims are on their way: START of a slot may close meanwhile, as of pilots that
// retire and machines with office hours, and a job's Requirements may have an end. Then the startd
// refuses the claim, and neither the slot nor the job is to blame.

// wants tells whether a job's Requirements are true of a slot at a time.
func (c *State) wants(slot, job *classad.ClassAd, at time.Time) bool {
	return classad.Pair{Left: job, Right: slot, Host: c.belief.HostAt(at), MaxSteps: classad.FewSteps}.RightMatchesLeft()
}

// admits tells whether START of a slot, if it has one, is true of a job now. Unlike its Requirements it
// does not say whether what is free is enough. A START that takes too long to evaluate counts as true.
func (c *State) admits(slot, job *classad.ClassAd) bool {
	const start = "Start"
	if _, has := slot.Lookup(start); !has {
		return true
	}
	var meter classad.Meter
	scope := classad.Scope{My: slot, Target: job, Host: c.belief.HostAt(c.now), MaxSteps: classad.FewSteps, Meter: &meter}
	return scope.Attr(start).IsTrue() || meter.Exceeded() > 0
}

// hasClosed tells whether the slot with this ad does not admit the job of a flight any more, or the job
// does not want it any more since the flight began.
func (c *State) hasClosed(f *flight, slot *classad.ClassAd) bool {
	job := f.job.Spec.Ad
	return !c.admits(slot, job) || c.wants(slot, job, f.since) && !c.wants(slot, job, c.now)
}
