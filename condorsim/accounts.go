package condorsim

import (
	"cmp"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// accounts keep the account of what users use while a workload runs, with the accountant of real pools.
// As there, a cycle begins with what was used until then, jobs that wait are ranked once in it, when their
// keys are asked for, and what it starts counts from then on.
type accounts struct {
	w          *Workload
	priorities Priorities

	accountant *accountant.Accountant
	line       waitingLine
	origin     int64 // is second 1 of the accountant's clock, for which 0 is never
	begun      bool
	names      []string                          // of all submitters
	submitters []string                          // by job
	use        map[string]accountant.Use         // of those who use something
	runs       map[backfill.JobID]accountant.Use // of jobs that run
	held       []backfill.JobID                  // jobs that no slot can take as it is
	wants      map[string]float64                // what waiting jobs want, by submitter
	divided    bool                              // the pool, in this cycle
	up         map[string]int64                  // cpus of the slots that are there
	total      int64                             // of them all
	bounded    *bounded                          // what binds groups and users; nil: nothing does
}

// simulated is the domain of all submitters: the accountant takes a name without one for a group's.
// unknownUser submits the jobs of no known user; no user has that name.
const simulated, unknownUser = "@simulated", "<unknown>"

// begin begins a run, in which nobody has used anything yet.
func (a *accounts) begin() (err error) {
	if a.accountant, err = a.w.newAccountant(a.priorities); err != nil {
		return err
	}
	a.line = newPlainLine(a)
	if len(a.w.Groups) > 0 {
		a.line = newGroupedLine(a)
	}
	a.begun, a.held = false, nil
	a.use, a.runs = map[string]accountant.Use{}, map[backfill.JobID]accountant.Use{}
	a.wants = map[string]float64{}
	a.up, a.total = map[string]int64{}, 0
	if len(a.w.Bundles) > 0 { // which are announced before all else
		a.slots(a.w.Slots, nil)
	}
	a.nameSubmitters()
	if a.bounded = nil; len(a.w.Quotas) > 0 {
		a.bounded = newBounded(a)
	}
	return nil
}

// nameSubmitters finds each job's submitter, whose name all of his jobs share.
func (a *accounts) nameSubmitters() {
	full := map[string]string{}
	a.names, a.submitters = nil, make([]string, len(a.w.Jobs))
	for i, name := range a.w.submitters() {
		if full[name] == "" {
			full[name] = accountOf(name)
			a.names = append(a.names, full[name])
		}
		a.submitters[i] = full[name]
	}
}

// accountOf returns the name of a submitter's account.
func accountOf(submitter string) string {
	return cmp.Or(submitter, unknownUser) + simulated
}

// waiting returns a job as fair share sees it.
func (a *accounts) waiting(id backfill.JobID) accountant.Waiting {
	return accountant.Waiting{ID: id, Submitter: a.submitters[id], Weight: a.w.weight(id), Prio: a.w.Jobs[id].Prio}
}

// weight returns what a job counts for while it waits.
func (w *Workload) weight(id backfill.JobID) float64 {
	if w.weights != nil {
		return w.weights[id]
	}
	return float64(w.Jobs[id].Cpus)
}

// slots notes which slots came and went, of whose cpus groups have their quotas.
func (a *accounts) slots(came []*negotiator.Slot, went []string) {
	for _, name := range went {
		a.total -= a.up[name]
		delete(a.up, name)
	}
	for _, s := range came {
		a.total += s.Capacity[0] - a.up[s.Name]
		a.up[s.Name] = s.Capacity[0]
	}
}

// standing returns what expressions about preemption see of a submitter.
func (a *accounts) standing(submitter string) preempt.Standing {
	s := a.accountant.Standing(accountOf(submitter))
	return preempt.Standing{
		Prio: s.Prio, InUse: s.InUse, Floor: s.Floor, Group: s.Group, GroupInUse: s.GroupInUse, GroupQuota: s.GroupQuota,
		NegotiatingGroup: s.Group, Autoregroup: s.Autoregroup,
	}
}

// hasRoom reports whether a submitter's share of the pool has room for a further weight beside what it
// was granted in this cycle. The pool is divided among those who use something or wait.
func (a *accounts) hasRoom(submitter string, granted, weight float64) bool {
	return a.divide() == nil && a.accountant.HasRoom(accountOf(submitter), granted, weight)
}

// divide divides the pool, once in a cycle. There is no error with names and weights of a simulation.
func (a *accounts) divide() error {
	if a.divided {
		return nil
	}
	a.divided = true
	return a.accountant.Divide(float64(a.total), a.wants)
}

// compare orders jobs as [backfill.Compare] does: those of a workload have their IDs by their submit times.
func (a *accounts) compare(x, y backfill.JobID) int {
	return cmp.Or(cmp.Compare(a.w.Jobs[x].Submit, a.w.Jobs[y].Submit), cmp.Compare(x, y))
}

// key is the order of [Workload.FairShare]. The key moves with time: the next cycle has other keys.
func (a *accounts) key(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
	a.queue(j.ID)
	return a.line.key(j), backfill.Moves{WithTime: true}
}

// fetched begins a cycle: it charges users with what they used until now. Lost are the jobs that lost
// their slots.
func (a *accounts) fetched(d *negotiator.Delta, lost []backfill.JobID) error {
	if !a.begun {
		a.begun, a.origin = true, int64(d.Now)-1
	}
	for _, id := range d.Completed {
		if !a.w.scavenges(id) {
			a.ends(id)
		}
	}
	for _, id := range lost {
		if a.w.scavenges(id) { // nobody is charged for what was idle anyway
			continue
		}
		a.ends(id)
		if !slices.Contains(d.Removed, id) {
			a.queue(id)
		}
	}
	for _, j := range d.Submitted {
		if !j.Scavenger {
			a.queue(j.ID)
		}
	}
	if len(d.SlotsUp) > 0 { // they may take jobs that were held
		for _, id := range a.held {
			a.queue(id)
		}
		a.held = nil
	}
	a.slots(d.SlotsUp, d.SlotsDown)
	a.line.open()
	a.divided = false
	if err := a.charge(d.Now); err != nil || len(a.w.Groups) == 0 {
		return cmp.Or(err, a.bounded.tell(d))
	}
	return cmp.Or(a.divide(), a.bounded.tell(d))
}

// Cycle notes which jobs a cycle has started, which count from now on.
func (a *accounts) Cycle(r *negotiator.Report) error {
	for _, h := range r.Held {
		if a.leave(h.Job.ID) {
			a.held = append(a.held, h.Job.ID)
		}
	}
	for i := range r.Preempted {
		a.leave(r.Preempted[i].Job)
		for _, id := range r.Preempted[i].Ousted {
			a.queue(id)
		}
	}
	for i := range r.Delta.Found {
		found := &r.Delta.Found[i]
		j := r.State.Job(found.Job.ID)
		a.starts(j.ID, accountant.Use{Slots: j.Nodes, Weight: float64(a.w.cpusOccupied(j, found.Placement))})
	}
	for i := range r.Decision.Started {
		j := r.Decision.Started[i].Job
		a.leave(j.ID)
		a.starts(j.ID, accountant.Use{Slots: j.Nodes, Weight: float64(a.w.cpusOccupied(j, r.Matches[i].Placement))})
	}
	if len(r.Decision.Started)+len(r.Delta.Found) == 0 {
		return nil
	}
	return a.charge(r.Delta.Now)
}

// cpusOccupied returns how many cpus a job occupies that starts in this place: the slot weight by which its
// user is charged. See occupied.go.
func (w *Workload) cpusOccupied(j *backfill.Job, at negotiator.Placement) (cpus int64) {
	if len(w.Bundles) > 0 {
		return j.Width()
	}
	for _, on := range at {
		chunk := j.Request
		if w.isFull(on.Slot.Capacity, chunk) {
			chunk = on.Slot.Capacity
		}
		cpus += chunk[0] * int64(on.Count)
	}
	return cpus
}

// charge tells the accountant what is used from now on, for which it charges what was used until now.
func (a *accounts) charge(now backfill.Time) error {
	return a.accountant.Update(time.Unix(int64(now)-a.origin, 0), a.use)
}

func (a *accounts) starts(id backfill.JobID, use accountant.Use) {
	u := a.use[a.submitters[id]]
	a.bounded.add(id, use.Weight, 1)
	a.runs[id], a.use[a.submitters[id]] = use, accountant.Use{Slots: u.Slots + use.Slots, Weight: u.Weight + use.Weight}
}

func (a *accounts) ends(id backfill.JobID) {
	use, u := a.runs[id], a.use[a.submitters[id]]
	delete(a.runs, id)
	a.bounded.add(id, -use.Weight, -1)
	if u.Slots -= use.Slots; u.Slots == 0 {
		delete(a.use, a.submitters[id])
		return
	}
	u.Weight -= use.Weight
	a.use[a.submitters[id]] = u
}

// queue adds a job to the line, unless it is there.
func (a *accounts) queue(id backfill.JobID) {
	if a.line.join(id) {
		a.wants[a.submitters[id]] += a.w.weight(id)
	}
}

// leave takes a job out of the line, and reports whether it was there.
func (a *accounts) leave(id backfill.JobID) bool {
	if !a.line.leave(id) {
		return false
	}
	if submitter, cpus := a.submitters[id], a.w.weight(id); a.wants[submitter] > cpus {
		a.wants[submitter] -= cpus
	} else {
		delete(a.wants, submitter)
	}
	return true
}
