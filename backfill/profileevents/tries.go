package profileevents

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// conservative counts the placing of a job that arrives and, at an early completion, one try of
// each waiting job.
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

// pc counts the placing of a job that arrives. At an early completion it counts, for each move, the
// tries of the jobs up to the one that moves, and at the end one try of every job. The rank of a
// job is the number of instants before its end: a move adds one for each of its start and end that
// it moves ahead of a job's end.
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

// staying counts the tries of the first n jobs of pc's queue, which stay where they are: all
// instants from now up to their ends, except their own starts.
func (c *Counter) staying(n int) {
	sum := 0
	for _, rank := range c.ranks[:n] {
		sum += rank
	}
	c.count += int64(sum) - int64(n)*int64(c.past+1)
}

// dc fills at a completion. At an arrival it finds where the new job would end, and lets the jobs
// before it in the queue move up to there.
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

// fill counts one round of dc and reports whether it moved a job.
func (c *Counter) fill() (moved bool) {
	for _, k := range c.jobs {
		if k.start > c.now && c.search(k) == c.now {
			c.check(k, c.now)
			moved = true
		}
	}
	return moved
}

// search counts a try of a waiting job and returns the earliest start that it finds.
func (c *Counter) search(k *job) backfill.Time {
	start, earlier := c.profile.EarliestAhead(c.request(k), k.start, c.now, k.start)
	if !earlier {
		start = k.start
	}
	c.try(k, start)
	return start
}

// check moves a job and records an error unless the policy made the same move.
func (c *Counter) check(k *job, start backfill.Time) {
	if at, moves := c.next(k); c.err == nil && (!moves || at != start) {
		c.err = fmt.Errorf("job %d was not moved to %d", k.ID, start)
	}
	c.move(k, start)
}

// next takes the policy's next move if it is this job's; else moves is false.
func (c *Counter) next(k *job) (start backfill.Time, moves bool) {
	if len(c.moves) == 0 || c.moves[0].Job != k.ID {
		return 0, false
	}
	start, c.moves = c.moves[0].At, c.moves[1:]
	return start, true
}

// moved returns the start that the policy planned for a job that arrived.
func (c *Counter) moved(j *job) backfill.Time {
	start, ok := c.next(j)
	if !ok && c.err == nil {
		c.err = fmt.Errorf("job %d arrived and was not planned", j.ID)
	}
	return start
}

// try counts a scan for a job that is placed from start on.
func (c *Counter) try(k *job, start backfill.Time) {
	end := start + k.Estimate
	n := c.instants.before(end) - c.past
	if k.placed && k.start < end { // its own start is not in the array
		n--
	}
	c.count += int64(n)
}

// arrive counts the scan for a new job and plans the job.
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
