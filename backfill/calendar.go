package backfill

import (
	"cmp"
	"slices"
)

// calendar lists the planned jobs by planned start, then in order of jobs. A policy may move a large
// part of a plan in one pass and does not look at the list meanwhile. So changes are collected and
// merged into the list at once, before it is read next.
type calendar struct {
	jobs         []planned
	joined, left []planned // not merged into jobs yet; a policy that goes by start changes both nearly in order
	merged       []planned // buffer of merge
}

// compare compares by time, then in order of jobs.
func (p planned) compare(o planned) int {
	switch {
	case p.at != o.at: // mostly
		return cmp.Compare(p.at, o.at)
	case p.job == o.job:
		return 0
	default:
		return Compare(p.job, o.job)
	}
}

// Len returns the number of jobs.
func (c *calendar) Len() int { return len(c.jobs) + len(c.joined) - len(c.left) }

// Set adds a job that is not planned for any time.
func (c *calendar) Set(p planned) { c.joined = append(c.joined, p) }

// Delete removes a job at its planned start.
func (c *calendar) Delete(p planned) { c.left = append(c.left, p) }

// Min returns the first job; false if there is none.
func (c *calendar) Min() (planned, bool) {
	if c.merge(); len(c.jobs) == 0 {
		return planned{}, false
	}
	return c.jobs[0], true
}

// Scan calls the callback with each job until the callback returns false. The callback must not
// change the calendar.
func (c *calendar) Scan(yield func(planned) bool) {
	c.merge()
	for _, p := range c.jobs {
		if !yield(p) {
			return
		}
	}
}

// Copy returns an independent copy.
func (c *calendar) Copy() *calendar {
	c.merge()
	return &calendar{jobs: slices.Clone(c.jobs)}
}

// merge brings the changes into the list. It touches only the part of the list that lies between
// the first change and the last. Until it is called, reading the calendar writes to it.
func (c *calendar) merge() {
	joined, left := c.joined, c.left
	if len(joined) == 0 && len(left) == 0 {
		return
	}
	slices.SortFunc(joined, planned.compare)
	slices.SortFunc(left, planned.compare)
	out, first, next := c.merged[:0], -1, 0
	for len(joined) > 0 || len(left) > 0 {
		var job planned // the next one of which something changes
		if len(left) == 0 || len(joined) > 0 && joined[0].compare(left[0]) < 0 {
			job = joined[0]
		} else {
			job = left[0]
		}
		come, gone := run(joined, job), run(left, job)
		joined, left = joined[len(come):], left[len(gone):]
		at := next + before(c.jobs[next:], job)
		if first < 0 {
			first, next = at, at
		}
		out = append(out, c.jobs[next:at]...)
		present := run(c.jobs[at:], job) // at most one
		next = at + len(present)
		switch stay := len(present) + len(come) - len(gone); {
		case stay > 0 && len(gone) == 0:
			out = append(out, job)
		case stay > 0:
			out = append(out, remaining(slices.Concat(present, come), gone))
		}
	}
	c.jobs = slices.Replace(c.jobs, first, next, out...)
	clear(c.joined)
	clear(c.left)
	c.merged, c.joined, c.left = out, c.joined[:0], c.left[:0]
}

// run returns the part at the front of a sorted list that is of the given job at its time.
func run(changes []planned, job planned) []planned {
	n := 0
	for n < len(changes) && changes[n].compare(job) == 0 {
		n++
	}
	return changes[:n]
}

// remaining returns the one that came and has not gone, and changes the list. All are of one job at one
// time, but each may be another version of it, as when the job is edited.
func remaining(come, gone []planned) planned {
	for _, p := range gone {
		if i := slices.Index(come, p); i >= 0 {
			come = slices.Delete(come, i, i+1)
		}
	}
	return come[0]
}

// before returns how many jobs at the front of the list come before the given one. It looks near the front
// first: changes that are merged in order mostly lie close together.
func before(jobs []planned, job planned) int {
	end := 1
	for end <= len(jobs) && jobs[end-1].compare(job) < 0 {
		end *= 2
	}
	i, _ := slices.BinarySearchFunc(jobs[end/2:min(end, len(jobs))], job, planned.compare)
	return end/2 + i
}
