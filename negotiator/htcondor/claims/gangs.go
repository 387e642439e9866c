package claims

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Leftover holds the claims of a gang, a job of several chunks, that has ended. Its startds give
// the claims up without telling the schedd, which goes on taking them for valid. It would start
// another gang on them if that gang got slots of the same names, and the startds would refuse.
type Leftover struct {
	Slots  []string // the slots planned with, not their dynamic slots
	Claims []string // all of them, or none if they are not known; secrets

	schedd string
	at     time.Time
}

// leftoverKept is how long a schedd keeps claims of an ended gang (UNUSED_CLAIM_TIMEOUT, 5 s as
// recommended), unless it is told that they have ended.
const leftoverKept = 6 * time.Second

func (c *State) expired(l *Leftover) bool { return c.now.Sub(l.at) >= leftoverKept }

// stale tells whether a schedd may still hold claims of a slot that have ended.
func (c *State) stale(slot string) bool {
	return slices.ContainsFunc(c.leftover, func(l *Leftover) bool {
		return slices.Contains(l.Slots, slot) && !c.expired(l)
	})
}

// gangEnded notes which claims a gang, a job of several chunks, leaves with its schedd when it
// ends.
func (c *State) gangEnded(e track.Ended) {
	l := &Leftover{schedd: e.Schedd, Claims: c.running[e.Job], at: c.now}
	delete(c.running, e.Job)
	for _, at := range e.Places {
		l.Slots = append(l.Slots, at.Slot)
	}
	c.leftover = append(slices.DeleteFunc(c.leftover, c.expired), l)
}

// Leftovers returns, by schedd, the claims of gangs, jobs of several chunks, that have ended and of
// which the schedd is to be told, once no startd has them any more. What it cannot be told is
// forgotten after a while.
func (c *State) Leftovers(now time.Time) map[string][]*Leftover {
	c.now = now
	c.leftover = slices.DeleteFunc(c.leftover, c.expired)
	ended := map[string][]*Leftover{}
	for _, l := range c.leftover {
		if len(l.Claims) > 0 {
			ended[l.schedd] = append(ended[l.schedd], l)
		}
	}
	return ended
}

// Released takes in of which gangs, jobs of several chunks, a schedd was told that their claims
// have ended.
func (c *State) Released(gangs []*Leftover) {
	c.leftover = slices.DeleteFunc(c.leftover, func(l *Leftover) bool { return slices.Contains(gangs, l) })
}

// GangsFly tells whether to look at the pool again at once, so that a gang (a job of several
// chunks) can start: the gang's schedd is collecting its slots, or must count its queue before it
// may start the gang. A gang that merely waits for another one, or whose schedd does not answer, is
// no reason to look earlier.
func (c *State) GangsFly() bool {
	for _, f := range c.flights {
		s := c.belief.Schedd(f.job.Key.Schedd)
		if c.s.Observe || !f.job.Group.Spec.Parallel || s == nil || s.Failed != nil || s.Late {
			continue
		}
		if f.collects() || c.mustCount(s) {
			return true
		}
	}
	return false
}

// collects tells whether a gang's schedd was given claims for it; it then waits for the rest, or
// until the claimed slots are ready.
func (f *flight) collects() bool { return f.sent() || len(f.claims) > 0 }

// mustCount tells whether a schedd has started a gang, a job of several chunks, and must count its
// queue before it can start another.
func (c *State) mustCount(s *observe.Schedd) bool {
	gang := c.started[s.Name]
	return gang != 0 && s.Counted <= gang
}

// mustWait returns why a gang, a job of several chunks, must wait for another gang of its schedd;
// "" if it need not. A schedd is given the slots of one gang at a time; the argument given says
// that it is given those of another gang right now. The time that the gang may stand still begins
// anew while it waits.
//
// A schedd that plans for gangs between the start of a gang and the next count of its queue can
// crash (HTCondor 23.9: computeSchedule reads the ad of a job that is not there). It plans whenever
// a startd answers a request for a claim, and may start a gang at the last of these answers.
func (c *State) mustWait(f *flight, given bool) (why string) {
	s := c.belief.Schedd(f.job.Key.Schedd)
	switch {
	case given:
		why = "its schedd is given another gang first"
	case c.collectsAnother(f):
		why = "its schedd is collecting the slots of another gang"
	case c.mustCount(s):
		why = "its schedd has just started another gang"
	default:
		return ""
	}
	f.moved = c.now
	return why
}

// collectsAnother tells whether a gang's schedd was given claims for another gang that does not run
// yet.
func (c *State) collectsAnother(f *flight) bool {
	for _, o := range c.flights {
		sameSchedd := o.job.Key.Schedd == f.job.Key.Schedd
		if o != f && sameSchedd && o.job.Group.Spec.Parallel && o.collects() && !o.job.Group.Runs() {
			return true
		}
	}
	return false
}

