package matchmaker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// State that nobody foretells counts as published for now, and does not rule a slot out for good.
func TestStateThatCannotBeForetold(t *testing.T) {
	const away = "of 1 slot 1 is open only if its owner is away: "
	for _, c := range []struct {
		slot, job string
		open      bool
		why       string // "": it never matches, unless it is open
	}{
		{"KeyboardIdle = 1000; Requirements = START; START = KeyboardIdle > 900", "Requirements = true", true, ""},
		{"KeyboardIdle = 10; Requirements = START; START = KeyboardIdle > 900", "Requirements = true", false, away + "KeyboardIdle > 900"},
		{"KeyboardIdle = 10; Requirements = KeyboardIdle > Long; Long = 900", "Requirements = true", false, away + "KeyboardIdle > Long"},
		{"KeyboardIdle = 10; Requirements = KeyboardIdle > 900 && TARGET.Owner == \"bob\"", "Requirements = true", false, ""},
		{"KeyboardIdle = 10; Requirements = TARGET.Owner == \"bob\" || KeyboardIdle > 900", "Requirements = true", false, away + "KeyboardIdle > 900"},
		{"LoadAvg = 1.5; Requirements = !(LoadAvg > 1)", "Requirements = true", false, away + "!(LoadAvg > 1)"},
		{"LoadAvg = 1.5; Requirements = ifThenElse(Name == \"a\", LoadAvg < 1, true)", "Requirements = true", false, away + "LoadAvg < 1"},
		{"LoadAvg = 1.5; Requirements = Name == \"b\" ? LoadAvg < 1 : false", "Requirements = true", false, ""},
		{"LoadAvg = 1.5", "Requirements = TARGET.LoadAvg < 1 && TARGET.Cpus >= 2", false, away + "TARGET.LoadAvg < 1"},
		{"LoadAvg = 1.5", "Requirements = LoadAvg < 1 && TARGET.Cpus >= 16", false, ""},
		{
			"JobStart = 7; Requirements = JobStart is undefined", "Requirements = true", false,
			"of 1 slot 1 is open only in another state: JobStart is undefined",
		},
		{"Requirements = false", "Requirements = true", false, ""},
	} {
		t.Run(c.slot+"; "+c.job, func(t *testing.T) {
			p := newPool()
			p.add(slotAd(t, "a", 8, c.slot))
			id := p.clusterOf(t, ad(t, c.job))
			p.match(t)
			found := p.clusters[id].candidates
			require.Equal(t, c.open || c.why != "", len(found.Slots) == 1)
			require.Equal(t, c.why != "", found.Windows != nil)
			if c.why != "" {
				require.Equal(t, unforeseen, found.Windows[0])
				fit := p.Fit(id, func(backfill.SlotID) bool { return true })
				require.Equal(t, c.why, fit.DescribeClosed(nil))
				p.add(slotAd(t, "a", 8, "")) // the startd publishes again
				p.match(t)
				require.Len(t, p.clusters[id].candidates.Slots, len(found.Slots))
			}
		})
	}
}
