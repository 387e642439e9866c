package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// Preemption is how running jobs make way for others in a simulation: RANK of the slots' ads and the
// rules of the negotiator say who does. A job that made way runs again from its last checkpoint, or from
// the beginning.
type Preemption struct {
	// Rules are the negotiator's in runs of the workload; nil: those that its configuration has.
	Rules *preempt.Rules
	// Retirement is how long each run may go on before its job has to make way, counted from its start
	// (MAXJOBRETIREMENTTIME), and Vacate how long the job then takes to leave (MachineMaxVacateTime).
	Retirement, Vacate backfill.Time
	// Checkpoint is after how many seconds of its run, again and again, a job saves what it did; 0: never.
	// What was saved is kept if the job loses its slot for another reason, too.
	Checkpoint backfill.Time
	// Standing says what expressions see of a submitter; nil: what the accountant says if accounts are
	// kept, else all have the same priority and use nothing.
	Standing func(submitter string) preempt.Standing
	// HasRoom says whether a submitter's share has room for a further weight; nil: as the accountant divides
	// the pool if accounts are kept, else it always has.
	HasRoom func(submitter string, granted, weight float64) bool
}

// preemptionOf returns how jobs make way in a pool by its description; nil: none does.
func preemptionOf(pool *pools.Description) *Preemption {
	p := pool.Preemption
	if p == nil {
		return nil
	}
	return &Preemption{Rules: &p.Rules, Retirement: p.Retirement, Vacate: p.Vacate, Checkpoint: p.Checkpoint}
}

// saves returns how much of a run of a job that came to nothing its checkpoints have saved.
func (w *Workload) saves(id backfill.JobID, ran backfill.Time) backfill.Time {
	every := backfill.Time(0)
	switch {
	case w.Jobs[id].Scavenger:
		every = w.Scavengers.Checkpoint
	case w.Preemption != nil:
		every = w.Preemption.Checkpoint
	}
	if every == 0 {
		return 0
	}
	return ran - ran%every
}

// making are the jobs that make way in a pool, and those that they make way for.
type making struct {
	w        *Workload
	rules    Preemption // of jobs that are no scavengers; zero: none makes way for another
	requests []backfill.Vector
	runs     map[backfill.JobID]*claimedRun
	saved    map[backfill.JobID]backfill.Time // of what jobs did in runs that came to nothing
	names    map[string]map[int]bool          // numbers of dynamic slots that are in use, by the partitionable slot
	leaving  ahead.Endings                    // a run is told by its number
	taking   []*takeover                      // in the order in which they were decided
	late     []negotiator.Match               // jobs that begin once scavengers have left, in that order
	used     map[string]backfill.Vector
	taken    map[string]int64 // of limits
	now      backfill.Time
	vain     vain
}

// takeover is a job for which others make way.
type takeover struct {
	match negotiator.Match
	waits []backfill.JobID // that have not left yet
	rank  float64          // how much the slot prefers it, if it waits for one job alone
}

func newMaking(w *Workload) *making {
	if w.Preemption == nil && w.Scavengers == nil || len(w.Bundles) > 0 {
		return nil
	}
	m := &making{
		w: w, requests: w.Requests(), runs: map[backfill.JobID]*claimedRun{}, names: map[string]map[int]bool{},
		saved: map[backfill.JobID]backfill.Time{}, used: map[string]backfill.Vector{}, taken: map[string]int64{},
	}
	if w.Preemption != nil {
		m.rules = *w.Preemption
	}
	return m
}

// next returns when somebody leaves next; [backfill.Forever] if nobody is to.
func (m *making) next() backfill.Time {
	if m == nil {
		return backfill.Forever
	}
	for len(m.leaving) > 0 && !m.leaves(m.leaving[0]) {
		m.leaving.Pop()
	}
	if len(m.leaving) == 0 {
		return backfill.Forever
	}
	return m.leaving[0].At
}

// leaves reports whether the run that is to leave is still the one that was told to.
func (m *making) leaves(e ahead.Ending) bool {
	run := m.runs[e.Job]
	return run != nil && run.number == e.Run && run.leaves
}

// chunk returns what each chunk of a job takes of a slot.
func (m *making) chunk(id backfill.JobID, slot *negotiator.Slot) backfill.Vector {
	return m.w.chunkOn(id, m.requests[id], slot)
}

// use adds what a job takes of its slots and of limits to what is in use, so many times.
func (m *making) use(id backfill.JobID, at negotiator.Placement, times int64) {
	for _, t := range m.w.Jobs[id].Takes {
		m.taken[t.Limit] += times * t.Amount
	}
	for _, on := range at {
		used := m.used[on.Slot.Name]
		if used == nil {
			used = make(backfill.Vector, len(on.Slot.Capacity))
			m.used[on.Slot.Name] = used
		}
		used.AddScaled(m.chunk(id, on.Slot), times*int64(on.Count))
	}
}

