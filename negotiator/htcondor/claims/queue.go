package claims

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// queue counts the jobs that do not run yet, by their Spec.
type queue struct {
	waiting map[*observe.Spec]*waiting
	beside  map[*observe.Spec]*company // by the Specs that were asked for
}

// waiting are the jobs of a Spec that wait: how many, how many of them are in the plan without a
// reservation, how many could start if a slot were free, and the least and the largest of their
// JobPrio.
type waiting struct {
	jobs, open, able int
	least, most      int64
	// barred says that some are not planned with, or may not run yet; deferred that some are deferred.
	barred, deferred bool
}

// company is what waits beside jobs of a Spec that start.
type company struct {
	// like are the jobs that can take the place of one of them. Others says that others wait for
	// whatever becomes free, and alone that nobody else could start, and all that are alike are
	// planned with.
	like          waiting
	others, alone bool
	// part and whole are who may be started on a claim of one of them, whatever START says: a part of
	// a partitionable slot, or a whole static slot.
	part, whole takers
	// wider says that their schedd has jobs that need more, and start on what is left of a slot.
	wider bool
}

// takers are the jobs that a schedd may start on a claim.
type takers struct {
	longest backfill.Time // as long as one of them may run
	// barred says that one of them should not use the claim: it needs less of it, or is counted or
	// waits in a way that a match is needed for.
	barred bool
}

func (c *State) countWaiting() queue {
	q := queue{map[*observe.Spec]*waiting{}, map[*observe.Spec]*company{}}
	for j := range c.belief.Jobs() {
		if j.Group.Runs() {
			continue
		}
		s, prio := j.Group.Spec, j.Group.Prio
		w := q.waiting[s]
		if w == nil {
			w = &waiting{least: prio, most: prio}
			q.waiting[s] = w
		}
		w.deferred = w.deferred || j.Group.Deferral.Time > 0
		switch {
		case c.belief.Early(j): // its time may come while a claim takes up jobs
			w.barred = true
		case j.Phase == track.Waiting || j.AwaitsLease():
			w.jobs++
			w.least, w.most = min(w.least, prio), max(w.most, prio)
			if !c.held[j.ID] {
				w.able++
			}
			if j.Phase == track.Waiting && !c.settled[j.ID] {
				w.open++
			}
		case j.Phase == track.Unknown:
			w.barred = true
		}
	}
	return q
}

// company returns what waits beside jobs of a Spec.
func (c *State) company(q queue, spec *observe.Spec) *company {
	if known := q.beside[spec]; known != nil {
		return known
	}
	all := &company{alone: true}
	for s, w := range q.waiting {
		if alike(spec, s) {
			all.like.add(w)
			all.alone = all.alone && !w.barred
		} else {
			all.others = all.others || w.open > 0
			all.alone = all.alone && w.able == 0
		}
		if !sameQueue(spec, s) || s.Parallel {
			continue // its schedd never starts it there
		}
		takes := takers{c.estimate(s), !c.borrows(s) || w.deferred}
		all.whole.add(takes)
		less, more := c.compare(s, spec)
		if all.wider = all.wider || more; !more {
			takes.barred = takes.barred || less
			all.part.add(takes)
		}
	}
	q.beside[spec] = all
	return all
}

func (w *waiting) add(o *waiting) {
	switch {
	case o.jobs == 0:
	case w.jobs == 0:
		*w = *o
	default:
		w.jobs += o.jobs
		w.least, w.most = min(w.least, o.least), max(w.most, o.most)
	}
}

func (t *takers) add(o takers) {
	t.longest, t.barred = max(t.longest, o.longest), t.barred || o.barred
}

// compare tells whether jobs of a Spec need less or more than those of another of what a startd cuts
// to size. It rounds memory and disk, so a job may fit that needs a little more of them. What a job
// needs that cannot be planned with is not known.
func (c *State) compare(s, claimed *observe.Spec) (less, more bool) {
	if s.Wrong != nil {
		return false, false
	}
	for i, resource := range c.s.Schema.Resources {
		if resource != "memory" && resource != "disk" {
			less, more = less || s.Request[i] < claimed.Request[i], more || s.Request[i] > claimed.Request[i]
		}
	}
	return less, more
}
