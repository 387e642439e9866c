package plan

import "github.com/condor-backfill/condor-backfill/backfill"

// enterAtOnce reports whether the jobs that an event left without a reservation are placed as soon as
// it is taken: if jobs enter the plan in the order in which events are applied, all waiting jobs are
// within its depth, and no other job waits for its turn. Else they enter after the events. Jobs that
// were promised a start do not wait for that, as a promise stays.
func (p *Plan) enterAtOnce(e *backfill.Event) bool {
	state, left := p.c.State(), len(e.Displaced)
	if e.Kind == backfill.Submitted {
		left++
	}
	planning := state.Planning()
	return !planning.Reorder && state.BeyondDepth() <= left &&
		(planning.Depth == 0 || state.Waiting() <= planning.Depth)
}

// fill lets jobs enter the plan until it has reached its depth.
func (p *Plan) fill() {
	for j := range p.c.Beyond() {
		if !p.c.State().PlanHasRoom() {
			return
		}
		p.enter(p, j)
	}
}

// startBeyond starts each job beyond the depth that fits now beside what runs and all reservations,
// in the queue's order.
func (p *Plan) startBeyond() {
	if p.c.State().BeyondDepth() == 0 {
		return
	}
	for j, at := range p.c.Fitting(nil) {
		p.c.Start(j, at)
	}
}
