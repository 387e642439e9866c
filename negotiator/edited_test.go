package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestAnEditedJobComesBackAsALimitComes: a job that comes back to the queue and was edited, as the limit comes of
// which it takes, is planned once.
func TestAnEditedJobComesBackAsALimitComes(t *testing.T) {
	n := newNegotiator(t)
	licence := func() *Job {
		j := newJob(t, 1, 1, "")
		j.Takes = []Take{{Limit: "licence", Amount: LimitUnit}}
		return j
	}
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 1, "")}, Submitted: []*Job{licence()}})
	r := cycle(t, n, Delta{
		Now: 1, StartFailed: []backfill.JobID{1}, Changed: []*Job{licence()}, Limits: []Limit{{Name: "licence", Height: LimitUnit}},
	})
	require.Equal(t, []string{"1.1@one×1"}, started(r))
}
