package claims

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// A schedd asks for the slots of its gangs when it has counted its queue: after a submit, each SCHEDD_INTERVAL (five
// minutes by default), or when it is told to (RESCHEDULE). It asks for none while the slots are in use, and that
// scavengers or other jobs have left them tells it nothing. So it is told to count when a gang's slots are free.

const (
	// notAsked is why a gang's flight waits for its schedd.
	notAsked = "its schedd does not ask for a gang's slots now"
	// recountAfter is for how long a gang's schedd may not ask before it is told: it may be about to.
	recountAfter = 2 * time.Second
	// recountAgain is how soon it is told once more at the earliest: to count a long queue takes a schedd a second.
	recountAgain = 15 * time.Second
)

// noteUnasked notes for how long the flight of a gang, a job of several chunks, has waited only for its schedd.
func (c *State) noteUnasked(f *flight, why string) {
	switch {
	case why != notAsked || f.handed() || track.Leaves(c.belief, f.job.ID):
		f.silent = time.Time{}
	case f.silent.IsZero():
		f.silent = c.now
	}
}

// Recounts names the schedds that are to be told to count their queues, as gangs (jobs of several chunks) that have
// their slots wait until they ask for them. They count as told. None is told while it starts another gang.
func Recounts(c *State, now time.Time) (schedds []string) {
	c.now = now
	for _, f := range c.incomplete() {
		name := f.job.Key.Schedd
		s := c.belief.Schedd(name)
		if c.s.Observe || f.silent.IsZero() || now.Sub(f.silent) < recountAfter || s == nil ||
			slices.Contains(schedds, name) || c.mustCount(s) || c.collectsAnother(f) {
			continue
		}
		if last, told := c.recounted[name]; told && now.Sub(last) < recountAgain {
			continue
		}
		c.recounted[name] = now
		schedds = append(schedds, name)
	}
	return schedds
}
