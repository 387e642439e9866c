package ahead

import (
	"cmp"
	"context"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Rules say who decides in a play, and in which order the queue stands. They serve one goroutine at
// a time, and one play after the other.
type Rules struct {
	// Order is the queue's order; nil: first come, first served.
	Order backfill.Order
	// Policy decides, and Fallback does where Policy is refused. If the state has another policy in
	// charge, Policy takes over in the first round of the play.
	Policy, Fallback backfill.Decider
	// Planning says how far the policy plans; nil: as the state has it.
	Planning *backfill.Planning
	// Memory is how many bytes the plan may take besides what it takes at first, about; the error is
	// [backfill.ErrTooLarge]; 0: any number.
	Memory int64
	// Refused is called with each decision of Policy that is refused; may be nil.
	Refused func(backfill.Refusal)
}

// Start is where a play begins and what is to happen in it.
type Start struct {
	// State is a copy for the play alone, which changes it; nil: the play begins with [Play.Again].
	State *backfill.State
	// End returns when a job ends that started at the given instant: the running jobs, which are
	// asked first, and those that start in the play. One that runs now is asked once; if its end is
	// not later than now, it ends now.
	End func(j *backfill.Job, started backfill.Time) backfill.Time
	// Begin returns when a job begins to run that was started in the play at the given instant, from
	// which End counts then; nil: at once.
	Begin func(j *backfill.Job, started backfill.Time) backfill.Time
	// First is decided before anything else, if it is not nil: what happens at this instant, or
	// nothing, so that another policy or order takes over at once.
	First *backfill.Round
	// Arrivals are submitted at their submit times; those that are past arrive in the first round
	// after First.
	Arrivals []*backfill.Job
	// Later are rounds at later instants, in this order: what else happens then, to slots or
	// candidate sets. Each is one round with the ends and arrivals of its instant.
	Later []Later
}

// Later is a round that is made when its instant comes, so that no two take memory at a time. The
// instant of the round that Make returns does not count; its error ends the play.
type Later struct {
	Now  backfill.Time
	Make func(context.Context) (backfill.Round, error)
}

// Play is a copy of a schedule on its way into the future.
type Play struct {
	host     *backfill.Host
	memory   int64 // that its plan may take besides
	begins   func(*backfill.Job, backfill.Time) backfill.Time
	end      func(*backfill.Job, backfill.Time) backfill.Time
	ends     Endings // of the running jobs
	first    *backfill.Round
	arrivals []*backfill.Job // still to come, by submit time
	later    []Later
	events   []backfill.Event
}

// Play begins a play. The error is that of [backfill.NewHost].
//
// The host is the play's own, as the keys of the state may come from another order, and a host
// checks them in its first round.
func (r Rules) Play(from Start) (*Play, error) {
	host, err := backfill.NewHost(from.State, r.Order, r.Policy, r.Fallback, r.Refused)
	if err != nil {
		return nil, err
	}
	host.BreakOff(r.Memory)
	if r.Planning != nil {
		host.SetPlanning(*r.Planning)
	}
	p := &Play{host: host, memory: r.Memory}
	if from.State != nil {
		p.begin(from)
	}
	return p, nil
}

// Again ends the play and begins another one under the same rules, in the same memory. The keys of
// the state must come from the rules' order, as those of a copy of a schedule under these rules do:
// only what changes them with time is asked again, which is much faster if the order is slow.
func (p *Play) Again(from Start) {
	p.host.State = from.State
	p.host.BreakOff(p.memory)
	p.begin(from)
}

// begin notes what is to happen in the play.
func (p *Play) begin(from Start) {
	p.begins, p.end, p.first, p.later = from.Begin, from.End, from.First, from.Later
	p.arrivals = slices.Clone(from.Arrivals)
	slices.SortStableFunc(p.arrivals, func(a, b *backfill.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	p.ends = p.ends[:0]
	gone := map[backfill.JobID]bool{} // those that end in the first round
	if p.first != nil {
		for _, e := range p.first.Events {
			if e.Kind == backfill.Completed || e.Kind == backfill.Removed {
				gone[e.JobID] = true
			}
		}
	}
	for run := range from.State.Running() {
		if gone[run.Job.ID] {
			continue
		}
		ends := p.lasts(p.end(run.Job, run.Start), run.Placement)
		if run.Yields { // what becomes of it then, nobody knows
			ends = min(ends, run.End)
		}
		p.ends = append(p.ends, Ending{At: ends, Job: run.Job.ID})
	}
	p.ends.order()
}

// State returns the schedule as it stands. It must not be changed.
func (p *Play) State() *backfill.State { return p.host.State }

// Arrive submits a job that has been due: now, in a round of its own, before anything else happens.
func (p *Play) Arrive(j *backfill.Job) {
	p.first = &backfill.Round{
		Now:    p.host.State.Now(),
		Events: []backfill.Event{{Kind: backfill.Submitted, Job: j}},
	}
}

// Next decides the next round; more is false if nothing will happen any more. The decision holds
// until the next round. An error of the host's ends the play, and so does the end of the context,
// also within a round, which is then as if it had not begun.
func (p *Play) Next(ctx context.Context) (d backfill.Decision, more bool, err error) {
	round, more, err := p.round(ctx)
	if !more || err != nil {
		return d, false, err
	}
	if d, err = p.host.Decide(ctx, round); err != nil {
		return d, false, err
	}
	for i := range d.Started {
		j := d.Started[i].Job
		ends := p.lasts(p.end(j, p.began(j, d.Now)), d.Started[i].Placement)
		p.ends.Push(Ending{At: max(ends, d.Now), Job: j.ID})
	}
	return d, true, nil
}

// lasts returns when a job is gone that would end at an instant: then, or when the first of its slots ends,
// if that is still to come.
func (p *Play) lasts(end backfill.Time, at backfill.Placement) backfill.Time {
	profile := p.host.State.Profile()
	if profile.Ends().Count() == 0 {
		return end
	}
	for _, on := range at {
		if ends := profile.Ends().Of(on.Slot); ends > p.host.State.Now() {
			end = min(end, ends)
		}
	}
	return end
}

// began returns when a job begins to run that was started in the play at the given instant.
func (p *Play) began(j *backfill.Job, started backfill.Time) backfill.Time {
	if p.begins == nil {
		return started
	}
	return max(started, p.begins(j, started))
}

// beginning is began as it is told: a promise is kept.
func (p *Play) beginning(s *backfill.Started, started backfill.Time) backfill.Time {
	at := p.began(s.Job, started)
	if s.Promised {
		return max(started, min(at, s.Guarantee))
	}
	return at
}

// Instant returns when the next round is: [backfill.Forever] if nothing will happen any more.
func (p *Play) Instant() backfill.Time {
	if p.first != nil {
		return p.first.Now
	}
	at := p.host.State.NextWake()
	if len(p.ends) > 0 {
		at = min(at, p.ends[0].At)
	}
	if len(p.arrivals) > 0 {
		at = min(at, p.arrivals[0].Submit)
	}
	if len(p.later) > 0 {
		at = min(at, p.later[0].Now)
	}
	return max(at, p.host.State.Now())
}

// round returns what happens next: jobs end or arrive, or the schedule asks for a round. It returns
// false if nothing will happen.
func (p *Play) round(ctx context.Context) (r backfill.Round, more bool, err error) {
	if p.first != nil {
		r, p.first = *p.first, nil
		return r, true, nil
	}
	if r.Now = p.Instant(); r.Now >= backfill.Forever {
		return r, false, nil
	}
	p.events = p.events[:0]
	for len(p.ends) > 0 && p.ends[0].At <= r.Now {
		p.events = append(p.events, backfill.Event{Kind: backfill.Completed, JobID: p.ends.Pop().Job})
	}
	for len(p.arrivals) > 0 && p.arrivals[0].Submit <= r.Now {
		p.events = append(p.events, backfill.Event{Kind: backfill.Submitted, Job: p.arrivals[0]})
		p.arrivals = p.arrivals[1:]
	}
	if len(p.later) > 0 && p.later[0].Now <= r.Now {
		made, wrong := p.later[0].Make(ctx)
		r.Candidates, err = made.Candidates, wrong
		p.events = append(p.events, made.Events...)
		p.later = p.later[1:]
	}
	r.Events = p.events
	return r, true, err
}

// Taken returns the ends of a future in which every job runs for as long as it is taken to, by the
// callback. One that has already run for longer by now is taken to run for twice as long, and so on
// up to its limit; see [backfill.ExpectedEnd].
func Taken(now backfill.Time, runTime func(*backfill.Job) backfill.Time,
) func(*backfill.Job, backfill.Time) backfill.Time {
	return func(j *backfill.Job, started backfill.Time) backfill.Time {
		return backfill.ExpectedEnd(j, runTime(j), started, now)
	}
}
