package backfill

// lane is some jobs of a shape in a pass over the queue, at the first that fits.
type lane struct {
	listed
	at     Placement // of the job; nil: not looked for yet
	shape  int32
	which  laneJobs
	limit  Time     // jobs of this length or longer do not fit
	one    bool     // the jobs have one candidate slot: those that are shorter than limit fit
	on     []SlotID // jobs fit on no other slots; nil: on any, for all that is known
	change int      // changes of the cycle when the job was found to fit
}

// laneJobs says which jobs of its shape a lane lists, and by which length.
type laneJobs uint8

const (
	unplannedJobs     laneJobs = iota // those without a reservation, by estimate
	plannedByEstimate                 // those with a reservation, by estimate
	plannedByStart                    // the same by planned start
	inSums                            // the same three, of which those are looked for that fit the sums of the pool
	inSumsByEstimate
	inSumsByStart
)

// inSums reports whether the lane is for jobs for which there is room on all slots together.
func (w laneJobs) inSums() bool { return w >= inSums }

// listed returns the kind of lane that lists the same jobs, and looks for those that fit.
func (w laneJobs) listed() laneJobs {
	if w.inSums() {
		return w - inSums
	}
	return w
}

// of returns a shape's list.
func (w laneJobs) of(s *shape) *listing {
	switch w.listed() {
	case plannedByEstimate:
		return &s.planned.byEstimate
	case plannedByStart:
		return &s.planned.byStart
	default:
		return &s.jobs
	}
}

// least returns the least length in a shape's list; Forever if there is no job.
func (w laneJobs) least(s *shape) Time {
	switch w.listed() {
	case plannedByEstimate:
		return s.planned.least
	case plannedByStart:
		return s.planned.first
	default:
		return s.least
	}
}

// lanes are a binary heap by the queue's order.
type lanes []lane

// before reports whether a lane's job comes first. Of one job's lanes those come last that would have
// others moved.
func (l *lane) before(o *lane) bool {
	d := l.compare(&o.queued)
	return d < 0 || d == 0 && !l.which.inSums() && o.which.inSums()
}

// order makes a heap of the lanes.
func (f lanes) order() {
	for i := len(f)/2 - 1; i >= 0; i-- {
		f.down(i)
	}
}

// advance moves the first lane to its next job that fits.
func (f lanes) advance(c *Cycle) lanes {
	if at := f[0].queued; !c.seek(&f[0], &at) {
		return f.drop()
	}
	f.down(0)
	return f
}

// drop drops the first lane.
func (f lanes) drop() lanes {
	last := len(f) - 1
	f[0] = f[last]
	f = f[:last]
	f.down(0)
	return f
}

// down restores the heap below an index.
func (f lanes) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(f) {
			return
		}
		if least+1 < len(f) && f[least+1].before(&f[least]) {
			least++
		}
		if !f[least].before(&f[i]) {
			return
		}
		f[i], f[least] = f[least], f[i]
		i = least
	}
}
