package outlook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// slowPool is a pool that takes its time, as a real one does: a job begins to run some seconds after
// its match, and its end is seen some seconds after it.
type slowPool struct {
	random  *rand.Rand
	now     backfill.Time
	slots   []*negotiator.Slot
	jobs    []*negotiator.Job // to be submitted, by submit time
	runs    map[backfill.JobID]backfill.Time
	began   map[backfill.JobID]backfill.Time
	pending []happening
}

// happening is what the negotiator will see at an instant: that a job began, or that it ended.
type happening struct {
	at    backfill.Time
	job   backfill.JobID
	ended bool
}

func (p *slowPool) Fetch(_ context.Context, wake backfill.Time) (d negotiator.Delta, err error) {
	next := wake
	if len(p.jobs) > 0 {
		next = min(next, p.jobs[0].Submit)
	}
	slices.SortFunc(p.pending, func(a, b happening) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job)) })
	if len(p.pending) > 0 {
		next = min(next, p.pending[0].at)
	}
	if next >= backfill.Forever || len(p.pending) == 0 && len(p.jobs) == 0 && p.slots == nil {
		return d, io.EOF
	}
	p.now = max(next, p.now+1) // a cycle a second
	d = negotiator.Delta{Now: p.now, SlotsUp: p.slots, Ran: map[backfill.JobID]backfill.Time{}}
	p.slots = nil
	for len(p.jobs) > 0 && p.jobs[0].Submit <= p.now {
		d.Submitted = append(d.Submitted, p.jobs[0])
		p.jobs = p.jobs[1:]
	}
	for len(p.pending) > 0 && p.pending[0].at <= p.now {
		h := p.pending[0]
		p.pending = p.pending[1:]
		if h.ended {
			d.Completed = append(d.Completed, h.job)
			d.Ran[h.job] = p.now - p.began[h.job]
		} else {
			d.Began = append(d.Began, negotiator.Began{Job: h.job, At: p.began[h.job]})
		}
	}
	return d, nil
}

func (p *slowPool) Act(_ context.Context, matches []negotiator.Match) error {
	for _, m := range matches {
		id := m.Job.ID
		began := p.now + 1 + backfill.Time(p.random.IntN(3))
		ends := began + p.runs[id]
		p.began[id] = began
		p.pending = append(p.pending, happening{began + 1, id, false},
			happening{ends + 1 + backfill.Time(p.random.IntN(2)), id, true})
	}
	return nil
}

// toldOnce is what a job was told.
type toldOnce struct {
	job backfill.JobID
	ahead.Range
}

// TestToldRangesHoldOnASlowPool: under the usual start slack of a minute, jobs of seconds are told
// ranges in which about eight of ten start, with a middle that is neither late nor early. Three users
// submit jobs of random lengths, two thirds of them with wrong estimates, at random times.
func TestToldRangesHoldOnASlowPool(t *testing.T) {
	for _, policy := range []string{"slack", "conservative", "easy"} {
		t.Run(policy, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a test's
			p := &slowPool{
				random: random, began: map[backfill.JobID]backfill.Time{}, runs: map[backfill.JobID]backfill.Time{},
			}
			for i := range 4 {
				p.slots = append(p.slots, newSlot(t, fmt.Sprint("slot", i), 4, ""))
			}
			at := backfill.Time(100)
			for id := range 300 {
				at += backfill.Time(random.ExpFloat64() * 2.8)
				asks := backfill.Time(10 + random.IntN(50))
				run := asks
				if random.IntN(3) > 0 {
					run = 1 + backfill.Time(float64(asks)*random.Float64())
				}
				j := newJob(t, id+1, 1+random.IntN(2)*random.IntN(3), fmt.Sprintf("EstimatedRunTime = %d", asks))
				j.Submit, j.Position.Cluster = at, int64(id)
				j.Labels = map[string]string{"owner": fmt.Sprint("user", random.IntN(3))}
				p.jobs, p.runs[j.ID] = append(p.jobs, j), run
			}
			c := configured(t, policy, "fcfs")
			c.StartSlack, c.Estimates = 60, estimators(t, policy, estimate.Settings{})
			n, err := negotiator.New(c)
			require.NoError(t, err)
			var twins Twins
			defer twins.Close()
			told := tellOnTheWay(t, n, p, &twins)
			within, late := 0, []backfill.Time{}
			for _, one := range told {
				began := p.began[one.job]
				late = append(late, began-one.Mid)
				if one.Low <= began && began <= one.High {
					within++
				}
			}
			slices.Sort(late)
			t.Logf("%d jobs were told a range: %d %% began in it, %d s later than its middle in the median",
				len(told), 100*within/len(told), late[len(late)/2])
			require.InDelta(t, 0.8, float64(within)/float64(len(told)), 0.1)
			require.InDelta(t, 0, float64(late[len(late)/2]), 3)
			require.Greater(t, len(told), 90)
		})
	}
}

// tellOnTheWay runs the pool, and tells some of the jobs when they will start as they arrive.
func tellOnTheWay(tb testing.TB, n *negotiator.Negotiator, p *slowPool, twins *Twins) (told []toldOnce) {
	tb.Helper()
	for {
		d, err := p.Fetch(tb.Context(), n.NextWake())
		if errors.Is(err, io.EOF) {
			return told
		}
		r := cycle(tb, n, d)
		require.NoError(tb, p.Act(tb.Context(), r.Matches))
		var ask []backfill.JobID
		for _, j := range d.Submitted {
			if j.ID > 60 && n.State().IsWaiting(j.ID) && p.random.IntN(2) == 0 {
				ask = append(ask, j.ID)
			}
		}
		if len(ask) == 0 {
			continue
		}
		o := New(n)
		got, err := o.Futures(tb.Context(), FuturesOptions{Futures: ahead.Futures{Of: ask}, Seed: 1},
			func() (ahead.Rules, func(), error) { return twins.Rules(tb.Context(), o) }, ahead.Bounds{})
		require.NoError(tb, err)
		for _, id := range ask {
			told = append(told, toldOnce{id, got[id]})
		}
	}
}
