package maui

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// chunking is BFCHUNKSIZE and BFCHUNKDURATION: for so long, what is freed is kept
// from jobs of fewer cpus, in a pass in which a job that is not small was
// blocked. The zero value is off.
type chunking struct {
	size     int64
	duration backfill.Time
}

// kept is what is kept from small jobs in one cycle.
type kept struct {
	chunking
	c      *backfill.Cycle
	active bool             // a job was blocked that is not small
	beside *profile.Profile // what is left for small jobs; nil: to be seen
	until  backfill.Time    // when some of what is kept is given free, if any is
}

// open has the state remember what is freed, for as long as it is kept.
func (h chunking) open(c *backfill.Cycle) kept {
	c.KeepFreed(h.duration)
	return kept{chunking: h, c: c}
}

// small says whether what is freed is kept from a job.
func (k *kept) small(j *backfill.Job) bool { return j.Width() < k.size }

// minds says whether it matters that the job is blocked.
func (k *kept) minds(j *backfill.Job) bool { return k.size > 0 && !k.active && !k.small(j) }

// isBlocked notes that there is no room now for a job.
func (k *kept) isBlocked(j *backfill.Job) {
	if k.minds(j) {
		k.active = true
	}
}

// change notes that less is idle than before.
func (k *kept) change() { k.beside = nil }

// place finds a place for a job now; for a small one beside what is kept. Where
// that alone is in its way, the cycle is to be repeated when less is kept.
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

// look finds out what is kept: of what is idle on a slot, what was freed there of
// late. Whoever starts takes first what has been idle for longest, hence as much
// of it is left as is idle.
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
		if sum.Zero() { // nothing is left of it, or it was looked at before
			continue
		}
		k.until = min(k.until, f.At+k.duration)
		k.beside.Add(backfill.Placement{{Slot: f.Slot, Count: 1}}, sum, now, now+1)
		clear(sum)
	}
}
