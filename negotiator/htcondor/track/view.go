package track

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// View is what others may ask about a [Belief], as the last [Belief.Diff] left it. It does not change.
type View struct {
	// Idle and Running count jobs in the plan, Unplanned those that are kept out of it.
	Idle, Running, Unplanned int
	// Unseated counts the jobs that are not known yet, since too many wait.
	Unseated int
	// Slots counts the slots that are up, and Foreign the claims of no known job.
	Slots, Foreign int
	// Due is when the next job that may not run before a time enters the plan, or may run, or a slot is
	// to be judged that may have lost its job, or a new user should be advertised; [backfill.Forever] if
	// there is none.
	Due backfill.Time
	// Promises says what became of promises so far.
	Promises Promises
	// Retires says that there are scavengers, and slots whose jobs may retire.
	Retires bool

	out     []unplanned
	running []running
	// matched are the jobs that were matched and do not run yet, by their queues.
	matched []backfill.JobID
}

// running is where a job runs, or is on its way to.
type running struct {
	group *observe.Group
	at    []Place
	since backfill.Time
}

// Used is a slot that a job runs on, or is on its way to, and since when.
type Used struct {
	Slot  string
	Since backfill.Time
}

// Unplanned is a job that is not planned with, and why.
type Unplanned struct {
	ID                      backfill.JobID
	Job, Schedd, Owner, Why string
	// Runs says that the job runs, in the place of another one, on a claim that is lent.
	Runs bool
}

// unplanned is a job that is not planned with, as [Belief.Diff] found it. There may be very many of them
// each time, and users seldom ask, so it is described only then.
type unplanned struct {
	id    backfill.JobID
	key   observe.JobKey
	group *observe.Group
	why   string
	// several says that there is more than one schedd.
	several bool
	runs    bool
}

func (u unplanned) describe() Unplanned {
	return Unplanned{
		ID: u.id, Job: u.key.Name(u.several), Schedd: u.key.Schedd, Owner: u.group.Spec.Labels["owner"], Why: u.why,
		Runs: u.runs,
	}
}

// View returns the view that the last [Belief.Diff] made.
func (b *Belief) View() *View { return b.view }

// advertisedWithin is how soon a schedd advertises a new user, in seconds (SCHEDD_MIN_INTERVAL).
const advertisedWithin = 6

func (b *Belief) makeView(out []unplanned) {
	v := &View{
		Unplanned: len(out), Due: backfill.Forever, Promises: b.promises, out: out,
		running: make([]running, 0, len(b.view.running)),
	}
	for _, j := range b.all {
		switch j.Phase {
		case Running, Lent:
			v.Running++
			v.running = append(v.running, running{j.Group, j.Places, j.Start})
			if !j.Group.Runs() {
				v.matched = append(v.matched, j.ID)
			}
			if r := j.run; r != nil && !r.free.IsZero() {
				v.Due = min(v.Due, backfill.Time(r.free.Add(adriftAfter).Unix())+1)
			}
			if j.Phase == Lent {
				v.Unplanned--
			}
		case Waiting:
			v.Idle++
			if j.early {
				v.Due = min(v.Due, b.release(j))
			}
		case Unknown:
			v.Due = min(v.Due, b.mayBePlanned(j))
		}
	}
	for _, s := range b.slots {
		if s.up {
			v.Slots++
			v.Retires = v.Retires || b.now.Scavenges && mayRetire(s.reported.Ad)
		}
		if s.foreign != 0 {
			v.Foreign++
		}
	}
	b.view = v
}

// mayBePlanned returns when a job that is not planned may be: at its own time, or once its schedd may
// have advertised its submitter. Forever: at no instant that is known.
func (b *Belief) mayBePlanned(j *Job) backfill.Time {
	due := backfill.Forever
	if at := b.begins(j); at > b.now.Now {
		due = at
	}
	soon := j.submitted() + advertisedWithin
	if soon > b.now.Now && j.leader == nil && !b.Schedd(j.Key.Schedd).Advertises(j.Group) {
		due = min(due, soon)
	}
	return due
}

// Used returns the slots that each submitter's jobs use, one for each chunk, by name.
func (v *View) Used() map[string][]Used {
	all := map[string][]Used{}
	for _, r := range v.running {
		name := r.group.Spec.Submitter()
		all[name] = r.appendUsed(all[name])
	}
	for _, used := range all {
		slices.SortFunc(used, func(a, b Used) int {
			return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Since, b.Since))
		})
	}
	return all
}

// appendUsed appends the slots that the job uses.
func (r running) appendUsed(used []Used) []Used {
	if r.group.Runs() && len(r.group.Hosts) > 0 {
		for _, host := range r.group.Hosts {
			used = append(used, Used{host, r.since})
		}
		return used
	}
	for _, at := range r.at {
		used = append(used, slices.Repeat([]Used{{at.Slot, r.since}}, at.Chunks)...)
	}
	return used
}

// Matched returns the jobs that were matched and do not run yet, by what their queues said last.
func (v *View) Matched() []backfill.JobID { return v.matched }

// Why returns why a job is not planned with; the second result is false if it is planned with, or
// not known.
func (v *View) Why(id backfill.JobID) (Unplanned, bool) {
	i := slices.IndexFunc(v.out, func(u unplanned) bool { return u.id == id })
	if i < 0 {
		return Unplanned{}, false
	}
	return v.out[i].describe(), true
}

// All returns the jobs that are not planned with, by submit time, then key.
func (v *View) All() []Unplanned {
	out := slices.Clone(v.out)
	slices.SortFunc(out, func(a, b unplanned) int {
		return cmp.Or(cmp.Compare(a.group.Submit, b.group.Submit), a.key.Compare(b.key))
	})
	all := make([]Unplanned, len(out))
	for i, u := range out {
		all[i] = u.describe()
	}
	return all
}

// Reasons iterates over the jobs that are not planned with, and why.
func (v *View) Reasons(yield func(backfill.JobID, string) bool) {
	for _, u := range v.out {
		if !yield(u.id, u.why) {
			return
		}
	}
}
