package accountant

import (
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Report returns the reply to GET_PRIORITY or, with rollup, to GET_PRIORITY_ROLLUP, in which groups
// show the sums of their subtrees. Attributes are numbered from 1: groups first, parents before
// their subgroups, then submitters by name.
func (a *Accountant) Report(rollup bool) *classad.ClassAd {
	a.mu.Lock()
	defer a.mu.Unlock()
	ad := classad.New()
	ad.SetInt("LastUpdate", a.clock.Updated)
	for limit, used := range a.limits {
		ad.SetReal("ConcurrencyLimit_"+strings.ReplaceAll(limit, ".", "_"), used)
	}
	n := 0
	number := func() string { n++; return strconv.Itoa(n) }
	sums := map[*group]*account{}
	if rollup {
		a.rollup(sums, a.tree.root)
	}
	for _, g := range a.tree.all {
		r, suffix := a.account(g.Name), number()
		priority, factor := a.effective(g.Name), g.Factor
		if rollup {
			priority, factor, r = 0, a.factor(r), sums[g]
		}
		a.tree.describe(ad, g, suffix)
		describeUse(ad, r, suffix)
		ad.SetReal("Priority"+suffix, priority)
		ad.SetReal("PriorityFactor"+suffix, factor)
		ad.SetReal("HierWeightedResourcesUsed"+suffix, a.account(g.Name).subtree)
	}
	for _, r := range a.sorted() {
		if !r.isGroup {
			a.describeSubmitter(ad, r, number())
		}
	}
	ad.SetInt("NumSubmittors", int64(n))
	return ad
}

// rollup returns the sum of the accounts of a group and of all groups below it, and stores it, and
// the sum for each of these groups, in the map.
func (a *Accountant) rollup(sums map[*group]*account, g *group) *account {
	sum := *a.account(g.Name)
	sums[g] = &sum
	for _, child := range g.children {
		c := a.rollup(sums, child)
		sum.Use.Slots += c.Use.Slots
		sum.Use.Weight += c.Use.Weight
		sum.Used += c.Used
		sum.Weighted += c.Weighted
		sum.Begin = min(sum.Begin, c.Begin)
		sum.Last = max(sum.Last, c.Last)
	}
	return &sum
}

// Ads returns the Accounting ads, one per group and submitter: the answer to QUERY_ACCOUNTING_ADS.
func (a *Accountant) Ads() []*classad.ClassAd { return a.ads(false) }

// ActiveAds returns the ads that UPDATE_ACCOUNTING_AD sends to the collector: those of all groups,
// and of the submitters that use something or had waiting jobs at the last Divide.
func (a *Accountant) ActiveAds() []*classad.ClassAd { return a.ads(true) }

func (a *Accountant) ads(active bool) (ads []*classad.ClassAd) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.tree.all {
		ad, r := a.newAd(), a.account(g.Name)
		a.tree.describe(ad, g, "")
		describeUse(ad, r, "")
		ad.SetReal("Priority", a.effective(g.Name))
		ad.SetReal("PriorityFactor", a.factor(r))
		ads = append(ads, ad)
	}
	for _, r := range a.sorted() {
		if r.isGroup || active && !r.waiting && r.Use == (Use{}) {
			continue
		}
		ad := a.newAd()
		a.describeSubmitter(ad, r, "")
		ads = append(ads, ad)
	}
	return ads
}

func (a *Accountant) newAd() *classad.ClassAd {
	ad := classad.New()
	ad.SetString("MyType", "Accounting")
	ad.SetString("NegotiatorName", a.settings.NegotiatorName)
	ad.SetInt("LastUpdate", a.clock.Updated)
	return ad
}

func (t *tree) describe(ad *classad.ClassAd, g *group, suffix string) {
	above := g.Name
	if g.parent != nil {
		above = g.parent.Name
	}
	ad.SetString("Name"+suffix, g.Name)
	ad.SetBool("IsAccountingGroup"+suffix, true)
	ad.SetString("AccountingGroup"+suffix, above)
	ad.SetReal("ConfigQuota"+suffix, g.Quota)
	ad.SetReal("EffectiveQuota"+suffix, g.quota)
	ad.SetReal("SubtreeQuota"+suffix, g.subtreeQuota)
	ad.SetReal("GroupSortKey"+suffix, t.sortKey(g))
	ad.SetString("SurplusPolicy"+suffix, g.surplusPolicy())
	ad.SetReal("Requested"+suffix, g.requested)
}

func describeUse(ad *classad.ClassAd, r *account, suffix string) {
	ad.SetInt("ResourcesUsed"+suffix, int64(r.Use.Slots))
	ad.SetReal("WeightedResourcesUsed"+suffix, r.Use.Weight)
	ad.SetReal("AccumulatedUsage"+suffix, r.Used)
	ad.SetReal("WeightedAccumulatedUsage"+suffix, r.Weighted)
	ad.SetInt("BeginUsageTime"+suffix, r.Begin)
	ad.SetInt("LastUsageTime"+suffix, r.Last)
}

func (a *Accountant) describeSubmitter(ad *classad.ClassAd, r *account, suffix string) {
	ad.SetString("Name"+suffix, r.name)
	ad.SetBool("IsAccountingGroup"+suffix, false)
	ad.SetString("AccountingGroup"+suffix, r.group.Name)
	describeUse(ad, r, suffix)
	ad.SetReal("Priority"+suffix, a.effective(r.name))
	ad.SetReal("PriorityFactor"+suffix, a.factor(r))
	ad.SetInt("Ceiling"+suffix, r.Ceiling)
	ad.SetInt("Floor"+suffix, r.Floor)
	ad.SetReal("SubmitterShare"+suffix, r.share)
	ad.SetReal("SubmitterLimit"+suffix, r.limit)
}
