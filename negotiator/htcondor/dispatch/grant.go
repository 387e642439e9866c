package dispatch

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// match is a claim for one chunk of a flight, a job under way, and what the chunk takes.
type match struct {
	client.Grant
	flight    *flight
	submitter string
	slot      string
	request   backfill.Vector
}

// grantAll takes claims for the flights, the jobs under way, out of what the slots offer, and
// returns them as matches, by schedd and submitter. In a flight that gets none it notes why. If a
// slot that a flight waits for serves another flight now, the time that the first may stand still
// begins anew.
func (d *Dispatcher) grantAll(
	flights []*flight, submitters map[*flight]string, offers map[string]*offer,
) map[string]map[string][]match {
	bySchedd := map[string]map[string][]match{}
	served, gangs := map[string]bool{}, map[string]bool{} // by slot; by schedd that is given a gang's slots
	lent := d.lendings(flights, offers)
	for _, f := range flights {
		schedd, gang := f.job.Key.Schedd, f.job.Group.Spec.Parallel
		if gang {
			if why := d.mustWait(f, gangs[schedd]); why != "" {
				f.why = why
				continue
			}
		}
		l := lent[f]
		if l != nil && l.granted && len(offers[l.Slot].claims) == 0 && !d.single[l.Slot] {
			d.ride(f)
			continue
		}
		matches, why := d.grant(f, offers, l)
		if why != "" {
			f.why = why
			continue
		}
		for _, m := range matches {
			served[m.slot] = true
		}
		if l != nil && !l.granted {
			l.granted = true
			d.leases = append(d.leases, l.Lease)
			d.log.Debug("lent", "slot", l.Slot, "schedd", l.Schedd, "submitter", l.Submitter, "until", l.Until,
				"jobs", len(l.Jobs))
		}
		gangs[schedd] = gangs[schedd] || gang
		if bySchedd[schedd] == nil {
			bySchedd[schedd] = map[string][]match{}
		}
		bySchedd[schedd][submitters[f]] = append(bySchedd[schedd][submitters[f]], matches...)
	}
	for _, f := range flights {
		for _, at := range f.rest {
			if served[at.Slot] {
				f.moved = d.now()
				break
			}
		}
	}
	return bySchedd
}

// grant takes what is left to hand over of a flight out of the offers, lent if l is not nil, or
// returns why it cannot: all of the resources must be free. If a slot advertises fewer claim ids than chunks, some chunks
// are granted now, and the others when the slot has new ids, which it makes as the first are used.
func (d *Dispatcher) grant(f *flight, offers map[string]*offer, l *lending) (matches []match, why string) {
	j := f.job
	for _, at := range f.rest {
		if why = d.withheld(f, at.Slot, at.Chunks, offers[at.Slot]); why != "" {
			return nil, why
		}
	}
	for _, at := range f.rest {
		o := offers[at.Slot]
		for _, claim := range o.claims[:min(at.Chunks, len(o.claims))] {
			grant := client.Grant{
				Cluster: j.Key.Cluster, Proc: j.Group.Proc(j.Key, len(f.claims)+len(matches)), Claim: claim, Slot: o.ad,
				Limits: j.Spec.Limits,
			}
			if l != nil {
				grant.Slot, grant.Open = l.ad, true
			}
			matches = append(matches, match{grant, f, j.Submitter(), at.Slot, j.Spec.Request})
			o.take(j.Spec.Request)
			o.claims, o.used = o.claims[1:], true
		}
	}
	return matches, ""
}

// withheld returns why a slot does not give a job its chunks now; "" if it does.
func (d *Dispatcher) withheld(f *flight, slot string, chunks int, o *offer) string {
	j := f.job
	switch {
	case d.isLeftOut(slot, j, d.now()):
		return "slot " + slot + " is left out for a while: starts fail there"
	case o == nil:
		return "slot " + slot + " is not advertised"
	case j.Spec.Parallel && d.stale(slot):
		return "slot " + slot + " was a gang's until a moment ago"
	case !o.open:
		return "slot " + slot + " is not free yet"
	case !classad.Pair{Left: j.Spec.Ad, Right: o.ad, MaxSteps: classad.FewSteps}.RightMatchesLeft():
		return "its Requirements are not true of slot " + slot + " any more"
	case len(o.claims) == 0 || len(o.claims) < chunks && o.used:
		return "slot " + slot + " has no claim to give yet"
	}
	for i, amount := range j.Spec.Request {
		if need := amount * int64(chunks); need > o.free[i] {
			return fmt.Sprintf("slot %s has %d %s free, not yet the %d that are needed",
				slot, o.free[i], d.s.Schema.Resources[i], need)
		}
	}
	return ""
}
