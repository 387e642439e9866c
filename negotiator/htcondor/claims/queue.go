package claims

import (
	"encoding/binary"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// queue counts the jobs that do not run yet: by their Spec, by what a schedd negotiates for
// together, and how many are open and able in all. It takes one pass over the Specs, however many
// of them are asked for.
type queue struct {
	waiting    map[*observe.Spec]*waiting
	lines      map[lineKey]*line
	open, able int
	scavengers bool // some wait
}

// lineKey names the jobs that are negotiated for together: a schedd may give the claim of one to
// the other.
type lineKey struct{ submitter, schedd string }

func lineOf(s *observe.Spec) lineKey { return lineKey{s.Submitter(), s.Schedd()} }

// line is what waits of the jobs that are negotiated for together.
type line struct {
	like  map[string]*waiting // those that take part in leases, by what they request
	whole takers
	cuts  map[string]*cut   // by what they request that a startd cuts to size
	known map[string]*parts // for what of that was asked
}

// parts are the jobs of a line beside one that has a part of a partitionable slot.
type parts struct {
	part takers
	// wider says that some need more, and start on what is left of a slot.
	wider bool
}

// cut are the Specs that request the same of what a startd cuts to size, and one of them.
type cut struct {
	spec *observe.Spec
	takers
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
	// whole is who may be started on a claim of one of them, whatever START says, if that is a whole
	// static slot, and part who if it is a part of a partitionable slot.
	whole takers
	*parts
}

// takers are the jobs that a schedd may start on a claim.
type takers struct {
	longest backfill.Time // as long as one of them may run
	// barred says that one of them should not use the claim: it needs less of it, or is counted or
	// waits in a way that a match is needed for.
	barred bool
}

func (c *State) countWaiting() *queue {
	q := &queue{waiting: map[*observe.Spec]*waiting{}}
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
		case s.Scavenger: // others do not wait for it
			w.barred, q.scavengers = true, true
		case c.belief.Early(j): // its time may come while a claim takes up jobs
			w.barred = true
		case j.Phase == track.Waiting || j.AwaitsLease():
			w.jobs++
			w.least, w.most = min(w.least, prio), max(w.most, prio)
			if !c.held[j.ID] {
				w.able++
			}
			w.barred = w.barred || c.limited[j.ID]
			if j.Phase == track.Waiting && !c.settled[j.ID] {
				w.open++
			}
		case j.Phase == track.Unknown:
			w.barred = true
		}
	}
	c.lineUp(q)
	return q
}

// lineUp notes what waits by what is negotiated for together.
func (c *State) lineUp(q *queue) {
	q.lines = map[lineKey]*line{}
	for s, w := range q.waiting {
		q.open, q.able = q.open+w.open, q.able+w.able
		l := q.line(lineOf(s))
		if borrows(s) {
			key := requestKey(s.Request)
			if l.like[key] == nil {
				l.like[key] = &waiting{}
			}
			l.like[key].add(w)
		}
		if s.Parallel {
			continue // its schedd never starts it on a claim of another
		}
		takes := takers{c.estimate(s), !c.borrows(s) || w.deferred}
		l.whole.add(takes)
		key := c.cutKey(s)
		if l.cuts[key] == nil {
			l.cuts[key] = &cut{spec: s}
		}
		l.cuts[key].add(takes)
	}
}

// line returns the line of a key, and makes it if there is none.
func (q *queue) line(key lineKey) *line {
	l := q.lines[key]
	if l == nil {
		l = &line{like: map[string]*waiting{}, cuts: map[string]*cut{}, known: map[string]*parts{}}
		q.lines[key] = l
	}
	return l
}

// requestKey is the same for the same amounts.
func requestKey(request backfill.Vector) string {
	var key []byte
	for _, amount := range request {
		key = binary.AppendVarint(key, amount)
	}
	return string(key)
}

// cutKey is the same for Specs that are the same by compare.
func (c *State) cutKey(s *observe.Spec) string {
	if s.Wrong != nil {
		return "wrong"
	}
	sizes := slices.Clone(s.Request)
	for i, resource := range c.s.Schema.Resources {
		if resource == "memory" || resource == "disk" {
			sizes[i] = 0
		}
	}
	return requestKey(sizes)
}

// company returns what waits beside jobs of a Spec that takes part in leases.
func (c *State) company(q *queue, spec *observe.Spec) *company {
	l := q.line(lineOf(spec))
	all := &company{whole: l.whole, parts: c.parts(l, spec)}
	if like := l.like[requestKey(spec.Request)]; like != nil {
		all.like = *like
	}
	all.others = q.open > all.like.open
	all.alone = !all.like.barred && q.able == all.like.able
	return all
}

// parts returns who of a line may be started on a part of a slot that a job of a Spec has.
func (c *State) parts(l *line, spec *observe.Spec) *parts {
	key := c.cutKey(spec)
	if known := l.known[key]; known != nil {
		return known
	}
	p := &parts{}
	for _, cut := range l.cuts {
		takes := cut.takers
		less, more := c.compare(cut.spec, spec)
		if p.wider = p.wider || more; !more {
			takes.barred = takes.barred || less
			p.part.add(takes)
		}
	}
	l.known[key] = p
	return p
}

func (w *waiting) add(o *waiting) {
	switch {
	case o.jobs == 0:
	case w.jobs == 0:
		w.least, w.most = o.least, o.most
	default:
		w.least, w.most = min(w.least, o.least), max(w.most, o.most)
	}
	w.jobs, w.open, w.able = w.jobs+o.jobs, w.open+o.open, w.able+o.able
	w.barred, w.deferred = w.barred || o.barred, w.deferred || o.deferred
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
