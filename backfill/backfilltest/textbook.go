package backfilltest

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Textbook is conservative, pc or dc as the paper tells it: every job is tried,
// every time.
type Textbook struct {
	Conservative, DC bool // neither: pc
	// Scanned, if it is not nil, counts profile events: jobs are then placed with
	// the naive array profile, which works for one slot; see package profileevents.
	Scanned *int64
}

// Decide takes and answers the events one by one.
func (t Textbook) Decide(c *backfill.Cycle) {
	for e, more := c.Next(); more; e, more = c.Next() {
		for _, j := range e.Displaced {
			t.Place(c, j)
		}
		if e.Kind == backfill.Submitted {
			if t.DC {
				t.advance(c, e.Spec)
			}
			if t.Place(c, e.Spec) {
				start, _, _ := c.Reservation(e.Spec)
				c.Guarantee(e.Spec, start)
			}
		}
		if t.Conservative && e.Freed {
			t.compressOnce(c)
			continue
		}
		again := e.Freed || t.DC && e.Kind == backfill.Completed
		for again {
			again = t.DC && t.fill(c) || !t.DC && t.compress(c)
		}
	}
	for _, j := range c.Due() {
		_, at, _ := c.Reservation(j)
		c.Start(j, at)
	}
}

// Place plans a job for its earliest start, taken out if it has a place. One that
// fits at no time is held.
func (t Textbook) Place(c *backfill.Cycle, j *backfill.Job) bool {
	start, at, ok := t.earliest(c, j)
	if ok {
		c.Reserve(j, start, at)
	} else {
		c.Hold(j, "fits at no time that can be foreseen")
	}
	return ok
}

// compressOnce tries each job once, in the order of the plan as it is now. A start
// that was missed counts as now, and moves no further: its own event is to come.
func (t Textbook) compressOnce(c *backfill.Cycle) {
	for _, j := range c.Planned() {
		if planned, _, _ := c.Reservation(j); planned >= c.Now() {
			t.Place(c, j)
		}
	}
}

// compress moves the first job that can move.
func (t Textbook) compress(c *backfill.Cycle) bool {
	for j := range c.Queue() {
		planned, _, has := c.Reservation(j)
		if start, at, ok := t.earliest(c, j); has && ok && start < planned {
			c.Reserve(j, start, at)
			return true
		}
	}
	return false
}

// fill is one round.
func (t Textbook) fill(c *backfill.Cycle) (moved bool) {
	for j := range c.Queue() {
		planned, _, has := c.Reservation(j)
		if !has || planned <= c.Now() {
			continue
		}
		if start, at, ok := t.earliest(c, j); ok && start == c.Now() {
			c.Reserve(j, start, at)
			moved = true
		}
	}
	return moved
}

func (t Textbook) advance(c *backfill.Cycle, arrived *backfill.Job) {
	limit, _, ok := t.earliest(c, arrived)
	if !ok {
		return
	}
	limit += arrived.Estimate
	for j := range c.Queue() {
		if j == arrived {
			return
		}
		planned, _, has := c.Reservation(j)
		if start, at, fits := t.earliest(c, j); has && fits && start < planned && start <= limit {
			c.Reserve(j, start, at)
		}
	}
}

func (t Textbook) earliest(c *backfill.Cycle, j *backfill.Job) (backfill.Time, backfill.Placement, bool) {
	if t.Scanned == nil {
		return c.Earliest(j, c.Now())
	}
	start := t.scan(c, j)
	return start, backfill.Placement{{Slot: 0, Count: j.Nodes}}, true
}

// change is an entry of the array profile: a job's start or end.
type change struct {
	at     backfill.Time
	amount backfill.Vector
}

// scan goes through the array profile of the one slot until the job has fitted
// for as long as it is planned to run. What is in the past was cut off; every
// other entry that it takes is counted.
func (t Textbook) scan(c *backfill.Cycle, j *backfill.Job) (start backfill.Time) {
	now, free := c.Now(), slices.Clone(c.State().Slots()[0].Capacity)
	next, fits := 0, false
	profile := arrayProfile(c, j)
	for at := now; ; {
		for next < len(profile) && profile[next].at <= at {
			free.AddScaled(profile[next].amount, 1)
			if profile[next].at >= now {
				*t.Scanned++
			}
			next++
		}
		if is := j.Total().Within(free); is && !fits {
			start, fits = at, true
		} else if !is {
			fits = false
		}
		if fits && (next == len(profile) || profile[next].at >= start+j.Estimate) {
			return start
		}
		at = profile[next].at
	}
}

// arrayProfile is the starts and ends of all jobs but one, by time.
func arrayProfile(c *backfill.Cycle, but *backfill.Job) (all []change) {
	add := func(j *backfill.Job, start, end backfill.Time) {
		if j.ID == but.ID {
			return
		}
		taken := make(backfill.Vector, len(j.Request))
		taken.AddScaled(j.Total(), -1)
		all = append(all, change{start, taken}, change{end, j.Total()})
	}
	for r := range c.Running() {
		add(r.Job, r.Start, r.End)
	}
	for _, j := range c.Planned() {
		start, _, _ := c.Reservation(j)
		add(j, start, start+j.Estimate)
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return all
}
