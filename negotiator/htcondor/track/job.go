package track

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Phase is where the negotiator believes that a job stands.
type Phase uint8

// The phases.
const (
	Unknown Phase = iota // the negotiator does not know the job
	Waiting
	Running
)

// Job is a job in a queue. Only this package changes it.
type Job struct {
	Key observe.JobKey
	ID  backfill.JobID
	// Group is what the last reading of its queue that had the job said of it.
	Group *observe.Group

	// The rest is what the negotiator knows: what the job is planned by, whether it runs, and if so
	// where and since when.
	Spec   *observe.Spec
	Phase  Phase
	Places []Place
	Start  backfill.Time

	submit    backfill.Time
	estimated backfill.Time // of a running job, whose ad may have been edited since
	planned   time.Time     // when the negotiator was told that the job waits

	look    int // the last look that saw it
	stopped int // the last look that saw it put on hold or removed a short time ago
}

// Place is a number of a job's chunks on a slot.
type Place struct {
	Slot   string `json:"slot"`
	Chunks int    `json:"chunks"`
}

// placesOf are a placement's places, by slot.
func placesOf(at negotiator.Placement) []Place {
	var places []Place
	for _, c := range at {
		places = append(places, Place{Slot: c.Slot.Name, Chunks: c.Count})
	}
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Slot, b.Slot) })
	return places
}

// list writes places as a [negotiator.Placement] is written.
func list(at []Place) string {
	places := make(negotiator.Placement, len(at))
	for i, a := range at {
		places[i] = negotiator.Chunks{Slot: &negotiator.Slot{Name: a.Slot}, Count: a.Chunks}
	}
	return places.String()
}

// Submitter is the name under which the job is negotiated for.
func (j *Job) Submitter() string { return j.Group.Submitter(j.Key.Schedd) }

// Seen tells whether a look saw the job.
func (j *Job) Seen(look int) bool { return j.look == look }

// Compare is the order of jobs.
func (j *Job) Compare(o *Job) int {
	return cmp.Or(cmp.Compare(j.Group.Submit, o.Group.Submit), j.Key.Compare(o.Key))
}

// same tells whether a job is as the negotiator knows it.
func (j *Job) same() bool {
	now := j.Group.Spec
	return (j.Spec == now || j.Spec.Text == now.Text) && j.submit == j.Group.Submit
}

// runsAt tells whether the negotiator believes that a job runs on a slot.
func (j *Job) runsAt(slot string) bool {
	return j.Phase == Running && slices.ContainsFunc(j.Places, func(at Place) bool { return at.Slot == slot })
}

// report gives a job as it is now in the negotiator's terms, and notes that the negotiator knows
// it.
func (b *Belief) report(j *Job, is Phase) *negotiator.Job {
	if is == Waiting && j.Phase == Unknown {
		j.planned = b.now.Began
	}
	spec := j.Group.Spec
	j.Spec, j.submit, j.Phase, j.estimated = spec, j.Group.Submit, is, spec.Estimate
	return &negotiator.Job{
		ID: j.ID, Name: b.Name(j), Submit: j.Group.Submit, Nodes: spec.Nodes, Position: position(j.Key),
		Estimate: spec.Estimate, Limit: spec.Limit, Labels: spec.Labels, Ad: spec.Ad,
	}
}

// position is a job's place in its queue.
func position(key observe.JobKey) backfill.QueuePosition {
	return backfill.QueuePosition{Queue: key.Schedd, Cluster: key.Cluster, Proc: key.Proc}
}

// Name is what users call a job.
func (b *Belief) Name(j *Job) string { return j.Key.Name(b.several()) }

func (b *Belief) several() bool { return len(b.now.Schedds) > 1 }

// places are where the jobs of a group run, by the slots that are planned with.
func (b *Belief) places(g *observe.Group) []Place {
	hosts := make([]string, len(g.Hosts))
	for i, name := range g.Hosts {
		hosts[i] = observe.Parent(name)
		if s := b.Slot(name); s != nil {
			hosts[i] = s.Host
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

// placement is places in the negotiator's terms.
func (b *Belief) placement(at []Place) negotiator.Placement {
	places := make(negotiator.Placement, len(at))
	for i, a := range at {
		places[i] = negotiator.Chunks{Slot: b.slots[a.Slot].reported, Count: a.Chunks}
	}
	return places
}
