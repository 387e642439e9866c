package track

import "github.com/condor-backfill/condor-backfill/negotiator"

// Promises counts the jobs that were promised a start, since the negotiator began, by what became of
// it. Each counts once: those that are neither here nor there yet are open.
type Promises struct {
	// Given are all of them.
	Given int
	// Kept are those that began to run here, by the latest start that they were promised first; Broken
	// those that began to run here after a promise had been put off.
	Kept, Broken int
	// Elsewhere are those that another negotiator has started first.
	Elsewhere int
	// Gone are those that left their queue before they ran.
	Gone int
}

// Open counts those that wait.
func (p Promises) Open() int { return p.Given - p.Kept - p.Broken - p.Elsewhere - p.Gone }

// standing says how a job's promise stands.
type standing uint8

const (
	unpromised standing = iota // it has none, or what became of it is counted
	stands
	putOff // it was promised a later start than before
)

// notePromises takes in what a plan promises to jobs that wait, before anything else of it.
func (b *Belief) notePromises(plan negotiator.Checkpoint) {
	for _, p := range plan.Jobs {
		j := b.byID[p.Job.ID]
		if j == nil || p.Running || !p.Promised {
			continue
		}
		switch {
		case j.standing == unpromised:
			j.standing = stands
			b.promises.Given++
		case j.promised > 0 && p.Guarantee > j.promised:
			j.standing = putOff
		}
	}
}

// settlePromise counts what became of a job's promise, once its queue says that it runs and where; not
// of one that is said to run where its slot denies it.
func (c *comparison) settlePromise(j *Job) {
	switch {
	case j.standing == unpromised || len(j.Group.Hosts) == 0 || j.run != nil && j.run.adrift != "":
	case c.isElsewhere(j):
		c.b.promises.Elsewhere++
		j.standing = unpromised
	default:
		c.b.wasKept(j)
	}
}

// wasKept counts that a job began to run here.
func (b *Belief) wasKept(j *Job) {
	switch j.standing {
	case stands:
		b.promises.Kept++
	case putOff:
		b.promises.Broken++
	case unpromised:
	}
	j.standing = unpromised
}

// promiseLeaves counts what became of the promise of a job that has left its queue: one whose schedd was
// told to start it, or may start it under a lease, has run between two looks.
func (c *comparison) promiseLeaves(j *Job) {
	f, flies := c.flights[j.ID]
	switch {
	case j.standing == unpromised:
	case flies && f.Handed || j.AwaitsLease():
		c.b.wasKept(j)
	default:
		c.b.promises.Gone++
		j.standing = unpromised
	}
}
