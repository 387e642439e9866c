package track

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// SavedState is what a negotiator leaves on disk for the one after it: its checkpoint, with names
// that outlive a process. It holds no secrets.
type SavedState struct {
	// Version is the version of the form, see [SavedVersion]; 0 is the form before there were
	// versions.
	Version    int           `json:"version"`
	Now        backfill.Time `json:"now"`
	Policy     string        `json:"policy"`
	Guarantees bool          `json:"guarantees"`
	Foretold   bool          `json:"foretold,omitempty"`
	Slots      []SavedSlot   `json:"slots"`
	Jobs       []SavedJob    `json:"jobs"`
	Leases     []SavedLease  `json:"leases,omitempty"`
}

// SavedLease is a lease that is in use.
type SavedLease struct {
	Slot      string        `json:"slot"`
	Schedd    string        `json:"schedd"`
	Submitter string        `json:"submitter"`
	Until     backfill.Time `json:"until"`
}

// SavedVersion is the version that is written. All versions before it can be read.
const SavedVersion = 1

// SavedSlot is a slot that was up.
type SavedSlot struct {
	Name     string          `json:"name"`
	Capacity backfill.Vector `json:"capacity"`
}

// SavedJob is a job with a place or a promise. Request, Nodes and Estimate tell whether it is still
// the same job; Ahead is for how long its claim is idle before it runs, see [observe.Deferral].
type SavedJob struct {
	Schedd    string          `json:"schedd"`
	Cluster   int64           `json:"cluster"`
	Proc      int64           `json:"proc"`
	Submit    backfill.Time   `json:"submit"`
	Nodes     int             `json:"nodes"`
	Request   backfill.Vector `json:"request"`
	Estimate  backfill.Time   `json:"estimate"`
	Ahead     backfill.Time   `json:"ahead,omitempty"`
	Running   bool            `json:"running,omitempty"`
	Places    []Place         `json:"places,omitempty"`
	Start     backfill.Time   `json:"start,omitempty"`
	End       backfill.Time   `json:"end,omitempty"`
	Promised  bool            `json:"promised,omitempty"`
	Guarantee backfill.Time   `json:"guarantee,omitempty"`
}

// Save puts a negotiator's checkpoint into a form that outlives the process.
func (b *Belief) Save(m negotiator.Checkpoint) *SavedState {
	saved := &SavedState{
		Version: SavedVersion, Now: m.Now, Policy: m.Policy, Guarantees: m.Guarantees, Foretold: m.Foretold,
	}
	for _, s := range m.Slots {
		saved.Slots = append(saved.Slots, SavedSlot{Name: s.Name, Capacity: s.Capacity})
	}
	for _, c := range m.Jobs {
		j := b.byID[c.Job.ID]
		if j == nil || j.Spec == nil || c.Placement == nil {
			continue
		}
		saved.Jobs = append(saved.Jobs, SavedJob{
			Schedd: j.Key.Schedd, Cluster: j.Key.Cluster, Proc: j.Key.Proc, Submit: c.Job.Submit,
			Nodes: c.Job.Nodes, Request: j.Spec.Request, Estimate: j.Spec.Estimate, Ahead: j.ahead,
			Places:  placesOf(c.Placement),
			Running: c.Running, Start: c.Start, End: c.End, Promised: c.Promised, Guarantee: c.Guarantee,
		})
	}
	saved.Leases = b.saveLeases()
	return saved
}

// Restore makes a checkpoint of what a negotiator left, as far as a snapshot still shows it: slots
// as they were, so that the next [Belief.Diff] reports which of them are gone; jobs as they were, if their
// slots are still there, even those that have left their queues, so that Diff reports them, too. A
// waiting job whose slots are gone keeps only its promise. The second result is the jobs that were
// started and do not run yet: they may have been handed over. Restore forgets what the belief
// recorded before; a nil state restores nothing.
func (b *Belief) Restore(saved *SavedState, s *observe.Snapshot) (negotiator.Checkpoint, []*Job) {
	b.See(s)
	b.forget()
	if saved == nil {
		return negotiator.Checkpoint{}, nil
	}
	m := negotiator.Checkpoint{
		Now: max(0, min(saved.Now, s.Now)), Policy: saved.Policy, Guarantees: saved.Guarantees,
		Foretold: saved.Foretold,
	}
	for _, was := range saved.Slots {
		if slot := b.restoreSlot(was); slot != nil {
			m.Slots = append(m.Slots, slot)
		}
	}
	b.restoreLeases(saved.Leases)
	var flying []*Job
	for _, was := range saved.Jobs {
		c, ok := b.restoreJob(was)
		if !ok {
			c, ok = b.restoreGone(was)
		}
		if !ok {
			continue
		}
		m.Jobs = append(m.Jobs, c)
		if j := b.byID[c.Job.ID]; j != nil && j.Phase == Running && !j.Group.Runs() {
			flying = append(flying, j)
		}
	}
	return m, flying
}

// forget removes from the record what the negotiator was told: as if it knew no slots and jobs yet.
func (b *Belief) forget() {
	clear(b.slots)
	for _, j := range b.all {
		j.Phase, j.Spec, j.Places, j.lease, j.servedBy = Unknown, nil, nil, nil, nil
	}
	clear(b.leases)
	clear(b.holders)
	b.loose = nil
	b.goneEnded, b.goneRemoved = nil, nil
}

