package maui

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// chunking holds BFCHUNKSIZE and BFCHUNKDURATION. Once a job of at least size cpus is blocked in a
// pass, the resources that were freed in the last duration seconds are kept from smaller jobs. The
// zero value switches chunking off.
type chunking struct {
	size     int64
	duration backfill.Time
}

// kept tracks, during one cycle, the recently freed resources that are kept from small jobs.
type kept struct {
	chunking
	c      *backfill.Cycle
	active bool             // a large job was blocked, so resources are kept
	beside *profile.Profile // what is left to small jobs; nil: to be computed
	until  backfill.Time    // when the first part of what is kept is no longer kept
}

// open makes the state remember what running jobs give back for the chunk duration, and returns
// what is kept in this cycle.
func (h chunking) open(c *backfill.Cycle) kept {
	c.Fast().KeepFreed(h.duration)
	return kept{chunking: h, c: c}
}

// small reports whether the job is smaller than the chunk size.
func (k *kept) small(j *backfill.Job) bool { return j.Width() < k.size }

// minds reports whether this job, if it is blocked, makes the policy keep freed resources from
// small jobs: the job is large, and no large job was blocked before.
func (k *kept) minds(j *backfill.Job) bool { return k.size > 0 && !k.active && !k.small(j) }

// isBlocked notes that the job does not fit now. If it is large, freed resources are kept from then
// on.
func (k *kept) isBlocked(j *backfill.Job) {
	if k.minds(j) {
		k.active = true
	}
}

// change discards the profile for small jobs, because a job was started and less is idle.
func (k *kept) change() { k.beside = nil }

// place returns a placement for a job that starts now; false if there is none. A small job may not
// use resources that are kept. If it would fit but for those, the policy wakes when some are kept
// no longer.
func (i *iteration) place(j *backfill.Job) (backfill.Placement, bool) {
	k := &i.kept
	if !k.active || !k.small(j) {
		return i.c.FitsNow(j)
	}
	k.look()
	at, fits := k.beside.Place(i.c.State().Request(j), i.c.Now())
	if !fits && i.fits(j) {
		i.c.Wake(k.until)
	}
	return at, fits
}

// look computes the profile for small jobs: it occupies what is kept on each slot, which is what
// was freed there recently, but no more than is idle. Jobs that start are assumed to use first what
// has been idle for longest.
func (k *kept) look() {
	if k.beside != nil {
		return
	}
	now := k.c.Now()
	k.beside, k.until = k.c.State().Profile().Clone(), backfill.Forever
	freed := map[backfill.SlotID]backfill.Vector{}
	for _, f := range k.c.Fast().Freed() {
		if freed[f.Slot] == nil {
			freed[f.Slot] = make(backfill.Vector, len(f.Amount))
		}
		freed[f.Slot].AddScaled(f.Amount, 1)
	}
	for _, f := range k.c.Fast().Freed() {
		sum := freed[f.Slot]
		for n, idle := range k.c.State().Profile().Free(f.Slot, now) {
			sum[n] = max(0, min(sum[n], idle))
		}
		if sum.Zero() { // nothing of it is left, or the slot was handled before
			continue
		}
		k.until = min(k.until, f.At+k.duration)
		k.beside.Add(backfill.Placement{{Slot: f.Slot, Count: 1}}, sum, now, now+1)
		clear(sum)
	}
}
