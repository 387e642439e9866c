package track

import (
	"maps"
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
	Schedds    []SavedSchedd `json:"schedds,omitempty"`
}

// SavedSchedd is a schedd that told its queue, and where.
type SavedSchedd struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Seen are its highest clusters at some instants.
	Seen []SavedSeen `json:"seen,omitempty"`
}

// home returns where a slot is; "" if that is not known, or is no usual address.
func (b *Belief) home(slot string) string {
	if s := b.now.Slots[slot]; s != nil && len(s.Address) <= longestAddress {
		return s.Home()
	}
	return ""
}

const longestAddress = 1000

// Homes returns where the schedds and slots were.
func (s *SavedState) Homes() observe.Homes {
	h := observe.Homes{Schedds: map[string]string{}, Slots: map[string]string{}}
	if s == nil {
		return h
	}
	for _, schedd := range s.Schedds {
		h.Schedds[schedd.Name] = schedd.Address
	}
	for _, slot := range s.Slots {
		if slot.Address != "" {
			h.Slots[slot.Name] = slot.Address
		}
	}
	return h
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
	Address  string          `json:"address,omitempty"`
}

// SavedJob is a job with a place or a promise. Request, Nodes and Estimate tell whether it is still
// the same job; Ahead is for how long its claim is idle before it runs, see [observe.Deferral].
type SavedJob struct {
	Schedd   string          `json:"schedd"`
	Cluster  int64           `json:"cluster"`
	Proc     int64           `json:"proc"`
	Submit   backfill.Time   `json:"submit"`
	Nodes    int             `json:"nodes"`
	Request  backfill.Vector `json:"request"`
	Estimate backfill.Time   `json:"estimate"`
	Ahead    backfill.Time   `json:"ahead,omitempty"`
	Places   []Place         `json:"places,omitempty"`
	// Run is of a job that was seen to run; nil of others.
	Run *SavedRun `json:"run,omitempty"`
	backfill.Standing
}

// SavedRun is since when a job runs, and what else it was planned by: its user may edit it
// meanwhile.
type SavedRun struct {
	Since   backfill.Time   `json:"since"`
	Limit   backfill.Time   `json:"limit,omitempty"`
	Charged observe.Charged `json:"charged"`
}

// Save puts a negotiator's checkpoint into a form that outlives the process.
func (b *Belief) Save(m negotiator.Checkpoint) *SavedState {
	saved := &SavedState{
		Version: SavedVersion, Now: m.Now, Policy: m.Policy, Guarantees: m.Guarantees, Foretold: m.Foretold,
	}
	for _, s := range m.Slots {
		saved.Slots = append(saved.Slots, SavedSlot{Name: s.Name, Capacity: s.Capacity, Address: b.home(s.Name)})
	}
	for _, c := range m.Jobs {
		j := b.byID[c.Job.ID]
		if j == nil || j.Spec == nil || c.Placement == nil {
			continue
		}
		saved.Jobs = append(saved.Jobs, SavedJob{
			Schedd: j.Key.Schedd, Cluster: j.Key.Cluster, Proc: j.Key.Proc, Submit: c.Job.Submit,
			Nodes: c.Job.Nodes, Request: j.Spec.Request, Estimate: j.Spec.Estimate, Ahead: j.ahead,
			Places: placesOf(c.Placement), Run: savedRun(j), Standing: c.Standing,
		})
	}
	saved.Leases = b.lending.save()
	for _, name := range slices.Sorted(maps.Keys(b.now.Schedds)) {
		if home := b.now.Schedds[name].Home(); home != "" {
			saved.Schedds = append(saved.Schedds, SavedSchedd{name, home, slices.Clone(b.seen[name])})
		}
	}
	return saved
}

// savedRun returns what is saved of a job's run; nil if it was not seen to run.
func savedRun(j *Job) *SavedRun {
	if j.Phase != Running || j.lasted == nil {
		return nil
	}
	return &SavedRun{Since: j.lasted.since, Limit: j.Spec.Limit, Charged: j.Spec.Charged()}
}

