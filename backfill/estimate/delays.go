package estimate

import (
	"math/bits"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// lastDelays is how many delays count: a pool changes, and its last hours say most.
const lastDelays = 64

// Delays are how long the last starts of a pool took, from the decision that a job starts until it
// ran. They belong to the pool and not to a user: it is the pool's daemons that take the time. The
// zero value knows none. A copy does not change when its original learns.
type Delays struct {
	last []backfill.Time // only ever appended to, as copies share the memory
}

// DelaysOf returns these delays, the oldest first.
func DelaysOf(last []backfill.Time) (d Delays) {
	for _, took := range last {
		d.Learn(took)
	}
	return d
}

// Learn adds a delay, and drops the oldest beyond those that count.
func (d *Delays) Learn(took backfill.Time) {
	if len(d.last) == lastDelays {
		d.last = d.last[1:]
	}
	d.last = append(d.last, max(0, took))
}

// UpTo returns the delays, each no longer than the given time.
func (d Delays) UpTo(most backfill.Time) Delays {
	if most <= 0 {
		return Delays{}
	}
	all := slices.Clone(d.last)
	for i := range all {
		all[i] = min(all[i], most)
	}
	return Delays{last: all}
}

// All returns the delays, the oldest first. They must not be changed.
func (d Delays) All() []backfill.Time { return d.last }

// Draw maps a number, any of those of 64 bits as likely as another, to one of the delays; 0 if none
// is known.
func (d Delays) Draw(number uint64) backfill.Time {
	if len(d.last) == 0 {
		return 0
	}
	i, _ := bits.Mul64(number, uint64(len(d.last)))
	return d.last[i]
}

// Median returns the middle of the delays; 0 if none is known.
func (d Delays) Median() backfill.Time {
	if len(d.last) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(d.last))[(len(d.last)-1)/2]
}
