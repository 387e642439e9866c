package backfilltest

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// mostFailures is how many jobs in a round may fail to have others moved.
const mostFailures = 8

// moving is a pass that moves reservations to other slots.
type moving struct {
	c         *backfill.Cycle
	failed    int
	vain      []*backfill.Job // that were tried since the last start
	divisible bool
}

// start starts a job that does not fit, if that is possible once others' reservations have other slots.
func (m *moving) start(j *backfill.Job) {
	if m.failed == mostFailures || len(m.c.State().Slots()) == 1 || !m.mayStart(j) || m.known(j) {
		return
	}
	at, others, ok := inTheWay(m.c, j)
	a := backfill.Arrangement{}
	if ok {
		a, ok = arrange(m.c, j, m.c.Now(), at, others)
	}
	if !ok && m.divisible {
		a, ok = arrange(m.c, j, m.c.Now(), nil, startingFrom(m.c, j, m.c.Now()))
	}
	if !ok {
		m.failed++
		m.vain = append(m.vain, j)
		return
	}
	m.vain = nil
	apply(m.c, a, func() { m.c.Start(j, a.At) })
}

// known reports whether a job that asks for the same, for no longer, was tried in vain since the last start.
func (m *moving) known(j *backfill.Job) bool {
	return slices.ContainsFunc(m.vain, func(o *backfill.Job) bool {
		return o.Estimate <= j.Estimate && o.Candidates == j.Candidates && o.Nodes == j.Nodes && o.Whole == j.Whole &&
			o.Unestimated == j.Unestimated && slices.Equal(o.Request, j.Request) && slices.Equal(o.Takes, j.Takes)
	})
}

// apply gives up what moves, places the job, and reserves again.
func apply(c *backfill.Cycle, a backfill.Arrangement, place func()) {
	for _, moved := range a.Moved {
		c.Release(moved.Job)
	}
	place()
	for _, moved := range a.Moved {
		c.Reserve(moved.Job, moved.Start, moved.At)
	}
}

// mayStart reports whether all slots together have room for a job until its end, or until its planned
// start, and its chunks find slots for a second.
func (m *moving) mayStart(j *backfill.Job) bool {
	view, now := m.c.State(), m.c.Now()
	until := now + j.Estimate
	if start, _, planned := m.c.Reservation(j); planned {
		until = min(until, start)
	}
	request := view.Request(j)
	request.Duration = 1
	return (j.Whole || haveRoom(m.c, j.Total(), now, until)) && view.Profile().Rows().Free(j.Takes, now, until) &&
		view.Profile().HasPlace(request, now)
}

// haveRoom reports whether all slots that are up have at least so much free together during [from, to).
func haveRoom(c *backfill.Cycle, need backfill.Vector, from, to backfill.Time) bool {
	for _, t := range append(instants(c), from) {
		if t < from || t >= to {
			continue
		}
		sum := make(backfill.Vector, len(need))
		for id := range c.State().Slots() {
			if c.State().SlotUp(backfill.SlotID(id)) {
				sum.AddScaled(c.State().Profile().Free(backfill.SlotID(id), t), 1)
			}
		}
		for k := range need {
			if need[k] > 0 && sum[k] < need[k] {
				return false
			}
		}
	}
	return true
}

// instants lists when something becomes free or occupied.
func instants(c *backfill.Cycle) (all []backfill.Time) {
	for r := range c.Running() {
		all = append(all, r.Start, r.End)
	}
	ends := c.State().Profile().Ends()
	for _, j := range c.Fast().Planned() {
		start, at, _ := c.Reservation(j)
		all = append(all, start, start+1, ends.Run(c.State().Request(j), at, start))
	}
	for id := range c.State().Slots() {
		all = append(all, ends.Of(backfill.SlotID(id)))
	}
	return all
}

// inTheWay returns the slots that a job would take if it lasted a second, and the others that are planned
// there and begin before its end.
func inTheWay(c *backfill.Cycle, j *backfill.Job) (at backfill.Placement, others []*backfill.Job, ok bool) {
	request := c.State().Request(j)
	request.Duration = 1
	if at, ok = c.State().Profile().Place(request, c.Now()); !ok {
		return nil, nil, false
	}
	for _, o := range c.Fast().Planned() {
		start, on, _ := c.Reservation(o)
		if o != j && start < c.Now()+j.Estimate && slices.ContainsFunc(on, func(a backfill.Chunks) bool {
			return slices.ContainsFunc(at, func(b backfill.Chunks) bool { return a.Slot == b.Slot })
		}) {
			others = append(others, o)
		}
	}
	return at, others, true
}

// startingFrom lists the other jobs with planned starts from an instant on.
func startingFrom(c *backfill.Cycle, j *backfill.Job, from backfill.Time) []*backfill.Job {
	return slices.DeleteFunc(c.Fast().Planned(), func(o *backfill.Job) bool {
		start, _, _ := c.Reservation(o)
		return o == j || start < from
	})
}

