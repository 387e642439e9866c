package track

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// What a user may edit while the job runs is never read from its ad: a run's place, start, state
// and charge come from our own clock and from slots' ads. A claimed slot's ad names its job, and
// only its startd writes it. A run that slots name goes on where they name it, whatever its queue
// says, and though the job is gone from there, until their ads tell otherwise. Only where no slot
// names a job is its queue believed, and only that it is where it was planned: ads may be late, and
// are kept for a while when their startd is lost.

// departed is a run that is over by its queue, while slots name it still: as its job stood, when
// that was first seen, and how long it ran. Its user is charged until they do not, and then it is
// taught. If its queue says meanwhile that the job runs, it is this run that goes on.
type departed struct {
	job    Job
	at     time.Time
	ran    backfill.Time
	taught bool // it is to be
	// claims are when those of its slots began, sorted: what begins at another time is another run.
	// nil: none was looked for yet, since a negotiator before left it.
	claims []backfill.Time
}

// witness has jobs be as their slots say. It changes what their queues said, before anything else
// is compared.
func (c *comparison) witness() {
	named := claimsNamed{map[observe.JobKey][]*observe.Slot{}, map[observe.JobKey][]*observe.Slot{}}
	for _, o := range c.b.observed {
		if o.Claimed && o.Missing.IsZero() && !o.Data && !o.Cleaning && o.Runs != (observe.JobKey{}) {
			named.add(o)
		}
	}
	for key, d := range c.b.departed {
		if !d.goesOn(named.of(&d.job)) {
			c.teach(d)
			delete(c.b.departed, key)
		}
	}
	for _, j := range c.b.all {
		slots := named.of(j)
		if len(slots) == 0 {
			continue
		}
		d, runs := c.b.departed[j.Key], c.isThere(j) && j.Group.Runs()
		switch {
		case d == nil && runs:
			c.locate(j, slots)
		case d == nil && c.departs(j, slots):
			c.b.departed[j.Key] = c.departure(j, slots)
		case d == nil || !runs:
		case d.isSentAnew(j):
			c.begins(j, slices.DeleteFunc(slices.Clone(slots), d.has))
		default:
			if j.Phase != Running { // else it is on its way as it was
				d.resume(j)
			}
			c.locate(j, slots)
			delete(c.b.departed, j.Key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.b.departed), observe.JobKey.Compare) {
		d := c.b.departed[key]
		c.outlives(&d.job)
		c.revive(d, named.of(&d.job))
	}
}

// first returns the key of a cluster's proc 0.
func first(key observe.JobKey) observe.JobKey {
	key.Proc = 0
	return key
}

// claimsNamed are the claimed slots that name a job: by the job's key, and by the key of its
// cluster's proc 0, since a gang's slots name whichever proc.
type claimsNamed struct {
	jobs, clusters map[observe.JobKey][]*observe.Slot
}

func (n claimsNamed) add(o *observe.Slot) {
	n.jobs[o.Runs] = append(n.jobs[o.Runs], o)
	n.clusters[first(o.Runs)] = append(n.clusters[first(o.Runs)], o)
}

// of returns the slots that say that they run a job, in no order. They are shared: do not change
// them.
func (n claimsNamed) of(j *Job) []*observe.Slot {
	switch {
	case j.Group == nil || j.leader != nil:
		return nil
	case j.sentAs().Parallel:
		return n.clusters[first(j.Key)]
	}
	return n.jobs[j.Key]
}

// isThere tells whether a job's queue has it, as far as is known.
func (c *comparison) isThere(j *Job) bool {
	s := c.b.Schedd(j.Key.Schedd)
	return s == nil || !s.Read || j.Seen(c.b.now.Number)
}

// sentAs returns what a job was planned by if it was started, else what its queue says.
func (j *Job) sentAs() *observe.Spec {
	if j.Phase == Running && j.Spec != nil {
		return j.Spec
	}
	return j.Group.Spec
}

// departs tells whether a job that does not run by its queue was seen to run, or whether the claim
// of a slot that names it began when it was started.
func (c *comparison) departs(j *Job, slots []*observe.Slot) bool {
	if s := c.b.Schedd(j.Key.Schedd); s != nil && j.look < s.AskedSince {
		return false // it was not asked for
	}
	if j.run == nil {
		return j.Phase == Running && slices.ContainsFunc(slots, func(o *observe.Slot) bool { return o.ClaimedSince+clockSkew >= j.Start })
	}
	return j.run.adrift == ""
}

// has tells whether a slot's claim is one of the run's.
func (d *departed) has(o *observe.Slot) bool {
	_, found := slices.BinarySearch(d.claims, o.ClaimedSince)
	return found
}

// goesOn tells whether some of the slots that name its job do so for this run.
func (d *departed) goesOn(slots []*observe.Slot) bool {
	if d.claims == nil {
		d.claims = claimsOf(slots)
	}
	return slices.ContainsFunc(slots, d.has)
}

func claimsOf(slots []*observe.Slot) []backfill.Time {
	claims := make([]backfill.Time, len(slots))
	for i, o := range slots {
		claims[i] = o.ClaimedSince
	}
	slices.Sort(claims)
	return slices.Compact(claims)
}

// isSentAnew tells whether the job was sent to slots since, for another run.
func (d *departed) isSentAnew(j *Job) bool {
	return j.Phase == Running && j.run != d.job.run && j.Start != d.job.Start
}

// begins has a job that was sent anew run once a slot names it for that, since its queue may mean
// the run before.
func (c *comparison) begins(j *Job, slots []*observe.Slot) {
	switch {
	case len(slots) > 0:
		c.locate(j, slots)
	case j.run == nil:
		waits := *j.Group
		waits.Status = observe.Idle
		j.Group = &waits
	}
}

// resume has a job go on as it was when its queue said that it did not run, whatever was edited
// meanwhile.
func (d *departed) resume(j *Job) {
	r := d.job.run
	if j.run == r {
		return
	}
	if d.job.Phase == Running {
		r.spec = d.job.Spec
	}
	r.denied, j.run, j.lasted = true, r, d.job.lasted
}

// revive has a departed job run on if a slot names it in an ad that is newer, and for longer than a
// claim may outlive its job; at once if its queue has said before that the run was over. Of a gang
// all slots must name it.
func (c *comparison) revive(d *departed, slots []*observe.Slot) {
	past := &d.job
	if slices.ContainsFunc(slots, func(o *observe.Slot) bool { return !past.runsAt(o.Host) }) {
		return // it was never seen there, nor sent there: any startd may name any job
	}
	nodes := 1
	if past.sentAs().Parallel {
		nodes = past.sentAs().Nodes
	}
	newer := slices.ContainsFunc(slots, func(o *observe.Slot) bool { return o.Changed.After(d.at) })
	soon := c.b.now.Began.Sub(d.at) < foreignEndedAfter
	if s := c.b.Schedd(past.Key.Schedd); s == nil || !s.Read || len(slots) < nodes || !past.run.denied && (!newer || soon) {
		return
	}
	j := c.b.find(past.Key)
	if d.isSentAnew(j) {
		return
	}
	here := *past.Group
	here.Hosts = nil
	for _, o := range slots {
		here.Hosts = append(here.Hosts, o.Name)
	}
	slices.Sort(here.Hosts)
	if !past.run.denied {
		c.b.log.Warn("a job runs although its queue says that it does not: its slots name it",
			"job", c.b.Name(j), "slots", here.Hosts)
	}
	d.resume(j)
	j.Group, j.hidden, d.taught = &here, c.b.now.Number, false
}

// departure notes how a job stood.
func (c *comparison) departure(j *Job, slots []*observe.Slot) *departed {
	d := &departed{job: *j, at: c.b.now.Began, claims: claimsOf(slots)}
	here := *j.Group
	here.Status = observe.Running
	if d.job.lasted == nil {
		began := backfill.Time(0)
		for _, o := range slots {
			began = max(began, o.ClaimedSince)
		}
		here.Started = min(began, c.b.now.Now)
		d.job.lasted = &lasted{since: here.Started, started: here.Started, ahead: j.ahead, stated: j.Spec, looked: c.b.now.Now}
	} else if r := j.run; r != nil {
		here.Started, here.Shadows = r.began, r.shadows
	}
	d.job.Group, d.job.run = &here, cmp.Or(j.run, &run{seen: d.at})
	return d
}

// locate has a job run where slots say that they run it, be suspended if they say so, and have
// begun no later than they say. If its queue names other slots, these are believed, unless the
// queue says that the job is where it was sent: the ads of its new slots may be late, and those of
// its former ones may be kept. On which part of a slot it runs, that part knows.
func (c *comparison) locate(j *Job, named []*observe.Slot) {
	here := *j.Group
	hosts := c.hosts(j, named)
	if hosts != nil {
		if j.run == nil || !slices.Equal(j.run.hosts, hosts) {
			c.b.log.Warn("a job runs elsewhere than its queue says: its slots name it",
				"job", c.b.Name(j), "slots", hosts, "said", j.Group.Hosts)
		}
		here.Hosts = hosts
	}
	paused, began, at := true, backfill.Time(0), c.b.places(&here)
	for _, o := range named {
		if hasPlace(at, o.Host) {
			paused, began = paused && o.Suspended, max(began, o.ClaimedSince)
		}
	}
	if began > 0 { // some of these are where it is
		here.Suspend(paused)
		here.Started = min(began, cmp.Or(max(0, here.Started), began))
	}
	if hosts != nil || here.Status != j.Group.Status || here.Started != j.Group.Started {
		j.Group = &here
	}
}

// hosts returns the slots where a job runs if that is not where its queue says; else nil.
func (c *comparison) hosts(j *Job, named []*observe.Slot) []string {
	g, spec := j.Group, j.sentAs()
	names := make([]string, len(named))
	for i, o := range named {
		names[i] = o.Name
	}
	slices.Sort(names) // a gang's queue may say that it runs on thousands
	others := 0
	for _, host := range g.Hosts {
		if _, named := slices.BinarySearch(names, host); !named {
			others++
		}
	}
	switch {
	case others == 0 && (spec.Parallel && len(g.Hosts) > 0 || len(g.Hosts) == 1):
		return nil
	case spec.Parallel && (others < len(g.Hosts) || len(g.Hosts) == 0) && len(names) != spec.Nodes: // the ads of some are late, or were kept
		return nil
	case spec.Parallel && c.isSent(j):
		return nil
	case spec.Parallel:
		return names
	}
	at := slices.IndexFunc(names, func(name string) bool { return j.runsAt(c.b.Slot(name).Host) })
	if (at < 0 || len(g.Hosts) != 1) && c.isSent(j) {
		return nil
	}
	return names[max(0, at):][:1]
}

// isSent tells whether a job's queue says that the job runs where it was sent.
func (c *comparison) isSent(j *Job) bool {
	return j.Phase == Running && slices.Equal(c.b.places(j.Group), j.Places)
}

// departing tells whether slots name a job that has left its queue: how long it ran is taught when
// they do not any more.
func (c *comparison) departing(j *Job) bool {
	d := c.b.departed[j.Key]
	if d != nil {
		d.ran = c.ran(&d.job)
		d.taught = d.ran != unknownRun
	}
	return d != nil
}

// teach tells the record of a departed job's run, which was over when its slots said so.
func (c *comparison) teach(d *departed) {
	if !d.taught {
		c.outlivedOff(&d.job)
		return
	}
	if late := c.b.now.Began.Sub(d.at); late > adriftAfter {
		d.ran += backfill.Time(late / time.Second)
	}
	c.delta.Taught = append(c.delta.Taught, c.pastRun(&d.job, d.ran))
}

// gone iterates over the departed jobs that are charged, but not as jobs that run, in no order.
func (b *Belief) gone(yield func(*Job) bool) {
	for key, d := range b.departed {
		past, j := &d.job, b.jobs[key]
		charged := past.lease == nil && (past.Phase == Running || b.runsUnfit(past))
		runsOn := j != nil && (j.Phase == Running && !d.isSentAnew(j) || j.run == past.run && b.runsUnfit(j))
		if charged && !runsOn && !yield(past) {
			return
		}
	}
}
