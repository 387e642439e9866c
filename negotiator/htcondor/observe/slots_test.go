package observe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

func TestSlotsThatCanBeClaimed(t *testing.T) {
	t.Parallel()
	for state, open := range map[string]bool{
		"Unclaimed/Idle": true, "Matched/Idle": true, "Drained/Retiring": true, "Backfill/Busy": true,
		"Drained/Idle": false, "Owner/Idle": false, "Claimed/Busy": false, "Preempting/Vacating": false, "/": false,
	} {
		o := quiet()
		from, activity, _ := strings.Cut(state, "/")
		ad := strings.Replace(partitionable(""), "\"Unclaimed\"", "\""+from+"\"\nActivity = \""+activity+"\"", 1)
		_, err := o.readSlot(cedar.Lines(ad), 1)
		require.NoError(t, err)
		slot := o.slots["slot1@n"]
		takes, _ := slot.Ad.Ad.Bool("Requirements")
		require.Equal(t, open, takes, state)
		require.Equal(t, open, slot.Free[0] > 0, state)
	}
}
