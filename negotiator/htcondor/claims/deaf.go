package claims

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// lends tells whether a slot's START heeds leases.
func lends(ad *classad.ClassAd) bool {
	start, ok := ad.Lookup("Start")
	if !ok {
		start, ok = ad.Lookup("Requirements")
	}
	return ok && strings.Contains(strings.ToLower(start.String()), strings.ToLower(leaseAttribute))
}

// manyWaiting is how many more jobs than slots may wait until it matters that no claim is lent to
// them, and mostShort how long they may take, in seconds.
const (
	manyWaiting = 20
	mostShort   = 20 * 60
)

// noteDeaf notes which of the slots, whose START does not heed leases, would be lent for a job with
// this Spec if it did: so many jobs like it wait that a match for each costs more than the jobs. It
// says so if there were no such slots before, since nobody else tells that a line is missing.
func (c *State) noteDeaf(slots map[string]*observe.Spec, q *queue) {
	if len(slots) == 0 {
		return
	}
	many := manyWaiting
	for _, s := range c.belief.Snapshot().Slots {
		if !s.Dynamic {
			many++
		}
	}
	told := len(c.deaf) > 0
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		spec := slots[name]
		like := c.company(q, spec).like
		if like.jobs <= many || c.estimate(spec) > mostShort {
			continue
		}
		if c.deaf[name] = true; !told {
			c.log.Warn("START of a slot does not heed leases, so each of many short jobs there waits for a match of its own: "+
				"add the line of the guide's section Leases to the startds' configuration, after all others about START, "+
				"and run condor_reconfig there; or set BACKFILL_LEASE_TIME = 0, if that is how it should be",
				"slot", name, "submitter", spec.Submitter(), "waiting", like.jobs)
			told = true
		}
	}
}

// forgetDeaf forgets the slots whose START heeds leases by now, and those that are gone.
func (c *State) forgetDeaf() {
	slots := c.belief.Snapshot().Slots
	maps.DeleteFunc(c.deaf, func(name string, _ bool) bool {
		s := slots[name]
		return s == nil || s.Ad != nil && lends(s.Ad.Ad)
	})
}