// spec returns what a job that runs was planned by, whatever its ad says since.
func (former SavedJob) spec(since *observe.Spec, resources []string) *observe.Spec {
	spec := since.As(former.Run.Charged, former.Request, former.Nodes, resources)
	spec.Estimate, spec.Limit = former.Estimate, former.Run.Limit
	return spec
}

// Restore makes a checkpoint of what a negotiator left, as far as a snapshot still shows it: slots
// as they were, so that the next [Belief.Diff] reports which of them are gone; jobs as they were,
// if their slots are still there, even those that have left their queues, so that Diff reports
// them, too. A waiting job whose slots are gone keeps only its promise. The second result is the
// jobs that were started and do not run yet: they may have been handed over. Restore forgets what
// the belief recorded before; a nil state restores nothing.
func (b *Belief) Restore(saved *SavedState, s *observe.Snapshot) (negotiator.Checkpoint, []*Job) {
	if saved != nil {
		b.restoreSeen(saved, s.Now)
	}
	b.See(s)
	b.forget()
	if saved == nil {
		return negotiator.Checkpoint{}, nil
	}
	m := negotiator.Checkpoint{
		Now: max(0, min(saved.Now, s.Now)), Policy: saved.Policy, Guarantees: saved.Guarantees,
		Foretold: saved.Foretold,
	}
	for _, former := range saved.Slots {
		if slot := b.restoreSlot(former); slot != nil {
			m.Slots = append(m.Slots, slot)
		}
	}
	b.restoreLeases(saved.Leases)
	var flying []*Job
	back := saved.back(s.Now)
	for _, former := range saved.Jobs {
		former = former.shifted(back)
		c, ok := b.restoreJob(former)
		if !ok {
			c, ok = b.restoreGone(former)
		}
		if !ok {
			b.log.Warn("a job is not taken up as the negotiator before left it: it has changed, or its slots are gone",
				"job", former.key().String(), "ran", former.Running)
			continue
		}
		m.Jobs = append(m.Jobs, c)
		if j := b.byID[c.Job.ID]; j != nil && j.Phase == Running && !j.Group.Runs() {
			flying = append(flying, j)
		}
	}
	return m, flying
}

// back is by how much the clock was put back since the state was saved, at least; 0 if it was not, or if
// no clock can have said when that was.
func (s *SavedState) back(now backfill.Time) backfill.Time {
	if s.Now > backfill.MaxTime {
		return 0
	}
	return max(0, s.Now-now)
}

// shifted returns a job with its times as a clock has them that was put back, so that it is not lost as
// one of the future.
func (former SavedJob) shifted(back backfill.Time) SavedJob {
	if back == 0 {
		return former
	}
	shift := func(at backfill.Time) backfill.Time {
		if at <= 0 {
			return at
		}
		return max(0, at-back)
	}
	former.Start, former.End, former.Guarantee = shift(former.Start), shift(former.End), shift(former.Guarantee)
	if r := former.Run; r != nil {
		run := *r
		run.Since = shift(run.Since)
		former.Run = &run
	}
	return former
}

// forget removes from the record what the negotiator was told: as if it knew no slots and jobs yet.
func (b *Belief) forget() {
	clear(b.slots)
	for _, j := range b.all {
		j.Phase, j.Spec, j.Places, j.lease, j.servedBy = Unknown, nil, nil, nil, nil
	}
	b.lending = newLending()
	clear(b.departed)
	b.goneEnded, b.goneRemoved = nil, nil
}

