package track

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A schedd may call a job running for up to its JobLeaseDuration (40 minutes) after its slot has
// lost it: the shadow hopes to find it again. Such a job is adrift. Its slot is free, whatever the
// schedd believes, and the job is in no plan until the schedd gives the run up, or the slot says
// that it has the job.
//
// A startd that has restarted has no claim of before. A slot that is merely unclaimed in an ad that
// is newer than the run is believed after adriftAfter: a job that ends leaves its slot some moments
// before its queue.
const adriftAfter = 10 * time.Second

// Users may write into their jobs that these run, and where: again and again, or into one new job
// after the other. So a job that runs where it was not planned to has a place only once its slots
// name it. Where it was, whatever is written before they do belongs to one run: each edit would
// else have it wait for yet another ad.

// run is one run of a job, as its queue tells of it.
type run struct {
	began   backfill.Time
	hosts   []string
	shadows int64     // the job's count of shadows
	seen    time.Time // when the look began that first saw it
	named   bool      // its slots have said that they run it
	// free is since when its slot is seen to be free although the queue says that the job runs; zero
	// if it is not. adrift says why the job is in no plan; "" if it is planned where it runs.
	free   time.Time
	adrift string
	// paused is for how long the run was suspended, as the negotiator was told.
	paused backfill.Time
	// ended says that the run is known to have ended when its slot became free, denied that its queue
	// said that it was over while it was not.
	ended, denied bool
	// spec is what it was planned by before its queue said that it is where it cannot be planned with;
	// nil if it never was in the plan.
	spec *observe.Spec
}

// follow notes which run of a job its queue tells of; none if it does not run. With a new run comes
// a new shadow: what changes without one was edited.
func (c *comparison) follow(j *Job) {
	g, r := j.Group, j.run
	if !g.Runs() {
		if r != nil && r.adrift != "" {
			c.runEnded(j)
		}
		j.run = nil
		return
	}
	named := c.isNamed(j)
	switch {
	case r == nil:
		r = &run{seen: c.b.now.Began}
	case r.began == g.Started && slices.Equal(r.hosts, g.Hosts): // its schedd has found it again
	case r.shadows != g.Shadows && (named || r.named):
		r = &run{seen: c.b.now.Began, spec: r.spec, denied: r.denied}
	}
	r.began, r.hosts, r.shadows, r.named = g.Started, g.Hosts, g.Shadows, r.named || named
	j.run = r
}

// isAdrift takes a job out of the plan whose schedd says that it runs, while its slot is free. It
// returns false if the job is to be planned where it runs.
func (c *comparison) isAdrift(j *Job) bool {
	r := j.run
	if r == nil {
		return false
	}
	if r.adrift != "" && c.isNamed(j) {
		c.b.log.Info("a job that was lost is on its slot again", "job", c.b.Name(j), "slots", r.hosts)
		*r = run{began: r.began, hosts: r.hosts, shadows: r.shadows, seen: c.b.now.Began, named: true, spec: r.spec, denied: r.denied}
	}
	if _, flies := c.flights[j.ID]; r.adrift == "" && !flies {
		c.judge(j)
	}
	if r.adrift != "" {
		c.leaveOut(j, r.adrift)
	}
	return r.adrift != ""
}

// judge finds out whether a job's slot is free, and takes the job out of the plan then.
func (c *comparison) judge(j *Job) {
	r := j.run
	why, certain := c.unnamed(j), true
	if why == "" {
		why, certain = c.lost(r, j.Key)
	}
	switch {
	case why == "":
		r.free = time.Time{}
		return
	case r.free.IsZero():
		r.free = c.b.now.Began
	}
	if !certain && c.b.now.Began.Sub(r.free) < adriftAfter {
		return
	}
	r.adrift, r.ended = why+", and waits until its schedd gives that run up", !certain
	c.b.log.Warn("a slot is free although a schedd says that its job runs", "job", c.b.Name(j), "why", why)
	if !c.withdraw(j) && j.Phase == Lent {
		j.Phase = Unknown
	}
}

