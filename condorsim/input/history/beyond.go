package history

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Attributes lists the attributes by which jobs ask for more than a trace has a place for, besides resources:
// which slots they may use, which of them they prefer, and what they take of the pool's limits.
func Attributes() []string { return []string{"ConcurrencyLimits", "Rank", "Requirements"} }

// noteBeyond notes what an ad asks for that a trace has no place for. It reports whether that may change when
// the job starts on a machine of one slot, as GPUs, Requirements and ConcurrencyLimits may.
func (c *collector) noteBeyond(ad *classad.ClassAd) (matters bool) {
	for name := range ad.All() {
		resource, asks := other(name)
		if !asks || c.beyond[resource] && resource != "gpus" {
			continue
		}
		if amount, isNumber := ad.Real(name); isNumber && amount > 0 {
			c.beyond[resource] = true
			matters = matters || resource == "gpus"
		}
	}
	for _, name := range Attributes() {
		e, given := ad.Lookup(name)
		if !given || c.beyond[name] && (matters || name == "Rank") {
			continue
		}
		switch strings.ToLower(e.String()) {
		case "true", "undefined", "0", "0.0", `""`:
		default:
			c.beyond[name] = true
			matters = matters || name != "Rank"
		}
	}
	return matters
}
