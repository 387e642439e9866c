package condorconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStockSettings: each of the site's own settings of the stock negotiator is named once, as it counts
// for this daemon, with its place; what HTCondor has by default and what is another daemon's is not.
func TestStockSettings(t *testing.T) {
	const file = "/etc/condor/config.d/98-x.conf, line "
	const knobs = `NEGOTIATOR_INTERVAL = 20
 # at: ` + file + `1
 # default: 60
NEGOTIATOR_TIMEOUT = 30
 # at: <Default>
MATCH_WORKING_CM_SLOTS = true
 # at: ` + file + `2
NEGOTIATOR.PRIORITY_HALFLIFE = 7 * 3600
 # at: ` + file + `3
PRIORITY_HALFLIFE = 9
 # at: ` + file + `4
STARTD.RANK = 7
 # at: ` + file + `5
matlab_limit = 3
 # at: ` + file + `6
MAX_JOBS_LIMIT = 3
 # at: ` + file + `7
 # default: 2
GROUP_QUOTA_DYNAMIC_physics = 0.2
 # at: <Environment>
GROUP_QUOTA_physics = 7
 # at: ` + file + `8
NEGOTIATOR_NUM_THREADS = 4
 # at: ` + file + `9
FULL_HOSTNAME = here
 # at: <Detected>
`
	var got []string
	for _, f := range Parse(knobs, "").StockSettings() {
		got = append(got, f.Knob+" = "+f.Value+" ("+f.Place+"): "+string(f.Fate))
	}
	require.Equal(t, []string{
		"GROUP_QUOTA_DYNAMIC_physics = 0.2 (<Environment>): honoured",
		"GROUP_QUOTA_physics = 7 (" + file + "8): honoured",
		"MATCH_WORKING_CM_SLOTS = true (" + file + "2): not heeded",
		"NEGOTIATOR_INTERVAL = 20 (" + file + "1): honoured",
		"NEGOTIATOR_NUM_THREADS = 4 (" + file + "9): not applicable",
		"PRIORITY_HALFLIFE = 7 * 3600 (" + file + "3): honoured",
		"matlab_limit = 3 (" + file + "6): honoured",
	}, got)
	found := Parse("NEGOTIATOR_NUM_THREADS = 4\nPRIORITY_HALFLIFE = 7\n", "").StockSettings()
	require.Equal(t, "not applicable: each kind of slot is matched once; one core is enough", found[0].Becomes())
	require.Equal(t, "honoured", found[1].Becomes())
	found = Parse("RANK = 0\n", "").StockSettings()
	require.Equal(t, `not applicable: startds read it, and tell it in their ads: it is heeded, see "Preemption" in the guide`,
		found[0].Becomes(), "a terminal knows no Markdown")
}
