package htcondor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// match is a claim for one chunk of a job on its way, and what the chunk takes.
type match struct {
	client.Grant
	flight  *flight
	slot    string
	request backfill.Vector
}

// handOver gives the jobs on their way to their schedds, as far as their slots can
// take them now. What cannot be handed over stays for another try.
func (p *Pool) handOver(ctx context.Context) {
	p.release(ctx)
	p.hearTold(nil)
	submitters := map[*flight]string{}
	var flights []*flight
	waiting := p.waitingFlights()
	if len(waiting) == 0 {
		return
	}
	in := p.inRooms()
	for _, f := range waiting {
		submitter, why := p.ready(f)
		if why == "" {
			why = p.letIn(f, in)
		}
		if why != "" {
			f.why = why
			continue
		}
		flights, submitters[f] = append(flights, f), submitter
	}
	if len(flights) == 0 {
		return
	}
	offers, err := p.offers(ctx, flights)
	if err != nil {
		p.log.Warn("the slots to be matched cannot be looked at; this is tried again", "error", err)
		for _, f := range flights {
			f.why = err.Error()
		}
		return
	}
	p.hearReleased()
	bySchedd := map[string]map[string][]match{}           // by schedd and submitter
	served, gangs := map[string]bool{}, map[string]bool{} // slots; schedds that are given a gang's
	for _, f := range flights {
		name, gang, why := f.job.key.schedd, f.job.group.plan.parallel, ""
		if gang {
			why = p.inLine(f, gangs[name])
		}
		var all []match
		if why == "" {
			all, why = p.grant(f, offers)
		}
		if why != "" {
			f.why = why
			continue
		}
		for _, m := range all {
			served[m.slot] = true
		}
		gangs[name] = gangs[name] || gang
		if bySchedd[name] == nil {
			bySchedd[name] = map[string][]match{}
		}
		bySchedd[name][submitters[f]] = append(bySchedd[name][submitters[f]], all...)
	}
	for _, f := range flights {
		if slices.ContainsFunc(f.rest, func(at place) bool { return served[at.Slot] }) {
			f.moved = p.now() // it is in line
		}
	}
	p.negotiate(ctx, bySchedd)
}

// waitingFlights are those that were not handed over, in order of jobs.
func (p *Pool) waitingFlights() []*flight {
	var all []*flight
	for _, f := range p.flights {
		if !f.sent() {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *flight) int {
		if c := a.since.Compare(b.since); c != 0 {
			return c
		}
		return a.job.key.compare(b.job.key)
	})
	return all
}

// ready says in whose name a flight's job is negotiated for, or why that is not
// possible now.
func (p *Pool) ready(f *flight) (submitter, why string) {
	s := p.schedds[f.job.key.schedd]
	if s == nil {
		return "", "its schedd is gone"
	}
	submitter = f.job.submitterOf()
	known, advertised := s.submitters[submitter]
	gang := f.job.group.plan.parallel
	switch {
	case s.telling != nil:
		return "", "its schedd is being told of other matches"
	case s.failed != nil:
		return "", "its schedd does not answer: " + s.failed.Error()
	case s.late:
		return "", "its schedd has not answered yet"
	case gang && (!advertised || known.idle == 0):
		return "", "its schedd does not ask for a gang's slots now"
	case !advertised:
		return "", "its schedd has not advertised the submitter " + submitter
	case gang:
		why = p.outOfLine(f)
	}
	return submitter, why
}

// grant takes what a job is to have out of the offers. All of it must be free. Where a
// slot has no claim id for each chunk, and will not have more of them before some are
// used, the rest follows when it has.
func (p *Pool) grant(f *flight, offers map[string]*offer) ([]match, string) {
	j := f.job
	request := p.request(j.as)
	for _, at := range f.rest {
		o := offers[at.Slot]
		switch {
		case p.isLeftOut(at.Slot, j, p.now()):
			return nil, "slot " + at.Slot + " is left out for a while: starts fail there"
		case o == nil:
			return nil, "slot " + at.Slot + " is not advertised"
		case j.as.parallel && p.stale(at.Slot):
			return nil, "slot " + at.Slot + " was a gang's until a moment ago"
		case !o.open:
			return nil, "slot " + at.Slot + " is not free yet"
		case !classad.Accepts(j.as.ad, o.ad):
			return nil, "its Requirements are not true of slot " + at.Slot + " any more"
		case len(o.claims) == 0 || len(o.claims) < at.Chunks && o.used:
			return nil, "slot " + at.Slot + " has no claim to give yet"
		}
		for i, amount := range request {
			if amount*int64(at.Chunks) > o.free[i] {
				return nil, fmt.Sprintf("slot %s has %d %s free, not yet the %d that are needed", at.Slot, o.free[i], p.s.Schema.Resources[i], amount*int64(at.Chunks))
			}
		}
	}
	var all []match
	for _, at := range f.rest {
		o := offers[at.Slot]
		for _, claim := range o.claims[:min(at.Chunks, len(o.claims))] {
			grant := client.Grant{Cluster: j.key.cluster, Proc: j.key.proc, Claim: claim, Slot: o.ad, Limits: j.as.limits}
			all = append(all, match{grant, f, at.Slot, request})
			o.take(request)
			o.claims, o.used = o.claims[1:], true
		}
	}
	return all, ""
}

// request is what each chunk of a job takes.
func (p *Pool) request(of *plan) backfill.Vector {
	v := make(backfill.Vector, len(p.s.Schema.Resources))
	for i, resource := range p.s.Schema.Resources {
		v[i], _ = of.ad.Int("Request" + resource)
	}
	return v
}

