package claims

import (
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// The clock goes on while claims are on their way: START of a slot may close meanwhile, as of pilots that
// retire and machines with office hours, a job's Requirements may have an end, and a machine may begin
// to drain. Then the startd refuses the claim, and neither the slot nor the job is to blame.

// wants tells whether a job's Requirements are true of a slot at a time.
func (c *State) wants(slot, job *classad.ClassAd, at time.Time) bool {
	host, drawn := c.hostAt(at)
	return classad.Pair{Left: job, Right: slot, Host: host, MaxSteps: classad.FewSteps}.RightMatchesLeft() || *drawn
}

// admits tells whether START of a slot, if it has one, is true of a job at a time. Unlike its
// Requirements it does not say whether what is free is enough. A START that takes too long to evaluate
// counts as true.
func (c *State) admits(slot, job *classad.ClassAd, at time.Time) bool {
	const start = "Start"
	if _, has := slot.Lookup(start); !has {
		return true
	}
	var meter classad.Meter
	host, drawn := c.hostAt(at)
	scope := classad.Scope{My: slot, Target: job, Host: host, MaxSteps: classad.FewSteps, Meter: &meter}
	return scope.Attr(start).IsTrue() || meter.Exceeded() > 0 || *drawn
}

// limitsOn returns the concurrency limits of a job that depend on the slot, as they are there; those that
// it was planned with if they are drawn.
func (c *State) limitsOn(slot *classad.ClassAd, j *track.Job) string {
	host, drawn := c.hostAt(c.now)
	limits, _ := classad.Scope{
		My: j.Spec.Ad, Target: slot, Host: host, MaxSteps: classad.FewSteps,
	}.Attr(negotiator.SlotLimits).Text()
	if *drawn {
		return j.Spec.Limits
	}
	return limits
}

// hostAt supplies the world to expressions of ads, and says whether one has drawn random numbers: what
// it drew when the job was decided counts, and not another draw.
func (c *State) hostAt(at time.Time) (host *classad.Host, drawn *bool) {
	drawn = new(bool)
	with := *c.s.World.Host(at)
	with.Random = func() float64 {
		*drawn = true
		return 0
	}
	return &with, drawn
}

// following returns the ad of an offer with the startd's clock going on, which is only for evaluation:
// startds advertise ClockMin and ClockDay as they were when they made the ad. By these a startd judges,
// too, until it makes its ad anew, after UPDATE_INTERVAL: it refuses claims although it has opened.
func (o *Offer) following() *classad.ClassAd {
	if o.follows == nil {
		o.follows = o.Ad.Clone()
		negotiator.FollowClock(o.follows)
	}
	return o.follows
}

// hasClosed tells whether the slot with this ad does not admit the job of a flight any more, or the job
// does not want it any more since the flight began. So does a slot whose machine has begun to drain and
// that takes no such job meanwhile.
func (c *State) hasClosed(f *flight, slot *classad.ClassAd) bool {
	job := f.job.Spec.Ad
	return !c.admits(slot, job, c.now) || c.wants(slot, job, f.since) && !c.wants(slot, job, c.now) ||
		observe.Drains(slot) && !c.takes(slot, job, c.now)
}

// takes tells whether a slot's Requirements are true of a job at a time.
func (c *State) takes(slot, job *classad.ClassAd, at time.Time) bool {
	host, drawn := c.hostAt(at)
	return classad.Pair{Left: job, Right: slot, Host: host, MaxSteps: classad.FewSteps}.LeftMatchesRight() || *drawn
}

// asFree returns a slot's ad with what was free there when it was looked at. The plan's ad has all of it.
func (c *State) asFree(s *observe.Slot) *classad.ClassAd {
	if s.Free.Zero() { // it is closed, and its ad says why
		return s.Ad.Ad
	}
	taken := make(backfill.Vector, len(s.Free))
	taken.AddScaled(s.Ad.Capacity, 1)
	taken.AddScaled(s.Free, -1)
	return placed(s.Ad.Ad, c.s.Schema.Resources, taken, int64(len(s.Parts)))
}
