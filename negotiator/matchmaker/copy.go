package matchmaker

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Copy is what a matchmaker knows, for questions that are answered while it goes on. It shares ads
// and candidates, which never change. It is not safe for concurrent use.
type Copy struct {
	m     *Matchmaker // has no autoclusters, and keeps nothing of what it compares
	kinds []jobKind
}

// jobKind is an autocluster as it stands, which has jobs and is matched.
type jobKind struct {
	id         int
	ad         *classad.ClassAd
	request    backfill.Vector // of each chunk, if that depends on the slot; else nil
	candidates backfill.Candidates
	prefers    []preference // by rank class
}

// Copy copies the matchmaker between two calls of Match. It evaluates nothing, and takes about as
// long as to count the slots and the autoclusters.
func (m *Matchmaker) Copy() *Copy {
	c := &Copy{m: &Matchmaker{
		always: m.always, amounts: m.amounts, resources: m.resources, limits: m.limits, world: m.world, windows: map[any][]backfill.Window{},
		slots: slices.Clone(m.slots), bundles: slices.Clip(m.bundles), ranked: m.ranked,
		ownSteps: maps.Clone(m.ownSteps), unbearable: m.unbearable, seen: maps.Clone(m.seen),
		views: map[string]*view{}, fault: m.accounts.limits.User,
	}}
	c.m.setHost()
	c.m.setClock(backfill.Time(m.clock.now - m.world.Start))
	for i := range c.m.slots {
		c.m.slots[i].texts = nil
	}
	for _, cluster := range m.clusters {
		if len(cluster.users) == 0 || cluster.void || !cluster.complete {
			continue
		}
		kind := jobKind{cluster.ID, cluster.ad, nil, cluster.candidates, cluster.prefers}
		if cluster.depends {
			kind.request = cluster.Request
		}
		if kind.prefers == nil {
			kind.prefers = []preference{cluster.rank}
		}
		c.kinds = append(c.kinds, kind)
	}
	return c
}
