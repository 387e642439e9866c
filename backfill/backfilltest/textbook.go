package backfilltest

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Textbook is conservative, pc or dc exactly as the policy's paper describes it: whenever it
// searches, it tries every job. It follows [backfill.Planning].
type Textbook struct {
	Conservative, DC bool // pc if neither is set
	// Scanned, if not nil, counts the profile's entries from now on that were read. Jobs are then
	// placed with the naive array profile, which works for one slot only; see condorsim/profileevents.
	Scanned *int64
}

// Decide reacts to each event in turn, then lets jobs enter the plan up to its depth, starts the jobs
// that are due, and those beyond the depth that fit.
func (t Textbook) Decide(c *backfill.Cycle) {
	filled := false
	for e, more := c.Next(); more; e, more = c.Next() {
		atOnce := allWithin(c, &e)
		for _, j := range e.Displaced {
			if _, promised := c.State().Guaranteed(j.ID); promised || atOnce {
				t.Place(c, j)
			}
		}
		if e.Kind == backfill.Submitted && atOnce {
			t.enter(c, e.Job)
		}
		if t.Conservative && e.Freed {
			t.compressOnce(c)
			continue
		}
		again := e.Freed || t.DC && (e.Kind == backfill.Completed || e.Kind == backfill.Released)
		filled = filled || again && t.DC
		for again {
			again = t.DC && t.fill(c) || !t.DC && t.compress(c)
		}
	}
	t.start(c, filled)
}

// start lets jobs enter the plan up to its depth, and starts all that can start. If room was filled, so
// is the room that jobs leave which begin only while more is free than they take.
func (t Textbook) start(c *backfill.Cycle, filled bool) {
	admit(c, func(j *backfill.Job) { t.enter(c, j) })
	for startDue(c) && filled {
		for moved := true; moved; {
			moved = t.fill(c)
		}
	}
	for _, j := range unplanned(c) {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		}
	}
}

// startDue starts the jobs that are due, and reports whether one needed more free than it takes.
func startDue(c *backfill.Cycle) (left bool) {
	for _, j := range c.Due() {
		_, at, _ := c.Reservation(j)
		c.Start(j, at)
		left = left || c.State().Request(j).Candidates.Least != nil
	}
	return left
}

// allWithin reports whether every waiting job is within the depth of the plan, only those of the
// event are still to enter it, and jobs enter it in the order in which they arrive. When a policy
// takes over, jobs enter after the events.
func allWithin(c *backfill.Cycle, e *backfill.Event) bool {
	for _, j := range unplanned(c) {
		if !slices.Contains(e.Displaced, j) && (e.Kind != backfill.Submitted || e.Job != j) {
			return false
		}
	}
	p := c.State().Planning()
	return e.Kind != backfill.PolicyChanged && !p.Reorder && p.Horizon == 0 &&
		(p.Depth == 0 || len(slices.Collect(c.Waiting())) <= p.Depth)
}

// admit lets jobs enter the plan up to its depth and its horizon.
func admit(c *backfill.Cycle, enter func(*backfill.Job)) {
	left := false
	for _, j := range beyond(c) {
		p := c.State().Planning()
		var others, own []*backfill.Job
		for _, o := range c.Fast().Planned() {
			if others = append(others, o); o.Labels["owner"] == j.Labels["owner"] {
				own = append(own, o)
			}
		}
		switch {
		case p.Depth > 0 && len(others) >= p.Depth:
		case p.Horizon == 0, len(own) == 0,
			!left && within(c, append(others, j), p.Horizon) && within(c, append(own, j), p.Horizon/2):
			enter(j)
		default: // a job without a start leaves its turn to others
			_, _, starts := c.Earliest(j, c.Now())
			left = left || starts || !mayClose(c, j)
		}
	}
}

// within reports whether the whole pool could do the jobs' work in the given time.
func within(c *backfill.Cycle, jobs []*backfill.Job, in backfill.Time) bool {
	for k, capacity := range c.Capacity() {
		sum := new(big.Int)
		for _, j := range jobs {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(j.Total()[k]), big.NewInt(int64(j.Estimate))))
		}
		if sum.Cmp(new(big.Int).Mul(big.NewInt(capacity), big.NewInt(int64(in)))) > 0 {
			return false
		}
	}
	return true
}

// beyond returns the waiting jobs without a reservation, in the order in which they enter the plan.
func beyond(c *backfill.Cycle) []*backfill.Job {
	jobs := unplanned(c)
	if !c.State().Planning().Reorder {
		slices.SortFunc(jobs, backfill.Compare)
	}
	return jobs
}

