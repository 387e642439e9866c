package maui

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// search tries combinations of jobs in the queue's order, for each job first those with the job and
// then those without it. A combination fits if its jobs can be placed one after the other in that
// order.
type search struct {
	i       *iteration
	l       level // of the limits that apply
	jobs    []*backfill.Job
	worth   []amount         // by index in jobs: the metric
	rest    []amount         // by index in jobs: the sum of worth from this job on
	free    *profile.Profile // with the chosen jobs placed in it
	tries   int              // attempts to add a job that are left
	enough  amount           // upper bound of the worth of any combination
	chosen  []*backfill.Job
	sum     amount // of the worth of the chosen jobs
	best    []*backfill.Job
	bestSum amount
}

// bestOf returns the combination of jobs with the largest sum of the metric that fits now; of equal
// ones, the one with the earlier jobs. It stops after tries attempts to add a job and returns the
// best combination so far. The first combination, which FIRSTFIT would start, is always completed.
func (i *iteration) bestOf(jobs []*backfill.Job, l level, m metric, tries int) []*backfill.Job {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *backfill.Job) bool { return !i.fits(j) })
	if len(jobs) == 0 {
		return nil
	}
	s := &search{i: i, l: l, jobs: jobs, free: i.c.State().Profile().Clone(), tries: tries}
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

// from tries all combinations of the chosen jobs with jobs from index n on.
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

// with tries the combinations of the chosen jobs with the job at index n and jobs behind it. It
// returns false if the job does not fit or would exceed a limit.
func (s *search) with(n int) bool {
	c, j := s.i.c, s.jobs[n]
	s.tries--
	if !s.i.use.allow(j, s.l) {
		return false
	}
	request := c.State().Request(j)
	at, fits := s.free.Place(request, c.Now())
	if !fits {
		return false
	}
	sum, end := s.sum, s.free.Ends().Run(request, at, c.Now())
	s.free.Add(at, request.Chunk, c.Now(), end)
	s.free.Take(j.Takes, c.Now(), end)
	s.i.use.add(j)
	s.chosen, s.sum = append(s.chosen, j), sum.plus(s.worth[n])
	s.from(n + 1)
	s.chosen, s.sum = s.chosen[:len(s.chosen)-1], sum
	s.i.use.remove(j)
	s.free.Remove(at, request.Chunk, c.Now(), end)
	s.free.GiveBack(j.Takes, c.Now(), end)
	return true
}

// idleCPUs returns the number of cpus that are free now in the pool.
func idleCPUs(c *backfill.Cycle) (n int64) {
	for _, slot := range c.State().Slots() {
		if c.State().SlotUp(slot.ID) {
			n += max(0, c.State().Profile().Free(slot.ID, c.Now())[0])
		}
	}
	return n
}
