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

// compared compresses as [Plan.CompressOnce] does, and asks for each job's start in the plain way, too: on
// all slots, at any time from now on.
type compared struct {
	starts, passed, asked int
	wrong                 []string
}

func (c *compared) decide(cycle *backfill.Cycle) {
	p := Open(cycle, ByStart, (*Plan).Promise)
	for e, more := p.Next(); more; e, more = p.Next() {
		if !e.Freed {
			continue
		}
		p.refresh()
		p.begin()
		var moved []int
		for i, e := range p.jobs {
			want, _, may := p.c.Fast().EarliestBefore(e.Job, p.c.Now(), e.start)
			start, at, ok := e.start, backfill.Placement(nil), false
			if before := e.tried; p.come(i) {
				c.asked++
				start, at, ok = p.try(e, e.to)
			} else if before < e.tried {
				c.passed++
			}
			if ok != may || ok && start != want {
				c.wrong = append(c.wrong, fmt.Sprintf("at %d job %d might start at %d, not at %d", p.c.Now(), e.ID, want, start))
			}
			if ok {
				c.starts++
				p.move(p.jobs[i:i+1], start, at)
				moved = append(moved, i)
			}
		}
		p.resort(moved)
		p.settle()
	}
	p.Start()
}

// TestWhatGrowthsOffer: a job's earliest start is found by what growths offer as it is by a look at all slots.
// Some slots end, some jobs have several chunks, some take of a row, and some may only begin in windows.
func TestWhatGrowthsOffer(t *testing.T) {
	var all compared
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		gangs, windows := rapid.Bool().Draw(t, "gangs"), rapid.IntRange(0, 4).Draw(t, "windows") == 0
		jobs, rows := rapid.IntRange(20, 150).Draw(t, "jobs"), rapid.IntRange(0, 2).Draw(t, "rows") == 0
		var c compared
		spec := backfill.PolicySpec{
			Name: "compared", Doc: "compares", Guarantees: true, PlanDepth: true, IgnoresOrder: true,
			New: func(backfill.Values) (backfill.Policy, error) { return backfill.PolicyFunc(c.decide), nil },
		}
		main, err := backfill.Link(spec, nil)
		require.NoError(t, err)
		host, err := backfill.NewHost(backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), nil, main, main,
			func(r backfill.Refusal) { require.NoError(t, r.Err) })
		require.NoError(t, err)
		now, ends := backfill.Time(0), map[backfill.JobID]backfill.Time{}
		decide := func(r backfill.Round) {
			r.Now = now
			d, err := host.Decide(t.Context(), r)
			require.NoError(t, err)
			require.Empty(t, c.wrong)
			for _, s := range d.Started {
				ends[s.Job.ID] = now + 1 + backfill.Time(random.Int64N(int64(s.Job.Estimate)))
			}
		}
		first := backfill.Round{Candidates: []backfill.CandidateSet{{ID: 0}}}
		if rows {
			first.Rows = []backfill.Row{{ID: 0, Name: "licences", Height: 9}}
		}
		for id := range backfill.SlotID(2 + random.IntN(5)) {
			capacity := backfill.Vector{1 + random.Int64N(4), 8}
			slot := backfill.Slot{ID: id, Name: fmt.Sprint("slot", id), Capacity: capacity}
			if random.IntN(8) == 0 {
				slot.End = 500
			}
			first.Events = append(first.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
			set := &first.Candidates[0].Candidates
			if set.Slots = append(set.Slots, id); windows {
				set.Windows = append(set.Windows, []backfill.Window{{From: 0, To: 10_000}})
			}
		}
		decide(first)
		for id := backfill.JobID(1); ; {
			var r backfill.Round
			for ended, at := range ends {
				if at <= now {
					r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: ended})
					delete(ends, ended)
				}
			}
			for n := random.IntN(1 + jobs/2); n > 0 && id <= backfill.JobID(jobs); n-- {
				j := &backfill.Job{
					ID: id, Submit: now, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1,
					Request:  backfill.Vector{1 + random.Int64N(2), 1 + 2*random.Int64N(2)},
					Estimate: backfill.Time(1 + random.IntN(60)),
				}
				if gangs {
					j.Nodes += random.IntN(2)
				}
				j.Unestimated = random.IntN(4) == 0
				if rows {
					j.Takes = []backfill.Take{{Row: 0, Amount: 1}}
				}
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
				id++
			}
			if rows && random.IntN(5) == 0 {
				r.Rows = []backfill.Row{{ID: 0, Name: "licences", Height: int64(4 + random.IntN(8))}}
			}
			decide(r)
			if len(ends) == 0 && id > backfill.JobID(jobs) {
				break
			}
			now += backfill.Time(1 + random.IntN(8))
		}
		all.asked, all.starts, all.passed = all.asked+c.asked, all.starts+c.starts, all.passed+c.passed
	})
	require.Positive(t, all.starts)
	require.Greater(t, all.asked, all.starts)
	require.Positive(t, all.passed)
}
