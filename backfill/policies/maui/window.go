package maui

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// window is a backfill window: what stays idle for a length of time. Windows overlap: each is
// narrower than the one before, and lasts longer. A job belongs to the first window that lasts long
// enough for it; if it does not fit there, it does not fit in the later ones.
type window struct {
	after, within backfill.Time // lengths of the previous window and of this one
}

// holds reports whether a job belongs to the window. Whether it fits is left to the profile: until
// the next reservation that takes some of the idle room, the profile offers the same as the window.
func (w window) holds(j *backfill.Job) bool {
	return w.after < j.Estimate && j.Estimate <= w.within
}

// of returns the jobs that belong to the window.
func (w window) of(jobs []*backfill.Job) []*backfill.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *backfill.Job) bool { return !w.holds(j) })
}

// windows yields the backfill windows, the widest first. Each lasts until the next reservation that
// takes some of what the jobs in the previous windows have left idle.
func windows(c *backfill.Cycle) iter.Seq[window] {
	return func(yield func(window) bool) {
		var w window
		for _, j := range c.Planned() {
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

// takesIdle reports whether, on one of the slots, less is free at start than from now until then. A
// slot without a free cpu is not idle.
func takesIdle(c *backfill.Cycle, start backfill.Time, at backfill.Placement) bool {
	n := len(c.Resources())
	idle, most := make(backfill.Vector, n), make(backfill.Vector, n)
	for _, chunks := range at {
		c.Profile().Bounds(chunks.Slot, c.Now(), start, idle, most)
		if idle[0] <= 0 {
			continue
		}
		for k, left := range c.Profile().Free(chunks.Slot, start) {
			if left < idle[k] {
				return true
			}
		}
	}
	return false
}