// restoreSlot returns a slot as it was; nil if it cannot have been a slot, was restored already, or
// has no ad to match with now: it is dynamic, or its ad cannot be used. A slot that is not there
// any more counts as missing from now on.
func (b *Belief) restoreSlot(was SavedSlot) *negotiator.Slot {
	outside := func(amount int64) bool { return amount < 0 || amount > backfill.MaxAmount }
	if len(was.Capacity) != len(b.s.Schema.Resources) || was.Name == "" || slices.ContainsFunc(was.Capacity, outside) {
		return nil
	}
	o := b.Slot(was.Name)
	if o == nil {
		ad := classad.New()
		ad.SetString("Name", was.Name)
		ad.SetBool("Requirements", false)
		o = &observe.Slot{
			Name: was.Name, Host: was.Name, Missing: b.now.Began, Static: true,
			Ad: &negotiator.Slot{Name: was.Name, Capacity: was.Capacity, Ad: ad}, Free: make(backfill.Vector,
				len(was.Capacity)),
		}
		b.lost[was.Name] = o
	}
	if o.Ad == nil || b.Up(was.Name) {
		return nil // it is a dynamic slot now, or named twice
	}
	s := b.slot(was.Name)
	s.reported, s.up = o.Ad, true
	if !slices.Equal(o.Ad.Capacity, was.Capacity) {
		s.reported = &negotiator.Slot{Name: was.Name, Capacity: was.Capacity, Ad: o.Ad.Ad}
	}
	return s.reported
}

// restoreJob returns a job as it stood. ok is false if the job is not in its queue any more or has
// changed, or if its slots are gone and it has no promise to keep.
func (b *Belief) restoreJob(was SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	j := b.jobs[was.key()]
	if j == nil || j.Group == nil || j.Phase != Unknown || !was.canBe(b.now.Now) || j.Group.Submit != was.Submit {
		return c, false
	}
	of := j.Group.Spec
	if of.Wrong != nil || of.Nodes != was.Nodes || !slices.Equal(of.Request,
		was.Request) || of.Estimate != was.Estimate {
		return c, false
	}
	c = was.checkpoint()
	c.Placement, ok = b.relocate(was)
	switch {
	case ok && was.Running:
		c.Job = b.report(j, Running, was.Ahead)
		j.Places, j.Start, j.lease = was.Places, was.Start, b.leaseFor(j, was.Places)
	case ok:
		c.Job = b.report(j, Waiting, was.Ahead)
	case was.Promised && !was.Running: // it keeps its promise, and is placed anew
		c.Placement, c.Start, c.End = nil, 0, 0
		c.Job, ok = b.report(j, Waiting, was.Ahead), true
	}
	return c, ok
}

func (was SavedJob) key() observe.JobKey {
	return observe.JobKey{Schedd: was.Schedd, Cluster: was.Cluster, Proc: was.Proc}
}

func (was SavedJob) checkpoint() negotiator.JobCheckpoint {
	return negotiator.JobCheckpoint{
		Running: was.Running, Start: was.Start, End: was.End, Promised: was.Promised, Guarantee: was.Guarantee,
	}
}

// canBe tells whether the times of a saved job are ones that a negotiator can have saved.
func (was SavedJob) canBe(now backfill.Time) bool {
	const most = 2 * backfill.MaxTime
	started := !was.Running || was.Start <= now
	return started && was.Start >= 0 && was.Start < was.End && was.End <= most &&
		was.Guarantee >= 0 && was.Guarantee <= most && was.Estimate >= 0 && was.Estimate <= most &&
		was.Ahead >= 0 && was.Ahead <= most
}

// relocate returns a saved job's Places as a placement on the slots that are there now. The second
// result is false if some of the slots are gone, or if the Places do not hold exactly the job's
// chunks.
func (b *Belief) relocate(was SavedJob) (negotiator.Placement, bool) {
	var at negotiator.Placement
	chunks := 0
	for i, x := range was.Places {
		o := b.Slot(x.Slot)
		twice := slices.ContainsFunc(was.Places[:i], func(o Place) bool { return o.Slot == x.Slot })
		if twice || x.Chunks < 1 || x.Chunks > was.Nodes-chunks || o == nil || !b.Up(x.Slot) ||
			!was.Running && !o.Missing.IsZero() {
			return nil, false
		}
		chunks += x.Chunks
		at = append(at, negotiator.Chunks{Slot: b.slots[x.Slot].reported, Count: x.Chunks})
	}
	return at, chunks == was.Nodes
}

// restoreGone returns a job that had a place and is not in its queue any more, or not as it was; ok
// is false if its slots are not there either. The next [Belief.Diff] reports that it is gone, so that
// others move up.
func (b *Belief) restoreGone(was SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	if len(was.Request) != len(b.s.Schema.Resources) || was.Nodes < 1 || was.Request.Zero() || !was.canBe(b.now.Now) {
		return c, false
	}
	outside := func(amount int64) bool { return amount < 0 || amount > backfill.MaxAmount/int64(was.Nodes) }
	missing := func(at Place) bool { return !b.Slot(at.Slot).Missing.IsZero() }
	at, ok := b.relocate(was)
	if !ok || slices.ContainsFunc(was.Request, outside) || slices.ContainsFunc(was.Places, missing) {
		return c, false
	}
	ad := classad.New()
	for i, resource := range b.s.Schema.Resources {
		ad.SetInt("Request"+negotiator.Attribute(resource), was.Request[i])
	}
	ad.SetBool("Requirements", true)
	c = was.checkpoint()
	c.Placement = at
	c.Job = &negotiator.Job{
		ID: b.nextID(), Name: was.key().String() + " as it was", Submit: was.Submit, Nodes: was.Nodes,
		Estimate: was.Estimate + was.Ahead, Ad: ad,
		Position: backfill.QueuePosition{Queue: "left " + was.Schedd, Cluster: was.Cluster, Proc: was.Proc},
	}
	if was.Running {
		b.goneEnded = append(b.goneEnded, c.Job.ID)
	} else {
		b.goneRemoved = append(b.goneRemoved, c.Job.ID)
	}
	return c, true
}
