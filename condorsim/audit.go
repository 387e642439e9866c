package condorsim

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// audit keeps books of its own beside every simulation, from what the pool
// reports and what is started, and holds what the negotiator says of its state
// against them. It costs a few additions for each event.
//
// After each cycle as many jobs must wait as have arrived and not started, and as
// much be in use as the running jobs asked for. No job may start before its
// submit time, twice, beyond what a slot has, or after its guarantee unless that
// was recorded as broken; none may be taken to run for longer than it requests; each
// must run as long as its workload says. In the end
// no job may be lost, the integral of the number of waiting jobs must be the sum
// of the waits (Little's law), and the integral of each resource in use the sum
// of what the jobs used for as long as they ran (conservation of work).
//
// Integrals are modulo 2⁶⁴, which does no harm to their being equal.
type audit struct {
	w        *Workload
	outcomes []Outcome     // as they were before the cycle
	unknown  backfill.Time // is requested by jobs that bring no estimate
	slack    backfill.Time // in all times that are planned with

	holding []holding         // of running jobs; those without a job are free
	free    []int32           // indices in holding
	index   []int32           // in holding, by job; -1: it does not run
	used    []backfill.Vector // by slot
	slots   []backfill.Slot
	whole   map[string]int64 // cpus by the slots of a bundle
	use     backfill.Vector

	arrived int                              // jobs, which do so in their order
	waiting int                              // of them, held ones included
	back    map[backfill.JobID]backfill.Time // when jobs came back to the queue
	broken  map[backfill.JobID]bool
	quiet   int // the first job that arrived since nothing waited or ran

	// What the state said last, and its integrals.
	now       backfill.Time
	queue     int
	inUse     backfill.Vector
	queueArea uint64
	useArea   []uint64

	waits uint64 // of the jobs that started
	work  []uint64
	done  []float64 // work of jobs that completed
}

// holding is what a running job holds.
type holding struct {
	job *backfill.Job
	at  backfill.Placement
}

func newAudit(w *Workload, outcomes []Outcome, unknown, slack backfill.Time) *audit {
	k := len(w.Schema.Resources)
	a := &audit{
		w: w, outcomes: outcomes, unknown: unknown, slack: slack, index: make([]int32, len(w.Jobs)), use: make(backfill.Vector, k), inUse: make(backfill.Vector, k),
		useArea: make([]uint64, k), work: make([]uint64, k), done: make([]float64, k),
		back: map[backfill.JobID]backfill.Time{}, broken: map[backfill.JobID]bool{},
	}
	for i := range a.index {
		a.index[i] = -1
	}
	a.whole = wholes(w)
	return a
}

// Cycle brings the books along.
func (a *audit) Cycle(r *negotiator.Report) error {
	if err := a.elapse(r.Delta.Now); err != nil {
		return err
	}
	for _, b := range r.Decision.Broken {
		a.broken[b.Job.ID] = true
	}
	for _, h := range r.Held { // whom the core's promise ends for
		if a.outcomes[h.Job.ID].Promised {
			a.broken[h.Job.ID] = true
		}
	}
	if err := a.arrive(r); err != nil {
		return err
	}
	if err := a.complete(r); err != nil {
		return err
	}
	a.requeue(r)
	if err := a.start(r); err != nil {
		return err
	}
	if err := a.compare(r.State); err != nil {
		return err
	}
	if a.waiting == 0 && len(a.free) == len(a.holding) {
		a.quiet = a.arrived
	}
	return nil
}

// elapse integrates what the state said last up to now.
func (a *audit) elapse(now backfill.Time) error {
	if a.arrived == 0 {
		a.now = now
	}
	if now < a.now {
		return a.violation(noJob, "time ran back from %d", a.now)
	}
	dt := uint64(now - a.now)
	a.queueArea += uint64(a.queue) * dt
	for k, amount := range a.inUse {
		a.useArea[k] += uint64(amount) * dt
	}
	a.now = now
	return nil
}

func (a *audit) arrive(r *negotiator.Report) error {
	for _, j := range r.Delta.Submitted {
		if int(j.ID) != a.arrived {
			return a.violation(j.ID, "arrived out of order: %d jobs came before", a.arrived)
		}
		a.arrived++
		a.waiting++
		if j.Submit != a.now {
			return a.violation(j.ID, "arrived, but it was to be submitted at %d", j.Submit)
		}
	}
	return nil
}

func (a *audit) complete(r *negotiator.Report) error {
	for _, id := range r.Delta.Completed {
		if a.index[id] < 0 {
			return a.violation(id, "ended, but did not run")
		}
		ran := a.now - a.outcomes[id].Start
		if want := a.w.Jobs[id].runs(); ran != want {
			return a.violation(id, "ended after %d s, but was to run for %d s", ran, want)
		}
		h := a.release(id)
		for k, amount := range a.held(h) {
			a.done[k] += float64(amount) * float64(h.job.Nodes) * float64(ran)
		}
	}
	return nil
}

// requeue finds the jobs that went back to the queue, which nobody reports: those
// that ran and do not, or are started again. What they did is lost.
func (a *audit) requeue(r *negotiator.Report) {
	d := &r.Delta
	for _, id := range d.Removed {
		if a.index[id] >= 0 {
			a.release(id)
		} else {
			a.leave(id, a.w.Jobs[id].Submit)
		}
	}
	if len(d.SlotsUp)+len(d.SlotsDown)+len(d.StartFailed) == 0 {
		return
	}
	for _, h := range a.holding {
		if h.job == nil {
			continue
		}
		again := slices.ContainsFunc(r.Decision.Started, func(s backfill.Started) bool { return s.Job.ID == h.job.ID })
		if again || !r.State.IsRunning(h.job.ID) {
			a.release(h.job.ID)
			a.back[h.job.ID] = a.now
			a.waiting++
		}
	}
}

