package negotiator

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// preemption is what a negotiator knows of jobs that displace others.
type preemption struct {
	search *preempt.Search
	memory preempt.Memory
	ranked bool // some slot has a RANK, or had one
	busy   bool // some job may be about to take over from others
	// displaced are jobs that make way or have made way, until they run again.
	displaced map[backfill.JobID]*preempt.Displaced
	// blocked are the jobs that wait for others to retire, by the last cycle, and due is when the first of
	// these has.
	blocked map[backfill.JobID]preempt.Blocked
	due     backfill.Time
}

func newPreemption(rules preempt.Rules, resources []string) preemption {
	return preemption{
		search: preempt.NewSearch(rules, resources), displaced: map[backfill.JobID]*preempt.Displaced{}, due: backfill.Forever,
		busy: true, // a restored state may have such jobs
	}
}

// victims lists who was displaced, by ID.
func (p *preemption) victims() (all []preempt.Displaced) {
	for _, d := range p.displaced {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b preempt.Displaced) int { return cmp.Compare(a.Victim, b.Victim) })
	return all
}
