package plan

import "github.com/condor-backfill/condor-backfill/backfill"

// entersAtOnce reports whether a job without a reservation is placed as soon as its event is taken.
// A job that was promised a start is, as a promise stays. Any other is if nobody is beyond the depth
// of the plan and jobs enter it in the order in which events are applied. Else it enters after the
// events, when its turn comes.
func (p *Plan) entersAtOnce(j *backfill.Job) bool {
	if _, promised := p.c.Guaranteed(j); promised {
		return true
	}
	state := p.c.State()
	planning := state.Planning()
	return !planning.Reorder && (planning.Depth == 0 || state.Waiting() <= planning.Depth)
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
