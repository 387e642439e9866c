package backfill

// A slot may end. A job whose estimate is its own is placed only where it ends in time, which the profile
// sees to. One without an estimate of its own (see [Job.Unestimated]) may begin at any time before, and is
// taken to end when the first of its slots does, if its estimate is not over by then: its record says so,
// as that of a running job and as that of a reservation.

// endOf returns when a job is taken to end if it starts at start, placed so, and runs for the given time
// unless a slot ends before.
func (s *State) endOf(j *Job, at Placement, start, runs Time) Time {
	if !j.Unestimated || s.profile.Ends().Count() == 0 {
		return start + runs
	}
	r := s.Request(j)
	r.Duration = runs
	return s.profile.Ends().Run(r, at, start)
}

// plannedEnd returns when a job is taken to end if it starts at start, placed so, by its estimate.
func (s *State) plannedEnd(j *Job, at Placement, start Time) Time {
	return s.endOf(j, at, start, j.Estimate)
}

// untilSlotEnds returns the expected end of a running job, which was told; or the first end of its slots,
// if that is still to come and the job's estimate is not its own.
func (s *State) untilSlotEnds(j *Job, at Placement, end Time) Time {
	if !j.Unestimated || s.profile.Ends().Count() == 0 {
		return end
	}
	if ends := s.firstEnd(at); ends > s.now {
		return min(end, ends)
	}
	return end
}

// firstEnd returns the first end of a placement's slots; Forever if none has one.
func (s *State) firstEnd(at Placement) Time {
	end := Forever
	for _, on := range at {
		end = min(end, s.profile.Ends().Of(on.Slot))
	}
	return end
}

// until returns from when on the slot has nothing; Forever: never.
func (s Slot) until() Time {
	if s.End == 0 {
		return Forever
	}
	return s.End
}

// moveEnd lets running jobs whose estimates are not their own end when their slot does, which ends at
// another time than before. It returns the slots on which what is free may have changed, and the rows.
func (c *Cycle) moveEnd(before, now Slot) (slots []SlotID, rows []RowID) {
	slots = []SlotID{now.ID}
	jobs := c.jobsOn(slots, running)
	for i := range jobs {
		r := &jobs[i]
		if !r.job.Unestimated || r.yields {
			continue
		}
		end := r.end
		if first := c.s.firstEnd(r.placement); first > before.until() && end == before.until() {
			end = ExpectedEnd(r.job, r.job.runs(c.s.guarantees), r.start, c.round.Now)
		}
		if end = c.s.untilSlotEnds(r.job, r.placement, end); end != r.end {
			r.end = end
			c.set(r.job.ID, r)
			slots, rows = append(slots, slotsOf(r.placement)...), append(rows, rowsOf(r.job.Takes)...)
		}
	}
	return slots, rows
}

// endMoved returns the cause that lifts promises when a slot changes: its end, unless it has less.
func endMoved(before, now Slot) Cause {
	if before.End != now.End && before.Capacity.Within(now.Capacity) {
		return CauseSlotEnds
	}
	return CauseSlotChanged
}
