package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// matched is the result of telling a schedd of matches: those that were sent, how long it took, and
// what went wrong.
type matched struct {
	sent []match
	took time.Duration
	err  error
}

// negotiate tells the schedds of their jobs' matches, all schedds in parallel. It returns after
// Hold at the latest: a slow schedd is told in the background, and no cycle waits for it until
// telling it takes less than Hold.
func (d *Dispatcher) negotiate(ctx context.Context, bySchedd map[string]map[string][]match) {
	for name, submitters := range bySchedd {
		l := d.line(name)
		l.matches = l.matches[:0]
		for _, matches := range submitters {
			for _, m := range matches {
				m.flight.telling = true
				d.used[m.Claim] = use{slot: m.slot, request: m.request, at: d.now()}
				l.matches = append(l.matches, m)
			}
		}
		answer := make(chan matched, 1)
		to, began, patience := d.conversation(name), time.Now(), d.s.Patience
		l.telling, l.address = answer, to.with.Address
		go func() {
			within, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			sent, err := to.match(within, submitters)
			answer <- matched{sent, time.Since(began), err}
		}()
	}
	wait, cancel := context.WithTimeout(ctx, d.s.Hold)
	defer cancel()
	d.hearMatched(wait.Done())
}

// hearMatched collects the results of telling schedds of their matches. It waits for schedds that
// are not slow until the channel is closed; if the channel is nil, it does not wait.
func (d *Dispatcher) hearMatched(up <-chan struct{}) {
	for _, name := range slices.Sorted(maps.Keys(d.lines)) {
		l := d.lines[name]
		if l.telling == nil {
			continue
		}
		var r matched
		select {
		case r = <-l.telling:
		default:
			if up == nil || l.slow {
				continue
			}
			select {
			case r = <-l.telling:
			case <-up:
				l.slow = true
				d.log.Warn("a schedd is slow to take its matches; nobody waits for it", "schedd", name)
				continue
			}
		}
		l.telling, l.slow = nil, l.slow && r.took >= d.s.Hold
		d.noteMatched(name, l, r)
	}
}

// noteMatched notes which of its matches a schedd was told.
func (d *Dispatcher) noteMatched(schedd string, l *line, r matched) {
	for _, m := range l.matches {
		delete(d.used, m.Claim)
		m.flight.telling = false
	}
	for _, m := range r.sent {
		d.wasSent(m)
		d.s.Notes.matched(m, l.address)
	}
	if r.err != nil && !l.refused { // once, not each time
		d.log.Warn("matches could not be handed to a schedd; this is tried again", "schedd", schedd, "error", r.err)
	}
	if l.refused = r.err != nil; l.refused {
		for _, m := range l.matches {
			if !m.flight.sent() {
				m.flight.why = r.err.Error()
			}
		}
	}
	l.matches = nil
}

// wasSent notes that a schedd was told of a match.
func (d *Dispatcher) wasSent(m match) {
	f, now := m.flight, d.now()
	d.used[m.Claim] = use{slot: m.slot, request: m.request, at: now}
	f.moved, f.claims, d.handed = now, append(f.claims, m.Claim), now
	for i := range f.rest {
		if f.rest[i].Slot == m.slot {
			if f.rest[i].Chunks--; f.rest[i].Chunks == 0 {
				f.rest = slices.Delete(f.rest, i, i+1)
			}
			break
		}
	}
	d.counts.Granted++
	if f.sent() {
		f.why = "its schedd was told, and did not start it"
		d.counts.Matched++
	}
	d.log.Debug("matched", "job", d.belief.Name(f.job), "schedd", f.job.Key.Schedd, "slot", m.slot,
		"claim", security.PublicClaim(m.Claim))
}

// conversation holds all that is needed to negotiate with a schedd in the background, without the
// Dispatcher, which changes meanwhile.
type conversation struct {
	with        client.Schedd
	name        string
	capability  string // a secret
	submitters  map[string]observe.Submitter
	significant []string // the job attributes by which the schedd is to tell jobs apart
}

func (d *Dispatcher) conversation(schedd string) conversation {
	s := d.belief.Schedd(schedd)
	significant := []string{"Requirements", "Rank"}
	for _, resource := range d.s.Schema.Resources {
		if resource != observe.Claims {
			significant = append(significant, "Request"+negotiator.Attribute(resource))
		}
	}
	if d.lease > 0 {
		significant = append(significant, d.s.Schema.Estimates...)
	}
	return conversation{
		with: client.Schedd{Security: d.s.Security, Address: s.Address, Negotiator: d.s.Name}, name: schedd,
		capability: s.Capability, submitters: s.Submitters, significant: significant,
	}
}

// begin starts to negotiate for a submitter: on the open negotiation n, or on a new one if n is
// nil. If n is not nil it is returned even with an error.
func (c *conversation) begin(
	ctx context.Context, n *client.Negotiation, submitter string,
) (*client.Negotiation, error) {
	who := client.Submitter{Name: submitter, Tag: c.submitters[submitter].Tag, Significant: c.significant}
	if n != nil {
		return n, n.Next(who)
	}
	var with *security.Key
	if c.capability != "" {
		key, err := security.ParseKey(c.capability)
		if err != nil {
			return nil, fmt.Errorf("the capability that schedd %s advertises\n%w", c.name, err)
		}
		with = &key
	}
	return c.with.Negotiate(ctx, who, with)
}

// match tells the schedd of matches, and returns those that were sent. A match at which the
// connection broke may have arrived, and counts as sent. After an error with one submitter, match
// goes on with the next over a new connection; it stops if it cannot connect.
func (c *conversation) match(ctx context.Context, bySubmitter map[string][]match) (sent []match, failed error) {
	var n *client.Negotiation
	hangUp := func() {
		if n != nil {
			n.Close()
		}
		n = nil
	}
	defer hangUp()
	for _, submitter := range slices.Sorted(maps.Keys(bySubmitter)) {
		began, err := c.begin(ctx, n, submitter)
		if began == nil {
			return sent, errors.Join(failed, err) // nobody is there
		}
		n = began
		for _, m := range bySubmitter[submitter] {
			if err == nil {
				err = n.Match(m.Grant)
				sent = append(sent, m)
			}
		}
		if err == nil {
			err = n.End()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("submitter %s: %w", submitter, err))
			hangUp()
		}
	}
	return sent, failed
}

// reject tells the schedd why jobs wait, and returns the reasons that it told. It stops at the first
// error.
func (c *conversation) reject(
	ctx context.Context, bySubmitter map[string][]rejection,
) (told []rejection, err error) {
	var with *client.Negotiation
	defer func() {
		if with != nil {
			with.Close()
		}
	}()
	for _, submitter := range slices.Sorted(maps.Keys(bySubmitter)) {
		began, err := c.begin(ctx, with, submitter)
		if err != nil {
			return told, err
		}
		with = began
		for _, r := range bySubmitter[submitter] {
			if err := with.Reject(r.job.Cluster, r.job.Proc, r.why); err != nil {
				return told, err
			}
			told = append(told, r)
		}
		if err := with.End(); err != nil {
			return told, err
		}
	}
	return told, nil
}
