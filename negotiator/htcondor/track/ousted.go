package track

import (
	"github.com/condor-backfill/condor-backfill/backfill"
)

// A job whose claim waits at a startd until another has left may be ousted: a better job's claim is to wait
// there instead. The negotiator decides that, and puts the job back into the queue itself. The startd refuses
// the claim that waits once it has accepted the better one, so its schedd learns of it from there.

// heir returns for which job another makes way, if a third may have its place: nobody else makes way for it,
// its schedd was told of the slot, and the slot's ad is newer than that.
func (c *claimed) heir(id backfill.JobID) (heir backfill.JobID, known bool) {
	heir, known = c.b.takeovers.byVictim[id]
	t, f := c.b.takeovers.byJob[heir], c.flights[heir]
	if !known || t == nil || len(t.Victims) != 1 || !f.Sent || f.Overdue || f.Refused || len(c.b.lending.byJob[id]) > 0 {
		return heir, false
	}
	o := c.b.now.Slots[t.Slots[0]]
	return heir, o != nil && o.Changed.After(f.Moved)
}

// isHeirs tells whether it is the claim of this job that waits, as far as its startd says: whose it is, and
// that its job still retires.
func (c *claimed) isHeirs(slot string, user string, heir backfill.JobID) bool {
	o := c.b.now.Slots[slot]
	_, waits := o.Claim.Lookup("PreemptingUser")
	state, _ := o.Claim.Literal("State").Text()
	return waits && state == "Claimed" && user == c.Submitter(heir)
}

// waitsAgain notes that a job was ousted. The delta that follows does not tell of it.
func (b *Belief) waitsAgain(id backfill.JobID) {
	if t := b.takeovers.byJob[id]; t != nil {
		delete(b.takeovers.byJob, id)
		for _, victim := range t.Victims {
			if b.takeovers.byVictim[victim] == id {
				delete(b.takeovers.byVictim, victim)
			}
		}
	}
	j := b.byID[id]
	if j == nil || j.Phase != Running {
		b.log.Error("a job was ousted that is not on its way", "id", id)
		return
	}
	b.log.Info("a job is to wait again, as another one takes over from who runs", "job", b.Name(j), "slots", list(j.Places))
	b.ended[j.Key] = b.now.Began
	j.Phase, j.Places = Waiting, nil
}
