package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// leftover holds the claims of a gang, a job of several chunks, that has ended. Its startds give
// the claims up without telling the schedd, which goes on taking them for valid. It would start
// another gang on them if that gang got slots of the same names, and the startds would refuse.
type leftover struct {
	schedd string
	slots  []string // the slots planned with, not their dynamic slots
	claims []string // all of them, or none if they are not known; secrets
	at     time.Time
}

// leftoverKept is how long a schedd keeps claims of an ended gang (UNUSED_CLAIM_TIMEOUT, 5 s as
// recommended), unless it is told that they have ended.
const leftoverKept = 6 * time.Second

func (d *Dispatcher) expired(l *leftover) bool { return d.now().Sub(l.at) >= leftoverKept }

// stale tells whether a schedd may still hold claims of a slot that have ended.
func (d *Dispatcher) stale(slot string) bool {
	return slices.ContainsFunc(d.leftover, func(l *leftover) bool {
		return slices.Contains(l.slots, slot) && !d.expired(l)
	})
}

// gangEnded notes which claims a gang, a job of several chunks, leaves with its schedd when it
// ends.
func (d *Dispatcher) gangEnded(e track.Ended) {
	l := &leftover{schedd: e.Schedd, claims: d.running[e.Job], at: d.now()}
	delete(d.running, e.Job)
	for _, at := range e.Places {
		l.slots = append(l.slots, at.Slot)
	}
	d.leftover = append(slices.DeleteFunc(d.leftover, d.expired), l)
}

// release tells schedds which claims of gangs, jobs of several chunks, have ended, once no startd
// has them any more. It does so in the background, and passes over a schedd that is slow or is
// being told something already. What cannot be told is forgotten after leftoverKept.
func (d *Dispatcher) release(ctx context.Context) {
	d.hearReleased()
	d.leftover = slices.DeleteFunc(d.leftover, d.expired)
	ended := map[string][]*leftover{}
	for _, l := range d.leftover {
		if len(l.claims) > 0 {
			ended[l.schedd] = append(ended[l.schedd], l)
		}
	}
	for name, gangs := range ended {
		s := d.belief.Schedd(name)
		if s == nil || s.Failed != nil || s.Late {
			continue
		}
		l := d.line(name)
		if l.slow || l.telling != nil || l.releasing != nil {
			continue
		}
		answer := make(chan released, 1)
		l.releasing = answer
		collector, to, hold := d.s.Collector, client.Schedd{Security: d.s.Security, Address: s.Address}, d.s.Hold
		go func() {
			within, cancel := context.WithTimeout(ctx, hold)
			defer cancel()
			answer <- releaseAt(within, collector, to, gangs)
		}()
	}
}

// released is the result of releaseAt: the gangs whose claims the schedd was told have ended, and
// the error that stopped it.
type released struct {
	gangs []*leftover
	err   error
}

// releaseAt tells one schedd to release the claims of gangs, jobs of several chunks, that have
// ended; it leaves out a gang if a startd still advertises one of its claims. It stops at the first
// error.
func releaseAt(ctx context.Context, collector *client.Collector, to client.Schedd, gangs []*leftover) (r released) {
	var ids []string
	for _, l := range gangs {
		for _, claim := range l.claims {
			ids = append(ids, security.PublicClaim(claim))
		}
	}
	held := map[string]bool{}
	r.err = collector.Query(ctx, []client.AdType{{
		Name: "Machine", Requirements: memberOf("PublicClaimId", ids), Projection: []string{"PublicClaimId"},
	}}, func(lines cedar.Lines) error {
		id, _ := lines.Find("PublicClaimId")
		held[string(id)] = true
		return nil
	})
	isHeld := func(claim string) bool { return held[quote(security.PublicClaim(claim))] }
	for _, l := range gangs {
		if slices.ContainsFunc(l.claims, isHeld) {
			continue
		}
		for _, claim := range l.claims {
			if r.err == nil {
				r.err = to.Release(ctx, claim)
			}
		}
		if r.err != nil {
			break
		}
		r.gangs = append(r.gangs, l)
	}
	return r
}

