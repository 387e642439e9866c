package negotiator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// BenchmarkScavengersWait is a cycle of a pool of 2,000 full slots in which a scavenger ends and another one
// starts, of 100,000 that wait, of 50 users in 500 autoclusters.
func BenchmarkScavengersWait(b *testing.B) {
	n := newNegotiator(b)
	d := Delta{}
	for i := range 2000 {
		d.SlotsUp = append(d.SlotsUp, newSlot(b, fmt.Sprint("slot", i), 8, ""))
	}
	for c := range 500 {
		shared := newJob(b, 0, 8, fmt.Sprintf("Requirements = TARGET.Cpus > 0 || %d == 0", c+1)).Ad
		for i := range 200 {
			j := scavengerOf(b, c*200+i+1, 8, fmt.Sprint("user", i%50))
			j.Ad = shared
			d.Submitted = append(d.Submitted, j)
		}
	}
	r := cycle(b, n, d)
	require.Len(b, r.Matches, 2000)
	ended := r.Matches[0].Job.ID
	for now := backfill.Time(1); b.Loop(); now++ {
		r = cycle(b, n, Delta{Now: now, Completed: []backfill.JobID{ended}})
		require.Len(b, r.Matches, 1)
		ended = r.Matches[0].Job.ID
	}
}
