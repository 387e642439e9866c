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

// asked is all that decides whether a job fits now, but its estimate. Jobs of one autocluster share
// the vector of their request, so its address identifies it.
type asked struct {
	request           *int64
	nodes, candidates int
	whole             bool
}

// startBeyond starts each job beyond the depth that fits now beside what runs and all reservations.
// A start takes room only, so where a job does not fit, no job that asks for the same and runs at
// least as long fits later in the pass.
func (p *Plan) startBeyond() {
	if p.c.State().BeyondDepth() == 0 {
		return
	}
	misfits := map[asked]backfill.Time{} // the shortest estimate of those that did not fit
	for j := range p.c.Beyond() {
		of := asked{&j.Request[0], j.Nodes, j.Candidates, j.Whole}
		if shortest, tried := misfits[of]; tried && j.Estimate >= shortest {
			continue
		}
		if at, fits := p.c.FitsNow(j); fits {
			p.c.Start(j, at)
		} else {
			misfits[of] = j.Estimate
		}
	}
}
