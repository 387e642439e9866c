package scan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// pass is the state of one pass over the queue. After the pass it is the memo for the next one.
type pass struct {
	c        *backfill.Cycle
	arrivals []*backfill.Job // in the queue's order
	kept     bool            // the last pass's results still hold; only the arrivals must be looked at

	depth    int             // how many reservations the pass may make for jobs that do not fit now
	reserved int             // how many it has made
	last     *backfill.Job   // the last job that got one
	room     int             // how many reservations are left for jobs that may not start yet
	behind   *backfill.Job   // the last job of either kind that got a reservation
	claims   []*backfill.Job // had a reservation before, which they keep, and were not looked at yet
	strict   bool            // a job whose candidates offer no start blocks those behind it
	settled  bool            // each job with a reservation has only one candidate slot or bundle
	sure     bool            // a new pass would make the same reservations
	left     []reservation   // all that there were after the pass
}

// reservation is where and when a job was planned.
type reservation struct {
	job   *backfill.Job
	start backfill.Time
	at    backfill.Placement
}

// begin opens a cycle for a pass with a memo: it takes all events. Unless the results of the last
// pass still hold, the pass makes its reservations anew. They do not hold if the policy has taken events
// itself or acted in this cycle, nor if it made, moved or gave up reservations after that pass. The
// reservations that there are stay if keep is set and this policy made them; else begin releases them.
func begin(c *backfill.Cycle, depth, room int, keep bool) *pass {
	p, ok := c.Fast().Memo().(*pass)
	if !ok {
		p = new(pass)
	}
	ok = ok && !c.Fast().Begun() && p.asLeft(c)
	p.c, p.arrivals = c, p.arrivals[:0]
	only := true // jobs arrived, and nothing else happened
	var claims []*backfill.Job
	if keep {
		claims = c.Fast().Planned()
	}
	for e, more := c.Next(); more; e, more = c.Next() {
		switch e.Kind {
		case backfill.Submitted:
			p.arrivals = append(p.arrivals, e.Job)
		case backfill.Wake:
		case backfill.PolicyChanged:
			only, keep, claims = false, false, nil
		default:
			only = false
		}
	}
	slices.SortFunc(p.arrivals, c.State().Compare)
	if p.kept = ok && only && p.holds(depth); !p.kept {
		*p = pass{c: c, arrivals: p.arrivals, left: p.left, depth: depth, room: room, settled: true, sure: true}
		if keep {
			p.sure = false // a reservation that moves leaves room for one that was looked at before
			p.claim(claims)
		} else {
			p.release()
		}
	}
	return p
}

// claim notes which jobs keep a reservation: those that wait as they did, also if an event took their
// place.
func (p *pass) claim(jobs []*backfill.Job) {
	var edited backfill.JobSet
	for _, e := range p.c.Fast().Round().Events {
		if e.Kind == backfill.Changed {
			edited.Add(e.Job.ID)
		}
	}
	state := p.c.State()
	p.claims = slices.DeleteFunc(jobs, func(j *backfill.Job) bool { return !state.IsWaiting(j.ID) || edited.Has(j.ID) })
	slices.SortFunc(p.claims, state.Compare)
}

// keep looks at the jobs that keep a reservation and that the pass has not come to: each starts if it
// fits now, or else has its reservation at its earliest start.
func (p *pass) keep() {
	for _, j := range p.claims {
		if !start(p.c, j) {
			reserve(p.c, j)
		}
	}
	p.claims = nil
}

// holds reports whether the results of the last pass still hold if nothing happened but arrivals:
// all jobs that arrived must stand in the queue behind all jobs that have a reservation.
func (p *pass) holds(depth int) bool {
	round := p.c.Fast().Round()
	return p.sure && p.depth == depth && !round.Rekeyed() && len(round.Bundles) == 0 &&
		len(round.Candidates) == 0 && len(round.Rows) == 0 && len(p.c.Due()) == 0 &&
		(p.behind == nil || len(p.arrivals) == 0 || p.c.State().Compare(p.behind, p.arrivals[0]) < 0)
}

