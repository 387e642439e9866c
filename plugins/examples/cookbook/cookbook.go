package cookbook

import "github.com/condor-backfill/condor-backfill/backfill"

// All returns the policies, in the order of the page.
func All() []backfill.PolicySpec {
	return []backfill.PolicySpec{
		AgeWide(), DeadlineFirst(), ShortBackfill(), OwnerCap(), Packed(), LargestShare(), WidestFirst(), Night(),
		HeadOnTime(), Turns(),
	}
}
