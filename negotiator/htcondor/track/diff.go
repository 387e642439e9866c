package track

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Dispatched says what [Belief.Diff] must know of the matches under way.
type Dispatched struct {
	// Flights are the jobs that were started and were not seen to run yet.
	Flights map[backfill.JobID]Flight
	// LeftOut are the slots that are left out for a while, since starts failed there, by name.
	LeftOut map[string]LeftOut
	// Refused are the jobs that wait because their schedd did not start them.
	Refused Refused
}

// LeftOut says whose jobs a slot does not get: those of a schedd, or of [Everybody]; if Users is not
// "", only those users', with blanks between their names. Until is when it gets them again.
type LeftOut struct {
	Of, Users string
	Until     time.Time
}

// For tells whether the slot does not get a job.
func (l LeftOut) For(j *Job) bool {
	return (l.Of == Everybody || l.Of == j.Key.Schedd) &&
		(l.Users == "" || slices.Contains(strings.Fields(l.Users), j.User()))
}

// Flight is a job on its way to its slots.
type Flight struct {
	// Handed says that some of its matches were handed over, or may be at this moment; Sent that
	// all were, and Claims how many.
	Handed, Sent bool
	Claims       int
	// Moved is when it last made progress; once its matches were handed over, that is when its schedd was
	// told of the last one.
	Moved time.Time
	// Full says that its schedd runs, or was told to run, as many jobs as it may.
	Full bool
	// Barred says that limits which depend on the slot had no room for it, so that it is not handed over.
	Barred bool
	// Overdue says that the flight has made no progress for too long, and Why is what it last
	// waited for.
	Overdue bool
	Why     string
	// Refused says that its claims were over before its job was seen to be idle, CameBack that the
	// job has run meanwhile.
	Refused, CameBack bool
}

// Everybody stands in place of a schedd's name: the slot gets no jobs of any schedd.
const Everybody = ""

// Outcome is what [Belief.Diff] found: how a snapshot differs from the belief, and what became of
// the flights.
type Outcome struct {
	// Delta is what the negotiator is told.
	Delta negotiator.Delta
	// Arrived are flights, jobs under way, that now run where they were sent, with a claim for each
	// chunk. Failed are flights whose start is given up: claims that they did not use may be handed
	// out again. Over are flights that ended in another way.
	Arrived, Failed, Over []backfill.JobID
	// Unstarted counts the jobs in Failed that did not start in time.
	Unstarted int
	// Ended are the gangs, jobs of several chunks, that run no more.
	Ended []Ended
	// Proven are starts that succeeded.
	Proven []Proven
	// Dropped are slots that are gone for good.
	Dropped []string
	// Limits is what jobs take of limits; nil: nothing.
	Limits *Limits
	// Problems are errors of accounting, and that too many jobs wait, for people.
	Problems []string
}

// Ended is a gang that does not run any more, and on which slots it ran.
type Ended struct {
	Job    backfill.JobID
	Schedd string
	Places []Place
}

// Proven is a start that succeeded: the job has run for a while, or has run and left its queue.
type Proven struct {
	Job    backfill.JobID
	Schedd string
	Places []Place
	Start  backfill.Time
}

// comparison is a snapshot being compared with a belief.
type comparison struct {
	b       *Belief
	flights map[backfill.JobID]Flight // those that are not over yet
	leftOut map[string]LeftOut
	refused Refused
	out     Outcome
	delta   *negotiator.Delta
	grace   time.Duration // how long a slot may be missing
	kept    []unplanned   // out of the plan
	edited  []*Job        // they wait in the plan, and it was not told yet
	changed []change      // for the log
	// strangers run under a lease on claims that no known job holds.
	strangers []*Job
	// told are the jobs that the delta reports, and again says how it reports those last that it
	// reports more than once.
	told  backfill.JobSet
	again map[backfill.JobID]word
}

// Diff compares what the negotiator was told of the pool with the snapshot that [Belief.See] took
// in last, given the flights, the matches under way. It returns the differences, and takes them for
// told: the belief changes in place, since a pool may have a million jobs. It reads no clock and
// asks no daemon, so equal arguments give equal outcomes. It also brings the belief's [Accounting]
// up to date.
func (b *Belief) Diff(d Dispatched) Outcome {
	c := &comparison{b: b, flights: maps.Clone(d.Flights), leftOut: d.LeftOut, refused: d.Refused}
	c.delta = &c.out.Delta
	*c.delta = negotiator.Delta{Now: b.now.Now, Ran: map[backfill.JobID]backfill.Time{}}
	for _, id := range b.goneEnded {
		c.tellCompleted(id)
		c.delta.Ran[id] = unknownRun
	}
	for _, id := range b.goneRemoved {
		c.tellRemoved(id)
	}
	b.goneEnded, b.goneRemoved = nil, nil
	c.slotsDiffer()
	b.measure()
	c.jobsDiffer()
	c.leasesEnd()
	c.claimsDiffer()
	c.forgetTakeovers()
	c.forgetWay()
	c.tellOnce()
	c.sort()
	c.tellChanges()
	b.begun, c.delta.Claims = true, c.claims()
	maps.DeleteFunc(b.met, func(schedd string, _ bool) bool { return b.now.Schedds[schedd] == nil })
	for name, s := range b.now.Schedds {
		b.met[name] = b.met[name] || s.Read
	}
	b.makeView(c.kept)
	if n, told := b.seats.without(); n > 0 {
		b.view.Unseated = n
		c.out.Problems = append(c.out.Problems, told)
	}
	return c.out
}

// sort brings the outcome into an order that does not depend on how maps are walked.
func (c *comparison) sort() {
	d := c.delta
	byJob := func(a, b *negotiator.Job) int { return int(a.ID - b.ID) }
	slices.SortFunc(d.Submitted, byJob)
	slices.SortFunc(d.Changed, byJob)
	slices.SortFunc(d.Found, func(a, b negotiator.Running) int { return byJob(a.Job, b.Job) })
	slices.SortFunc(d.Taught, func(a, b negotiator.PastRun) int { return byJob(a.Job, b.Job) })
	slices.SortFunc(d.Outliving, func(a, b negotiator.PastRun) int { return byJob(a.Job, b.Job) })
	slices.SortFunc(d.Ends, func(a, b negotiator.End) int { return int(a.Job - b.Job) })
	for _, ids := range [][]backfill.JobID{d.Completed, d.Removed, d.Elsewhere, d.StartFailed, d.SlotEnded, d.Displaced, d.Unadmitted} {
		slices.Sort(ids)
	}
	slices.SortFunc(d.SlotsUp, func(a, b *negotiator.Slot) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(d.SlotsDown)
	slices.SortFunc(d.Limits, func(a, b negotiator.Limit) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(d.LimitsGone)
	o := &c.out
	for _, ids := range [][]backfill.JobID{o.Arrived, o.Failed, o.Over} {
		slices.Sort(ids)
	}
	slices.SortFunc(o.Ended, func(a, b Ended) int { return int(a.Job - b.Job) })
	slices.SortFunc(o.Proven, func(a, b Proven) int { return int(a.Job - b.Job) })
	slices.Sort(o.Dropped)
}