// asLeft reports whether the jobs have the reservations that the pass left them.
func (p *pass) asLeft(c *backfill.Cycle) bool {
	return slices.EqualFunc(p.left, c.Fast().Planned(), func(r reservation, j *backfill.Job) bool {
		start, at, _ := c.Reservation(j)
		return r.job == j && r.start == start && r.at.Equal(at)
	})
}

// remember makes the pass the memo for the next cycle.
func (p *pass) remember() {
	p.left = p.left[:0]
	for _, j := range p.c.Fast().Planned() {
		start, at, _ := p.c.Reservation(j)
		p.left = append(p.left, reservation{j, start, at})
	}
	p.c.Fast().Remember(p)
}

// release releases all reservations, with one exception, for speed: if the pass makes any, the only
// one is that of the first job in the queue, and the job has one candidate slot or bundle, it stays,
// and the pass may move it. Until then no job is started, and the job's place does not depend on its
// reservation.
func (p *pass) release() {
	planned := p.c.Fast().Planned()
	if p.depth > 0 && len(planned) == 1 && single(p.c, planned[0]) {
		for first := range p.c.Waiting() {
			if first == planned[0] {
				return
			}
			break
		}
	}
	for _, j := range planned {
		p.c.Release(j)
	}
}

// single reports whether the job has only one candidate slot or bundle.
func single(c *backfill.Cycle, j *backfill.Job) bool {
	candidates := c.State().Request(j).Candidates
	return len(candidates.Slots)+len(candidates.Bundles) == 1
}

// run looks at the jobs that the pass has to look at, in the queue's order: only at the arrivals if
// the results of the last pass still hold, else at the queue up to the last job that gets a
// reservation. The parameter through says whether arrivals behind that are looked at.
func (p *pass) run(through bool) {
	if p.kept {
		for _, j := range p.arrivals {
			if p.look(j) && !through {
				return
			}
		}
		return
	}
	if p.depth == 0 {
		return
	}
	for j := range p.c.Waiting() {
		if p.look(j) && p.reserved == p.depth {
			return
		}
	}
}

// look starts a job if it fits now, or reserves for it if the pass may. It reports whether the job is
// blocked: it may start now, and does not fit. A job whose candidates all close before it could begin
// blocks nobody, unless the pass is strict: nothing that others leave alone helps it.
func (p *pass) look(j *backfill.Job) (blocked bool) {
	if j.Early(p.c.Now()) {
		p.plan(j)
		return false
	}
	p.seen(j)
	if start(p.c, j) {
		p.started()
		return false
	}
	if p.c.Fast().NoStart(j) && !p.strict { // in this order, as the reason of the job tells of it
		return false
	}
	if p.reserved < p.depth {
		p.blocked(j)
		reserve(p.c, j)
	}
	return true
}

// plan reserves for a job that may not start yet, if the pass may. Such a job does not count among
// the blocked ones: however many wait for their time, the first blocked jobs keep their
// reservations.
func (p *pass) plan(j *backfill.Job) {
	if p.room > 0 && p.reserved < p.depth && !p.c.Fast().NoStart(j) {
		p.room--
		p.seen(j)
		p.note(j)
		reserve(p.c, j)
	}
}

// seen notes that the pass has come to a job which may keep a reservation.
func (p *pass) seen(j *backfill.Job) {
	if i := slices.Index(p.claims, j); i >= 0 {
		p.claims = slices.Delete(p.claims, i, i+1)
	}
}

// started notes that a job was started. If a job before it has a reservation and several
// candidates, a new pass might reserve other slots.
func (p *pass) started() {
	p.sure = p.sure && (p.behind == nil || p.settled)
}

// blocked notes that a job which does not fit now gets a reservation.
func (p *pass) blocked(j *backfill.Job) {
	p.reserved, p.last = p.reserved+1, j
	p.note(j)
}

// note notes that a job gets a reservation.
func (p *pass) note(j *backfill.Job) {
	p.behind, p.settled = j, p.settled && single(p.c, j)
}