// restoreSlot returns a slot as it was; nil if it cannot have been a slot, was restored already, or
// has no ad to match with now: it is dynamic, or its ad cannot be used. A slot that is not there
// any more counts as missing from now on.
func (b *Belief) restoreSlot(former SavedSlot) *negotiator.Slot {
	outside := func(amount int64) bool { return amount < 0 || amount > backfill.MaxAmount }
	if len(former.Capacity) != len(b.s.Schema.Resources) || former.Name == "" || slices.ContainsFunc(former.Capacity, outside) {
		return nil
	}
	o := b.Slot(former.Name)
	if o == nil {
		ad := classad.New()
		ad.SetString("Name", former.Name)
		ad.SetBool("Requirements", false)
		o = &observe.Slot{
			Name: former.Name, Host: former.Name, Missing: b.now.Began, Static: true,
			Ad: &negotiator.Slot{Name: former.Name, Capacity: former.Capacity, Ad: ad}, Free: make(backfill.Vector,
				len(former.Capacity)),
		}
		b.lost[former.Name] = o
	}
	if o.Ad == nil || b.isUp(former.Name) {
		return nil // it is a dynamic slot now, or named twice
	}
	s := b.slot(former.Name)
	s.reported, s.up = o.Ad, true
	if !slices.Equal(o.Ad.Capacity, former.Capacity) {
		s.reported = &negotiator.Slot{Name: former.Name, Capacity: former.Capacity, Ad: o.Ad.Ad}
	}
	return s.reported
}

// restoreJob returns a job as it stood. ok is false if the job is not in its queue any more or has
// changed, or if its slots are gone and it has no promise to keep.
func (b *Belief) restoreJob(former SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	j := b.jobs[former.key()]
	if j == nil || j.Group == nil || j.Phase != Unknown || !former.canBe(b.now.Now) {
		return c, false
	}
	spec := j.Group.Spec
	if former.Running && former.Run != nil && j.Group.Runs() && former.Run.Charged.User == spec.User() {
		return b.restoreRun(j, former)
	}
	if !former.sameSubmit(j.Group.Submit, b.now.Now) {
		return c, false
	}
	j.notBefore = former.Submit
	if spec.Wrong != nil || spec.Nodes != former.Nodes || !slices.Equal(spec.Request,
		former.Request) || spec.Estimate != former.Estimate {
		return c, false
	}
	c = former.checkpoint()
	c.Placement, ok = b.relocate(former)
	switch {
	case ok && former.Running:
		c.Job = b.report(j, Running, former.Ahead)
		j.Places, j.Start, j.lease = former.Places, former.Start, b.leaseFor(j, former.Places).term()
	case ok:
		c.Job = b.report(j, Waiting, former.Ahead)
	case former.Promised && !former.Running: // it keeps its promise, and is placed anew
		c.Placement, c.Start, c.End = nil, 0, 0
		c.Job, ok = b.report(j, Waiting, former.Ahead), true
	}
	return c, ok
}

// restoreRun returns a job that was seen to run as it stood, whatever its user has edited since. ok
// is false if its slots are gone.
func (b *Belief) restoreRun(j *Job, former SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	c = former.checkpoint()
	if c.Placement, ok = b.relocate(former); !ok || !former.isRequest(b.s.Schema.Resources) {
		return c, false
	}
	j.notBefore = former.Submit
	b.report(j, Running, former.Ahead)
	j.Spec = former.spec(j.Group.Spec, b.s.Schema.Resources)
	j.estimated = j.Spec.Estimate
	j.lasted = &lasted{
		since: min(former.Run.Since, b.now.Now), ahead: former.Ahead, stated: j.Spec, started: j.Group.Started, looked: b.now.Now,
	}
	j.Places, j.Start, j.lease = former.Places, former.Start, b.leaseFor(j, former.Places).term()
	c.Job = b.described(j)
	return c, true
}

// sameSubmit tells whether a job that says that it was submitted at an instant may be the saved
// one, of which that may have been too early, see [Job.submitted].
func (former SavedJob) sameSubmit(at, now backfill.Time) bool {
	return former.Submit == at || former.Submit > at && former.Submit <= now
}

func (former SavedJob) key() observe.JobKey {
	return observe.JobKey{Schedd: former.Schedd, Cluster: former.Cluster, Proc: former.Proc}
}

// checkpoint returns the job as it stood. Held jobs are not saved: each negotiator finds them anew.
func (former SavedJob) checkpoint() negotiator.JobCheckpoint {
	stood := former.Standing
	stood.Held = ""
	return negotiator.JobCheckpoint{Standing: stood}
}

