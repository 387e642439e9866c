package maui

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// window is a backfill window: the resources that stay idle for a length of time from now on.
// Windows overlap: each is narrower than the one before, and lasts longer. A job belongs to the
// first window that lasts long enough for it; if the job does not fit there, it does not fit in the
// later ones.
type window struct {
	after, within backfill.Time // lengths of the previous window and of this one
}

// holds reports whether a job belongs to the window by its estimate. Whether it fits is asked of
// the profile: until the next reservation that takes some of the idle resources, the same is free
// there as in the window.
func (w window) holds(j *backfill.Job) bool {
	return w.after < j.Estimate && j.Estimate <= w.within
}

// of returns the jobs that belong to the window.
func (w window) of(jobs []*backfill.Job) []*backfill.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *backfill.Job) bool { return !w.holds(j) })
}

// windows yields the backfill windows, the widest first. Each lasts until the next reservation
// begins that takes some of what is still idle, given the jobs that were started in the windows
// before.
func windows(c *backfill.Cycle) iter.Seq[window] {
	return func(yield func(window) bool) {
		var w window
		for _, j := range c.Fast().Planned() {
			start, at, _ := c.Reservation(j)
			within := start - c.Now()
			if within == w.within || !takesIdle(c, start, at) {
				continue
			}
			if w = (window{after: w.within, within: within}); !yield(w) {
				return
			}
		}
		yield(window{after: w.within, within: backfill.Forever})
	}
}

// takesIdle reports whether the reservation with this start and placement ends a window: on one of
// its slots, less of some resource is free at start than at any time from now until then. A slot
// without a free cpu is not idle and does not count.
func takesIdle(c *backfill.Cycle, start backfill.Time, at backfill.Placement) bool {
	n := len(c.State().Resources())
	idle, most := make(backfill.Vector, n), make(backfill.Vector, n)
	for _, chunks := range at {
		c.State().Profile().Bounds(chunks.Slot, c.Now(), start, idle, most)
		if idle[0] <= 0 {
			continue
		}
		for k, left := range c.State().Profile().Free(chunks.Slot, start) {
			if left < idle[k] {
				return true
			}
		}
	}
	return false
}
