package maui

import (
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// window is a backfill window: what is idle for a length of time. The windows
// overlap, each is narrower than the one before and lasts longer. A job belongs to the
// first that lasts long enough for it: what does not fit there, fits in none of
// the later ones.
type window struct {
	after, within backfill.Time // lengths of time: of the window before, and its own
}

// holds says whether a job belongs to the window by its time. Whether there is
// room for it is the profile's to say: of the time until a reservation takes some
// of what is idle, it says the same as the window would.
func (w window) holds(j *backfill.Job) bool {
	return w.after < j.Estimate && j.Estimate <= w.within
}

// windows lists the backfill windows, the widest first. Each is found when its
// turn comes, in what the ones before have left idle.
func windows(c *backfill.Cycle) iter.Seq[window] {
	return func(yield func(window) bool) {
		reserved := c.Planned()
		for w := (window{}); w.within < backfill.Forever; {
			w = window{after: w.within, within: timeLeft(c, reserved, w.within)}
			if !yield(w) {
				return
			}
		}
	}
}

// timeLeft is the time until the next reservation takes some of what is idle for
// longer than after; Forever if none does. The jobs are in order of their
// reservations.
func timeLeft(c *backfill.Cycle, reserved []*backfill.Job, after backfill.Time) backfill.Time {
	for _, j := range reserved {
		start, at, _ := c.Reservation(j)
		if within := start - c.Now(); within > after && takesIdle(c, start, at) {
			return within
		}
	}
	return backfill.Forever
}

// takesIdle says whether less is free at an instant, on one of the slots, than
// has been from now until then. A slot without a free cpu is not idle.
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
