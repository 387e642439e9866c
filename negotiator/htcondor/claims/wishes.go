package claims

import (
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Wish is a job that would start with so many chunks on a slot of a machine that sleeps.
type Wish struct {
	Job       observe.JobKey
	Submitter string
	Chunks    int
}

// Wishes returns the wishes of jobs, by slot. Nothing is on its way to a machine that sleeps: it has no
// claims to give.
func (c *State) Wishes(wanted []negotiator.Match) map[string][]Wish {
	bySlot := map[string][]Wish{}
	for _, m := range wanted {
		j := c.belief.Job(m.Job.ID)
		if j == nil {
			continue
		}
		for _, at := range m.Placement {
			bySlot[at.Slot.Name] = append(bySlot[at.Slot.Name], Wish{j.Key, j.Submitter(), at.Count})
		}
	}
	return bySlot
}
