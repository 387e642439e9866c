package track

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// ownedBy has a job be a user's, who has a limit.
func (p *pool) ownedBy(user string) func(*observe.Group) {
	return func(g *observe.Group) {
		base := specOf("a job")
		base.Ad.SetString("User", user)
		g.Spec = base.As(observe.Charged{User: user, Limits: user}, base.Request, base.Nodes, p.belief.s.Schema.Resources)
	}
}

// owned is a pool in which eve's job 1 runs on a slot whose ad names it.
func owned(tb testing.TB) *pool {
	tb.Helper()
	p := begun(tb)
	p.job(1, p.ownedBy("eve"))
	p.look()
	p.start(1, sent, "a")
	p.runs(1, "a")
	p.slotRuns("a")
	require.Equal(tb, "arrived #1", p.look())
	return p
}

// users are who is charged, and with how many slots.
func (p *pool) users() map[string]int {
	users := map[string]int{}
	for user, use := range p.belief.Use() {
		users[user] = use.Slots
	}
	return users
}

// limits are how many jobs hold each limit.
func (p *pool) limits() map[string]int {
	limits := map[string]int{}
	running := p.belief.running()
	for what, n := range running.all {
		for _, l := range p.belief.candidate(what).Limits {
			limits[l.Name] += n
		}
	}
	return limits
}

// TestEditsChangeNoCharge: whatever a user writes into his job, a run that goes on by its slot is
// charged as it was planned, and holds the same limits. If the job is sent to another slot
// meanwhile, that may be charged besides. Once he is known to lie, the place is not free any more.
func TestEditsChangeNoCharge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := owned(t)
		as := map[string]int{"eve": 1}
		resent, hidden, back := rapid.Bool().Draw(r, "resent"), false, false
		for range rapid.IntRange(1, 60).Draw(r, "looks") {
			p.passes(rapid.Int64Range(1, 30).Draw(r, "seconds"))
			p.slot("a", func(s *observe.Slot) { s.Changed = p.now })
			status := rapid.SampledFrom([]int64{0, observe.Idle, observe.Running, 3, 5, 7}).Draw(r, "status")
			if status == 0 {
				delete(p.jobs, key(1))
			} else {
				p.job(1, func(g *observe.Group) {
					g.Status, g.Started = status, p.unix()-backfill.Time(rapid.Int64Range(0, 100).Draw(r, "started"))
					g.Shadows += rapid.Int64Range(0, 1).Draw(r, "shadows")
					g.Hosts = []string{full(rapid.SampledFrom([]string{"a", "b", "nowhere"}).Draw(r, "host"))}
				}, p.ownedBy(rapid.SampledFrom([]string{"eve", "victim"}).Draw(r, "user")))
			}
			p.look()
			for _, got := range []map[string]int{p.users(), p.limits()} {
				if !resent {
					require.Equal(r, as, got)
				}
				require.GreaterOrEqual(r, got["eve"], 1)
			}
			j := p.belief.JobOf(key(1))
			switch runs := status == observe.Running || status == 7; {
			case !runs:
				hidden = true
			case hidden:
				back = true
			}
			if back && !resent {
				require.NotNil(r, j)
				require.True(r, j.runsAt(full("a")))
			}
			if resent && j != nil && j.Phase == Waiting && rapid.Bool().Draw(r, "starts") {
				p.start(j.ID, sent, rapid.SampledFrom([]string{"a", "b"}).Draw(r, "to"))
			}
		}
	})
}

// TestNewRunsAreChargedAnew: a job whose run has ended is charged as it is sent anew, wherever it
// runs then, and though the ads of its slots are late.
func TestNewRunsAreChargedAnew(t *testing.T) {
	free := func(s *observe.Slot) { s.Claimed, s.Runs = false, observe.JobKey{} }
	for name, c := range map[string]struct {
		ends, again func(p *pool)
		to          string
	}{
		"held and released": {func(p *pool) { p.job(1, func(g *observe.Group) { g.Status = 5 }) }, nil, "b"},
		"vacated":           {func(p *pool) { p.idles(1) }, nil, "b"},
		"on the same slot":  {func(p *pool) { p.idles(1) }, nil, "a"},
		"its slot's ad is late": {func(p *pool) { p.idles(1) }, func(p *pool) {
			require.Equal(p.t, map[string]int{"eve": 1, "alice": 1}, p.users(), "a names it still")
			p.slot("a", free)
		}, "b"},
		"on the same slot, whose ad is late": {func(p *pool) { p.idles(1) }, func(p *pool) {
			require.Equal(p.t, map[string]int{"eve": 1, "alice": 1}, p.users(), "which run is it?")
		}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			p := owned(t)
			p.passes(30)
			c.ends(p)
			p.look()
			require.Equal(t, map[string]int{"eve": 1}, p.users(), "its slot names it still")
			p.passes(4)
			if c.again == nil {
				p.slot("a", free)
			}
			p.idles(1)
			p.job(1, p.ownedBy("alice"))
			p.look()
			if c.again == nil {
				require.Empty(t, p.users())
				require.Empty(t, p.limits())
			}
			p.start(p.belief.JobOf(key(1)).ID, sent, c.to)
			p.passes(4)
			p.runs(1, c.to)
			p.look()
			if c.again != nil {
				c.again(p)
			}
			p.passes(4)
			p.slot(c.to, func(s *observe.Slot) {
				s.Claimed, s.Runs, s.ClaimedSince, s.Changed = true, key(1), p.unix(), p.now
			})
			for range 3 {
				p.look()
				require.Equal(t, map[string]int{"alice": 1}, p.users())
				require.Equal(t, map[string]int{"alice": 1}, p.limits())
				p.passes(4)
			}
			require.True(t, p.belief.JobOf(key(1)).runsAt(full(c.to)))
			require.Empty(t, p.dispatched.Flights)
		})
	}
}

// TestRunsAnewBySchedd: a job that its schedd runs once more on the same claim is charged by what it
// asked for between.
func TestRunsAnewBySchedd(t *testing.T) {
	p := owned(t)
	p.passes(30)
	p.idles(1)
	p.job(1, p.ownedBy("alice"))
	p.look()
	p.passes(4)
	p.runs(1, "a")
	p.slot("a", func(s *observe.Slot) { s.ClaimedSince, s.Changed = p.unix(), p.now })
	p.look()
	require.Equal(t, map[string]int{"alice": 1}, p.users())
}
