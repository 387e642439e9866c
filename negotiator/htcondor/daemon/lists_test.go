package daemon

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestAListKeepsNoAds: a list of start times, which somebody may read slowly, has no ads in memory.
// Those take a thousand bytes for each job.
func TestAListKeepsNoAds(t *testing.T) {
	const jobs = 20_000
	d, _ := planned(jobs)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // there is less
	}
	d.replan(1001+backfill.Time(1), jobs)
	before := heap()
	ads, err := d.Plans(t.Context(), "")
	require.NoError(t, err)
	require.Less(t, (heap()-before)/jobs, int64(600))
	runtime.KeepAlive(ads)
}
