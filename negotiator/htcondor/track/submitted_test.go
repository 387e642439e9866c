package track

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestNotBefore: a job was submitted after the last look that saw no cluster as high as its own, for as
// long as its schedd numbers on, and in time that does not grow with the looks.
func TestNotBefore(t *testing.T) {
	b := New(Settings{})
	at := func(cluster int64) backfill.Time { return b.notBefore(observe.JobKey{Schedd: "s", Cluster: cluster}) }
	require.Zero(t, at(1))
	for i := range 1000 {
		now := SavedSeen{Cluster: 10 + int64(i/2)*10, At: 1000 + backfill.Time(i)*100}
		b.seen["s"] = noteCluster(b.seen["s"], now)
		require.Equal(t, now.At-submitSlack, at(now.Cluster+1))
		require.Less(t, at(now.Cluster), now.At-submitSlack)
		require.LessOrEqual(t, at(5), at(now.Cluster))
	}
	require.Zero(t, at(10), "it was there at the first look")
	require.NotZero(t, at(200), "on hold for long, it does not come before all others")
	require.LessOrEqual(t, at(200), backfill.Time(1000+100*39))
	require.LessOrEqual(t, len(b.seen["s"]), mostSeen)
	before := at(1e9)
	b.seen["s"] = noteCluster(b.seen["s"], SavedSeen{Cluster: 1, At: 1})
	require.Equal(t, before, at(1e9), "a clock that goes back changes nothing")
}
