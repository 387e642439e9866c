package matchmaker

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// mostRefers is how many steps it may take to follow what a slot's ad refers to, which can be quadratic
// in its size. Two thousand names take 200,000.
const mostRefers = 500_000

// mostNames is how many attribute names are remembered of jobs, and about how many of slots.
const mostNames = 1 << 16

// notice adds the attributes of a job to which a slot's or a bundle's expressions refer to those that
// matter. All expressions count, not Requirements and Rank alone, as a job's expressions may refer to
// any attribute of the slot. It reports whether an attribute is new that a job has which was clustered:
// the others are alike without it; or whether it is the first ad with a rank of the pool's. It returns
// all if the references did not take too many steps.
func (m *Matchmaker) notice(ad *classad.ClassAd) (divides, all bool) {
	var meter classad.Meter
	for name, e := range ad.All() {
		if !m.ranked && isRank(name) {
			m.ranked, divides = true, true // what was found so far takes no account of ranks
		}
		_, external, _ := m.refs(e, ad, &meter) // a circular reference is an error on both sides
		if meter.Exceeded() > 0 {
			return divides, false
		}
		for _, name := range external {
			name = strings.ToLower(name)
			if !m.seen[name] {
				m.seen[name], divides = true, divides || m.hadAll || m.had[name]
			}
		}
	}
	return divides, true
}

// forget drops the names to which no slot and no bundle refers any more, if there are very many.
func (m *Matchmaker) forget() {
	if len(m.seen) <= m.mostSeen {
		return
	}
	m.seen = map[string]bool{}
	for i := range m.slots {
		if !m.slots[i].barred {
			m.notice(m.slots[i].ad)
		}
	}
	for _, b := range m.bundles {
		m.notice(b.Ad)
	}
	m.mostSeen = max(mostNames, 2*len(m.seen))
}

// refs returns what an expression refers to, within a limit of steps if there are limits.
func (m *Matchmaker) refs(e *classad.Expr, ad *classad.ClassAd, meter *classad.Meter) (internal, external []string, err error) {
	if m.limits == (Limits{}) {
		return e.Refs(ad)
	}
	return classad.Scope{My: ad, MaxSteps: max(1, mostRefers-int(meter.Steps())), Meter: meter}.Refs(e)
}

// remember notes which attributes the ad of a job has, in a pool with limits: in others, slots do not
// make up names to have all jobs matched anew. When jobs have very many, all names count as had until
// the jobs are clustered anew.
func (m *Matchmaker) remember(ad *classad.ClassAd) {
	if m.hadAll {
		return
	}
	for name := range ad.All() {
		if !m.spelled[name] {
			m.spelled[name], m.had[strings.ToLower(name)] = true, true
		}
	}
	if len(m.spelled) > mostNames {
		m.hadAll, m.had, m.spelled = true, nil, nil
	}
}

// clusterAnew voids all autoclusters: their jobs may differ in an attribute to which slots refer now.
func (m *Matchmaker) clusterAnew() {
	clear(m.byText)
	m.forgetAds()
	for _, c := range m.clusters {
		c.void, m.open = true, true
	}
	m.hadAll, m.had, m.spelled = m.limits == (Limits{}), map[string]bool{}, map[string]bool{}
}

// asks returns the attributes of a slot on which a match with a job's ad can depend, lower case:
// those to which the significant attributes of the job refer, and the slot's own Requirements and
// ranks.
func (m *Matchmaker) asks(ad *classad.ClassAd) map[string]bool {
	asked := map[string]bool{"requirements": true, "rank": true}
	if m.ranked {
		asked[strings.ToLower(PreJobRank)], asked[strings.ToLower(PostJobRank)] = true, true
	}
	for _, name := range m.significant(ad) {
		e, _ := ad.Lookup(name)
		_, external, _ := e.Refs(ad) // including what the attributes within the ad refer to
		for _, name := range external {
			asked[strings.ToLower(name)] = true
		}
	}
	return asked
}

// significant returns the attributes of a job's ad that matter: those that always do, and those to
// which slots refer.
func (m *Matchmaker) significant(ad *classad.ClassAd) (names []string) {
	for name := range ad.All() {
		if key := strings.ToLower(name); m.always[key] || m.seen[key] {
			names = append(names, key)
		}
	}
	return names
}

// describe prints the named attributes of an ad and those to which they refer within it, one a
// line. Ads that agree in the text of the significant attributes cannot be told apart.
func describe(ad *classad.ClassAd, names ...string) string {
	all := map[string]bool{}
	for _, name := range names {
		e, ok := ad.Lookup(name)
		if !ok {
			continue
		}
		all[name] = true
		internal, _, _ := e.Refs(ad) // a circular reference is an error, wherever it leads
		for _, n := range internal {
			all[strings.ToLower(n)] = true
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if e, ok := ad.Lookup(name); ok {
			text.WriteString(name + " = " + e.String() + "\n")
		}
	}
	return text.String()
}
