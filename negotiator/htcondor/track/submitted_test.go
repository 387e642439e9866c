package track

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
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

// of has a job be of a user.
func of(user string) func(*observe.Group) {
	return func(g *observe.Group) {
		g.Spec = g.Spec.As(observe.Charged{User: user}, g.Spec.Request, g.Spec.Nodes, []string{"cpus", "memory"})
	}
}

// submitted has a job state when it was submitted.
func submitted(at backfill.Time) func(*observe.Group) {
	return func(g *observe.Group) { g.Submit = at }
}

// TestFirstLook: a job that is there at the first look was submitted after those with lower clusters
// of others were. Nobody who states too late an instant has others' jobs come later by that.
func TestFirstLook(t *testing.T) {
	const day = 86400
	for name, c := range map[string]struct {
		jobs func(p *pool)
		want backfill.Time // when eve's job 50, which states 1, counts as submitted, from the first look on
	}{
		"after two others": {func(p *pool) {
			p.job(10, of("alice"), submitted(begin-3*day))
			p.job(20, of("bob"), submitted(begin-2*day))
		}, -3*day - submitSlack},
		"after three others": {func(p *pool) {
			p.job(10, of("alice"), submitted(begin-3*day))
			p.job(20, of("bob"), submitted(begin-2*day))
			p.job(30, of("carol"), submitted(begin-day))
		}, -2*day - submitSlack},
		"one of them lies, too": {func(p *pool) {
			p.job(10, of("alice"), submitted(begin+day))
			p.job(20, of("bob"), submitted(begin-2*day))
			p.job(30, of("carol"), submitted(begin-day))
		}, -day - submitSlack},
		"one of them lies twice": {func(p *pool) {
			p.job(10, of("alice"), submitted(begin+day))
			p.job(15, of("alice"), submitted(begin+2*day))
			p.job(20, of("bob"), submitted(begin-2*day))
		}, -2*day - submitSlack},
		"what comes later counts for nothing": {func(p *pool) {
			p.job(10, of("alice"), submitted(begin-2*day))
			p.job(60, of("bob"), submitted(begin-day))
		}, 1 - begin},
		"her own jobs tell little": {func(p *pool) {
			p.job(10, of("eve"), submitted(1))
			p.job(20, of("bob"), submitted(begin-day))
		}, 1 - begin},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			c.jobs(p)
			p.job(50, of("eve"), submitted(1))
			p.look()
			at := func() backfill.Time { return p.belief.JobOf(key(50)).submitted() - begin }
			require.Equal(t, c.want, at())
			saved := p.belief.Save(negotiator.Checkpoint{Now: p.unix()})
			p.now = p.now.Add(time.Minute)
			p.restore(saved)
			require.Equal(t, c.want, at(), "after a restart")
		})
	}
}

// TestAnyFirstLook: in any queue in which one user at most lies about when his jobs were submitted,
// those of the others count as submitted when they were, and no job comes before one of two others
// that was submitted a while before it.
func TestAnyFirstLook(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, now := newPool(t), backfill.Time(begin)-100_000
		truth := map[int64]backfill.Time{}
		users, liar := rapid.IntRange(1, 6).Draw(rt, "users"), "user0"
		whose := map[int64]string{}
		for cluster := range rapid.Int64Range(1, 300).Draw(rt, "clusters") {
			now += backfill.Time(rapid.IntRange(0, 300).Draw(rt, "pause"))
			user := fmt.Sprint("user", rapid.IntRange(0, users-1).Draw(rt, "user"))
			stated := now
			if user == liar {
				stated = rapid.SampledFrom([]backfill.Time{-7, 0, 1, now - 5000, now, now + 5000, begin, 1 << 50}).Draw(rt, "stated")
			}
			p.job(cluster, of(user), submitted(stated))
			truth[cluster], whose[cluster] = now, user
		}
		p.look()
		for cluster, at := range truth {
			j := p.belief.JobOf(key(cluster))
			if whose[cluster] != liar {
				require.Equal(rt, at, j.submitted())
			}
			second := map[string]backfill.Time{}
			for other, before := range truth {
				if other < cluster && whose[other] != liar {
					second[whose[other]] = max(second[whose[other]], before)
				}
			}
			if others := slices.Sorted(maps.Values(second)); len(others) >= 2 && len(truth) < mostSeen {
				require.GreaterOrEqual(rt, j.submitted(), others[len(others)-2]-2*submitSlack)
			}
		}
		require.LessOrEqual(rt, len(p.belief.seen["s"]), mostSeen)
	})
}
