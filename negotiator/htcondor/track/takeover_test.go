package track

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// takesOver is a pool in which job 2, or job 1 if the heir is older, was started in the place of the other
// one, which runs on a.
func takesOver(t *testing.T, heirs int64) (p *pool, heir, victim int64) {
	t.Helper()
	p = begun(t)
	heir, victim = heirs, 3-heirs
	p.job(1)
	p.job(2)
	p.runs(victim, "a")
	p.look()
	places := negotiator.Placement{{Slot: p.belief.slots[full("a")].reported, Count: 1}}
	id := func(cluster int64) backfill.JobID { return p.belief.jobs[key(cluster)].ID }
	require.NotNil(t, p.belief.Start(negotiator.Match{
		Job: &negotiator.Job{ID: id(heir)}, Placement: places, Displaces: []backfill.JobID{id(victim)}, At: begin + 600,
	}))
	p.dispatched.Flights[id(heir)] = sent
	return p, heir, victim
}

// TestVictims says what is reported of a job that was to make way, whatever became of its heir since the last
// look, and in whichever order both were submitted.
func TestVictims(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(p *pool, heir, victim int64)
		left bool
	}{
		"its heir runs":              {func(p *pool, heir, victim int64) { p.idles(victim); p.runs(heir, "a") }, true},
		"its heir is on its way":     {func(p *pool, _, victim int64) { p.idles(victim) }, true},
		"its heir has run and ended": {func(p *pool, heir, victim int64) { p.idles(victim); p.leaves(heir) }, true},
		"its heir runs elsewhere":    {func(p *pool, heir, victim int64) { p.idles(victim); p.runs(heir, "b") }, true},
		"its heir was refused":       {func(p *pool, heir, victim int64) { p.idles(victim); refused(p, heir) }, true},
		"its heir was removed":       {func(p *pool, heir, _ int64) { p.leaves(heir) }, false},
		"it runs on, refused or not": {func(p *pool, heir, _ int64) { refused(p, heir) }, false},
		"it runs on, its heir also":  {func(p *pool, heir, _ int64) { p.runs(heir, "b") }, false},
		"it ended by itself":         {func(p *pool, heir, victim int64) { p.leaves(victim); p.runs(heir, "a") }, false},
		"its schedd does not answer": {func(p *pool, _, _ int64) { p.silent["s"] = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, heirs := range []int64{2, 1} {
				p, heir, victim := takesOver(t, heirs)
				id := p.belief.jobs[key(victim)].ID
				p.passes(5)
				c.do(p, heir, victim)
				d := p.diff().Delta
				if c.left {
					require.Equal(t, []backfill.JobID{id}, d.Displaced, "heir %d", heirs)
					require.Contains(t, d.StartFailed, id)
				} else {
					require.Empty(t, d.Displaced, "heir %d", heirs)
					require.NotContains(t, d.StartFailed, id)
				}
				p.passes(5)
				d = p.diff().Delta
				require.Empty(t, d.Displaced, "once")
				require.NotContains(t, d.StartFailed, id)
			}
		})
	}
}

func refused(p *pool, heir int64) {
	f := sent
	f.Refused = true
	p.dispatched.Flights[p.belief.jobs[key(heir)].ID] = f
}
