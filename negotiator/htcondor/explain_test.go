package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

func TestOutOfPlan(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 1, seconds: 1, estimate: 1, extra: "\nRequestCpus = \"many\""})
	w.submit(&sleeper{cpus: 1, seconds: 1, estimate: 1, extra: "\nDeferralTime = 1900000000"})
	a := w.submit(&sleeper{cpus: 1, nodes: 2, seconds: 1, estimate: 1})
	b := w.submit(&sleeper{cpus: 1, nodes: 2, seconds: 1, estimate: 1, extra: "\nRank = 1"})
	b.cluster, b.proc = a.cluster, 1
	w.submit(&sleeper{cpus: 1, seconds: 1, estimate: 1, extra: "\nBanned = true"})
	w.step()
	d, report := w.cycle()
	require.Len(t, d.Submitted, 1, "the one that all slots refuse")
	require.Len(t, report.Held, 1)
	why, out := w.pool.Why(w.pool.Find("1.0")[0])
	require.True(t, out)
	require.Contains(t, why.Why, "RequestCpus is \"many\"")
	why, _ = w.pool.Why(w.pool.Find("2.0")[0])
	require.Contains(t, why.Why, "DeferralTime")
	why, _ = w.pool.Why(w.pool.Find("3.0")[0])
	require.Contains(t, why.Why, "differ in more than machine_count")
	var left []string
	for _, u := range w.pool.Unplanned() {
		left = append(left, u.Job+" "+u.Schedd)
	}
	require.Equal(t, []string{"1.0 schedd@test", "2.0 schedd@test", "3.0 schedd@test", "3.1 schedd@test"}, left)
	require.NoError(t, w.pool.Explain(t.Context(), nil, nil))
	poll.Until(t, "them to be told, too", func() ([]fakes.Rejection,
		bool,
	) {
		told := w.schedd.Rejections()
		return told, len(told) > 0
	})
	require.Equal(t, 4, w.pool.Last().Unplanned)
	require.Len(t, w.pool.Find("5.0@schedd@test"), 1)
	require.Empty(t, w.pool.Find("9.9"))
}

func TestExplain(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 4, seconds: 900, estimate: 900})
	w.pass(4)
	w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.pass(4)
	ids := w.pool.Find("2.0")
	tell := func(text string) {
		require.NoError(t, w.pool.Explain(t.Context(), ids, func(backfill.JobID) string { return text }))
	}
	tell("reserved | 14:05")
	poll.Equal(t, 1, func() int { return len(w.schedd.Rejections()) })
	r := w.schedd.Rejections()[0]
	require.Equal(t, "reserved / 14:05", r.Reason)
	require.EqualValues(t, 2, r.Cluster)
	tell("something else")
	w.now += 600
	tell("reserved | 14:05")
	tell("new")
	poll.Equal(t, 2, func() int { return len(w.schedd.Rejections()) })
	require.Equal(t, "new", w.schedd.Rejections()[1].Reason)
}
