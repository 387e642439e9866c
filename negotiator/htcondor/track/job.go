package track

import (
	"cmp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Phase is a job's state in the negotiator. Its schedd's queue may differ: a job that was started
// counts as Running while it is on its way.
type Phase uint8

// The phases.
const (
	Unknown Phase = iota // the negotiator does not know the job
	Waiting
	Running
	Lent // it runs on a claim that is lent to its submitter, and another job stands for it in the plan
)

// Job is a job in a queue. Only this package changes it.
type Job struct {
	Key observe.JobKey
	ID  backfill.JobID
	// Group is what the job's queue said of it, in the last reading that had the job.
	Group *observe.Group

	// The rest is what the negotiator knows: what the job is planned by, whether it runs, and if so
	// where and since when.
	Spec   *observe.Spec
	Places []Place // sorted by slot
	Start  backfill.Time

	submit    backfill.Time
	notBefore backfill.Time // see submitted
	estimated backfill.Time // of a running job, whose ad may have been edited since
	ahead     backfill.Time // how long its claim is idle before it begins to run, see [observe.Deferral]
	planned   backfill.Time // when the negotiator was told that the job waits
	released  backfill.Time // its earliest start, as the negotiator was told; 0: any

	// lease is the one that a running job was handed over with; nil if its claim is locked to it.
	// servedBy is a lease under which a waiting job is expected to start, at serveAt at the latest.
	lease    *term
	servedBy *lease
	serveAt  backfill.Time
	// promised is the guarantee that a waiting job had in the last plan that it was in; 0: it had
	// none. owed says that the job left the plan for a lease that did not serve it, or if yielded for a
	// limit.
	promised backfill.Time
	owed     bool
	yielded  bool

	Phase  Phase // beside owed: there may be a million jobs, and this is smaller
	inLine bool  // it is in Belief.line
	early  bool  // it was told before its earliest start
	// scavenges says that it is a scavenger, as the negotiator was told.
	scavenges bool
	standing  standing // how its promise stands

	starts backfill.Time     // when a waiting job was to start in the last plan; 0: it had no reservation
	takes  []negotiator.Take // of limits, as the negotiator was told

	at int32 // its place in Belief.all

	hopeless *hopeless // nil if some slot could run it in the last plan that it was in, or slots have changed since

	run    *run    // of a job that runs by its queue; nil: it does not, or is new
	lasted *lasted // of a job that runs by its queue

	booked *booking // of a job for which a place was kept before its earliest start

	leader *Job // of a gang of several procs the first, if this is another; see joinGangs

	look    int // number of the last look at the pool that saw the job
	stopped int // the last look that saw that it was put on hold or removed a short time before
	hidden  int // the last look that saw it run although its queue says that it does not; 0: none lately
}

// hopeless is the Spec with which no slot could run a job, and why that was so.
type hopeless struct {
	spec *observe.Spec
	why  string
}

// Place is a number of a job's chunks on a slot.
type Place = backfill.Place

// placesOf returns the places of a placement, sorted by slot.
func placesOf(at negotiator.Placement) []Place {
	var places []Place
	for _, c := range at {
		places = append(places, Place{Slot: c.Slot.Name, Chunks: c.Count})
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Slot, b.Slot) })
	return places
}

// hasPlace tells whether one of some places, which are sorted by slot, is on a slot. Gangs may have
// thousands.
func hasPlace(at []Place, slot string) bool {
	_, found := slices.BinarySearchFunc(at, slot, func(p Place, slot string) int { return strings.Compare(p.Slot, slot) })
	return found
}

// list formats places as a [negotiator.Placement] formats itself.
func list(at []Place) string { return backfill.Places(at).String() }

// Submitter returns the name of the submitter for whom the job is negotiated.
func (j *Job) Submitter() string { return j.Group.Submitter(j.Key.Schedd) }

// User returns the user whose job it is, as the job's ad has it: so slots can tell.
func (j *Job) User() string {
	user, _ := j.Group.Spec.Ad.Literal("User").Text()
	return user
}

// AwaitsLease tells whether the job is expected to start under a lease, and is not planned.
func (j *Job) AwaitsLease() bool { return j.Phase == Unknown && j.servedBy != nil }

// Seen tells whether the last look at the pool that saw the job has this number.
func (j *Job) Seen(look int) bool { return j.look == look }

// Compare orders jobs by submit time, then by key.
func (j *Job) Compare(o *Job) int {
	return cmp.Or(cmp.Compare(j.submitted(), o.submitted()), j.Key.Compare(o.Key))
}

// same tells whether a job's queue says of it what the negotiator was told.
func (b *Belief) same(j *Job) bool { return sameText(j.Spec, j.Group.Spec) && !b.edited(j) }

