package observe

import (
	"context"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// Freed asks the collector whether a slot has more to give than at the last look, as when a job
// has ended before its estimate: nobody tells a negotiator. The collector sends only what startds
// have told it since that look, so Freed costs a small part of what another look does.
func (o *Observer) Freed(ctx context.Context) (freed bool, err error) {
	heard := int64(0)
	for _, s := range o.slots {
		heard = max(heard, s.heard)
	}
	heard = min(heard, o.looked.Unix()) // whatever a startd says
	requirements := fmt.Sprintf("LastHeardFrom >= %d && DynamicSlot =!= true", heard)
	if o.s.SlotConstraint != "" {
		requirements = fmt.Sprintf("%s && (%s)", requirements, o.s.SlotConstraint)
	}
	err = o.s.Collector.Query(ctx, []client.AdType{{
		Name: "Machine", Requirements: requirements,
		Projection: append([]string{
			"Name", "MyAddress", "State", "Activity", "Offline", "UpdateSequenceNumber", "MyCurrentTime",
			identityAttribute,
		}, o.s.Schema.Resources...),
	}}, func(lines cedar.Lines) error {
		ad, wrong := lines.Ad()
		freed = freed || wrong == nil && o.isFreer(ad) // the next look says what is wrong
		return nil
	})
	return freed, err
}

// isFreer tells whether a slot has more to give, by a newer ad than the last look saw.
func (o *Observer) isFreer(ad *classad.ClassAd) bool {
	if !Claimable(ad) {
		return false
	}
	name, _ := ad.Literal("Name").Text()
	s := o.slots[name]
	if s == nil {
		return checkSlot(name) == nil // else no look will know it
	}
	if address, _ := ad.Literal("MyAddress").Text(); !s.IsOf(address) || senderOf(ad).isWeaker(s.sender) {
		return false
	}
	if sequence, made := version(ad); sequence == s.sequence && made == s.made {
		return false
	}
	for i, amount := range Amounts(ad, o.s.Schema.Resources, o.s.host(o.looked)) {
		if amount > s.Free[i] && !strings.EqualFold(o.s.Schema.Resources[i], Claims) {
			return true
		}
	}
	return false
}