// arrange tries on a copy to have a job begin at the placement, or by the rule, and the others, which are
// sorted by start, at the starts that they have.
func arrange(c *backfill.Cycle, j *backfill.Job, start backfill.Time, at backfill.Placement, others []*backfill.Job,
) (a backfill.Arrangement, ok bool) {
	free := c.State().Profile().Clone()
	for _, o := range append(slices.Clone(others), j) {
		if planned, on, has := c.Reservation(o); has {
			shift(c, free, o, planned, on, -1)
		}
	}
	request := c.State().Request(j)
	if at == nil || !free.Fits(request, at, start) {
		if at, ok = free.Place(request, start); !ok {
			return a, false
		}
	}
	a.At = at
	free.Add(at, request.Chunk, start, free.Ends().Run(request, at, start))
	free.Take(j.Takes, start, free.Ends().Run(request, at, start))
	for _, o := range others {
		planned, on, _ := c.Reservation(o)
		request := c.State().Request(o)
		if !free.Fits(request, on, planned) {
			next, fits := free.Place(request, planned)
			if !fits || free.Ends().Run(request, next, planned) < free.Ends().Run(request, on, planned) {
				return a, false
			}
			on = next
			a.Moved = append(a.Moved, backfill.Moved{Job: o, Start: planned, At: on})
		}
		shift(c, free, o, planned, on, 1)
	}
	return a, stands(c, j, start, a)
}

// stands reports whether what is arranged fits beside those that stay.
func stands(c *backfill.Cycle, j *backfill.Job, start backfill.Time, a backfill.Arrangement) bool {
	free := c.State().Profile().Clone()
	for _, o := range append([]backfill.Moved{{Job: j}}, a.Moved...) {
		if planned, on, has := c.Reservation(o.Job); has {
			shift(c, free, o.Job, planned, on, -1)
		}
	}
	request := c.State().Request(j)
	if !free.Fits(request, a.At, start) {
		return false
	}
	free.Add(a.At, request.Chunk, start, free.Ends().Run(request, a.At, start))
	free.Take(j.Takes, start, free.Ends().Run(request, a.At, start))
	for _, o := range a.Moved {
		if !free.Fits(c.State().Request(o.Job), o.At, o.Start) {
			return false
		}
		shift(c, free, o.Job, o.Start, o.At, 1)
	}
	return true
}

// shift takes a reservation into the profile if jobs is 1, and out of it if jobs is -1.
func shift(c *backfill.Cycle, free *profile.Profile, j *backfill.Job, start backfill.Time, at backfill.Placement, jobs int,
) {
	request := c.State().Request(j)
	end := free.Ends().Run(request, at, start)
	if jobs > 0 {
		free.Add(at, request.Chunk, start, end)
		free.Take(j.Takes, start, end)
	} else {
		free.Remove(at, request.Chunk, start, end)
		free.GiveBack(j.Takes, start, end)
	}
	for _, on := range at {
		if spare := request.Spare(on.Slot); spare != nil {
			free.Lead(on.Slot, start, spare, jobs)
		}
	}
}

// divisible reports whether all jobs that wait have chunks of one cpu and of nothing else, and may use all
// slots at all times.
func divisible(c *backfill.Cycle) bool {
	for j := range c.Waiting() {
		set := c.State().Request(j).Candidates
		if j.Whole || len(j.Takes) > 0 || j.Request[0] != 1 || !j.Request[1:].Zero() ||
			set.Windows != nil || set.Least != nil || len(set.Slots) != len(c.State().Slots()) {
			return false
		}
	}
	return len(c.State().Slots()) > 1 && c.State().Profile().Ends().Count() == 0
}

// earliestInSums returns the earliest start from an instant on at which all slots together have room for a
// job, as if it had no reservation, on a pool that is divisible, and what moves then.
func earliestInSums(c *backfill.Cycle, j *backfill.Job, from backfill.Time) (start backfill.Time, a backfill.Arrangement,
	ok bool,
) {
	from = j.NotBefore(from)
	if planned, at, has := c.Reservation(j); has { // as if it had none
		c.Release(j)
		defer c.Reserve(j, planned, at)
	}
	starts := append(instants(c), from)
	slices.Sort(starts)
	for _, start = range starts {
		if start < from || start == backfill.Forever || !haveRoom(c, j.Total(), start, start+j.Estimate) {
			continue
		}
		if at, fits := c.State().Profile().Place(c.State().Request(j), start); fits {
			return start, backfill.Arrangement{At: at}, true
		}
		a, ok = arrange(c, j, start, nil, startingFrom(c, j, start))
		return start, a, ok
	}
	return 0, a, false
}
