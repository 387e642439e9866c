package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// matched is the result of telling a schedd of matches: those that were sent, how long it took, and
// what went wrong.
type matched struct {
	sent []claims.Grant
	took time.Duration
	err  error
}

// negotiate tells the schedds of their jobs' matches, all schedds in parallel. It returns after
// Hold at the latest: a slow schedd is told in the background, and no cycle waits for it until
// telling it takes less than Hold.
func (d *Dispatcher) negotiate(ctx context.Context, grants claims.Grants) {
	for name, submitters := range grants {
		l := d.line(name)
		answer := make(chan matched, 1)
		to, began, patience := d.conversation(name), time.Now(), max(d.s.Patience, d.s.Timeout)
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
	d.claims.Told(d.now(), schedd, r.sent, r.err)
	for _, g := range r.sent {
		d.log.Debug("matched", "job", g.Job, "schedd", schedd, "slot", g.Slot, "claim", security.PublicClaim(g.Claim))
		d.s.Notes.matched(g, l.address)
	}
	if r.err != nil && !l.refused { // once, not each time
		d.log.Warn("matches could not be handed to a schedd; this is tried again", "schedd", schedd, "error", r.err)
	}
	l.refused = r.err != nil
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
	s := d.schedds[schedd]
	significant := []string{"Requirements", "Rank"}
	for _, resource := range d.s.Schema.Resources {
		if resource != observe.Claims {
			significant = append(significant, "Request"+negotiator.Attribute(resource))
		}
	}
	if d.s.Lease > 0 { // then schedds must tell jobs of different length apart
		significant = append(significant, d.s.Schema.Estimates...)
	}
	return conversation{
		with: client.Schedd{Security: d.s.Security, Address: s.Address, Negotiator: d.s.Name}, name: schedd,
		capability: s.Capability, submitters: s.Submitters, significant: significant,
	}
}

// begin starts to negotiate for a submitter: on the open negotiation n, or on a new one if n is
// nil, with the schedd's capability or, if that is of no use, in our own name. If n is not nil it is
// returned even with an error.
func (c *conversation) begin(
	ctx context.Context, n *client.Negotiation, submitter string,
) (*client.Negotiation, error) {
	who := client.Submitter{Name: submitter, Tag: c.submitters[submitter].Tag, Significant: c.significant}
	if n != nil {
		return n, n.Next(who)
	}
	// Whoever may advertise submitters may advertise another's capability.
	key, err := security.ParseKey(c.capability)
	if c.capability != "" && err == nil {
		if n, err = c.with.Negotiate(ctx, who, &key); err == nil || ctx.Err() != nil {
			return n, err
		}
	}
	n, own := c.with.Negotiate(ctx, who, nil)
	if own != nil && c.capability != "" {
		own = fmt.Errorf("%w; with the capability that schedd %s advertises: %w", own, c.name, err)
	}
	return n, own
}

// match tells the schedd of matches, and returns those that were sent. A match at which the
// connection broke may have arrived, and counts as sent.
func (c *conversation) match(ctx context.Context, bySubmitter map[string][]claims.Grant) (sent []claims.Grant, err error) {
	err = c.each(ctx, slices.Sorted(maps.Keys(bySubmitter)), func(n *client.Negotiation, submitter string) error {
		for _, g := range bySubmitter[submitter] {
			sent = append(sent, g)
			failed := n.Match(client.Grant{
				Cluster: g.Cluster, Proc: g.Proc, Claim: g.Claim, Slot: g.Ad, Limits: g.Limits, Lock: g.Lock,
			})
			if failed != nil {
				return failed
			}
		}
		return nil
	})
	return sent, err
}

// reject tells the schedd why jobs wait, and returns the reasons that it told.
func (c *conversation) reject(ctx context.Context, bySubmitter map[string][]claims.Reason) (told []claims.Reason, err error) {
	err = c.each(ctx, slices.Sorted(maps.Keys(bySubmitter)), func(n *client.Negotiation, submitter string) error {
		for _, r := range bySubmitter[submitter] {
			if failed := n.Reject(r.Job.Cluster, r.Job.Proc, r.Why); failed != nil {
				return failed
			}
			told = append(told, r)
		}
		return nil
	})
	return told, err
}

// each tells the schedd what there is to say of each submitter. After an error with one submitter, it
// goes on with the next over a new connection; it stops if it cannot connect.
func (c *conversation) each(
	ctx context.Context, submitters []string, tell func(*client.Negotiation, string) error,
) (failed error) {
	var n *client.Negotiation
	hangUp := func() {
		if n != nil {
			n.Close()
		}
		n = nil
	}
	defer hangUp()
	for _, submitter := range submitters {
		began, err := c.begin(ctx, n, submitter)
		if began == nil {
			return errors.Join(failed, err) // nobody is there
		}
		n = began
		if err == nil {
			err = tell(n, submitter)
		}
		if err == nil {
			err = n.End()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("submitter %s: %w", submitter, err))
			hangUp()
		}
	}
	return failed
}
