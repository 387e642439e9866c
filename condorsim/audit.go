package condorsim

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// audit checks every simulation: it keeps its own books of what the pool reports and what is
// started, and compares them with the state that the negotiator reports. It costs a few additions
// for each event.
//
// After each cycle the number of waiting jobs must be that of the arrived jobs that have not
// started, and the amounts in use those that the running jobs requested. If the policy gives
// guarantees, each waiting job within the depth of the plan must have one, and no change to that
// policy may have lifted one. No job may start before its submit time, start twice, take more than
// a slot or a limit has, or start after its guarantee unless the guarantee is recorded as broken. No job may
// be planned to run longer than it requests, and each must run as long as its workload says.
//
// In the end no job may be lost. The integral of the number of waiting jobs must be the sum of the
// waits (Little's law), and the integral of each resource in use must be the sum of what the jobs
// used while they ran (conservation of work). Both sides are taken modulo 2⁶⁴, so they can be
// compared although they overflow.
type audit struct {
	beyond   bool // some job runs beyond its estimate, so that what users say may not count as it is
	w        *Workload
	outcomes []Outcome     // as before the cycle
	unknown  backfill.Time // the requested time of jobs without an estimate
	slack    backfill.Time // added to all planned times

	holding []holding         // what running jobs hold; an entry without a job is free
	free    []int32           // indices of the free entries of holding
	index   []int32           // by job, its index in holding; -1: it does not run
	used    []backfill.Vector // by slot
	slots   []backfill.Slot
	whole   map[string]int64 // cpus of each bundle, by sameSlots
	use     backfill.Vector
	taken   map[string]int64 // of limits
	groups  *groupBooks      // nil: there are none

	arrived    int                              // number of jobs that arrived; they arrive by ID unless some depend
	came       []bool                           // which of them, if some wait for the ends of others; else nil
	waiting    int                              // number of jobs that wait or are held
	saved      []backfill.Time                  // by job, what its checkpoints have saved; nil: none has any
	due        map[backfill.JobID]backfill.Time // when jobs that make way must have left
	back       map[backfill.JobID]backfill.Time // when requeued jobs came back to the queue
	broken     map[backfill.JobID]bool
	pinned     map[backfill.JobID]bool // jobs whose places others have yet to leave; they wait as far as the books say
	scavengers *scavengerBooks         // nil: no job is one
	quiet      int                     // the first job that arrived after the last instant without waiting or running jobs

	// What the state reported last, and its integrals.
	now       backfill.Time
	queue     int
	inUse     backfill.Vector
	queueArea uint64
	useArea   []uint64

	waits uint64 // sum over the jobs that started
	work  []uint64
	done  []float64 // of jobs that completed
}

// holding is a running job and where it runs.
type holding struct {
	job *backfill.Job
	at  backfill.Placement
	// since it holds that, and begun is when it began, later if scavengers had to leave; [backfill.Forever]: it has not.
	since, begun backfill.Time
}

func newAudit(w *Workload, outcomes []Outcome, unknown, slack backfill.Time) *audit {
	k := len(w.Schema.Resources)
	a := &audit{
		w: w, outcomes: outcomes, unknown: unknown, slack: slack, index: make([]int32, len(w.Jobs)),
		use: make(backfill.Vector, k), inUse: make(backfill.Vector, k),
		useArea: make([]uint64, k), work: make([]uint64, k), done: make([]float64, k),
		back: map[backfill.JobID]backfill.Time{}, broken: map[backfill.JobID]bool{}, pinned: map[backfill.JobID]bool{}, taken: map[string]int64{},
		due: map[backfill.JobID]backfill.Time{},
	}
	for i := range a.index {
		a.index[i] = -1
	}
	a.beyond = slices.ContainsFunc(w.Jobs, func(j Job) bool { return j.Estimate > 0 && j.runs() > j.Estimate })
	a.whole, a.groups, a.scavengers = bundleCpus(w), newGroupBooks(w), newScavengerBooks(w)
	if w.Preemption != nil && w.Preemption.Checkpoint > 0 {
		a.saved = make([]backfill.Time, len(w.Jobs))
	}
	if w.dependent() || w.strays() {
		a.came = make([]bool, len(w.Jobs))
	}
	return a
}

