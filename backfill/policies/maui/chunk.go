package maui

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// chunking holds BFCHUNKSIZE and BFCHUNKDURATION. Once a job of at least that size is blocked in a
// pass, what was freed in the last duration seconds is kept from smaller jobs. The zero value
// switches chunking off.
type chunking struct {
	size     int64
	duration backfill.Time
}

// kept tracks, during one cycle, what is kept from small jobs.
type kept struct {
	chunking
	c      *backfill.Cycle
	active bool             // a large job was blocked
	beside *profile.Profile // the profile that small jobs may use; nil: to be computed
	until  backfill.Time    // when the next part of what is kept is released
}

// open makes the state remember what is freed for the chunk duration, and returns the cycle's
// tracker.
func (h chunking) open(c *backfill.Cycle) kept {
	c.KeepFreed(h.duration)
	return kept{chunking: h, c: c}
}

// small reports whether the job is smaller than the chunk size.
func (k *kept) small(j *backfill.Job) bool { return j.Width() < k.size }

// minds reports whether freed room is kept from small jobs from now on, if this job is blocked.
func (k *kept) minds(j *backfill.Job) bool { return k.size > 0 && !k.active && !k.small(j) }

// isBlocked notes that a job does not fit now.
func (k *kept) isBlocked(j *backfill.Job) {
	if k.minds(j) {
		k.active = true
	}
}

// change discards the profile for small jobs, because less is idle than before.
func (k *kept) change() { k.beside = nil }

// place finds a place for a job now. A small job may not use what is kept; if only that is in its
// way, the policy wakes when the next part is released.
func (i *iteration) place(j *backfill.Job) (backfill.Placement, bool) {
	k := &i.kept
	if !k.active || !k.small(j) {
		return i.c.FitsNow(j)
	}
	k.look()
	at, fits := k.beside.Place(i.c.Request(j), i.c.Now())
	if !fits && i.fits(j) {
		i.c.Wake(k.until)
	}
	return at, fits
}

// look computes what is kept of the idle room on each slot: what was freed there recently, but no
// more than is idle. Jobs that start are assumed to use first what has been idle for longest.
func (k *kept) look() {
	if k.beside != nil {
		return
	}
	now := k.c.Now()
	k.beside, k.until = k.c.Profile().Clone(), backfill.Forever
	freed := map[backfill.SlotID]backfill.Vector{}
	for _, f := range k.c.Freed() {
		if freed[f.Slot] == nil {
			freed[f.Slot] = make(backfill.Vector, len(f.Amount))
		}
		freed[f.Slot].AddScaled(f.Amount, 1)
	}
	for _, f := range k.c.Freed() {
		sum := freed[f.Slot]
		for n, idle := range k.c.Profile().Free(f.Slot, now) {
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
