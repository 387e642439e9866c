package outlook

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// learned is a negotiator under a policy with estimators that predict nothing, but have learned that
// jobs of 10 s run for 1 to 10 s. One job runs, with a lease until the given instant (0: none), and others
// wait for its slot.
func learned(tb testing.TB, policy string, lease backfill.Time) *negotiator.Negotiator {
	tb.Helper()
	c := configured(tb, policy, "fcfs")
	c.StartSlack, c.Estimates = 0, estimators(tb, policy, estimate.Settings{})
	n, err := negotiator.New(c)
	require.NoError(tb, err)
	for ran := range backfill.Time(10) {
		c.Estimates.Learn(estimate.Ended{Job: estimate.Job{Requested: 10}, Ran: ran + 1})
	}
	runs := newJob(tb, 1, 1, "")
	runs.Lease = lease
	cycle(tb, n, negotiator.Delta{
		SlotsUp:   []*negotiator.Slot{newSlot(tb, "a", 1, "")},
		Submitted: []*negotiator.Job{runs, newJob(tb, 2, 1, ""), newJob(tb, 3, 1, "")},
	})
	return n
}

// ranges plays futures of a negotiator's outlook under its own policy.
func ranges(tb testing.TB, n *negotiator.Negotiator, options FuturesOptions) map[backfill.JobID]ahead.Range {
	tb.Helper()
	var twins Twins
	defer twins.Close()
	o := New(n)
	got, err := o.Futures(context.Background(), options, func() (ahead.Rules, func(), error) {
		return twins.Rules(context.Background(), o)
	}, ahead.Bounds{})
	require.NoError(tb, err)
	return got
}

// TestFutures draws run times from what is known, for any number of workers the same.
func TestFutures(t *testing.T) {
	for _, policy := range []string{"easy", "conservative"} {
		n := learned(t, policy, 0)
		one := ranges(t, n, FuturesOptions{Futures: ahead.Futures{Workers: 1}, Seed: 5})
		require.Equal(t, one, ranges(t, n, FuturesOptions{Futures: ahead.Futures{Workers: 4}, Seed: 5}))
		require.NotEqual(t, one, ranges(t, n, FuturesOptions{Seed: 6}))
		require.Len(t, one, 2)
		for id, latest := range map[backfill.JobID]backfill.Time{2: 10, 3: 20} {
			r := one[id]
			require.Less(t, r.Low, r.Mid)
			require.Less(t, r.Mid, r.High)
			require.LessOrEqual(t, r.High, latest)
		}
		cycle(t, n, negotiator.Delta{Now: 9})
		require.Equal(t, ahead.Range{Low: 10, Mid: 10, High: 10}, ranges(t, n, FuturesOptions{})[2],
			"it has run for 9 s, and is killed after 10")
	}
}

// TestFuturesWithoutPast: without anything known all futures are the one that is told.
func TestFuturesWithoutPast(t *testing.T) {
	n := predicting(t, "easy", "fcfs", estimate.Settings{}, nil)
	cycle(t, n, negotiator.Delta{
		SlotsUp:   []*negotiator.Slot{newSlot(t, "a", 1, "")},
		Submitted: []*negotiator.Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")},
	})
	require.Equal(t, map[backfill.JobID]ahead.Range{2: {Low: 10, Mid: 10, High: 10}}, ranges(t, n, FuturesOptions{}))
}

// TestGuaranteesBoundRanges: a job that was promised a start is told no later one, even if a job that
// runs has a lease for longer than it runs.
func TestGuaranteesBoundRanges(t *testing.T) {
	n := learned(t, "conservative", 50)
	require.Equal(t, map[backfill.JobID]ahead.Range{
		2: {Low: 10, Mid: 10, High: 10}, 3: {Low: 20, Mid: 20, High: 20},
	}, ranges(t, n, FuturesOptions{}))
	n = learned(t, "easy", 50)
	require.Equal(t, ahead.Range{Low: 50, Mid: 50, High: 50}, ranges(t, n, FuturesOptions{})[2])
}

