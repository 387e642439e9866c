package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// What a schedd answered counts although the next look finds the schedd lost.
func TestAnswerOfALostSchedd(t *testing.T) {
	d := newDesk(t, "a")
	granted := d.grant(d.submit(1, specOf(t, 1, "true")), "a", "c")
	l := d.line("s")
	l.telling = make(chan matched, 1)
	l.telling <- matched{sent: granted["s"][""]}
	d.look(func(s *observe.Snapshot) { s.Schedds = map[string]*observe.Schedd{} })
	require.Equal(t, claims.Counts{Granted: 1, Matched: 1}, d.claims.Counts())
}