// canBe tells whether the times of a saved job are ones that a negotiator can have saved.
func (former SavedJob) canBe(now backfill.Time) bool {
	const most = 2 * backfill.MaxTime
	started := !former.Running || former.Start <= now
	if r := former.Run; r != nil && (r.Since < 0 || r.Since > now || r.Limit < 0 || r.Limit > most || r.Charged.Check() != nil) {
		return false
	}
	return started && former.Start >= 0 && former.Start < former.End && former.End <= most &&
		former.Guarantee >= 0 && former.Guarantee <= most && former.Estimate >= 0 && former.Estimate <= most &&
		former.Ahead >= 0 && former.Ahead <= most
}

// isRequest tells whether a job can have requested what the saved one has.
func (former SavedJob) isRequest(resources []string) bool {
	if len(former.Request) != len(resources) || former.Nodes < 1 || former.Nodes > backfill.MaxChunks || former.Request.Zero() {
		return false
	}
	outside := func(amount int64) bool { return amount < 0 || amount > backfill.MaxAmount/int64(former.Nodes) }
	return !slices.ContainsFunc(former.Request, outside)
}

// relocate returns a saved job's Places as a placement on the slots that are there now. The second
// result is false if some of the slots are gone, or if the Places do not hold exactly the job's
// chunks.
func (b *Belief) relocate(former SavedJob) (negotiator.Placement, bool) {
	var at negotiator.Placement
	chunks := 0
	for i, x := range former.Places {
		o := b.Slot(x.Slot)
		twice := slices.ContainsFunc(former.Places[:i], func(o Place) bool { return o.Slot == x.Slot })
		if twice || x.Chunks < 1 || x.Chunks > former.Nodes-chunks || o == nil || !b.isUp(x.Slot) ||
			!former.Running && !o.Missing.IsZero() {
			return nil, false
		}
		chunks += x.Chunks
		at = append(at, negotiator.Chunks{Slot: b.slots[x.Slot].reported, Count: x.Chunks})
	}
	return at, chunks == former.Nodes
}

// restoreGone returns a job that had a place and is not in its queue any more, or not as it was; ok
// is false if its slots are not there either. The next [Belief.Diff] reports that it is gone, so
// that others move up.
func (b *Belief) restoreGone(former SavedJob) (c negotiator.JobCheckpoint, ok bool) {
	if !former.isRequest(b.s.Schema.Resources) || !former.canBe(b.now.Now) {
		return c, false
	}
	missing := func(at Place) bool { return !b.Slot(at.Slot).Missing.IsZero() }
	at, ok := b.relocate(former)
	if !ok || slices.ContainsFunc(former.Places, missing) {
		return c, false
	}
	ad := classad.New()
	for i, resource := range b.s.Schema.Resources {
		ad.SetInt("Request"+negotiator.Attribute(resource), former.Request[i])
	}
	ad.SetBool("Requirements", true)
	c = former.checkpoint()
	c.Placement = at
	c.Job = &negotiator.Job{
		ID: b.nextID(), Name: former.key().String() + " as it was", Submit: former.Submit, Nodes: former.Nodes,
		Estimate: former.Estimate + former.Ahead, Ad: ad,
		Position: backfill.QueuePosition{Queue: "left " + former.Schedd, Cluster: former.Cluster, Proc: former.Proc},
	}
	if former.Running && former.Run != nil { // its user may have edited it out of its queue
		spec := former.spec(&observe.Spec{Ad: ad, Labels: map[string]string{}}, b.s.Schema.Resources)
		past := Job{Key: former.key(), ID: c.Job.ID, Spec: spec, Places: former.Places, Phase: Running, Group: &observe.Group{
			Spec: spec, Submit: former.Submit, Status: observe.Running, Started: former.Run.Since, Jobs: []observe.JobKey{former.key()},
		}}
		past.lasted = &lasted{since: former.Run.Since, ahead: former.Ahead, stated: spec, started: former.Run.Since, looked: b.now.Now}
		b.departed[past.Key] = &departed{job: past, at: b.now.Began, ran: unknownRun}
	}
	if former.Running {
		b.goneEnded = append(b.goneEnded, c.Job.ID)
	} else {
		b.goneRemoved = append(b.goneRemoved, c.Job.ID)
	}
	return c, true
}
