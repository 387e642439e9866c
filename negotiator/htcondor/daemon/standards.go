package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Several of our negotiators share priorities if one keeps the accounts, the ledger, and the others
// follow it: each names it as BACKFILL_PRIORITIES_OF, and asks it after each cycle. The ledger charges
// what runs on the others' slots by their Accounting ads. No cycle waits for that.

// standardsPatience is how long another daemon may take to answer.
const standardsPatience = 10 * time.Second

// standardsPart says how seldom others are asked: that takes such a part of the time, however many
// accounts there are; but after standardsPatience they are asked again.
const standardsPart = 20

// shareStandards asks for priorities, or for what others use, after cycles, until the context ends.
func (d *Daemon) shareStandards(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.sharing:
		}
		pool := d.pool.Load()
		if pool == nil || d.o.Accountant == nil || d.o.Observe {
			continue
		}
		before := time.Now()
		asking, done := context.WithTimeout(ctx, standardsPatience)
		err := d.standardsOf(asking, (*pool).Last().Negotiators)
		done()
		if ctx.Err() != nil {
			return
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		d.change(func(s *status) { s.unshared = text })
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(standardsPart*time.Since(before), standardsPatience)):
		}
	}
}

// standardsOf follows the ledger, or as the ledger charges what the others use.
func (d *Daemon) standardsOf(ctx context.Context, others []observe.Other) error {
	if ledger := d.tuned.Load().PrioritiesOf; ledger != "" {
		return d.followLedger(ctx, ledger, others)
	}
	var names []string
	for _, o := range others {
		if o.Ours && o.Name != d.o.Name && isCalled(d.o.Name, o.PrioritiesOf) {
			names = append(names, o.Name)
		}
	}
	if names == nil {
		d.o.Accountant.ChargeElsewhere(nil)
		return nil
	}
	use, err := d.usedBy(ctx, names)
	if err != nil {
		return fmt.Errorf("what runs on the slots of %s is charged as it was before: %w", strings.Join(names, ", "), err)
	}
	d.o.Accountant.ChargeElsewhere(use)
	return nil
}

// followLedger takes over the priorities of the negotiator of this name.
func (d *Daemon) followLedger(ctx context.Context, name string, others []observe.Other) error {
	const goesOn = "user priorities age here from those of before, by what runs on our own slots"
	d.o.Accountant.ChargeElsewhere(nil)
	i := slices.IndexFunc(others, func(o observe.Other) bool { return isCalled(o.Name, name) && o.Name != d.o.Name })
	switch {
	case isCalled(d.o.Name, name):
		return fmt.Errorf("BACKFILL_PRIORITIES_OF = %s: that is this negotiator: unset it here", name)
	case i < 0:
		return fmt.Errorf("%s: the collector knows no negotiator %s (BACKFILL_PRIORITIES_OF)", goesOn, name)
	case others[i].PrioritiesOf != "":
		return fmt.Errorf("%s: %s (BACKFILL_PRIORITIES_OF) does not keep the accounts, but names %s", goesOn, name,
			others[i].PrioritiesOf)
	}
	all, err := d.o.Standards(ctx, others[i].Address)
	if err != nil {
		return fmt.Errorf("%s: %w", goesOn, err)
	}
	d.o.Accountant.Follow(all)
	return nil
}

// isCalled tells whether a negotiator's name is that, with or without its host.
func isCalled(name, called string) bool {
	bare, _, _ := strings.Cut(name, "@")
	return called != "" && (strings.EqualFold(name, called) || strings.EqualFold(bare, called))
}

// usedBy adds up what submitters use of the slots of other negotiators, by their Accounting ads.
func (d *Daemon) usedBy(ctx context.Context, names []string) (map[string]accountant.Use, error) {
	quoted := make([]string, len(names))
	for i, name := range names {
		ad := classad.New()
		ad.SetString("Name", name)
		text, _ := ad.Lookup("Name")
		quoted[i] = "NegotiatorName =?= " + text.String()
	}
	types := []client.AdType{{
		Name: "Accounting", Requirements: strings.Join(quoted, " || "),
		Projection: []string{"Name", "NegotiatorName", "IsAccountingGroup", "ResourcesUsed", "WeightedResourcesUsed"},
	}}
	each := map[string]map[string]accountant.Use{} // by negotiator: several collectors may tell the same
	err := d.o.Collector.QueryEach(ctx, types, func(lines cedar.Lines) error {
		ad, wrong := lines.Ad()
		if wrong != nil { // others can be charged
			return nil
		}
		whose, _ := ad.Literal("NegotiatorName").Text()
		if name, u, ok := accountant.ReadUse(ad); ok {
			if each[whose] == nil {
				each[whose] = map[string]accountant.Use{}
			}
			each[whose][name] = u
		}
		return nil
	})
	sum := map[string]accountant.Use{}
	for _, used := range each {
		for name, u := range used {
			sum[name] = accountant.Use{Slots: sum[name].Slots + u.Slots, Weight: sum[name].Weight + u.Weight}
		}
	}
	return sum, err
}

// unshared is why priorities are not shared as they should be, for the next cycle to tell.
func (d *Daemon) unshared() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.status.unshared == "" {
		return nil
	}
	return []string{d.status.unshared}
}

// AskStandards returns the function that asks the negotiator at an address for its priorities.
func AskStandards(c *security.Client) func(context.Context, string) ([]accountant.Standard, error) {
	return func(ctx context.Context, address string) (all []accountant.Standard, err error) {
		a, err := cedar.ParseAddress(address)
		if err != nil {
			return nil, err
		}
		err = client.Negotiator{Security: c, Address: a}.Accounts(ctx, func(ad *classad.ClassAd) {
			if s, ok := accountant.ReadStandard(ad); ok {
				all = append(all, s)
			}
		})
		return all, err
	}
}
