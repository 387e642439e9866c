package matchmaker

import (
	"fmt"
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

// Where the clock and state that passes both count, a slot is open at the times of which the clock alone
// makes sure, and never fits only where neither another state nor another hour would do.
func TestClockAndStateTogether(t *testing.T) {
	const day, hour = 24 * 3600, 3600
	const clock = "ClockMin = time() % 86400 / 60; ClockDay = (time() + 4 * 86400) % 604800 / 86400; Requirements = START; START = "
	var night []backfill.Window
	for i := range backfill.Time(7) {
		night = append(night, backfill.Window{From: i * day, To: i*day + 8*hour})
	}
	for _, c := range []struct {
		start string
		idle  int
		want  []backfill.Window // by day; nil: always
		never bool
		why   string
	}{
		{"KeyboardIdle > 900 || ClockMin < 480", 10, night[1:], false, "closed by the clock until 86400 s"},
		{"KeyboardIdle > 900 || ClockMin < 480", 1000, nil, false, ""},
		{"KeyboardIdle > 900 && ClockMin < 480", 10, unforeseen, false, "open only if its owner is away: KeyboardIdle > 900"},
		{"KeyboardIdle > 900 && ClockMin < 480", 1000, night[1:], false, "closed by the clock until 86400 s"},
		{"KeyboardIdle > 900 && ClockDay == 6", 10, unforeseen, false, "open only if its owner is away: KeyboardIdle > 900"},
		{"KeyboardIdle > 900 && time() < 0", 10, nil, true, ""},
		{"KeyboardIdle > 900 || time() < 0", 10, unforeseen, false, "open only if its owner is away: KeyboardIdle > 900"},
		{"(KeyboardIdle > 900 || ClockMin < 480) && TARGET.RequestCpus < 1", 10, nil, true, ""},
	} {
		t.Run(c.start, func(t *testing.T) {
			p := newPool()
			p.add(slotAd(t, "a", 8, clock+c.start+fmt.Sprintf("; KeyboardIdle = %d", c.idle)))
			id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 1"))
			require.Equal(t, !c.never && (c.want == nil), len(p.at(12*hour, id)) == 1)
			require.Equal(t, c.never, len(p.clusters[id].candidates.Slots) == 0)
			got := p.windows(id)
			require.Equal(t, c.want, got[:min(len(got), len(c.want))])
			if c.why != "" {
				fit := p.Fit(id, func(backfill.SlotID) bool { return true })
				require.Equal(t, "of 1 slot 1 is "+c.why, fit.DescribeClosed(func(unix int64) string { return fmt.Sprint(unix, " s") }))
			}
			p.at(day+hour, id)
			require.Equal(t, !c.never && (c.want == nil || c.want[0] == night[1]), len(p.at(day+hour, id)) == 1, "at night")
		})
	}
}
