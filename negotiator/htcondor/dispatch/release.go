package dispatch

import (
	"context"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// release tells schedds which claims of gangs, jobs of several chunks, have ended, once no startd
// has them any more. It does so in the background, and passes over a schedd that is slow or is
// being told something already.
func (d *Dispatcher) release(ctx context.Context) {
	d.hearReleased()
	for name, gangs := range d.claims.Leftovers(d.now()) {
		s := d.schedds[name]
		if s == nil || s.Failed != nil || s.Late {
			continue
		}
		l := d.line(name)
		if l.slow || l.telling != nil || l.releasing != nil {
			continue
		}
		answer := make(chan released, 1)
		l.releasing = answer
		collector, to, hold := d.s.Collector, client.Schedd{Security: d.s.Security, Address: s.Address}, d.s.Hold
		go func() {
			within, cancel := context.WithTimeout(ctx, hold)
			defer cancel()
			answer <- releaseAt(within, collector, to, gangs)
		}()
	}
}

// released is the result of releaseAt: the gangs whose claims the schedd was told have ended, and
// the error that stopped it.
type released struct {
	gangs []*claims.Leftover
	err   error
}

// releaseAt tells one schedd to release the claims of gangs, jobs of several chunks, that have
// ended; it leaves out a gang if a startd still advertises one of its claims. It stops at the first
// error.
func releaseAt(ctx context.Context, collector *client.Collector, to client.Schedd, gangs []*claims.Leftover) (r released) {
	var ids []string
	for _, l := range gangs {
		for _, claim := range l.Claims {
			ids = append(ids, security.PublicClaim(claim))
		}
	}
	held := map[string]bool{}
	r.err = collector.Query(ctx, []client.AdType{{
		Name: "Machine", Requirements: memberOf("PublicClaimId", ids), Projection: []string{"PublicClaimId"},
	}}, func(lines cedar.Lines) error {
		id, _ := lines.Find("PublicClaimId")
		held[string(id)] = true
		return nil
	})
	isHeld := func(claim string) bool { return held[quote(security.PublicClaim(claim))] }
	for _, l := range gangs {
		if slices.ContainsFunc(l.Claims, isHeld) {
			continue
		}
		for _, claim := range l.Claims {
			if r.err == nil {
				r.err = to.Release(ctx, claim)
			}
		}
		if r.err != nil {
			break
		}
		r.gangs = append(r.gangs, l)
	}
	return r
}

// hearReleased takes in the results of releaseAt that have come meanwhile.
func (d *Dispatcher) hearReleased() {
	for name, l := range d.lines {
		select {
		case r := <-l.releasing:
			l.releasing = nil
			d.claims.Released(r.gangs)
			for _, gang := range r.gangs {
				d.log.Debug("told that the claims of a gang have ended", "schedd", name, "slots", gang.Slots)
			}
			if r.err != nil {
				d.log.Warn("a schedd cannot be told that the claims of a gang have ended; this is tried again",
					"schedd", name, "error", r.err)
			}
		default:
		}
	}
}
