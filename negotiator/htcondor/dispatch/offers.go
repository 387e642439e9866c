package dispatch

import (
	"context"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// among returns an expression that is true of ads whose Name is one of the names, which must be
// folded by [ast.Fold] and sorted. The collector evaluates it for every ad that it has, so the
// expression is a binary search.
func among(names []string) string {
	if middle := len(names) / 2; len(names) > 8 {
		return "(Name < " + quote(names[middle]) + " ? " + among(names[:middle]) + " : " + among(names[middle:]) + ")"
	}
	return memberOf("Name", names)
}

// memberOf returns an expression that is true of ads whose attribute is one of the texts.
func memberOf(attribute string, texts []string) string {
	b := []byte("member(" + attribute + ", {")
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(text)...)
	}
	return string(b) + "})"
}

// quote writes a text as a quoted string, as in ads on the wire.
func quote(text string) string { return string(ast.AppendString(nil, text, ast.Line)) }

// fewSlots is the number up to which slots are asked for by name, even if they are most of the
// pool.
const fewSlots = 200

// onlySlots returns a constraint for the slots of these names; "" if it is cheaper to ask for all.
func (d *Dispatcher) onlySlots(names map[string]bool) string {
	if 2*len(names) >= d.claims.Slots() && len(names) > fewSlots {
		return ""
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		if !strings.HasSuffix(name, `\`) { // on the wire such a text has no end
			sorted = append(sorted, ast.Fold(name))
		}
	}
	slices.Sort(sorted)
	return among(sorted)
}

// offers asks the collector for slots, and returns them by name: their whole ads, as the schedds
// need them, and their claim ids.
func (d *Dispatcher) offers(ctx context.Context, names map[string]bool) (map[string]*claims.Offer, error) {
	requirements := d.onlySlots(names)
	ctx, cancel := context.WithTimeout(ctx, d.s.Patience)
	defer cancel()
	types := []client.AdType{
		{Name: "Machine", Requirements: requirements},
		{
			Name: "MachinePrivate", Requirements: requirements,
			Projection: []string{"Name", "MyAddress", "ClaimId", "ClaimIdList"},
		},
	}
	offers := map[string]*claims.Offer{}
	err := d.s.Collector.Query(ctx, types, func(lines cedar.Lines) error {
		quoted, _ := lines.Find("Name")
		name := strings.Trim(string(quoted), `"`)
		if !names[name] {
			return nil
		}
		ad, err := lines.Ad()
		if err != nil {
			// The error is not logged: it may show a claim id.
			d.log.Warn("a slot ad is left out: it cannot be read", "slot", string(quoted))
			return nil
		}
		if d.isOwn(name, ad) {
			d.readOffer(offers, ad)
		}
		return nil
	})
	return offers, err
}

// isOwn tells whether an ad with a slot's name comes from the startd whose slot the last look saw.
func (d *Dispatcher) isOwn(slot string, ad *classad.ClassAd) bool {
	address, _ := ad.Literal("MyAddress").Text()
	return d.claims.Observed(slot).IsOf(address)
}

// readOffer adds a slot's ad to the offers, or the claim ids of its private ad, which must come
// later.
func (d *Dispatcher) readOffer(offers map[string]*claims.Offer, ad *classad.ClassAd) {
	name, _ := ad.Literal("Name").Text()
	if _, isSlot := ad.Lookup("State"); isSlot {
		if !d.claims.Observed(name).Restore(ad) {
			return
		}
		free := observe.Amounts(ad, d.s.Schema.Resources, &classad.Host{Now: d.now().Unix})
		o := &claims.Offer{Ad: ad, Free: free, Open: observe.Claimable(ad), Claimed: observe.IsClaimed(ad)}
		o.Free[len(o.Free)-1] = 1
		if partitionable, _ := ad.Literal("PartitionableSlot").Bool(); partitionable {
			o.Free[len(o.Free)-1] = observe.Unlimited
		}
		for added, e := range d.added.All() {
			_ = ad.SetExpr(added, e.String()) // it was read from such a text
		}
		offers[name] = o
		return
	}
	o := offers[name]
	if o == nil {
		return
	}
	mine, _ := o.Ad.Literal("MyAddress").Text()
	if its, given := ad.Literal("MyAddress").Text(); given && its != mine {
		return // of a startd that was there before
	}
	ids, several := ad.Literal("ClaimIdList").Text()
	if !several {
		ids, _ = ad.Literal("ClaimId").Text()
	}
	o.Claims = slices.AppendSeq(o.Claims, strings.FieldsSeq(ids))
}