// starts notes that a job starts.
func (m *making) starts(id backfill.JobID, at negotiator.Placement, number int32) {
	if m == nil {
		return
	}
	m.use(id, at, 1)
	m.runs[id] = m.claim(id, at, number)
}

// fail notes that runs came to nothing but for what their checkpoints have saved.
func (m *making) fail(jobs []backfill.JobID) {
	if m == nil {
		return
	}
	for _, id := range jobs {
		if run := m.runs[id]; run != nil { // else it was yet to begin
			if saved := m.w.saves(id, m.now-run.start); saved > 0 {
				m.saved[id] += saved
			}
		}
	}
	m.ends(jobs)
}

// left returns for how long a job still has to run.
func (m *making) left(j Job) backfill.Time {
	if m == nil {
		return j.runs()
	}
	return j.runs() - m.saved[j.ID]
}

// ends notes that runs are over, or that their jobs have lost their slots.
func (m *making) ends(jobs []backfill.JobID) {
	if m == nil {
		return
	}
	for _, id := range jobs {
		run := m.runs[id]
		if run == nil {
			m.late = slices.DeleteFunc(m.late, func(match negotiator.Match) bool { return match.Job.ID == id })
			continue
		}
		m.use(id, run.at, -1)
		delete(m.runs, id)
		delete(m.names[run.host], run.dynamic)
		for _, t := range m.taking {
			t.waits = slices.DeleteFunc(t.waits, func(v backfill.JobID) bool { return v == id })
		}
	}
}

// take notes that others make way for a job. Each leaves once its retirement is over and it has
// vacated, unless it ends before. Jobs that were to have the place instead wait again.
func (m *making) take(match negotiator.Match) {
	m.taking = slices.DeleteFunc(m.taking, func(t *takeover) bool { return slices.Contains(match.Ousts, t.match.Job.ID) })
	for _, id := range match.Displaces {
		if m.w.Jobs[id].Scavenger {
			m.tell(id)
			continue
		}
		run := m.runs[id]
		m.vain.by(id, match.Job.ID)
		if run.leaves {
			continue // as it was to
		}
		run.leaves = true
		leaves := m.now + max(1, m.retirement(run)+m.rules.Vacate) // no job leaves in no time
		m.leaving.Push(ahead.Ending{At: leaves, Job: id, Run: run.number})
	}
	m.taking = append(m.taking, &takeover{match, slices.Clone(match.Displaces), m.rankOf(match.Job.ID, match.Placement[0].Slot)})
}

// waitsFor returns who takes over from a job, and from no other; nil: nobody does.
func (m *making) waitsFor(id backfill.JobID) *takeover {
	i := slices.IndexFunc(m.taking, func(t *takeover) bool {
		return len(t.match.Displaces) == 1 && t.match.Displaces[0] == id
	})
	if i < 0 {
		return nil
	}
	return m.taking[i]
}

// retirement returns for how long a run may still go on.
func (m *making) retirement(run *claimedRun) backfill.Time {
	return max(0, run.start+m.rules.Retirement-m.now)
}

// evicted returns the jobs that leave now, by ID.
func (m *making) evicted() (jobs []backfill.JobID) {
	if m == nil {
		return nil
	}
	for m.next() <= m.now {
		e := m.leaving.Pop()
		m.runs[e.Job].leaves = false
		jobs = append(jobs, e.Job)
	}
	slices.Sort(jobs)
	return jobs
}

// ready returns the jobs whose places are free now: those that made way have left, and so has whoever
// used the rest of the slot for longer than planned.
func (m *making) ready() (all []negotiator.Match) {
	if m == nil {
		return nil
	}
	m.taking = slices.DeleteFunc(m.taking, func(t *takeover) bool {
		if len(t.waits) > 0 || !m.hasRoom(t.match) {
			return false
		}
		all = append(all, t.match)
		m.use(t.match.Job.ID, t.match.Placement, 1) // so that the next one finds less; the start counts it anew
		return true
	})
	for _, match := range all {
		m.use(match.Job.ID, match.Placement, -1)
	}
	return all
}

// cancel drops the take-overs on slots that are gone, and those of jobs that are.
func (m *making) cancel(d *negotiator.Delta) {
	if m == nil {
		return
	}
	m.taking = slices.DeleteFunc(m.taking, func(t *takeover) bool {
		return slices.Contains(d.SlotsDown, t.match.Placement[0].Slot.Name) || slices.Contains(d.Removed, t.match.Job.ID)
	})
}
