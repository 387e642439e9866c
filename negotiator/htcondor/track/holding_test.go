package track

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// licensed has a job want one license.
func licensed(g *observe.Group) {
	is("licensed", func(s *observe.Spec) { s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: 1}} })(g)
}

func earlier(g *observe.Group) { g.Submit-- }

// promises takes in a plan with jobs that are promised a start in so many seconds.
func (p *pool) promises(starts map[backfill.JobID]backfill.Time) (broken []Broken) {
	var plan negotiator.Checkpoint
	for id := range backfill.JobID(10) {
		if in, planned := starts[id]; planned {
			plan.Jobs = append(plan.Jobs, negotiator.JobCheckpoint{
				Job:      &negotiator.Job{ID: id, Name: "a job"},
				Standing: backfill.Standing{Start: p.unix() + in, Promised: true, Guarantee: p.unix() + in},
			})
		}
	}
	return p.belief.TakePlan(plan)
}

// TestPromisesKeepLimits: a job that was promised a start soon keeps what it holds, whoever comes
// before it in the queue. One that was promised a later start makes room, and the promise counts as
// broken if it is not kept.
func TestPromisesKeepLimits(t *testing.T) {
	p := accounted(t)
	const held = "0 of 2 in use, 2 held for 1.0 of alice, which starts at 22:13:50 UTC, and 1 more, 1 wanted: " +
		"concurrency limit sw reached"
	p.follow([]step{
		{do: func(p *pool) { p.job(1, licensed); p.job(2, licensed) }, want: "submitted 1.0=#1, submitted 2.0=#2"},
		{do: func(p *pool) {
			p.promises(map[backfill.JobID]backfill.Time{1: 30, 2: 3600})
			p.job(3, licensed, earlier)
			p.job(4, licensed, earlier)
		}, want: "submitted 3.0=#3, removed #2, unplanned 4.0 " + held + ", unplanned 2.0 " + held},
		{
			do:   func(p *pool) { p.promises(map[backfill.JobID]backfill.Time{1: 30}); p.leaves(3); p.leaves(4) },
			want: "submitted 2.0=#2, removed #3",
		},
	})
	require.Empty(t, p.promises(map[backfill.JobID]backfill.Time{1: 30, 2: 3600}), "it is kept after all")
	require.Contains(t, p.look(), "")
	p.job(3, licensed, earlier)
	require.Contains(t, p.look(), "removed #2")
	p.leaves(3)
	require.Contains(t, p.look(), "submitted 2.0=#2")
	at := p.unix() + 3600
	require.Equal(t, []Broken{{"a job", at, at + 1, "limit"}},
		p.promises(map[backfill.JobID]backfill.Time{1: 30, 2: 3601}))
}

// TestPromisesKeepLimitsForATime: a start that is promised again and again to be soon keeps nothing
// for ever.
func TestPromisesKeepLimitsForATime(t *testing.T) {
	p := accounted(t)
	p.job(1, licensed)
	p.job(2, licensed)
	require.Contains(t, p.look(), "submitted 1.0=#1, submitted 2.0=#2")
	p.job(3, licensed, earlier)
	for range 12 { // the first finds that the promise begins to keep what is held
		p.promises(map[backfill.JobID]backfill.Time{1: 30, 2: 30})
		require.NotContains(t, p.look(), "removed")
		p.now = p.now.Add(10 * time.Second)
	}
	p.promises(map[backfill.JobID]backfill.Time{1: 30, 2: 30})
	require.Contains(t, p.look(), "submitted 3.0=#3, removed #2")
}

// TestRoundingKeepsLimits: jobs that slots round in another way are told anew, and keep what they
// hold and were promised. Those that were edited do not.
func TestRoundingKeepsLimits(t *testing.T) {
	for _, edited := range []bool{false, true} {
		p := accounted(t)
		wishes := map[int64]*observe.Wish{1: {}, 2: {}}
		wants := func(cluster, memory int64, wish *observe.Wish) {
			p.job(cluster, is(fmt.Sprint(cluster, memory), func(s *observe.Spec) {
				s.Wish, s.Request = wish, backfill.Vector{1, memory, 1}
				s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: 1}}
			}))
		}
		soon := map[backfill.JobID]backfill.Time{1: 30, 2: 30}
		wants(1, 128, wishes[1])
		wants(2, 128, wishes[2])
		require.Equal(t, "submitted 1.0=#1, submitted 2.0=#2", p.look())
		p.promises(soon)
		for cluster := range wishes {
			if edited {
				wishes[cluster] = &observe.Wish{}
			}
			wants(cluster, 256, wishes[cluster])
		}
		p.job(3, licensed, earlier)
		promised, out := p.unix()+30, p.look()
		if edited {
			require.Contains(t, out, "submitted 3.0=#3, changed #1, removed #2")
			continue
		}
		require.Contains(t, out, "changed #1, changed #2, unplanned 3.0")
		require.Equal(t, promised, p.belief.Job(1).promised)
		require.Equal(t, int64(256), p.belief.Job(1).Spec.Request[1])
		require.Empty(t, p.belief.spent)
	}
}

