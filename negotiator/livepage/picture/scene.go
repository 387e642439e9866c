package picture

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/meter/shapes"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// Scene is what a picture is made from. All of it is copies, or does not change.
type Scene struct {
	Outlook *outlook.Outlook
	// Settled are the jobs that run, hold reservations or are held, by ID; Scavengers are those that are
	// in no plan.
	Settled, Scavengers []negotiator.JobCheckpoint
	Waiting             []*negotiator.Job // the first in the queue, in its order
	Unplanned           []Job             // that are in no plan
	// Told is what is told of a job; may be nil.
	Told   func(backfill.JobID) Told
	Drains drains.Book
	// Uncounted is a resource that bounds something else than hardware, and is not shown; "": none is.
	Uncounted string
	// Zone is that in which texts write times; nil: they are of a simulation.
	Zone *time.Location
	// Head is what the caller knows of the pool. What follows from the rest is filled in.
	Head Head
}

// Told is what is told of a job beside what the schedule has. What is zero is not told.
type Told struct {
	Situation string
	// Start is the start that the job is told, and Low and High its range.
	Start, Low, High Moment
	// Played is when it starts in the play in which all jobs run for as long as they are taken to, and
	// Placement where.
	Played         Moment
	Placement      backfill.Placement
	Reason, Behind string
}

// maker makes one picture.
type maker struct {
	Scene
	state   *backfill.State
	ends    func(j *backfill.Job, started backfill.Time) backfill.Time // as plays expect them
	queues  bool                                                       // jobs are of several queues, whose names tell them apart
	picture *Picture
}

// Picture makes the picture.
func (s Scene) Picture() *Picture {
	state := s.Outlook.State()
	m := maker{Scene: s, state: state, ends: s.Outlook.Start().End, picture: &Picture{Head: s.Head}}
	m.queues = m.severalQueues()
	m.slots()
	m.jobs()
	m.head()
	m.picture.Counts = sync.OnceValue(func() shapes.Counts { return shapes.Of(state, m.picture.starts()) })
	return m.picture
}

func (m *maker) head() {
	h, s := &m.picture.Head, m.state
	h.Now = int64(s.Now())
	h.Resources, h.Capacity, h.Use = shown(m, s.Resources()), shown(m, s.Capacity()), shown(m, s.Use())
	h.Running, h.Waiting, h.Held = s.RunningJobs(), s.Waiting(), s.Held()
	h.Further = s.Waiting() - len(m.Waiting)
	h.ReservedIdle = s.ReservedIdle()
	if h.Policy == "" {
		h.Policy, h.Guarantees = s.Policy()
	}
	if h.Clocks == nil {
		h.Clocks = []instant.Stretch{}
	}
	if h.Problems == nil {
		h.Problems = []string{}
	}
	for i := range m.picture.Slots {
		if !m.picture.Slots[i].Down {
			h.Slots++
		}
	}
	for i := range m.Settled {
		if c := &m.Settled[i]; !c.Running && c.Held == "" && c.Placement != nil {
			h.Reserved++
		}
	}
}

// shown returns a list of values of each resource without that of the one that is not shown.
func shown[T any](m *maker, all []T) []T {
	i := slices.Index(m.state.Resources(), m.Uncounted)
	if i < 0 {
		return slices.Clone(all)
	}
	return slices.Delete(slices.Clone(all), i, i+1)
}

// slots lists the slots that are up, and those of bundles that are not. A slot without cpus that only
// bundles share, a wire, is none that runs jobs.
func (m *maker) slots() {
	all := m.state.Slots()
	bundled := map[backfill.SlotID]bool{}
	for _, b := range m.state.Bundles() {
		for _, id := range b.Slots {
			bundled[id] = true
		}
	}
	for _, slot := range all {
		if slot.Capacity[0] == 0 && bundled[slot.ID] {
			continue
		}
		one := Slot{ID: slot.ID, Name: slot.Name, Machine: machine(slot.Name), Capacity: shown(m, slot.Capacity), Down: !m.state.SlotUp(slot.ID)}
		if slot.End != 0 {
			one.End = At(slot.End)
		}
		if d, drained := m.Drains[slot.Name]; drained {
			one.Drain = &Drain{From: d.By, Why: d.Why(m.Zone)}
			if d.Until != 0 {
				one.Drain.Until = Moment{d.Until, true}
			}
		}
		m.picture.Slots = append(m.picture.Slots, one)
	}
}

