package claims

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestStartedElsewhere: a job that another negotiator has started leaves its claim to others at once, and
// neither its slot nor the job is blamed. One that is lent, or may be on its way, stays a little longer.
func TestStartedElsewhere(t *testing.T) {
	elsewhere, here := []string{"slot1@far"}, []string{"b"}
	for name, c := range map[string]struct {
		hosts []string
		after time.Duration
		lent  bool
		used  bool
	}{
		"elsewhere":            {hosts: elsewhere, after: time.Second},
		"at once":              {hosts: elsewhere, after: time.Second / 2, used: true},
		"elsewhere, lent":      {hosts: elsewhere, after: 4 * time.Second, lent: true, used: true},
		"later, lent":          {hosts: elsewhere, after: 5 * time.Second, lent: true},
		"on another slot":      {hosts: here, after: 4 * time.Second, used: true},
		"later, on another":    {hosts: here, after: 5 * time.Second},
		"a moment after, late": {hosts: elsewhere, after: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b")
			f := d.start(d.submit(1, specOf(t, 1, "true")), "a")
			f.rest, f.claims, f.lent, f.moved = nil, []string{"claim#1"}, c.lent, d.now
			d.noteUsed(Grant{Claim: "claim#1", Slot: "a", flight: f})
			d.now = d.now.Add(c.after)
			d.edit(1, func(g *observe.Group) { g.Status, g.Hosts, g.Started = observe.Running, c.hosts, 1 })
			d.look(func(s *observe.Snapshot) {
				for _, name := range c.hosts {
					if o := s.Slots[name]; o != nil {
						named := *o
						named.Claimed, named.Runs = true, f.job.Key
						s.Slots[name] = &named
					}
				}
			})
			if c.used {
				require.Contains(t, d.used, "claim#1")
			} else {
				require.NotContains(t, d.used, "claim#1")
			}
			require.Empty(t, d.Suspects())
			require.Empty(t, d.refused.byJob)
		})
	}
}

// TestContested: while jobs of a schedd start elsewhere, a look must show that a job waits before its match
// is handed over, if that has waited for its slot.
func TestContested(t *testing.T) {
	d := newDesk(t, "a", "b")
	first, second := d.submit(1, specOf(t, 1, "true")), d.submit(2, specOf(t, 1, "true"))
	d.start(first, "a")
	require.False(t, Contested(d.State), "nobody else starts jobs of its schedd")
	d.edit(1, func(g *observe.Group) { g.Status, g.Hosts, g.Started = observe.Running, []string{"slot1@far"}, 1 })
	d.look()
	require.NotContains(t, d.flights, first)
	require.False(t, Contested(d.State), "nothing is to be handed over")
	f := d.start(second, "b")
	require.True(t, Contested(d.State))
	f.rest, f.claims = nil, []string{"claim#1"}
	require.False(t, Contested(d.State), "it was handed over")
	f.rest, f.claims = f.job.Places, nil
	d.now = d.now.Add(sharedFor + time.Second)
	d.look()
	require.False(t, Contested(d.State), "that was long ago")
}