func (a *audit) start(r *negotiator.Report) error {
	for _, s := range r.Decision.Started {
		id := s.Job.ID
		o := &a.outcomes[id]
		switch {
		case int(id) >= a.arrived:
			return a.violation(id, "started before it was submitted, at %d", a.w.Jobs[id].Submit)
		case a.index[id] >= 0:
			return a.violation(id, "started a second time")
		case !o.Promised || a.broken[id]:
		case a.now > o.Guarantee:
			return a.violation(id, "started, but was promised to start by %d, and that is not recorded as broken", o.Guarantee)
		case s.Guarantee != o.Guarantee:
			return a.violation(id, "was promised to start by %d, which became %d", o.Guarantee, s.Guarantee)
		}
		if err := a.foretold(s.Job, r.State); err != nil {
			return err
		}
		a.leave(id, s.Job.Submit)
		a.slots = r.State.Slots()
		if err := a.checkWhole(s); err != nil {
			return err
		}
		if err := a.hold(s); err != nil {
			return err
		}
	}
	return nil
}

// leave takes a job out of the queue, in which it was since its submit time, or
// since it came back.
func (a *audit) leave(id backfill.JobID, since backfill.Time) {
	if len(a.back) > 0 {
		if back, again := a.back[id]; again {
			since = back
			delete(a.back, id)
		}
	}
	a.waiting--
	a.waits += uint64(a.now - since)
}

// hold enters what a started job takes.
func (a *audit) hold(s backfill.Started) error {
	for _, chunks := range s.Placement {
		for int(chunks.Slot) >= len(a.used) {
			a.used = append(a.used, make(backfill.Vector, len(a.use)))
		}
		used := a.used[chunks.Slot]
		used.AddScaled(a.takes(s.Job, chunks.Slot), int64(chunks.Count))
		if slot := a.slots[chunks.Slot]; !used.Within(slot.Capacity) {
			return a.violation(s.Job.ID, "started on slot %s, of which %v is now in use and %v there", slot.Name, used, slot.Capacity)
		}
		a.use.AddScaled(a.takes(s.Job, chunks.Slot), int64(chunks.Count))
	}
	if n := len(a.free); n > 0 {
		a.index[s.Job.ID], a.free = a.free[n-1], a.free[:n-1]
	} else {
		a.index[s.Job.ID], a.holding = int32(len(a.holding)), append(a.holding, holding{})
	}
	a.holding[a.index[s.Job.ID]] = holding{s.Job, s.Placement}
	return nil
}

// release takes back what a running job holds, and counts what it did with it.
func (a *audit) release(id backfill.JobID) holding {
	h := &a.holding[a.index[id]]
	was, job, ran := *h, h.job, uint64(a.now-a.outcomes[id].Start)
	for _, chunks := range h.at {
		takes := a.takes(job, chunks.Slot)
		a.used[chunks.Slot].AddScaled(takes, -int64(chunks.Count))
		a.use.AddScaled(takes, -int64(chunks.Count))
		for k, amount := range takes {
			a.work[k] += uint64(amount) * uint64(chunks.Count) * ran
		}
	}
	a.free = append(a.free, a.index[id])
	*h, a.index[id] = holding{}, -1
	return was
}

// compare holds the state against the books.
func (a *audit) compare(s *backfill.State) error {
	a.queue = s.Waiting() + s.Held()
	copy(a.inUse, s.Use())
	switch running := len(a.holding) - len(a.free); {
	case a.queue != a.waiting:
		return a.violation(noJob, "%d jobs wait or are held, but %d have arrived and not started", a.queue, a.waiting)
	case s.RunningJobs() != running:
		return a.violation(noJob, "%d jobs run, but %d have started and not ended", s.RunningJobs(), running)
	case !slices.Equal(a.use, s.Use()):
		return a.violation(noJob, "%v is in use, but the running jobs hold %v", s.Use(), a.use)
	}
	return nil
}

// close makes sure, when all is over, that nothing was lost and the sums agree.
func (a *audit) close() error {
	for i := range a.outcomes {
		switch id := backfill.JobID(i); {
		case a.outcomes[i].Ended:
		case a.outcomes[i].Held == GivenUp && a.index[i] < 0:
		case a.outcomes[i].Held != "" && a.index[i] < 0:
			a.leave(id, a.w.Jobs[id].Submit)
		default:
			return a.violation(id, "neither ran to its end nor was held")
		}
	}
	if a.queueArea != a.waits {
		return a.violation(noJob, "the integral of the queue's length is %d, the sum of the waits %d (modulo 2⁶⁴)", a.queueArea, a.waits)
	}
	for k, name := range a.w.Schema.Resources {
		if a.useArea[k] != a.work[k] {
			return a.violation(noJob, "the integral of the %s in use is %d, the sum over the jobs %d (modulo 2⁶⁴)", name, a.useArea[k], a.work[k])
		}
	}
	return nil
}

// noJob is for violations that are about no job in particular.
const noJob backfill.JobID = -1

func (a *audit) violation(id backfill.JobID, format string, args ...any) error {
	v := &Violation{At: a.now, Problem: fmt.Sprintf(format, args...), w: a.w, from: a.quiet, to: a.arrived}
	if id >= 0 && int(id) < len(a.w.Jobs) {
		v.Job = a.w.Jobs[id].Name
		v.from, v.to = min(v.from, int(id)), max(v.to, int(id)+1)
	}
	return v
}
