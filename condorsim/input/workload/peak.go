package workload

import (
	"cmp"
	"slices"
)

// Peak finds how many processors jobs used at one time, where no file says how many the machine has.
type Peak struct{ steps []step }

// step is how many processors more are in use from an instant on.
type step struct{ at, procs int64 }

// Add adds a job that ran from begin on for so many seconds.
func (p *Peak) Add(begin, run, procs int64) {
	p.steps = append(p.steps, step{begin, procs}, step{begin + run, -procs})
}

// Most returns the most processors at one time; 0 without any job. At an instant at which some jobs end and others
// start, the ends come first.
func (p *Peak) Most() (most int64) {
	slices.SortFunc(p.steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.procs, b.procs)) })
	used := int64(0)
	for _, s := range p.steps {
		used += s.procs
		most = max(most, used)
	}
	return most
}
