package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// oneByOne compresses as [Plan.CompressOnce] does, but moves each job by itself.
func oneByOne(p *Plan) {
	p.refresh()
	p.begin()
	var moved []int
	for i, e := range p.jobs {
		if !p.come(i) {
			continue
		}
		if start, at, ok := p.try(e, e.to); ok {
			p.move(p.jobs[i:i+1], start, at)
			moved = append(moved, i)
		}
	}
	p.resort(moved)
	p.settle()
}

// TestJobsMoveAbreast: jobs that are alike and move together are moved as they are one by one. Some
// may not start before an instant.
func TestJobsMoveAbreast(t *testing.T) {
	together := 0
	rapid.Check(t, func(t *rapid.T) {
		host := func(compress func(*Plan)) *backfill.Host {
			decide := func(c *backfill.Cycle) {
				p := Open(c, ByStart, (*Plan).Promise)
				for e, more := p.Next(); more; e, more = p.Next() {
					if e.Freed {
						compress(p)
						together = max(together, len(p.alike))
					}
				}
				p.Start()
			}
			main, err := backfill.Link(backfill.PolicySpec{
				Name: "compress", Doc: "compresses", Guarantees: true, PlanDepth: true, IgnoresOrder: true,
				New: func(backfill.Values) (backfill.Policy, error) { return backfill.PolicyFunc(decide), nil },
			}, nil)
			require.NoError(t, err)
			h, err := backfill.NewHost(backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), nil, main, main,
				func(r backfill.Refusal) { require.NoError(t, r.Err) })
			require.NoError(t, err)
			return h
		}
		plain, fast := host(oneByOne), host((*Plan).CompressOnce)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		now, ends, last := backfill.Time(0), map[backfill.JobID]backfill.Time{}, backfill.JobID(0)
		round := backfill.Round{
			Candidates: []backfill.CandidateSet{{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
			Events: []backfill.Event{{
				Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 0, Name: "pool", Capacity: backfill.Vector{8, 12}},
			}},
		}
		for range rapid.IntRange(5, 40).Draw(t, "rounds") {
			round.Now = now
			want, err := plain.Decide(t.Context(), round)
			require.NoError(t, err)
			got, err := fast.Decide(t.Context(), round)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want.Actions), fmt.Sprint(got.Actions), "at %d", now)
			for _, s := range got.Started {
				ends[s.Job.ID] = now + 1 + backfill.Time(random.Int64N(int64(s.Job.Estimate)))
			}
			now += backfill.Time(1 + random.IntN(8))
			round = backfill.Round{}
			for id := range last + 1 {
				if at, runs := ends[id]; runs && at <= now {
					round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
					delete(ends, id)
				}
			}
			like := backfill.Job{
				Submit: now, Nodes: 1 + random.IntN(2), Estimate: backfill.Time(1 + random.IntN(60)),
				Request: backfill.Vector{random.Int64N(4), 1 + random.Int64N(3)},
			}
			for range random.IntN(8) {
				last++
				j := like
				j.ID, j.Position = last, backfill.QueuePosition{Cluster: int64(last)}
				if random.IntN(8) == 0 {
					j.Release = now + backfill.Time(random.IntN(90))
				}
				round.Events = append(round.Events, backfill.Event{Kind: backfill.Submitted, Job: &j})
			}
		}
	})
	require.Greater(t, together, 1)
}
