package dispatch

import (
	"context"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// AskStartds finds out which claims of flights, jobs under way, are over or were never asked for,
// as their startds have told the collector. It reports whether some are: then the next look at the
// pool tells whether the starts have failed.
func (d *Dispatcher) AskStartds(ctx context.Context) (found bool) {
	doubts := d.claims.Doubts()
	names := map[string]bool{}
	for _, doubt := range doubts {
		for _, at := range doubt.Places {
			names[at.Slot] = true
		}
	}
	if len(names) == 0 {
		return false
	}
	began, requirements := d.now(), d.onlySlots(names)
	ctx, cancel := context.WithTimeout(ctx, d.s.Hold)
	defer cancel()
	startds := map[string]*startdClaims{}
	err := d.s.Collector.Query(ctx, []client.AdType{
		{
			Name: "Machine", Requirements: requirements,
			Projection: []string{"Name", "MyAddress", "State", "PartitionableSlot"},
		},
		{
			Name: "MachinePrivate", Requirements: requirements,
			Projection: []string{"Name", "MyAddress", "ClaimId", "ClaimIdList", "ChildClaimIds"},
		},
	}, func(lines cedar.Lines) error {
		// An error is not logged, since it may show a claim id: nothing is known of the slot then.
		ad, err := lines.Ad()
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if name, _ := ad.Literal("Name").Text(); d.isOwn(name, ad) {
			readClaims(startds, ad)
		}
		return nil
	})
	if err != nil {
		return false // the next look at the pool says what is wrong with the collector
	}
	for _, doubt := range doubts {
		startd := startds[doubt.Places[0].Slot]
		switch {
		case !slices.ContainsFunc(doubt.Claims, func(claim string) bool { return !startd.isOver(claim) }):
			found = doubt.Over(began) || found
		case !slices.ContainsFunc(doubt.Claims, func(claim string) bool { return !startd.isOffered(claim) }):
			found = doubt.Unused(began) || found
		}
	}
	return found
}

// startdClaims are the claims of a slot and its dynamic slots as its startd advertises them;
// secrets.
type startdClaims struct {
	address       string
	partitionable bool
	known         bool            // all of them are known
	ids           map[string]bool // whether the claim is offered; else a dynamic slot has it
}

// isOver tells whether a claim is none of those any more. If not all are known, it may be.
func (c *startdClaims) isOver(claim string) bool {
	if c == nil || !c.known {
		return false
	}
	_, there := c.ids[claim]
	return !there
}

// isOffered tells whether nobody has asked for a claim.
func (c *startdClaims) isOffered(claim string) bool { return c != nil && c.ids[claim] }

// readClaims adds to the claims of slots what a slot's ad says, or its private ad, which must come
// later. While a slot is claimed or its job vacates it, its private ad has the claim that may take
// its place, and not the claim itself.
func readClaims(bySlot map[string]*startdClaims, ad *classad.ClassAd) {
	name, _ := ad.Literal("Name").Text()
	address, _ := ad.Literal("MyAddress").Text()
	if state, isSlot := ad.Literal("State").Text(); isSlot {
		if state == "Claimed" || state == "Preempting" {
			return
		}
		partitionable, _ := ad.Literal("PartitionableSlot").Bool()
		bySlot[name] = &startdClaims{address: address, partitionable: partitionable, ids: map[string]bool{}}
		return
	}
	c := bySlot[name]
	id, has := ad.Literal("ClaimId").Text()
	if c == nil || c.address != address || !has {
		return
	}
	c.ids[id] = true
	list, _ := ad.Literal("ClaimIdList").Text()
	for id := range strings.FieldsSeq(list) {
		c.ids[id] = true
	}
	children, has := observe.Texts(ad, "ChildClaimIds")
	for _, id := range children {
		c.ids[id] = false
	}
	c.known = has || !c.partitionable
}
