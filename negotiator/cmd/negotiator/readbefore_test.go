package main

import (
	"strings"
	"testing"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// TestReadConfigBeforeCycle: where the site wants it, what has changed in the configuration counts from the
// next cycle on, without condor_reconfig, and what has not changed is not taken up again.
func TestReadConfigBeforeCycle(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	collector := fakes.NewCollector(t)
	s := newSite(t, map[string]string{
		"COLLECTOR_HOST": strings.Trim(collector.Address().String(), "<>"), "NEGOTIATOR_INTERVAL": "1",
		"NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE": "true", "NEGOTIATOR_ATTRS": "Room", "Room": `"B1"`,
	})
	d := s.start()
	room := func() string {
		ads := collector.Ads("Negotiator")
		if len(ads) == 0 {
			return ""
		}
		text, _ := ads[len(ads)-1].Text("Room")
		return text
	}
	poll.Equal(t, "B1", room)
	s.knobs["Room"] = `"B2"`
	s.write()
	d.await("the configuration has changed and is taken up")
	poll.Equal(t, "B2", room)
	s.knobs["Room"], s.knobs["NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE"] = `"B3"`, "false"
	s.write()
	poll.Equal(t, "B3", room)
}
