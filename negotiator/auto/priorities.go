package auto

import (
	"github.com/condor-backfill/condor-backfill/backfill"
)

// Users say whose jobs are, and who has which priority.
type Users struct {
	// Of returns whose a job is, in the words that Priority takes. It is called by whoever runs the cycles.
	Of func(backfill.JobID) string
	// Priority returns a user's effective priority, above 0; lower is better. It may be called at any time;
	// one of whom nothing is known, such as "", has that of a new user.
	Priority func(user string) float64
}

// Prioritize has users' priorities count. A key of a candidate's order that is a time is multiplied by
// the priority of the job's user, and one that grows below zero while the job waits is divided by it; in
// plays, jobs count in the means by 1/priority. So a user with twice the priority value waits as if the
// jobs were twice as long, and counts half. It must be called before TakeCharge.
func (c *Chooser) Prioritize(users Users) {
	c.users, c.record.whose = &users, users.Of
	live := func(j *backfill.Job) float64 { return users.Priority(users.Of(j.ID)) }
	for i := range c.candidates {
		c.candidates[i].Order = c.candidates[i].Order.Prioritized(live, backfill.Moves{WithTime: true})
	}
}

// priorities are those of the users of a play's jobs, by job. They stay as they are when it begins.
type priorities struct {
	byJob map[backfill.JobID]float64
	fresh float64 // a new user's
}

// prioritize finds the priorities for plays of the future, which may be beside the cycles.
func (f *Future) prioritize(users *Users) {
	if users == nil {
		return
	}
	p := &priorities{byJob: make(map[backfill.JobID]float64, len(f.whose)), fresh: users.Priority("")}
	known := map[string]float64{}
	for id, user := range f.whose {
		prio, found := known[user]
		if !found {
			prio = users.Priority(user)
			known[user] = prio
		}
		p.byJob[id] = prio
	}
	f.priorities = p
}

// of returns the priority of a job's user.
func (p *priorities) of(j *backfill.Job) float64 {
	if prio, known := p.byJob[j.ID]; known {
		return prio
	}
	return p.fresh
}