// Cycle updates the audit's books with a cycle and compares them with the state that the negotiator
// reports.
func (a *audit) Cycle(r *negotiator.Report) error {
	if err := a.passes(r.Delta.Now); err != nil {
		return err
	}
	if err := a.elapse(r.Delta.Now); err != nil {
		return err
	}
	if err := a.begin(r); err != nil {
		return err
	}
	for _, b := range r.Decision.Broken {
		a.broken[b.Job.ID] = true
	}
	for _, m := range r.Decision.Replaced {
		if latest, promised := r.State.Guaranteed(m.Job.ID); promised && m.Start > latest {
			return a.violation(m.Job.ID, "has other slots at %d, and was promised to start by %d", m.Start, latest)
		}
	}
	for _, h := range r.Held { // the core ends their promises
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
	if err := a.early(r); err != nil {
		return err
	}
	a.requeue(r)
	if err := a.scavenge(r); err != nil {
		return err
	}
	a.groups.slots(&r.Delta)
	if err := cmp.Or(a.left(), a.takeOver(r), a.start(r)); err != nil {
		return err
	}
	a.makeWay(r)
	if err := a.startLate(r); err != nil {
		return err
	}
	if err := cmp.Or(a.tellScavengers(r), a.compare(r.State), a.promised(r)); err != nil {
		return err
	}
	if a.waiting == 0 && len(a.free) == len(a.holding) && a.came == nil {
		a.quiet = a.arrived
	}
	return nil
}

// elapse multiplies the values that were reported last (jobs waiting, resources in use) by the time
// until now and adds them to the integrals. It is a violation if now is before the last cycle.
func (a *audit) elapse(now backfill.Time) error {
	if a.arrived == 0 {
		a.now = now
	}
	if now < a.now {
		return a.violation(noJob, "time ran back from %s", a.w.text(a.now))
	}
	dt := uint64(now - a.now)
	a.queueArea += uint64(a.queue) * dt
	for k, amount := range a.inUse {
		a.useArea[k] += uint64(amount) * dt
	}
	a.now = now
	return nil
}

// compare checks that the state and the audit's books agree on the numbers of waiting and running
// jobs and on what is in use. It keeps these values for the integrals.
func (a *audit) compare(s *backfill.State) error {
	a.queue = s.Waiting() + s.Held() + len(a.pinned)
	copy(a.inUse, s.Use())
	switch running := len(a.holding) - len(a.free) + len(a.pinned); {
	case a.queue != a.waiting:
		return a.violation(noJob, "%d jobs wait or are held, but %d have arrived and not started", a.queue, a.waiting)
	case s.RunningJobs() != running:
		return a.violation(noJob, "%d jobs run, but %d have started and not ended", s.RunningJobs(), running)
	case !slices.Equal(a.use, s.Use()):
		return a.violation(noJob, "%v is in use, but the running jobs hold %v", s.Use(), a.use)
	}
	return nil
}

// promised checks that a policy with guarantees lifted none, and that no job waits without one if
// the plan had room for it before the cycle's starts.
func (a *audit) promised(r *negotiator.Report) error {
	name, guarantees := r.State.Policy()
	if n := r.Decision.Lifted; n > 0 && guarantees {
		return a.violation(noJob, "%d promises were lifted, and policy %s gives them", n, name)
	}
	depth, beyond := r.State.Planning().Depth, r.State.BeyondDepth()
	if beyond == 0 {
		return nil
	}
	reserved := map[backfill.JobID]bool{}
	for _, act := range r.Decision.Actions {
		reserved[act.Job] = reserved[act.Job] || act.Kind == backfill.ActReserve
	}
	planned := r.State.Waiting() - beyond
	for _, s := range r.Decision.Started {
		if s.Promised || reserved[s.Job.ID] {
			planned++
		}
	}
	if r.State.Planning().Horizon > 0 {
		return a.eachPromised(r, reserved, depth == 0 || planned < depth)
	}
	if room := depth == 0 || planned < depth; room && a.mayStart(r.State) {
		return a.violation(noJob, "%d jobs wait without a promise, and the plan has %d of at most %d", beyond, planned,
			depth)
	}
	return nil
}

// mayStart reports whether some job that waits without a promise could be promised a start for sure. A job
// whose slots may close or end is excused: which start it had when it was its turn cannot be told from
// the end of a round, nor is it known here if a plugin decides.
func (a *audit) mayStart(s *backfill.State) bool {
	return slices.ContainsFunc(s.FirstWaiting(s.Waiting()), func(j *backfill.Job) bool {
		_, promised := s.Guaranteed(j.ID)
		closes := s.Profile().Ends().Count() > 0 || s.Request(j).Candidates.Windows != nil
		return !promised && !closes
	})
}

// eachPromised checks, where the plan has a horizon and room for more jobs, that each user of whom jobs
// wait had one in the plan before the cycle's starts.
func (a *audit) eachPromised(r *negotiator.Report, reserved map[backfill.JobID]bool, room bool) error {
	if !room {
		return nil
	}
	promised := map[string]bool{}
	for _, s := range r.Decision.Started {
		if s.Promised || reserved[s.Job.ID] {
			promised[s.Job.Labels["owner"]] = true
		}
	}
	waiting := r.State.FirstWaiting(r.State.Waiting())
	for _, j := range waiting {
		if _, has := r.State.Guaranteed(j.ID); has {
			promised[j.Labels["owner"]] = true
		}
	}
	for _, j := range waiting {
		if !promised[j.Labels["owner"]] {
			return a.violation(j.ID, "waits, and no job of its user %q is promised a start", j.Labels["owner"])
		}
	}
	return nil
}

// close checks, after the last cycle, that no job was lost and that each integral equals its sum.
func (a *audit) close() error {
	for i := range a.outcomes {
		switch id := backfill.JobID(i); {
		case a.w.scavenges(id):
		case a.outcomes[i].Ended:
		case (a.outcomes[i].Held == GivenUp || a.outcomes[i].Held == LeftQueue) && a.index[i] < 0:
		case a.outcomes[i].Held == NeverSubmitted && !a.hasCome(id):
		case a.outcomes[i].Held != "" && a.index[i] < 0:
			a.leave(id, a.w.Jobs[id].Submit)
		default:
			return a.violation(id, "neither ran to its end nor was held")
		}
	}
	if err := a.closeScavengers(); err != nil {
		return err
	}
	if a.queueArea != a.waits {
		return a.violation(noJob, "the integral of the queue's length is %d, the sum of the waits %d (modulo 2⁶⁴)",
			a.queueArea, a.waits)
	}
	for k, name := range a.w.Schema.Resources {
		if a.useArea[k] != a.work[k] {
			return a.violation(noJob, "the integral of the %s in use is %d, the sum over the jobs %d (modulo 2⁶⁴)",
				name, a.useArea[k], a.work[k])
		}
	}
	return nil
}