// machine is what a slot's name has behind its first @: the name of its startd. That has an @ of its own if
// it was given a name, as that of a glidein.
func machine(slot string) string { return slot[strings.IndexByte(slot, '@')+1:] }

func (m *maker) severalQueues() bool {
	first, several := "", false
	note := func(j *negotiator.Job) {
		if first == "" {
			first = j.Position.Queue
		}
		several = several || j.Position.Queue != first
	}
	for i := range m.Settled {
		note(m.Settled[i].Job)
	}
	for _, j := range m.Waiting {
		note(j)
	}
	return several
}

// jobs lists those of the queue, in its order, and then the others.
func (m *maker) jobs() {
	m.picture.Jobs = make([]Job, 0, len(m.Waiting)+len(m.Settled)+len(m.Scavengers)+len(m.Unplanned))
	queued := make(map[backfill.JobID]bool, len(m.Waiting))
	for i, job := range m.Waiting {
		queued[job.ID] = true
		settled := negotiator.JobCheckpoint{Job: job}
		at, found := slices.BinarySearchFunc(m.Settled, job.ID, func(c negotiator.JobCheckpoint, id backfill.JobID) int {
			return cmp.Compare(c.Job.ID, id)
		})
		if found {
			settled = m.Settled[at]
		}
		m.add(settled, i+1)
	}
	for i := range m.Settled {
		if !queued[m.Settled[i].Job.ID] {
			m.add(m.Settled[i], 0)
		}
	}
	for i := range m.Scavengers {
		m.scavenger(m.Scavengers[i])
	}
	m.picture.Jobs = append(m.picture.Jobs, m.Unplanned...)
}

// add adds a job as the schedule has it, and what is told of it.
func (m *maker) add(c negotiator.JobCheckpoint, position int) {
	core := m.state.Job(c.Job.ID)
	if core == nil {
		return
	}
	told := Told{}
	if m.Told != nil {
		told = m.Told(c.Job.ID)
	}
	j := m.describe(c.Job, core)
	j.Position = position
	j.Situation, j.Reason, j.Behind = cmp.Or(told.Situation, situation(c)), told.Reason, told.Behind
	if times, known := m.Outlook.Of(core.ID); known {
		j.Predicted = int64(times.Predicted)
	}
	placement := backfill.Placement(nil)
	if c.Placement != nil {
		_, placement, _ = m.placed(core.ID)
		j.Start, j.End = At(c.Start), At(c.End)
	}
	if c.Promised {
		j.Guarantee = At(c.Guarantee)
	}
	if c.Running {
		if !c.Pinned && !c.Yields {
			j.End = At(m.ends(core, c.Start))
		}
		if latest := max(c.End, c.Start+cmp.Or(core.Limit, core.Estimate)); int64(latest) > j.End.At {
			j.High = At(latest)
		}
	} else if placed := m.expect(&j, core, told); placed != nil {
		placement = placed
	}
	m.place(&j, core, placement)
	m.picture.Jobs = append(m.picture.Jobs, j)
}

// expect sets when a job that waits is expected to start, by what is told of it, and returns where; nil:
// where its reservation is.
func (m *maker) expect(j *Job, core *backfill.Job, told Told) backfill.Placement {
	reserved, placement := j.Start, backfill.Placement(nil)
	j.Low, j.High = told.Low, told.High
	if told.Played.Known && told.Placement != nil && told.Played.At >= int64(m.state.Now()) {
		j.Start, placement = told.Played, told.Placement
		// A reservation lasts for as long as is requested; others are played into what is left of that.
		j.End = At(m.ends(core, backfill.Time(j.Start.At)))
	} else if !j.Start.Known {
		j.Start = told.Start
	}
	if !j.Start.Known {
		return nil
	}
	if j.Start != reserved {
		j.Reserved = reserved
		j.End = At(m.ends(core, backfill.Time(j.Start.At)))
	}
	if told.Start.Known && told.Start != j.Start {
		j.Likely = told.Start
	}
	return placement
}