// wouldLose returns why the schedd would give the slots of a gang, a job of several chunks, to
// another gang; "" if it would not.
func (c *State) wouldLose(f *flight) string {
	if r := c.rival(f); r != nil {
		return fmt.Sprintf("its schedd would start gang %v in its place, which is before it in the queue there", r.Key)
	}
	return ""
}

// rivalSteps limits the evaluations with which a rival of a gang is looked for.
const rivalSteps = 2_000_000

// rival returns a job of the same schedd that would get a gang's claims in its place; nil if there
// is none. A schedd gives claims to the first of its idle gangs that fits on them, whichever gang
// they were granted for. A gang is no rival if its Requirements ask for slots with its own
// ClusterId, which startds take over from the job that claims them (STARTD_JOB_ATTRS), nor if it is
// deferred, or names another scheduler than its schedd's. Nor is it one that the negotiator does not
// start now, as a limit has no room for it, no slot can run it, starts of it fail on these, or its
// user's gangs were waited for in vain: who waits for such a gang may wait for ever. The search ends
// without a rival once it has taken rivalSteps, so that no user's gangs delay others.
func (c *State) rival(f *flight) *track.Job {
	claimed := map[string]*classad.ClassAd{}
	for _, at := range f.job.Places {
		if s := c.belief.Slot(at.Slot); s != nil && s.Ad != nil {
			claimed[at.Slot] = s.Ad.Ad.Clone()
			claimed[at.Slot].SetInt("ClusterId", f.job.Key.Cluster)
		}
	}
	var steps classad.Meter
	s, began := c.belief.Schedd(f.job.Key.Schedd), c.belief.Snapshot().Began
	host := c.s.World.Host(began)
	for j := range c.belief.Jobs() {
		if steps.Steps() >= rivalSteps {
			return nil
		}
		spec, its := j.Group.Spec, c.flights[j.ID]
		comes := its != nil && !its.sent() || j.Phase == track.Waiting && !j.CannotRun() && c.limits.Lacking(j) == "" // else it has claims, or gets none
		if !comes || !j.Robs(f.job) || j.Group.Runs() || !s.Serves(j.Group) || c.belief.Undue(j) != "" || c.belief.Early(j) ||
			c.rivals[ownerOf(j)].isVain(began) {
			continue
		}
		chunks := 0
		for _, at := range f.job.Places {
			if ad := claimed[at.Slot]; ad != nil && steps.Steps() < rivalSteps && !c.isLeftOut(at.Slot, j, began) &&
				(classad.Pair{Left: spec.Ad, Right: ad, Host: host, MaxSteps: classad.FewSteps, Meter: &steps}).Match() {
				chunks += at.Chunks
			}
		}
		if chunks >= spec.Nodes {
			return j
		}
	}
	return nil
}

// longestRivalry is for how long gangs wait for others of a user that are before them in their
// schedd's queue, and do not start; then they wait for none of his for forgetsRivals times as long.
const (
	longestRivalry = 10 * time.Minute
	forgetsRivals  = 8
)

// rivalry says for which gang of a user the others of its schedd wait, and since when they wait for
// one of his that did not start.
type rivalry struct {
	gang  observe.JobKey
	since time.Time
}

func (r *rivalry) isVain(now time.Time) bool { return r != nil && now.Sub(r.since) >= longestRivalry }

// compete returns, by schedd, the waiting gangs before which those must not start that they would
// rob. A gang that was started before such a rival holds its slots only until a look sees that.
func (c *State) compete() map[string][]*track.Job {
	began := c.belief.Snapshot().Began
	maps.DeleteFunc(c.rivals, func(o track.Owner, r *rivalry) bool {
		j := c.belief.JobOf(r.gang)
		started := j != nil && (j.Group.Runs() || c.flights[j.ID] != nil && c.flights[j.ID].sent())
		return started || c.belief.Schedd(o.Schedd) == nil || began.Sub(r.since) >= (1+forgetsRivals)*longestRivalry
	})
	for _, f := range c.incomplete() {
		if !f.job.Group.Spec.Parallel || f.handed() || c.belief.Schedd(f.job.Key.Schedd) == nil {
			continue
		}
		if j := c.rival(f); j != nil {
			if c.rivals[ownerOf(j)] == nil {
				c.rivals[ownerOf(j)] = &rivalry{since: began}
			}
			c.rivals[ownerOf(j)].gang = j.Key
		}
	}
	first := map[string][]*track.Job{}
	for _, r := range c.rivals {
		if j := c.belief.JobOf(r.gang); j != nil && !r.isVain(began) && c.limits.Lacking(j) == "" {
			first[j.Key.Schedd] = append(first[j.Key.Schedd], j)
		}
	}
	return first
}

func ownerOf(j *track.Job) track.Owner { return track.Owner{Schedd: j.Key.Schedd, User: j.User()} }