// TestOthersArriveAgain: those who came in the last days come again, at the same time of day. Under
// sjf short ones pass the job that waits.
func TestOthersArriveAgain(t *testing.T) {
	for _, tt := range []struct {
		order string
		came  int
		last  backfill.Time // the latest start that is told
	}{{"fcfs", leastArrivals, 20}, {"sjf", leastArrivals, 100}, {"sjf", leastArrivals - 5, 20}, {
		"expr:-EstimatedRunTime", leastArrivals, 100,
	}} {
		c := configured(t, "easy", "fcfs")
		var err error
		c.Order, err = negotiator.OrderNamed(tt.order)
		require.NoError(t, err)
		c.StartSlack = 0
		n, err := negotiator.New(c)
		require.NoError(t, err)
		cycle(t, n, negotiator.Delta{SlotsUp: []*negotiator.Slot{newSlot(t, "a", 1, "")}})
		const yesterday = 1_000_000
		id := 10
		for i := range tt.came - 3 { // a job of 5 s every 5 s
			j := newJob(t, id, 1, "EstimatedRunTime = 5")
			id++
			j.Submit = yesterday + backfill.Time(5*i)
			cycle(t, n, negotiator.Delta{Now: j.Submit, Submitted: []*negotiator.Job{j}})
			cycle(t, n, negotiator.Delta{Now: j.Submit + 5, Completed: []backfill.JobID{j.ID}})
		}
		now := backfill.Time(yesterday + day)
		var waiting []*negotiator.Job
		for i := range 3 {
			j := newJob(t, i+1, 1, "")
			j.Submit = now
			waiting = append(waiting, j)
		}
		cycle(t, n, negotiator.Delta{Now: now, Submitted: waiting})
		alone := ranges(t, n, FuturesOptions{Alone: true})
		require.Equal(t, now+20, alone[3].High, tt.order)
		last := ranges(t, n, FuturesOptions{})[3].High
		if tt.last == 20 {
			require.Equal(t, now+20, last, tt.order)
		} else {
			require.GreaterOrEqual(t, last, now+tt.last, tt.order)
		}
	}
}

// BenchmarkFutures plays futures of 1,000 jobs that wait for 100 slots, on as many processors as there are:
// under easy, and under conservative, which plans all jobs anew whenever one ends early: as many as a real
// pool plans unless it is told otherwise, and all.
func BenchmarkFutures(b *testing.B) {
	all, onPool := backfill.Planning{}, backfill.Planning{Depth: 10_000, Horizon: 90, Reorder: true}
	for _, futures := range []struct {
		name, policy string
		count        int
		planning     backfill.Planning
	}{
		{"easy", "easy", 32, all},
		{"conservative on a pool", "conservative", 32, onPool},
		{"conservative", "conservative", 1, all},
		{"conservative", "conservative", 32, all},
	} {
		policy, count := futures.policy, futures.count
		b.Run(fmt.Sprintf("%s/%d", futures.name, count), func(b *testing.B) {
			c := configured(b, policy, "fcfs")
			c.Planning = futures.planning
			c.Estimates = estimators(b, policy, estimate.Settings{All: "combined"})
			n, err := negotiator.New(c)
			require.NoError(b, err)
			label := func(i int) map[string]string { return map[string]string{"owner": fmt.Sprint("user", i%20)} }
			for i := range backfill.Time(2000) {
				requested := 3600 * (1 + i%24)
				c.Estimates.Learn(estimate.Ended{
					Job: estimate.Job{Requested: requested, Labels: label(int(i))}, Ran: 1 + requested*(i%17)/17, At: i,
				})
			}
			var d negotiator.Delta
			for i := range 100 {
				d.SlotsUp = append(d.SlotsUp, newSlot(b, fmt.Sprint("slot", i), 1, ""))
			}
			for i := range 1100 {
				j := newJob(b, i, 1, "")
				j.Estimate, j.Labels = backfill.Time(3600*(1+i%24)), label(i)
				d.Submitted = append(d.Submitted, j)
			}
			d.Now = 10_000
			cycle(b, n, d)
			var twins Twins
			defer twins.Close()
			for b.Loop() {
				o := New(n)
				options := FuturesOptions{Futures: ahead.Futures{Count: count}}
				got, err := o.Futures(b.Context(), options, func() (ahead.Rules, func(), error) {
					return twins.Rules(b.Context(), o)
				}, ahead.Bounds{})
				require.NoError(b, err)
				require.Len(b, got, 1000)
			}
		})
	}
}