// placed returns where a job runs or is planned to run.
func (m *maker) placed(id backfill.JobID) (start backfill.Time, at backfill.Placement, known bool) {
	if start, at, known = m.state.Planned(id); known {
		return start, at, true
	}
	r, known := m.state.Reason(id)
	return r.At, r.Placement, known
}

// situation is what becomes of a job.
func situation(c negotiator.JobCheckpoint) string {
	switch {
	case c.Running && c.Pinned:
		return backfill.TakesOver.String()
	case c.Running:
		return backfill.Runs.String()
	case c.Held != "":
		return backfill.HeldBack.String()
	case c.Placement != nil:
		return backfill.Reserved.String()
	default:
		return backfill.Waits.String()
	}
}

// describe says what does not change of a job.
func (m *maker) describe(job *negotiator.Job, core *backfill.Job) Job {
	j := Job{
		Bar: Bar{
			ID: core.ID, Name: m.name(job), Owner: core.Labels["owner"], Group: core.Labels["group"], Submit: int64(core.Submit),
		},
		Autocluster: core.Candidates, Chunks: core.Nodes, Requested: int64(m.Outlook.Requested(core)),
	}
	for i, name := range m.state.Resources() {
		switch amount := core.Request[i] * int64(core.Nodes); name {
		case "cpus":
			j.Cpus = amount
		case "memory":
			j.Memory = amount
		case "gpus":
			j.Gpus = amount
		}
	}
	return j
}

func (m *maker) name(job *negotiator.Job) string {
	if m.queues && job.Position.Queue != "" {
		return job.Name + "@" + job.Position.Queue
	}
	return job.Name
}

// place says on which slots a job is.
func (m *maker) place(j *Job, core *backfill.Job, at backfill.Placement) {
	if len(at) == 0 {
		return
	}
	cpus := int64(0)
	j.At = make([]Piece, 0, len(at))
	for _, c := range at {
		if n := m.state.Chunk(core, c.Slot)[0] * int64(c.Count); n > 0 {
			j.At = append(j.At, Piece{c.Slot, n})
			cpus += n
		}
	}
	j.Cpus = cpus
	j.Places = m.state.Places(at).Short()
}

// scavenger adds a scavenger that runs.
func (m *maker) scavenger(c negotiator.JobCheckpoint) {
	if !c.Running || c.Placement == nil {
		return
	}
	ids, each := m.byName(), int64(1)
	if n, asks := c.Job.Ad.Int("RequestCpus"); asks && n > 0 {
		each = n
	}
	j := Job{Bar: Bar{
		ID: c.Job.ID, Name: m.name(c.Job), Owner: c.Job.Labels["owner"], Group: c.Job.Labels["group"], Submit: int64(c.Job.Submit),
		Situation: Scavenges, Start: At(c.Start), End: At(c.End),
	}, Chunks: c.Job.Nodes, Requested: int64(c.Job.Estimate)}
	if m.Told != nil {
		j.Reason = m.Told(c.Job.ID).Reason
	}
	for _, on := range c.Placement {
		if on.Slot != nil {
			cpus := int64(on.Count) * each
			j.At = append(j.At, Piece{ids[on.Slot.Name], cpus})
			j.Cpus += cpus
		}
	}
	m.picture.Jobs = append(m.picture.Jobs, j)
}

// Scavenges is the situation of scavengers that run.
const Scavenges = "scavenges"

func (m *maker) byName() map[string]backfill.SlotID {
	ids := map[string]backfill.SlotID{}
	for _, s := range m.picture.Slots {
		ids[s.Name] = s.ID
	}
	return ids
}