// outcome is what came of telling a schedd of matches.
type outcome struct {
	sent []match
	took time.Duration
	err  error
}

// negotiate tells the schedds of their jobs' matches, all schedds at once. One that is
// slow is told beside what we do next, and from then on is not waited for until
// telling it has taken less than hold.
func (p *Pool) negotiate(ctx context.Context, bySchedd map[string]map[string][]match) {
	significant := p.significant()
	for name, submitters := range bySchedd {
		s := p.schedds[name]
		s.matches = s.matches[:0]
		for _, all := range submitters {
			for _, m := range all {
				m.flight.telling = true
				p.used[m.Claim] = use{slot: m.slot, request: m.request, at: p.now()}
				s.matches = append(s.matches, m)
			}
		}
		s.telling = make(chan outcome, 1)
		asked := *s
		asked.submitters = maps.Clone(s.submitters)
		began := time.Now()
		go func(answer chan<- outcome) {
			within, cancel := context.WithTimeout(ctx, p.s.Patience)
			defer cancel()
			sent, err := p.negotiateWith(within, &asked, submitters, significant)
			answer <- outcome{sent, time.Since(began), err}
		}(s.telling)
	}
	wait, cancel := context.WithTimeout(ctx, p.hold)
	defer cancel()
	p.hearTold(wait.Done())
}

// hearTold takes in which matches schedds were told, waiting until time is up for those
// that are not slow; nil: it is.
func (p *Pool) hearTold(up <-chan struct{}) {
	for _, name := range slices.Sorted(maps.Keys(p.schedds)) {
		s := p.schedds[name]
		if s.telling == nil {
			continue
		}
		var r outcome
		select {
		case r = <-s.telling:
		default:
			if up == nil || s.slow {
				continue
			}
			select {
			case r = <-s.telling:
			case <-up:
				s.slow = true
				p.log.Warn("a schedd is slow to take its matches; nobody waits for it", "schedd", name)
				continue
			}
		}
		s.telling, s.slow = nil, s.slow && r.took >= p.hold
		p.wereTold(s, r)
	}
}

// wereTold takes note of which of its matches a schedd was told.
func (p *Pool) wereTold(s *schedd, r outcome) {
	for _, m := range s.matches {
		delete(p.used, m.Claim)
		m.flight.telling = false
	}
	for _, m := range r.sent {
		p.handed(m)
	}
	if r.err != nil && !s.refused { // once, not each time
		p.log.Warn("matches could not be handed to a schedd; this is tried again", "schedd", s.name, "error", r.err)
	}
	if s.refused = r.err != nil; s.refused {
		for _, m := range s.matches {
			if !m.flight.sent() {
				m.flight.why = r.err.Error()
			}
		}
	}
	s.matches = nil
}

// handed takes note that a schedd was told of a match.
func (p *Pool) handed(m match) {
	f, now := m.flight, p.now()
	p.used[m.Claim] = use{slot: m.slot, request: m.request, at: now}
	f.moved, f.claims = now, append(f.claims, m.Claim)
	i := slices.IndexFunc(f.rest, func(at place) bool { return at.Slot == m.slot })
	if f.rest[i].Chunks--; f.rest[i].Chunks == 0 {
		f.rest = slices.Delete(f.rest, i, i+1)
	}
	p.granted++
	if f.sent() {
		f.why = "its schedd was told, and did not start it"
		p.matched++
	}
	p.log.Debug("matched", "job", p.nameOf(f.job), "schedd", f.job.key.schedd, "slot", m.slot, "claim", security.PublicClaim(m.Claim))
}

// significant are the job attributes that schedds are to tell jobs apart by.
func (p *Pool) significant() []string {
	names := []string{"Requirements", "Rank"}
	for _, resource := range p.s.Schema.Resources {
		if resource != Claims {
			names = append(names, "Request"+attribute(resource))
		}
	}
	return names
}

// negotiateWith tells one schedd. A match at which the connection broke may have
// arrived, and counts as told. A submitter that the schedd does not want to hear of
// keeps nothing from the others.
func (p *Pool) negotiateWith(ctx context.Context, s *schedd, submitters map[string][]match, significant []string) (sent []match, failed error) {
	var n *client.Negotiation
	hangUp := func() {
		if n != nil {
			n.Close()
		}
		n = nil
	}
	defer hangUp()
	for _, name := range slices.Sorted(maps.Keys(submitters)) {
		who := client.Submitter{Name: name, Tag: s.submitters[name].tag, Significant: significant}
		began, err := p.negotiateFor(ctx, n, s, who)
		if began == nil {
			return sent, errors.Join(failed, err) // nobody is there
		}
		n = began
		for _, m := range submitters[name] {
			if err == nil {
				err = n.Match(m.Grant)
				sent = append(sent, m)
			}
		}
		if err == nil {
			err = n.End()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("submitter %s: %w", name, err))
			hangUp()
		}
	}
	return sent, failed
}

// negotiateFor begins to negotiate with a schedd, or goes on for another submitter.
func (p *Pool) negotiateFor(ctx context.Context, n *client.Negotiation, s *schedd, who client.Submitter) (*client.Negotiation, error) {
	if n != nil {
		return n, n.Next(who)
	}
	var with *security.Key
	if s.capability != "" {
		key, err := security.ParseKey(s.capability)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the capability that schedd %s advertises", s.name), err)
		}
		with = &key
	}
	return client.Schedd{Security: p.s.Security, Address: s.address}.Negotiate(ctx, who, with)
}
