package track

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestChangesAreTold says what the log tells of slots and waiting jobs whose ads have changed.
func TestChangesAreTold(t *testing.T) {
	var log bytes.Buffer
	told := func(p *pool) []string {
		log.Reset()
		p.look()
		return strings.Split(strings.TrimSpace(log.String()), "\n")
	}
	p := newPool(t, func(s *Settings) {
		s.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &log, DisableTime: true})
	})
	p.job(1)
	require.Equal(t, []string{""}, told(p), "slots and jobs that are new")
	closed := func(s *observe.Slot) {
		s.Ad = slotAd(s.Name, "false")
		s.Ad.Ad.SetInt("Cpus", 4)
	}
	p.slot("b", closed)
	p.slot("a", closed)
	p.job(1, is("edited", func(s *observe.Spec) {
		s.Ad.SetInt("RequestCpus", 2)
		s.Ad.Delete("Requirements")
	}))
	require.Equal(t, []string{
		`[DEBUG] has changed: job=1.0 in=RequestCpus`,
		`[DEBUG] has changed: slot=slot1@a in="Cpus, Requirements"`,
		`[DEBUG] has changed: slot=slot1@b in="Cpus, Requirements"`,
	}, told(p))
	require.Equal(t, []string{""}, told(p))
	for i := range mostChanges + 2 {
		p.slot(fmt.Sprintf("n%02d", i))
	}
	told(p)
	for i := range mostChanges + 2 {
		p.slot(fmt.Sprintf("n%02d", i), closed)
	}
	lines := told(p)
	require.Len(t, lines, mostChanges+1)
	require.Equal(t, "[DEBUG] and more slots and jobs have changed: number=2", lines[mostChanges])
}
