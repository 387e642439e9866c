package auto

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// people are users who are known by another name than their jobs' owners have, as on a real pool: an owner
// may submit as one or as another.
type people struct {
	owner map[backfill.JobID]string
	prio  map[string]float64
}

func (p *people) users() Users {
	return Users{
		Of: func(id backfill.JobID) string {
			if id%5 == 0 {
				return "nice." + p.owner[id]
			}
			return p.owner[id]
		},
		Priority: func(user string) float64 {
			if nice, found := strings.CutPrefix(user, "nice."); found {
				return 1e7 * p.of(nice)
			}
			return p.of(user)
		},
	}
}

func (p *people) of(user string) float64 {
	if prio := p.prio[user]; prio > 0 {
		return prio
	}
	return 5
}

// TestPrioritize: users' priorities count for the order of the pool and of plays, and jobs of those with
// the better ones count for more in what is compared.
func TestPrioritize(t *testing.T) {
	for _, order := range []string{"sjf", "xfactor", "wfp"} {
		c, err := New(map[string]string{"portfolio": "slack:" + order + " easy:" + order}, 1, nil)
		require.NoError(t, err)
		all := people{owner: map[backfill.JobID]string{}, prio: map[string]float64{}}
		users := all.users()
		users.Of = func(id backfill.JobID) string { return all.owner[id] }
		c.Prioritize(users)
		r := busy(t, c, 10, 60)
		for id, a := range c.record.known {
			a.user = a.Job.Labels["owner"]
			all.owner[id] = a.user
		}
		equal := c.See(r)
		equal.prioritize(c.users)
		before, _, err := Play(t.Context(), *equal, c.candidates, 1)
		require.NoError(t, err)
		plain := *equal
		plain.priorities = nil
		without, _, err := Play(t.Context(), plain, c.candidates, 1)
		require.NoError(t, err)
		require.InDelta(t, without[0].MeanBoundedSlowdown, before[0].MeanBoundedSlowdown, 1e-9, "equal priorities change nothing")

		all.prio["user3"] = 0.5
		favoured := func(f *Future) (sum float64) {
			runs := &run{Future: f, starts: map[backfill.JobID]backfill.Time{}}
			runs.jobs = r.State.FirstWaiting(r.State.Waiting())
			start := f.Outlook.Taking(f.Outlook.Start(), false)
			var failed error
			require.NoError(t, runs.under(t.Context(), &c.candidates[1], start, 0, true, &failed))
			for _, j := range runs.jobs {
				if j.Labels["owner"] == "user3" {
					sum += float64(runs.starts[j.ID] - f.Outlook.Now())
				}
			}
			return sum
		}
		late := favoured(equal)
		equal.prioritize(c.users)
		require.Less(t, favoured(equal), late, order)
	}
}

// TestPrioritiesAreOfUsersNotOwners: who has a user's job and one that is to be nice to all others has two
// priorities. Jobs that come again have those of their users, also of users who have no job left.
func TestPrioritiesAreOfUsersNotOwners(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf easy:sjf"}, 1, nil)
	require.NoError(t, err)
	all := people{owner: map[backfill.JobID]string{}, prio: map[string]float64{"user2": 7}}
	c.Prioritize(all.users())
	r := busy(t, c, 10, 60)
	for id, a := range c.record.known {
		all.owner[id] = a.Job.Labels["owner"]
		a.user = c.users.Of(id)
	}
	f := c.See(r)
	gone := f.Arrivals[0]
	f.whose[gone.ID] = "nice.user2"
	f.prioritize(c.users)
	require.InDelta(t, 7e7, f.priorities.of(gone), 0)
	require.InDelta(t, 5, f.priorities.of(&backfill.Job{ID: 1 << 60}), 0, "of whom nothing is known")
	for _, j := range r.State.FirstWaiting(r.State.Waiting()) {
		want := all.of(j.Labels["owner"])
		if j.ID%5 == 0 {
			want *= 1e7
		}
		require.InDelta(t, want, f.priorities.of(j), 0, j.ID)
	}
}

// TestPrioritiesCountFromTheFirstCycle: a new job of a user with a bad priority does not pass others' just
// because nothing was played since it came.
func TestPrioritiesCountFromTheFirstCycle(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "easy:sjf"}, 1, nil)
	require.NoError(t, err)
	prio := map[string]float64{"user1": 1e6}
	c.Prioritize(Users{
		Of:       func(id backfill.JobID) string { return map[backfill.JobID]string{1: "user1"}[id] },
		Priority: func(user string) float64 { return max(1, prio[user]) },
	})
	var config negotiator.Config
	c.TakeCharge(&config)
	key := config.Order.Of(nil, nil, 0, negotiator.World{})
	long, moves := key(&backfill.Job{ID: 2, Estimate: 100}, backfill.Moment{})
	short, _ := key(&backfill.Job{ID: 1, Estimate: 90}, backfill.Moment{})
	require.Less(t, long, short)
	require.True(t, moves.WithTime, "priorities change")
	fixed, moves := c.Base().Order.Prioritized(func(*backfill.Job) float64 { return 2 }, backfill.Moves{}).
		Of(nil, nil, 0, negotiator.World{})(&backfill.Job{ID: 2, Estimate: 100}, backfill.Moment{})
	require.InDelta(t, 200, fixed, 0)
	require.Zero(t, moves, "in a play they stay")
}
