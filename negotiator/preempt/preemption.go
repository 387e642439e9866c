package preempt

import (
	"fmt"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Reason is why a job may have the place of others.
type Reason uint8

// The reasons, the better one last: it is preferred among candidates that the ranks do not tell apart.
const (
	// UserPriority: PREEMPTION_REQUIREMENTS allows it.
	UserPriority Reason = iota + 1
	// StartdRank: the machine prefers the job.
	StartdRank
	// Scavenging: the victim is a scavenger, which makes way for any other job.
	Scavenging
)

// String returns the reason as logs have it.
func (r Reason) String() string {
	switch r {
	case StartdRank:
		return "startd rank"
	case UserPriority:
		return "user priority"
	case Scavenging:
		return "scavenging"
	default:
		return "unknown reason " + strconv.Itoa(int(r))
	}
}

// Victim is a running job that is to make way.
type Victim struct {
	Job backfill.JobID
	// Slot is its slot's name, and User who has it, see [Claim].
	Slot, User string
	// End is when it has left, at the latest, as far as is known.
	End backfill.Time
}

// Preemption is a waiting job that gets the place of running ones.
type Preemption struct {
	Job backfill.JobID
	// Host is the slot of the plan on which it is to run.
	Host backfill.SlotID
	// Start is the instant at which all victims have left, and Soonest the first at which they can have. Both wait
	// for jobs that make way for others, if these still have what the job is to get.
	Start   backfill.Time
	Soonest backfill.Time
	Victims []Victim
	Reason  Reason
	// Ousted are the jobs that the victims were to make way for until now. They wait again.
	Ousted []backfill.JobID
}

// Yielding returns the jobs that have what this one is to get: its victims, and those that it ousts.
func (p *Preemption) Yielding() (jobs []backfill.JobID) {
	for _, v := range p.Victims {
		jobs = append(jobs, v.Job)
	}
	return append(jobs, p.Ousted...)
}

// By has the victims left by an instant, as is likely, and not at the latest possible one.
func (p *Preemption) By(at backfill.Time) {
	p.Start = min(p.Start, at)
	for i := range p.Victims {
		p.Victims[i].End = min(p.Victims[i].End, at)
	}
}

// Blocked is what a job could do but for the time that others may still take to retire.
type Blocked struct {
	Job backfill.JobID
	// Slot is the slot of the plan, Victims how many jobs would make way there, and Until when
	// the last of them has retired.
	Slot    string
	Victims int
	Until   backfill.Time
}

// Text says it for users; at writes an instant.
func (b Blocked) Text(at func(backfill.Time) string) string {
	if b.Victims == 1 {
		return fmt.Sprintf("could displace a job on %s, but it retires until %s", b.Slot, at(b.Until))
	}
	return fmt.Sprintf("could displace %d jobs on %s, but they retire until %s", b.Victims, b.Slot, at(b.Until))
}

// Left is a job that has made way for another: why, and for how many core seconds it had run. They
// are lost, unless the job goes on from what it has saved.
type Left struct {
	Job         backfill.JobID
	Reason      Reason
	CoreSeconds float64
}

// Displaced is what became of a victim: by whom it was displaced, when and why.
type Displaced struct {
	// By is 0 if that job is gone, and there was a restart.
	Victim, By backfill.JobID
	// Name and User are those of the job that displaced it, Slot is the slot of the plan.
	Name, User, Slot string
	// Decided is when that was decided, and End when the victim was to have left.
	Decided, End backfill.Time
	Reason       Reason
}

// Text says it for the victim's user, such as "displaced by 12.0 of bob: the machine prefers him".
func (d Displaced) Text() string {
	why := "PREEMPTION_REQUIREMENTS allows it"
	switch d.Reason {
	case StartdRank:
		why = "the machine prefers it"
	case Scavenging:
		why = "scavengers make way for any other job"
	case UserPriority:
	}
	if d.User == "" {
		return fmt.Sprintf("displaced by %s: %s", d.Name, why)
	}
	return fmt.Sprintf("displaced by %s of %s: %s", d.Name, d.User, why)
}