// wantsAll has a job of a user, which may run anywhere, want all licenses.
func wantsAll(user string) func(*observe.Group) {
	return func(g *observe.Group) {
		ad := g.Spec.Ad.Clone()
		ad.SetString("User", user)
		ad.SetBool("Requirements", true)
		g.Spec = &observe.Spec{
			Ad: ad, Text: g.Spec.Text + user, Request: g.Spec.Request, Nodes: 1,
			Limited: []accountant.Limit{{Name: "sw", Wanted: 2}}, Labels: map[string]string{"owner": user},
		}
	}
}

// TestHeldInVain: a job that could start and does not makes room for another user's after a minute,
// and its user's further jobs come after those of others for some minutes.
func TestHeldInVain(t *testing.T) {
	p := accounted(t)
	p.job(1, wantsAll("eve"), earlier)
	require.Equal(t, "submitted 1.0=#1", p.look())
	p.job(2, wantsAll("bob"))
	for range 3 {
		require.Contains(t, p.look(), "unplanned 2.0 0 of 2 in use, 2 held for 1.0 of eve, which waits, 2 wanted")
		p.now = p.now.Add(20 * time.Second)
	}
	require.Contains(t, p.look(), "submitted 2.0=#2, removed #1")
	require.Contains(t, p.belief.vain, p.belief.Job(1).Group.Spec.User())
	p.now = p.now.Add(8*time.Minute + time.Second)
	p.look()
	require.Empty(t, p.belief.vain)
}

// TestHeldByTurns: jobs of a user that hold a limit one after the other, and leave or are edited
// before any has for long, hold it as one would. Some minutes later that is forgotten.
func TestHeldByTurns(t *testing.T) {
	for name, away := range map[string]func(p *pool, cluster int64){
		"they leave":      func(p *pool, cluster int64) { p.leaves(cluster) },
		"they are edited": func(p *pool, cluster int64) { p.job(cluster, wrong("for now")) },
		"they need more": func(p *pool, cluster int64) {
			p.job(cluster, wantsAll("eve"), func(g *observe.Group) { g.Spec.Text, g.Spec.Request = "wide", backfill.Vector{9, 1, 1} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := accounted(t)
			turns := func(n int64) {
				for range n {
					p.job(1, is("a job"), wantsAll("eve"), earlier)
					p.look()
					p.job(9, wantsAll("bob")) // all ask
					p.look()
					p.passes(20)
					p.look()
					away(p, 1)
					p.leaves(9)
					p.look()
				}
			}
			turns(2)
			require.Empty(t, p.belief.vain)
			turns(2)
			require.Len(t, p.belief.vain, 1)
			p.passes(int64(p.belief.vainFor()))
			p.job(9, wantsAll("bob"))
			p.look()
			require.Empty(t, p.belief.vain)
			require.Empty(t, p.belief.spent)
		})
	}
}

// TestRoomNow: jobs take what slots have free, one after the other; gangs take all of their chunks
// or none.
func TestRoomNow(t *testing.T) {
	p := begun(t)
	p.slot("a", func(s *observe.Slot) { s.Free = backfill.Vector{3, 4096, 3} })
	p.look()
	chunks := func(cpus int64, nodes int) *observe.Spec {
		return specOf("a job", func(s *observe.Spec) {
			s.Request, s.Nodes = backfill.Vector{cpus, 128, 1}, nodes
			s.Ad.SetBool("Requirements", true)
		})
	}
	r := p.belief.roomNow()
	require.False(t, r.start(chunks(3, 3)))
	require.True(t, r.start(chunks(3, 2)), "on a and on b, which has 4 cpus")
	one := chunks(1, 1)
	require.False(t, r.start(one), "b takes one job")
	r = p.belief.roomNow()
	for range 4 {
		require.True(t, r.start(one))
	}
	require.False(t, r.start(one))

	p.job(1, gang(2))
	p.look()
	p.start(1, sent, "a", "b")
	require.False(t, p.belief.roomNow().start(chunks(3, 1)), "a job is on its way there")

	for requirements, room := range map[string]bool{"time() == %d": true, "CurrentTime < %d": false} {
		require.Equal(t, room, p.belief.roomNow().start(specOf("a job", func(s *observe.Spec) {
			require.NoError(t, s.Ad.SetExpr("Requirements", fmt.Sprintf(requirements, p.now.Unix())))
		})), requirements)
	}
}

// TestRoomNowCostsLittle: a user whose jobs are expensive to look at counts as one whose jobs
// cannot start now, before he has spent what belongs to others.
func TestRoomNowCostsLittle(t *testing.T) {
	p := begun(t)
	for i := range 100 {
		p.slot(fmt.Sprint("n", i))
	}
	p.look()
	r := p.belief.roomNow()
	dear := "size(split(\"" + strings.Repeat("a ", 2000) + "\")) < 1"
	for range 1000 {
		require.False(t, r.start(specOf("a job", func(s *observe.Spec) {
			require.NoError(t, s.Ad.SetExpr("Requirements", dear))
		})))
	}
	require.Greater(t, r.all, int64(mostSteps/4))
	require.Less(t, r.all, int64(mostSteps/2))
}
