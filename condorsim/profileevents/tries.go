package profileevents

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// conservative counts what the policy conservative scans after event e of job j. At an arrival,
// that is the placing of the job; at an early completion, one try of each waiting job: a scan for
// its earliest place.
func (c *Counter) conservative(j *job, e backfill.Event) {
	if e.Kind == backfill.Submitted {
		c.arrive(j, c.moved(j))
		return
	}
	if j.end <= c.now {
		return
	}
	moved := false
	for _, k := range c.jobs {
		if start, moves := c.next(k); moves {
			c.try(k, start)
			c.move(k, start)
			moved = true
		} else {
			c.try(k, k.start)
		}
	}
	if moved {
		slices.SortFunc(c.jobs, c.order)
	}
}

// pc counts what the policy pc scans after event e of job j. At an arrival, that is the placing of
// the job. At an early completion, pc scans for an earlier place for each job from the front of its
// queue, up to a job that moves, and begins again at the front after each move; the last round
// moves none.
//
// A job's rank is the number of starts and ends before the job's end. When another job moves, the
// rank rises by one if the other's start comes to lie before that end, and by one if the other's
// end does.
func (c *Counter) pc(j *job, e backfill.Event) {
	if e.Kind == backfill.Submitted {
		c.arrive(j, c.moved(j))
		return
	}
	if j.end <= c.now {
		return
	}
	c.ranks = c.ranks[:0]
	for _, k := range c.jobs {
		c.ranks = append(c.ranks, c.instants.before(k.end))
	}
	for len(c.moves) > 0 {
		k := c.known[c.moves[0].Job]
		i, found := 0, false
		if k != nil {
			i, found = slices.BinarySearchFunc(c.jobs, k, c.order)
		}
		if !found {
			return
		}
		start, _ := c.next(k)
		c.staying(i)
		c.try(k, start)
		oldStart, oldEnd := k.start, k.end
		c.move(k, start)
		for n, other := range c.jobs {
			end := other.end
			if k.start < end && end <= oldStart {
				c.ranks[n]++
			}
			if k.end < end && end <= oldEnd {
				c.ranks[n]++
			}
		}
		c.ranks[i] = c.instants.before(k.end)
	}
	c.staying(len(c.jobs))
}

// staying counts the scans for the first n jobs of pc's queue, which do not move: for each job all
// starts and ends from now until before its end, except its own start.
func (c *Counter) staying(n int) {
	sum := 0
	for _, rank := range c.ranks[:n] {
		sum += rank
	}
	c.count += int64(sum) - int64(n)*int64(c.past+1)
}

// dc counts what the policy dc scans after event e of job j. At a completion, that is fill, again
// and again until no job moves. At an arrival, it is a try of the new job, one of each job before
// it in the queue, which may move to a start no later than where the new job would end, and the
// placing of the new job.
func (c *Counter) dc(j *job, e backfill.Event) {
	if e.Kind == backfill.Completed {
		for c.fill() {
		}
		return
	}
	start, ok := c.profile.EarliestAhead(c.request(j), backfill.Forever, c.now, backfill.Forever)
	if !ok {
		return
	}
	c.try(j, start)
	limit := start + j.Estimate
	until, _ := slices.BinarySearchFunc(c.jobs, j, c.order)
	for _, k := range c.jobs[:until] {
		if earlier := c.search(k); earlier < k.start && earlier <= limit {
			c.check(k, earlier)
		}
	}
	start, _ = c.profile.EarliestAhead(c.request(j), backfill.Forever, c.now, backfill.Forever)
	if moved := c.moved(j); moved != start {
		c.err = fmt.Errorf("job %d was planned for %d instead of %d", j.ID, moved, start)
		return
	}
	c.arrive(j, start)
}

// fill counts one round of dc after a completion: a scan for each job that is planned for later,
// which moves if it can start now. It returns whether a job moved.
func (c *Counter) fill() (moved bool) {
	for _, k := range c.jobs {
		if k.start > c.now && c.search(k) == c.now {
			c.check(k, c.now)
			moved = true
		}
	}
	return moved
}

// search counts a scan for the earliest place of a waiting job, and returns the start there, which
// may be the planned one.
func (c *Counter) search(k *job) backfill.Time {
	start, earlier := c.profile.EarliestAhead(c.request(k), k.start, c.now, k.start)
	if !earlier {
		start = k.start
	}
	c.try(k, start)
	return start
}

// check moves a job. It records an error unless the policy made the same move next.
func (c *Counter) check(k *job, start backfill.Time) {
	if at, moves := c.next(k); c.err == nil && (!moves || at != start) {
		c.err = fmt.Errorf("job %d was not moved to %d", k.ID, start)
	}
	c.move(k, start)
}

// next returns the new start of the job, and takes it off the list of moves, if the policy's next
// move is of this job; else moves is false.
func (c *Counter) next(k *job) (start backfill.Time, moves bool) {
	if len(c.moves) == 0 || c.moves[0].Job != k.ID {
		return 0, false
	}
	start, c.moves = c.moves[0].At, c.moves[1:]
	return start, true
}

// moved returns the start that the policy planned for a job that arrived; it records an error if
// the policy planned none.
func (c *Counter) moved(j *job) backfill.Time {
	start, ok := c.next(j)
	if !ok && c.err == nil {
		c.err = fmt.Errorf("job %d arrived and was not planned", j.ID)
	}
	return start
}

// try counts the scan that finds a place for a job from start on: all starts and ends from now
// until before the job's end there, without its own.
func (c *Counter) try(k *job, start backfill.Time) {
	end := start + k.Estimate
	n := c.instants.before(end) - c.past
	if k.placed && k.start < end { // the textbook has removed the job's own start from the array
		n--
	}
	c.count += int64(n)
}

// arrive counts the scan that places a new job at start, and adds the job to the waiting ones.
func (c *Counter) arrive(j *job, start backfill.Time) {
	c.try(j, start)
	j.start, j.end, j.placed = start, start+j.Estimate, true
	c.instants.add(j.start)
	c.instants.add(j.end)
	c.plan(j)
	c.known[j.ID] = j
	i, _ := slices.BinarySearchFunc(c.jobs, j, c.order)
	c.jobs = slices.Insert(c.jobs, i, j)
}

// move moves a waiting job to an earlier start.
func (c *Counter) move(k *job, start backfill.Time) {
	c.unplan(k)
	c.instants.advance(k.start, start)
	c.instants.advance(k.end, start+k.Estimate)
	k.start, k.end = start, start+k.Estimate
	c.plan(k)
}