// hearReleased takes in the results of releaseAt that have come meanwhile.
func (d *Dispatcher) hearReleased() {
	for name, l := range d.lines {
		select {
		case r := <-l.releasing:
			l.releasing = nil
			d.leftover = slices.DeleteFunc(d.leftover, func(l *leftover) bool { return slices.Contains(r.gangs, l) })
			for _, gang := range r.gangs {
				d.log.Debug("told that the claims of a gang have ended", "schedd", name, "slots", gang.slots)
			}
			if r.err != nil {
				d.log.Warn("a schedd cannot be told that the claims of a gang have ended; this is tried again",
					"schedd", name, "error", r.err)
			}
		default:
		}
	}
}

// GangsFly tells whether to look at the pool again at once, so that a gang (a job of several
// chunks) can start: the gang's schedd is collecting its slots, or must count its queue before it
// may start the gang. A gang that merely waits for another one, or whose schedd does not answer, is
// no reason to look earlier.
func (d *Dispatcher) GangsFly() bool {
	for _, f := range d.flights {
		s := d.belief.Schedd(f.job.Key.Schedd)
		if d.s.Observe || !f.job.Group.Spec.Parallel || s == nil || s.Failed != nil || s.Late {
			continue
		}
		if f.collects() || d.mustCount(s) {
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
func (d *Dispatcher) mustCount(s *observe.Schedd) bool {
	gang := d.line(s.Name).gang
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
func (d *Dispatcher) mustWait(f *flight, given bool) (why string) {
	s := d.belief.Schedd(f.job.Key.Schedd)
	switch {
	case given:
		why = "its schedd is given another gang first"
	case d.collectsAnother(f):
		why = "its schedd is collecting the slots of another gang"
	case d.mustCount(s):
		why = "its schedd has just started another gang"
	default:
		return ""
	}
	f.moved = d.now()
	return why
}

// collectsAnother tells whether a gang's schedd was given claims for another gang that does not run
// yet.
func (d *Dispatcher) collectsAnother(f *flight) bool {
	for _, o := range d.flights {
		sameSchedd := o.job.Key.Schedd == f.job.Key.Schedd
		if o != f && sameSchedd && o.job.Group.Spec.Parallel && o.collects() && !o.job.Group.Runs() {
			return true
		}
	}
	return false
}

// wouldLose returns why the schedd would give the slots of a gang, a job of several chunks, to
// another gang; "" if it would not.
func (d *Dispatcher) wouldLose(f *flight) string {
	if r := d.rival(f); r != nil {
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
// deferred. The search
// ends without a rival once it has taken rivalSteps, so that no user's gangs delay others.
func (d *Dispatcher) rival(f *flight) *track.Job {
	claimed := map[string]*classad.ClassAd{}
	for _, at := range f.job.Places {
		if s := d.belief.Slot(at.Slot); s != nil && s.Ad != nil {
			claimed[at.Slot] = s.Ad.Ad.Clone()
			claimed[at.Slot].SetInt("ClusterId", f.job.Key.Cluster)
		}
	}
	var steps classad.Meter
	for j := range d.belief.Jobs() {
		if steps.Steps() >= rivalSteps {
			return nil
		}
		spec := j.Group.Spec
		if !spec.Parallel || j.Key.Schedd != f.job.Key.Schedd || gangOrder(j, f.job) >= 0 || j.Group.Runs() ||
			spec.Wrong != nil || d.belief.Undue(j) != "" || !spec.Request.Within(f.job.Spec.Request) {
			continue
		}
		if its := d.flights[j.ID]; its != nil && its.sent() {
			continue // it has claims of its own
		}
		chunks := 0
		for _, at := range f.job.Places {
			if ad := claimed[at.Slot]; ad != nil && steps.Steps() < rivalSteps &&
				(classad.Pair{Left: spec.Ad, Right: ad, MaxSteps: classad.FewSteps, Meter: &steps}).Match() {
				chunks += at.Chunks
			}
		}
		if chunks >= spec.Nodes {
			return j
		}
	}
	return nil
}

// gangOrder compares two gangs by the order in which a schedd serves them: larger JobPrio first,
// then by submit time and ID.
func gangOrder(a, b *track.Job) int {
	return cmp.Or(cmp.Compare(b.Group.Prio, a.Group.Prio), a.Compare(b))
}
