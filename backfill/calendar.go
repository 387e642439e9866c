package backfill

import (
	"cmp"
	"slices"
)

// calendar lists the planned jobs by planned start, then in order of jobs. A policy may move a large
// part of a plan in one pass and does not look at the list meanwhile. So changes are collected and
// merged into the list at once, before it is read next.
type calendar struct {
	jobs    []planned
	changes []planChange // not merged into jobs yet
	size    int          // number of jobs once they are
	merged  []planned    // buffer of merge
}

// planChange is a job that joined the calendar, or left it.
type planChange struct {
	planned
	number int32 // of the change among those that were not merged yet
	joined bool
}

// compare compares by time, then in order of jobs.
func (p planned) compare(o planned) int {
	if p.at != o.at {
		return cmp.Compare(p.at, o.at)
	}
	return Compare(p.job, o.job)
}

// Len returns the number of jobs.
func (c *calendar) Len() int { return c.size }

// Set adds a job that is not planned for any time.
func (c *calendar) Set(p planned) {
	c.changes = append(c.changes, planChange{p, int32(len(c.changes)), true})
	c.size++
}

// Delete removes a job at its planned start.
func (c *calendar) Delete(p planned) {
	c.changes = append(c.changes, planChange{p, int32(len(c.changes)), false})
	c.size--
}

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
	return &calendar{jobs: slices.Clone(c.jobs), size: c.size}
}

// merge brings the changes into the list. It touches only the part of the list that lies between
// the first change and the last. Until it is called, reading the calendar writes to it.
func (c *calendar) merge() {
	if len(c.changes) == 0 {
		return
	}
	slices.SortFunc(c.changes, func(a, b planChange) int {
		if a.at != b.at { // mostly
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Or(Compare(a.job, b.job), cmp.Compare(a.number, b.number))
	})
	from, _ := slices.BinarySearchFunc(c.jobs, c.changes[0].planned, planned.compare)
	out, next := c.merged[:0], from
	for i := 0; i < len(c.changes); {
		// Of the changes of one job at one time, the last counts.
		last := c.changes[i]
		for i++; i < len(c.changes) && c.changes[i].compare(last.planned) == 0; i++ {
			last = c.changes[i]
		}
		at, found := slices.BinarySearchFunc(c.jobs[next:], last.planned, planned.compare)
		out = append(out, c.jobs[next:next+at]...)
		if next += at; found {
			next++
		}
		if last.joined {
			out = append(out, last.planned)
		}
	}
	c.jobs = slices.Replace(c.jobs, from, next, out...)
	c.merged = out
	clear(c.changes)
	c.changes = c.changes[:0]
}