// edited tells whether a job's queue says something else of it than when the negotiator was told.
// That slots round what it asks for in another way is no edit.
func (b *Belief) edited(j *Job) bool {
	return !j.Spec.SameAd(j.Group.Spec) || j.submit != j.submitted() || j.released != b.release(j) ||
		j.scavenges != scavenges(j.Group.Spec)
}

// runsAt tells whether a job is recorded as running on a slot, by itself or as a part of a gang.
func (j *Job) runsAt(slot string) bool {
	if j.leader != nil {
		j = j.leader
	}
	return j.Phase == Running && hasPlace(j.Places, slot)
}

// report returns a job as the negotiator is to be told of it, and notes that it was told that the
// job is in this phase. If the job's claim is idle ahead of its run, it is longer by that.
func (b *Belief) report(j *Job, phase Phase, ahead backfill.Time) *negotiator.Job {
	if phase == Waiting && j.Phase == Unknown {
		j.planned, j.starts, j.booked = b.now.Now, 0, nil
		if !j.owed {
			j.promised = 0 // the plan that it comes into has no promise of it
		}
	}
	if phase == Waiting {
		j.servedBy = nil
	}
	if phase == Waiting || j.Phase == Unknown {
		j.scavenges = scavenges(j.Group.Spec)
	}
	j.released, j.early = b.release(j), phase == Waiting && b.Early(j)
	j.hopeless = nil // until the next plan
	spec := j.Group.Spec
	if l := j.lasted; phase == Running && l != nil && l.stated != nil && l.stated.Nodes == spec.Nodes {
		spec = l.stated // whatever was edited since, it has what it has
	}
	j.Spec, j.submit, j.Phase, j.estimated, j.ahead = spec, j.submitted(), phase, spec.Estimate, ahead
	j.takes = b.takesOf(j)
	return b.described(j)
}

// described returns a job as the negotiator was told of it.
func (b *Belief) described(j *Job) *negotiator.Job {
	spec := j.Spec
	estimate, limit := spec.Estimate, spec.Limit
	if j.ahead > 0 {
		estimate = cmp.Or(estimate, b.s.DefaultEstimate) + j.ahead
		if limit > 0 {
			limit += j.ahead
		}
	}
	job := &negotiator.Job{
		ID: j.ID, Name: b.Name(j), Submit: j.submit, Nodes: spec.Nodes, Position: position(j.Key),
		Estimate: estimate, Limit: limit, Labels: spec.Labels, Ad: spec.Ad,
		User: spec.User(), Takes: j.takes, Scavenger: j.scavenges,
	}
	if j.Phase == Waiting {
		job.Release, job.Early = j.released, b.whyEarly(j)
	}
	if j.lease != nil && j.Phase == Running && j.lease.until > b.placeEnd(j) {
		job.Lease = j.lease.until
	}
	return job
}

// placeEnd returns until when a job's place lasts that began to run, by its estimate.
func (b *Belief) placeEnd(j *Job) backfill.Time {
	return j.Start + cmp.Or(j.estimated, b.s.DefaultEstimate) + b.s.StartSlack
}

// position returns a job's position in its queue.
func position(key observe.JobKey) backfill.QueuePosition {
	return backfill.QueuePosition{Queue: key.Schedd, Cluster: key.Cluster, Proc: key.Proc}
}

// Name returns what users call a job: 12.0, or 12.0@schedd in a pool of several schedds.
func (b *Belief) Name(j *Job) string { return j.Key.Name(b.several()) }

func (b *Belief) several() bool { return len(b.now.Schedds) > 1 }

// places returns where the jobs of a group run, in slots that are planned with (the parents of
// dynamic slots), sorted.
func (b *Belief) places(g *observe.Group) []Place {
	hosts := make([]string, len(g.Hosts))
	for i, name := range g.Hosts {
		if s := b.Slot(name); s != nil {
			hosts[i] = s.Host
		} else {
			hosts[i] = observe.Parent(name)
		}
	}
	slices.Sort(hosts)
	var at []Place
	for i, host := range hosts {
		if i == 0 || host != hosts[i-1] {
			at = append(at, Place{Slot: host})
		}
		at[len(at)-1].Chunks++
	}
	return at
}

// placement returns places as a [negotiator.Placement]; all slots must be known to the negotiator.
func (b *Belief) placement(at []Place) negotiator.Placement {
	places := make(negotiator.Placement, len(at))
	for i, a := range at {
		places[i] = negotiator.Chunks{Slot: b.slots[a.Slot].reported, Count: a.Chunks}
	}
	return places
}
