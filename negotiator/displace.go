package negotiator

import (
	"context"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// Preemption is looked at once the policy has decided a round: for the jobs that still wait, in the
// queue's order. All that is decided becomes a second round at the same instant, in which the victims
// end sooner and the jobs that displace them are pinned to their places; the policy plans everything
// else around it. A job that is pinned already and has not begun may be ousted: it waits again, and another
// one has its place.

// SetPreemption changes the rules of preemption, from the next cycle on. Who changed places lately is
// still known.
func (n *Negotiator) SetPreemption(rules preempt.Rules) {
	n.preemption.search = preempt.NewSearch(rules, n.schema.Resources)
	n.renewed = true
}

// mayDisplace reports whether the next cycles may displace jobs, if the pool tells of claims: some slot
// has a RANK or had one, or PREEMPTION_REQUIREMENTS is not simply false, and preemption is not off.
func (n *Negotiator) mayDisplace() bool {
	return !n.preemption.search.Rules().Never(n.preemption.ranked)
}

// mayDisplaceNext reports whether the jobs that a cycle started may be displaced in the next one, by jobs
// that wait now.
func (n *Negotiator) mayDisplaceNext(r *Report) bool {
	return r.Delta.Claims != nil && n.mayDisplace() && n.State().Waiting() > 0
}

// WhyPreemption says what preemption has to do with a job that waits or makes way: by whom it was
// displaced, or whom it could displace later. It is "" if that is nothing; at writes an instant.
func (n *Negotiator) WhyPreemption(id backfill.JobID, at func(backfill.Time) string) string {
	if d, displaced := n.preemption.displaced[id]; displaced {
		return d.Text()
	}
	if b, blocked := n.preemption.blocked[id]; blocked {
		return b.Text(at)
	}
	return ""
}

// Most waiting jobs that a cycle looks at, and most preemptions whose effect on promises it asks for.
const (
	mostLooked = 100_000
	mostTrials = 2_000
)

// lookAgain is after how many seconds it is looked again who may displace whom for user priority.
const lookAgain = 60

// displacing is the look of one cycle.
type displacing struct {
	n        *Negotiator
	now      backfill.Time
	claims   preempt.Claims
	rules    *preempt.Rules
	search   *preempt.Search
	made     []preempt.Preemption
	at       map[backfill.SlotID][]backfill.Event // what was decided, by slot
	pinned   backfill.JobSet
	promised map[backfill.SlotID]bool // slots on which waiting jobs hold promised reservations
	rows     backfill.Vector          // what the running jobs leave of limits; nil: not counted yet
	tried    int
}

// displace lets waiting jobs take over from running ones. It changes the report's decision, which is then
// that of both rounds.
func (n *Negotiator) displace(ctx context.Context, r *Report) error {
	p, s := &n.preemption, n.State()
	n.noteDisplaced(&r.Delta)
	p.blocked, p.due = nil, backfill.Forever
	if r.Delta.Claims == nil || !n.mayDisplace() || s.Waiting() == 0 || s.RunningJobs() == 0 || len(n.inventory.bundles) > 0 {
		return nil
	}
	d := &displacing{
		n: n, now: r.Delta.Now, claims: r.Delta.Claims, rules: p.search.Rules(), search: p.search,
		at: map[backfill.SlotID][]backfill.Event{},
	}
	p.memory.Forget(d.now, d.rules.Pause)
	d.open(r)
	waiting := s.FirstWaiting(min(s.Waiting(), mostLooked))
	first := r.Decision
	first.Actions, first.Started = slices.Clone(first.Actions), slices.Clone(first.Started) // trials use their memory
	for _, j := range waiting {
		d.look(j)
	}
	if d.rules.Prioritised() { // priorities move with time, and pauses end
		p.due = min(p.due, d.now+lookAgain)
	}
	r.Decision = first
	if len(d.made) == 0 {
		return nil
	}
	round := backfill.Round{Now: d.now}
	for i := range d.made {
		round.Events = append(round.Events, d.events(&d.made[i])...)
	}
	second, err := n.host.Decide(ctx, round)
	if err != nil {
		return fmt.Errorf("displace jobs at %d: %w", d.now, err)
	}
	r.Decision = together(&first, &second)
	r.Preempted = d.made
	n.noteMade(r)
	return nil
}

// open begins the search of a cycle.
func (d *displacing) open(r *Report) {
	n, s := d.n, d.n.State()
	start := n.world.Start
	d.search.Open(preempt.Pool{
		Now: d.now, Claims: d.claims, Memory: &n.preemption.memory, Running: s.Running(),
		Host: &classad.Host{Zone: n.world.Zone, UserMap: n.world.UserMap, Now: func() int64 { return start + int64(d.now) }},
		Slot: func(id backfill.SlotID) (string, *classad.ClassAd, backfill.Vector) {
			return n.inventory.slots[id].Name, n.inventory.slots[id].Ad, s.Slots()[id].Capacity
		},
	})
	if !d.rules.Prioritised() {
		return
	}
	for i := range r.Decision.Started {
		j := r.Decision.Started[i].Job
		d.search.Started(d.claims.Submitter(j.ID), float64(j.Request[0]*int64(j.Nodes)))
	}
}

// look looks for the best preemption for a waiting job.
func (d *displacing) look(j *backfill.Job) {
	s := d.n.State()
	job, sets := d.n.jobs.get(j.ID), s.CandidateSets()
	if job == nil || j.Nodes != 1 || j.Candidates >= len(sets) || sets[j.Candidates] == nil || len(sets[j.Candidates].Slots) == 0 {
		return
	}
	w := preempt.Waiting{Job: j, Ad: job.Ad, Candidates: sets[j.Candidates]}
	planned, _, reserved := s.Planned(j.ID)
	for p := range d.search.Candidates(w) {
		if reserved && planned <= p.Start {
			if p.Reason != preempt.StartdRank || planned <= p.Soonest {
				continue
			}
			p.By(planned) // the machine need not wait for jobs that may outlive their estimates, too
		}
		if !s.SlotUp(p.Host) || !d.fitsRows(j, &p) || !d.keepsPromises(&p) {
			continue
		}
		d.search.Take(&p, j)
		d.take(&p, j)
		return
	}
	if b, blocked := d.search.Blocked(w); blocked && (!reserved || b.Until < planned) {
		if d.n.preemption.blocked == nil {
			d.n.preemption.blocked = map[backfill.JobID]preempt.Blocked{}
		}
		d.n.preemption.blocked[j.ID], d.n.preemption.due = b, min(d.n.preemption.due, b.Until)
	}
}

// take notes a preemption that is made.
func (d *displacing) take(p *preempt.Preemption, j *backfill.Job) {
	d.made = append(d.made, *p)
	d.at[p.Host] = append(d.at[p.Host], d.events(p)...)
	d.pinned.Add(p.Job)
	if d.rows == nil {
		return
	}
	for _, t := range j.Takes {
		d.rows[t.Row] -= t.Amount
	}
	for _, id := range p.Yielding() {
		for _, t := range d.n.State().Job(id).Takes {
			d.rows[t.Row] += t.Amount
		}
	}
}

// events are what the core is told of a preemption.
func (d *displacing) events(p *preempt.Preemption) (events []backfill.Event) {
	for _, id := range p.Ousted {
		events = append(events, backfill.Event{Kind: backfill.StartFailed, JobID: id})
	}
	for _, v := range p.Victims {
		events = append(events, backfill.Event{Kind: backfill.EndsSooner, JobID: v.Job, End: v.End, By: p.Job})
	}
	return append(events, backfill.Event{
		Kind: backfill.Pinned, JobID: p.Job, Start: p.Start, Placement: backfill.Placement{{Slot: p.Host, Count: 1}},
	})
}

// keepsPromises reports whether a preemption leaves the promises of others as they are, or may lift them.
func (d *displacing) keepsPromises(p *preempt.Preemption) bool {
	s := d.n.State()
	if p.Reason == preempt.StartdRank || d.rules.Promised {
		return true
	}
	if _, guarantees := s.Policy(); !guarantees {
		return true
	}
	promised := slices.ContainsFunc(p.Ousted, func(id backfill.JobID) bool {
		_, promised := s.Guaranteed(id)
		return promised
	})
	if !promised && !d.isPromised(p.Host) && len(s.Job(p.Job).Takes) == 0 {
		return true
	}
	if d.tried++; d.tried > mostTrials {
		return false
	}
	count := func(events []backfill.Event) (lifted int, ok bool) {
		all, err := s.WouldLift(backfill.Round{Now: d.now, Events: events})
		for _, id := range all {
			if id != p.Job && !d.pinned.Has(id) {
				lifted++
			}
		}
		return lifted, err == nil
	}
	before, ok := 0, true
	if so := d.at[p.Host]; len(so) > 0 { // startd rank may have lifted some
		before, ok = count(so)
	}
	after, still := count(slices.Concat(d.at[p.Host], d.events(p)))
	return ok && still && after <= before
}

// isPromised reports whether a waiting job holds a promised reservation on a slot.
func (d *displacing) isPromised(id backfill.SlotID) bool {
	if d.promised == nil {
		s := d.n.State()
		d.promised = map[backfill.SlotID]bool{}
		for _, j := range s.Settled() {
			if j.Running || !j.Promised {
				continue
			}
			for _, on := range j.Placement {
				d.promised[on.Slot] = true
			}
		}
	}
	return d.promised[id]
}

// fitsRows reports whether the pool's limits have room for the job once its victims have left, beside
// the jobs that run now.
func (d *displacing) fitsRows(j *backfill.Job, p *preempt.Preemption) bool {
	if len(j.Takes) == 0 {
		return true
	}
	s := d.n.State()
	if d.rows == nil {
		d.rows = make(backfill.Vector, len(s.Rows()))
		for i, row := range s.Rows() {
			d.rows[i] = row.Height
		}
		for run := range s.Running() {
			for _, t := range run.Job.Takes {
				d.rows[t.Row] -= t.Amount
			}
		}
	}
	for _, t := range j.Takes {
		room := d.rows[t.Row]
		for _, id := range p.Yielding() {
			for _, back := range s.Job(id).Takes {
				if back.Row == t.Row {
					room += back.Amount
				}
			}
		}
		if room < t.Amount {
			return false
		}
	}
	return true
}