// unnamed returns why a job that is said to run has no place there; "" if it may have one: its slots
// name it, it was planned there, or it may use a claim that is lent. What runs at the first look of all,
// or on claimed slots when its queue is read for the first time, is believed until the slots' next
// ads, if the schedd has an ad of its own: what is known by submitters alone may be anybody's. All is
// believed if others start the jobs.
func (c *comparison) unnamed(j *Job) string {
	at := c.b.places(j.Group)
	elsewhere := func(p Place) bool { return !c.b.isUp(p.Slot) } // that is judged by [comparison.jobRuns]
	free := func(name string) bool { return c.b.Slot(name) == nil || !c.b.Slot(name).Claimed }
	switch {
	case c.b.s.Observe || len(at) == 0 || slices.ContainsFunc(at, elsewhere):
	case c.b.Schedd(j.Key.Schedd).Own &&
		(!c.b.begun || !c.b.met[j.Key.Schedd] && !slices.ContainsFunc(j.Group.Hosts, free)):
	case (j.Phase == Running || j.Phase == Lent) && slices.Equal(at, j.Places):
	case c.isNamed(j) || c.b.leaseFor(j, at) != nil: // see [comparison.strangersSettle]
	default:
		return saidToRun(j)
	}
	return ""
}

func saidToRun(j *Job) string {
	return "is said to run on " + j.Group.Hosts[0] + ", which does not say so"
}

// lost returns why a slot of a run is free of it; "" if it is not known to be. Restarted says that
// this is certain: the startd has no claim of before.
func (c *comparison) lost(r *run, key observe.JobKey) (why string, restarted bool) {
	for _, name := range r.hosts {
		o, parent := c.b.Slot(name), observe.Parent(name)
		if o != nil {
			parent = o.Host
		}
		host := c.b.Slot(parent)
		if host == nil || !host.Missing.IsZero() {
			continue // nothing is heard of its startd
		}
		if host.Restarted.After(r.seen) {
			return "ran on " + name + ", whose startd has restarted since", true
		}
		if host.Changed.Sub(r.seen) < unseen {
			continue // the ad may be older than the run
		}
		there := o != nil && o.Missing.IsZero() && o.Claimed
		switch {
		case there && c.hasAnother(o, key):
			why = "ran on " + name + ", which has another job by now"
		case parent == name && !host.Static:
			why = "is said to run on " + name + ", which runs no job itself"
		case there || parent != name && (host.Parts == nil || host.Parts[name]):
		default:
			why = "ran on " + name + ", which is free again"
		}
	}
	return why, false
}

// hasAnother tells whether a claimed slot says that it runs another job than this one, and the
// other one's queue says so, too.
func (c *comparison) hasAnother(o *observe.Slot, than observe.JobKey) bool {
	other := c.b.jobs[o.Runs]
	return o.Runs != than && other != nil && other.leader == nil && !other.Group.Spec.Parallel && other.Group.Runs() &&
		slices.Contains(other.Group.Hosts, o.Name)
}

// isNamed tells whether all slots of a job that runs by its queue say that they run it.
func (c *comparison) isNamed(j *Job) bool {
	for _, name := range j.Group.Hosts {
		o := c.b.Slot(name)
		if o == nil || !o.Missing.IsZero() || !o.Claimed || !j.has(o) {
			return false
		}
		if other := c.b.jobs[o.Runs]; other != nil && other != j && other.leader != j {
			return false // which is a job of its own
		}
	}
	return len(j.Group.Hosts) > 0
}

// driftsOff notes that a job which was adrift has left its queue. Estimators learn from its run if
// that ended when its slot became free.
func (c *comparison) driftsOff(j *Job) {
	r := j.run
	if r == nil || r.adrift == "" {
		return
	}
	c.runEnded(j)
	if r.ended {
		if ran := c.ran(j); ran != unknownRun {
			c.delta.Taught = append(c.delta.Taught, c.pastRun(j, ran))
		}
	}
}
