package condorconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// stockRanks are the defaults of HTCondor 9.0 to 25.
var stockRanks = map[string]string{
	"NEGOTIATOR_PRE_JOB_RANK": "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory",
	"NEGOTIATOR_POST_JOB_RANK": "(RemoteOwner =?= UNDEFINED) * " +
		"(ifthenElse(isUndefined(KFlops), 1000, Kflops) - SlotID - 1.0e10*(Offline=?=True))",
}

// JobRank returns NEGOTIATOR_PRE_JOB_RANK or NEGOTIATOR_POST_JOB_RANK; "" if it is HTCondor's default,
// which condor_config_val prints as well. The defaults pack busy pools and put preferences of machines
// first; here, placement does the one, and nothing the other.
func (c *Config) JobRank(knob string) string {
	text := c.Text(knob)
	if e, err := classad.ParseExpr(text); err == nil && strings.EqualFold(e.String(), normal(stockRanks[knob])) {
		return ""
	}
	return text
}

// depthFirst is the knob by which the stock negotiator fills a slot before the next.
const depthFirst = "NEGOTIATOR_DEPTH_FIRST"

// ignoredRanks returns a warning for each job rank that is set, if placement goes by no rank, and one if
// slots are to be filled and placement does the contrary.
func (c *Config) ignoredRanks() (warnings []string) {
	placement := c.Text("BACKFILL_PLACEMENT")
	if placement == "" || placement == "rank" {
		return nil
	}
	if fill, err := c.Bool(depthFirst); err == nil && fill && placement == "spread" {
		warnings = append(warnings, depthFirst+" has no effect under BACKFILL_PLACEMENT = spread, which does the contrary")
	}
	for _, knob := range slices.Sorted(maps.Keys(stockRanks)) {
		if c.JobRank(knob) != "" {
			warnings = append(warnings, knob+" has no effect under BACKFILL_PLACEMENT = "+placement)
		}
	}
	return warnings
}

// normal returns the text of an expression as it is printed.
func normal(text string) string {
	e, err := classad.ParseExpr(text)
	if err != nil {
		return text
	}
	return e.String()
}
