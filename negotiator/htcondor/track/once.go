package track

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// The negotiator refuses a delta that reports a job twice. But what a look finds out last may undo
// what it found out first: a job comes back to its queue, and then leaves the plan, as a limit is of
// more use to others. So all reports of jobs pass through here, and of each job the last one counts.

// word is a way to report a job: a list of the delta.
type word uint8

const (
	asSubmitted word = iota
	asChanged
	asFound
	asCompleted
	asRemoved
	asStartFailed
	asEnds
)

// says notes that the delta reports a job, in this way and no other so far.
func (c *comparison) says(id backfill.JobID, w word) {
	if c.told.Add(id) {
		return
	}
	if c.again == nil {
		c.again = map[backfill.JobID]word{}
	}
	c.again[id] = w
}

// tellSubmitted reports that a job waits which the negotiator does not know.
func (c *comparison) tellSubmitted(j *negotiator.Job) {
	c.says(j.ID, asSubmitted)
	c.delta.Submitted = append(c.delta.Submitted, j)
}

// tellChanged reports that a waiting job was edited.
func (c *comparison) tellChanged(j *negotiator.Job) {
	c.says(j.ID, asChanged)
	c.delta.Changed = append(c.delta.Changed, j)
}

// tellFound reports that a job runs where the negotiator has not started it.
func (c *comparison) tellFound(r negotiator.Running) {
	c.says(r.Job.ID, asFound)
	c.delta.Found = append(c.delta.Found, r)
}

// tellCompleted reports that a running job is gone.
func (c *comparison) tellCompleted(id backfill.JobID) {
	c.says(id, asCompleted)
	c.delta.Completed = append(c.delta.Completed, id)
}

// tellRemoved reports that a job is gone that waited, or was started.
func (c *comparison) tellRemoved(id backfill.JobID) {
	c.says(id, asRemoved)
	c.delta.Removed = append(c.delta.Removed, id)
}

// tellStartFailed reports that a started job waits again; ended says that its slots take no jobs any
// more, barred that limits kept it from being handed over.
func (c *comparison) tellStartFailed(id backfill.JobID, ended, barred bool) {
	c.says(id, asStartFailed)
	c.delta.StartFailed = append(c.delta.StartFailed, id)
	if ended {
		c.delta.SlotEnded = append(c.delta.SlotEnded, id)
	}
	if barred {
		c.delta.Unadmitted = append(c.delta.Unadmitted, id)
	}
}

// tellEnds reports that a running job is expected to end at another time.
func (c *comparison) tellEnds(e negotiator.End) {
	c.says(e.Job, asEnds)
	c.delta.Ends = append(c.delta.Ends, e)
}

// tellOnce takes back all reports of a job but the last.
func (c *comparison) tellOnce() {
	if len(c.again) == 0 {
		return
	}
	d, itself := c.delta, func(id backfill.JobID) backfill.JobID { return id }
	ofJob := func(j *negotiator.Job) backfill.JobID { return j.ID }
	d.Submitted = lastOnly(c, asSubmitted, d.Submitted, ofJob)
	d.Changed = lastOnly(c, asChanged, d.Changed, ofJob)
	d.Found = lastOnly(c, asFound, d.Found, func(r negotiator.Running) backfill.JobID { return r.Job.ID })
	d.Completed = lastOnly(c, asCompleted, d.Completed, itself)
	d.Removed = lastOnly(c, asRemoved, d.Removed, itself)
	d.StartFailed = lastOnly(c, asStartFailed, d.StartFailed, itself)
	d.SlotEnded = lastOnly(c, asStartFailed, d.SlotEnded, itself)
	d.Displaced = lastOnly(c, asStartFailed, d.Displaced, itself)
	d.Unadmitted = lastOnly(c, asStartFailed, d.Unadmitted, itself)
	d.Elsewhere = slices.DeleteFunc(d.Elsewhere, func(id backfill.JobID) bool {
		last, again := c.again[id]
		return again && last != asCompleted && last != asRemoved
	})
	d.Ends = lastOnly(c, asEnds, d.Ends, func(e negotiator.End) backfill.JobID { return e.Job })
	for id, w := range c.again {
		if w != asCompleted {
			delete(d.Ran, id)
		}
	}
}

// lastOnly returns the reports of one list without those that others came after, in no order.
func lastOnly[T any](c *comparison, w word, list []T, job func(T) backfill.JobID) []T {
	var seen backfill.JobSet
	slices.Reverse(list)
	return slices.DeleteFunc(list, func(t T) bool {
		last, again := c.again[job(t)]
		return again && (last != w || !seen.Add(job(t)))
	})
}