// unplanned returns the waiting jobs without a reservation, in the queue's order.
func unplanned(c *backfill.Cycle) []*backfill.Job {
	return slices.DeleteFunc(slices.Collect(c.Waiting()), func(j *backfill.Job) bool {
		_, _, planned := c.Reservation(j)
		return planned
	})
}

// enter plans a job that enters the plan, and promises it the planned start.
func (t Textbook) enter(c *backfill.Cycle, j *backfill.Job) {
	if _, promised := c.State().Guaranteed(j.ID); promised { // it had no start when it lost its place
		t.Place(c, j)
		return
	}
	if t.DC {
		t.advance(c, j)
	}
	if t.Place(c, j) {
		start, _, _ := c.Reservation(j)
		c.Guarantee(j, start)
	}
}

// Place plans a job at its earliest start, as if it had no reservation, and returns true. A job
// that fits at no time is held, unless its candidates have windows, and Place returns false.
func (t Textbook) Place(c *backfill.Cycle, j *backfill.Job) bool {
	start, at, ok := t.earliest(c, j)
	if ok {
		c.Reserve(j, start, at)
	} else {
		holdUnlessItCloses(c, j)
	}
	return ok
}

// holdUnlessItCloses holds a job that fits at no time, unless that may be because its candidates close or
// end.
func holdUnlessItCloses(c *backfill.Cycle, j *backfill.Job) {
	if !mayClose(c, j) {
		c.Hold(j, "fits at no time that can be foreseen")
	}
}

// mayClose reports whether the candidates of a job may close or end: they have windows, or some slot ends.
func mayClose(c *backfill.Cycle, j *backfill.Job) bool {
	return c.State().Request(j).Candidates.Windows != nil || c.State().Profile().Ends().Count() > 0
}

// compressOnce plans each job that has a reservation anew, once, in the order of the planned starts
// before. It leaves out jobs whose planned start was missed: each of them has an event of its own,
// still to come.
func (t Textbook) compressOnce(c *backfill.Cycle) {
	for _, j := range c.Fast().Planned() {
		if planned, _, _ := c.Reservation(j); planned >= c.Now() {
			t.Place(c, j)
		}
	}
}

// compress moves the reservation of the first job in the queue that can start earlier than planned,
// and reports whether there was one.
func (t Textbook) compress(c *backfill.Cycle) bool {
	for j := range c.Waiting() {
		planned, _, has := c.Reservation(j)
		if start, at, ok := t.earliest(c, j); has && ok && start < planned {
			c.Reserve(j, start, at)
			return true
		}
	}
	return false
}

// fill is one pass of dc over the queue: it moves to now the reservation of each job that can start
// now, and reports whether it moved one.
func (t Textbook) fill(c *backfill.Cycle) (moved bool) {
	for j := range c.Waiting() {
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

// advance is what dc does before it plans a job that arrives: it moves the reservations of the jobs
// before it in the queue to earlier starts, unless these are later than the time at which the new
// job could end.
func (t Textbook) advance(c *backfill.Cycle, arrived *backfill.Job) {
	limit, _, ok := t.earliest(c, arrived)
	if !ok {
		return
	}
	limit += arrived.Estimate
	for j := range c.Waiting() {
		if j == arrived {
			return
		}
		planned, _, has := c.Reservation(j)
		if start, at, fits := t.earliest(c, j); has && fits && start < planned && start <= limit {
			c.Reserve(j, start, at)
		}
	}
}

// earliest returns the earliest start of a job and its placement then; false if the job fits at no
// time.
func (t Textbook) earliest(c *backfill.Cycle, j *backfill.Job) (backfill.Time, backfill.Placement, bool) {
	if t.Scanned == nil {
		return c.Earliest(j, c.Now())
	}
	start := t.scan(c, j)
	return start, backfill.Placement{{Slot: 0, Count: j.Nodes}}, true
}

// change is an entry of the array profile: at the start of a job it takes resources (negative
// amounts), at the end it frees them.
type change struct {
	at     backfill.Time
	amount backfill.Vector
}

// scan searches the array profile of the pool's only slot for the first start, from now on, at
// which the job fits for its estimate. It also reads the entries before now, but does not count
// them in Scanned.
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
		if enough := j.Total().Within(free); enough && !fits {
			start, fits = at, true
		} else if !enough {
			fits = false
		}
		if fits && (next == len(profile) || profile[next].at >= start+j.Estimate) {
			return start
		}
		at = profile[next].at
	}
}

// arrayProfile returns the starts and ends of all running and planned jobs, by time, without those
// of the given job.
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
	for _, j := range c.Fast().Planned() {
		start, _, _ := c.Reservation(j)
		add(j, start, start+j.Estimate)
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return all
}
