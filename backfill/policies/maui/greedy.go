package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// search tries combinations of jobs, in their order, first with each job and then without it. A
// combination fits if its jobs can be placed one after the other in that order.
type search struct {
	i       *iteration
	l       level
	jobs    []*backfill.Job
	worth   []amount         // by job
	rest    []amount         // by job: the sum of its worth and of all jobs behind it
	free    *profile.Profile // with the chosen jobs placed in it
	tries   int              // remaining attempts to add a job
	enough  amount           // upper bound of the worth of any combination
	chosen  []*backfill.Job
	sum     amount // of the chosen
	best    []*backfill.Job
	bestSum amount
}

// bestOf returns the combination of jobs with the largest sum of the metric; of equal ones, the one
// with the earlier jobs. It stops after the given number of attempts to add a job and returns the
// best one so far. The first combination, which FIRSTFIT would start, is always completed.
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
	// The worth of jobs that take bundles may exceed the idle cpus.
	if s.enough = s.rest[0]; m.byCPU && !slices.ContainsFunc(jobs, func(j *backfill.Job) bool { return j.Whole }) {
		s.enough = product(idleCPUs(i.c), most)
	}
	s.from(0)
	return s.best
}

// from tries all combinations of the chosen jobs with jobs from the n-th on.
func (s *search) from(n int) {
	if s.best != nil && s.sum.plus(s.rest[n]).compare(s.bestSum) <= 0 {
		return // no such combination can be better
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

// with tries the combinations that contain the n-th job. It returns false if the job cannot be
// added.
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

// idleCPUs returns the number of cpus that are free now.
func idleCPUs(c *backfill.Cycle) (n int64) {
	for _, slot := range c.State().Slots() {
		if c.State().SlotUp(slot.ID) {
			n += max(0, c.Profile().Free(slot.ID, c.Now())[0])
		}
	}
	return n
}
