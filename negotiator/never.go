package negotiator

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// candidatesOf returns the candidates of an autocluster; nil: there are none, or they are not known.
func (n *Negotiator) candidatesOf(cluster int) *backfill.Candidates {
	if set, pending := n.scavengers.pending[cluster]; pending {
		return &set.Candidates
	}
	if sets := n.State().CandidateSets(); cluster < len(sets) {
		return sets[cluster]
	}
	return nil
}

// lacking says of which resource each chunk of a job that never fits requests more than any of its slots has, to
// stand behind the reason; "": that is not why.
func (n *Negotiator) lacking(j *backfill.Job) string {
	s, candidates := n.State(), n.candidatesOf(j.Candidates)
	if len(n.inventory.bundles) > 0 || candidates == nil {
		return ""
	}
	for k, name := range s.Resources() {
		most := int64(0)
		for _, id := range candidates.Slots {
			most = max(most, s.Slots()[id].Capacity[k])
		}
		if j.Request[k] > most && !IsCount(name) {
			return fmt.Sprintf(": it requests %d %s, and none that it matches has more than %d", j.Request[k], name, most)
		}
	}
	return ""
}
