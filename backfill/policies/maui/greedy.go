package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// search goes through the combinations of some jobs: with each of them and then
// without, in their order. A combination fits if its jobs can be placed one after
// the other in that order.
type search struct {
	i       *iteration
	l       level
	jobs    []*backfill.Job
	worth   []amount         // of each job
	rest    []amount         // what the jobs from each on are worth together
	free    *profile.Profile // with the chosen ones in it
	tries   int              // how often a job may still be added
	enough  amount           // no combination can be worth more
	chosen  []*backfill.Job
	sum     amount // of the chosen
	best    []*backfill.Job
	bestSum amount
}

// bestOf finds the combination of jobs with the largest sum of the metric; of
// equal ones the first, in which the earlier jobs are. It adds a job to another
// combination so many times, and completes at least the first, which is what
// FIRSTFIT would start; then it gives the best that it has found.
func (i *iteration) bestOf(jobs []*backfill.Job, l level, m metric, tries int) []*backfill.Job {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *backfill.Job) bool { return !i.fits(j) })
	if len(jobs) == 0 {
		return nil
	}
	s := &search{i: i, l: l, jobs: jobs, free: i.c.Profile().Clone(), tries: tries}
	s.worth, s.rest = make([]amount, len(jobs)), make([]amount, len(jobs)+1)
	most := int64(0)
	for n, j := range slices.Backward(jobs) {
		s.worth[n] = m.of(j)
		s.rest[n] = s.rest[n+1].plus(s.worth[n])
		most = max(most, m.each(j))
	}
	// Jobs that take bundles may be worth more than what they hold.
	if s.enough = s.rest[0]; m.byCPU && !slices.ContainsFunc(jobs, func(j *backfill.Job) bool { return j.Whole }) {
		s.enough = product(idleCPUs(i.c), most)
	}
	s.from(0)
	return s.best
}

// from goes through the combinations of what is chosen and the jobs from the
// n-th on.
func (s *search) from(n int) {
	if s.best != nil && s.sum.plus(s.rest[n]).compare(s.bestSum) <= 0 {
		return // none of them is better
	}
	if n == len(s.jobs) {
		s.best, s.bestSum = slices.Clone(s.chosen), s.sum
		if s.bestSum.compare(s.enough) >= 0 {
			s.tries = 0
		}
		return
	}
	if s.with(n) && s.tries <= 0 {
		return
	}
	s.from(n + 1)
}

// with goes through the combinations in which the n-th job is; false if it
// cannot be added.
func (s *search) with(n int) bool {
	c, j := s.i.c, s.jobs[n]
	s.tries--
	if !s.i.use.allow(j, s.l) {
		return false
	}
	request := c.Request(j)
	at, fits := s.free.Place(request, c.Now())
	if !fits {
		return false
	}
	sum := s.sum
	s.free.Add(at, request.Chunk, c.Now(), c.Now()+j.Estimate)
	s.i.use.add(j)
	s.chosen, s.sum = append(s.chosen, j), sum.plus(s.worth[n])
	s.from(n + 1)
	s.chosen, s.sum = s.chosen[:len(s.chosen)-1], sum
	s.i.use.remove(j)
	s.free.Remove(at, request.Chunk, c.Now(), c.Now()+j.Estimate)
	return true
}

// idleCPUs counts the cpus that are free now.
func idleCPUs(c *backfill.Cycle) (n int64) {
	for _, slot := range c.State().Slots() {
		if c.State().SlotUp(slot.ID) {
			n += max(0, c.Profile().Free(slot.ID, c.Now())[0])
		}
	}
	return n
}
