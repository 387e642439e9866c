package track

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// openOrder has the order of [Belief.FairShare] brought up to date with the jobs that wait now, if
// it is asked for keys.
func (b *Belief) openOrder() {
	if b.order == nil {
		b.started = nil
		return
	}
	b.notePassed()
	b.order.Open(func() []accountant.Waiting {
		b.moveLine()
		wait := make([]accountant.Waiting, len(b.line))
		for i, j := range b.line {
			wait[i] = b.share(j)
		}
		return wait
	})
}

// moveLine brings the line of the waiting jobs up to date. It sorts the few that have come, and
// merges them with those that were there: to sort a million jobs takes a second of each cycle.
func (b *Belief) moveLine() {
	b.line = slices.DeleteFunc(b.line, func(j *Job) bool {
		j.inLine = j.Phase == Waiting && !j.scavenges && b.knows(j)
		return !j.inLine
	})
	slices.SortFunc(b.line, (*Job).Compare) // one pass, unless a submit time was edited
	var fresh []*Job
	for _, j := range b.all {
		if j.Phase == Waiting && !j.inLine && !j.scavenges {
			j.inLine = true
			fresh = append(fresh, j)
		}
	}
	slices.SortFunc(fresh, (*Job).Compare)
	stood := b.line
	b.line = append(b.line, fresh...)
	for i := len(b.line) - 1; len(fresh) > 0; i-- { // from behind, where there is room
		from := &fresh
		if len(stood) > 0 && stood[len(stood)-1].Compare(fresh[len(fresh)-1]) > 0 {
			from = &stood
		}
		b.line[i] = (*from)[len(*from)-1]
		*from = (*from)[:len(*from)-1]
	}
}

// knows tells whether a job is still in a queue, as last read.
func (b *Belief) knows(j *Job) bool { return int(j.at) < len(b.all) && b.all[j.at] == j }
