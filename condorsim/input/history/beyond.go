package history

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Attributes lists the attributes by which jobs ask for more than a trace has a place for, besides resources:
// which slots they may use, which of them they prefer, and what they take of the pool's limits.
func Attributes() []string { return []string{"ConcurrencyLimits", "Rank", "Requirements"} }

// noteBeyond notes what an ad asks for that a trace has no place for.
func (c *collector) noteBeyond(ad *classad.ClassAd) {
	for name := range ad.All() {
		resource, asks := other(name)
		if !asks || c.beyond[resource] {
			continue
		}
		if amount, isNumber := ad.Real(name); isNumber && amount > 0 {
			c.beyond[resource] = true
		}
	}
	for _, name := range Attributes() {
		e, given := ad.Lookup(name)
		if !given || c.beyond[name] {
			continue
		}
		switch strings.ToLower(e.String()) {
		case "true", "undefined", "0", "0.0", `""`:
		default:
			c.beyond[name] = true
		}
	}
}
