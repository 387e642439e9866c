package claims

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// hand has a job start on a slot, with its claim handed over.
func (d *desk) hand(id backfill.JobID, slot string) *flight {
	d.t.Helper()
	f := d.start(id, slot)
	d.wasSent(Grant{flight: f, Slot: slot, Claim: "a-claim"})
	require.True(d.t, f.sent())
	return f
}

// refuse has a job start on a slot, and its claim refused two seconds later.
func (d *desk) refuse(id backfill.JobID, slot string) (out []backfill.JobID) {
	d.t.Helper()
	f := d.hand(id, slot)
	d.now = d.now.Add(2 * time.Second)
	f.gone = d.now
	return d.look().Failed
}

// TestFailsEarly says when a start has failed before it is overdue, and how.
func TestFailsEarly(t *testing.T) {
	ran := func(g *observe.Group) { g.Shadows++ }
	for name, c := range map[string]struct {
		change func(d *desk, f *flight)
		edit   func(g *observe.Group)
		want   failure
	}{
		"it flies":  {},
		"refused":   {change: func(d *desk, f *flight) { f.gone = d.now }, want: refused},
		"came back": {edit: ran, want: cameBack},
		"came back, and its claim is over": {
			change: func(d *desk, f *flight) { f.gone = d.now }, edit: ran, want: cameBack,
		},
		"the queue was read before": {change: func(d *desk, f *flight) { f.gone = d.now.Add(time.Second) }},
		"it runs": {
			change: func(d *desk, f *flight) { f.gone = d.now },
			edit:   func(g *observe.Group) { g.Status, g.Shadows = observe.Running, 1 },
		},
		"it has failed before": {
			change: func(d *desk, f *flight) { f.gone, d.failures[f.job.Key] = d.now, d.now }, edit: ran,
		},
		"its slot has refused one claim": {change: func(d *desk, f *flight) {
			f.gone, d.suspects["a"] = d.now, map[whose]*suspect{{schedd: "s"}: {failures: 1, until: d.now}}
		}, want: refused},
		"its slot has refused two": {change: func(d *desk, f *flight) {
			f.gone, d.suspects["a"] = d.now, map[whose]*suspect{{schedd: "s"}: {failures: 2, until: d.now}}
		}},
		"ignored": {change: func(d *desk, f *flight) { f.unused = d.now }, want: ignored},
		"ignored, and it has failed before": {
			change: func(d *desk, f *flight) { f.unused, d.failures[f.job.Key] = d.now, d.now }, want: ignored,
		},
		"ignored, and the queue was read before": {
			change: func(d *desk, f *flight) { f.unused = d.now.Add(time.Second) },
		},
		"not asked for yet, and it came back": {
			change: func(d *desk, f *flight) { f.unused = d.now }, edit: ran, want: cameBack,
		},
		"its schedd is being told": {change: func(d *desk, f *flight) { f.gone, f.telling = d.now, true }, edit: ran},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c")
			f := d.hand(d.submit(1, specOf(t, 1, "true")), "a")
			if c.edit != nil {
				d.edit(1, c.edit)
			}
			d.now = d.now.Add(2 * time.Second)
			if c.change != nil {
				c.change(d, f)
			}
			out := d.look()
			require.Equal(t, c.want, f.failed)
			require.Equal(t, c.want != none, len(out.Failed) == 1)
			require.Equal(t, c.want == refused || c.want == ignored, out.Unstarted == 1)
			_, used := d.used["a-claim"]
			require.Equal(t, c.want != ignored, used, "only a claim that nobody asked for is handed out again")
		})
	}
}

// TestRefusalsTakeTime says that the first claim that a slot refuses is soon followed by another,
// and that a job or a slot with several failures has to wait.
func TestRefusalsTakeTime(t *testing.T) {
	d := newDesk(t, "a", "b", "c", "d")
	d.prove("a", "b", "c", "d")
	first := d.submit(1, specOf(t, 1, "true"))
	second := d.submit(2, specOf(t, 1, "true"))
	third := d.submit(3, specOf(t, 1, "true"))

	require.Len(t, d.refuse(first, "a"), 1)
	require.Empty(t, d.Paused(), "another try is due")
	require.Empty(t, d.refuse(first, "b"), "the job has failed before")
	d.now = d.now.Add(d.s.Patience)
	require.Len(t, d.look().Failed, 1, "it is overdue")

	require.Len(t, d.refuse(second, "a"), 1)
	require.Equal(t, []Pause{{Slot: "a", Failures: 2, Until: d.now.Add(2 * firstPause)}}, d.Paused())
	d.now = d.now.Add(2 * firstPause)
	require.Empty(t, d.refuse(third, "a"), "the slot has refused two claims")
	d.now = d.now.Add(d.s.Patience)
	require.Len(t, d.look().Failed, 1)

	d.now = d.now.Add(forgiven + time.Second)
	d.look()
	require.Len(t, d.refuse(first, "c"), 1, "its failure was long ago")
}

// TestWhoCameBackBlamesNobody says that a job that ran and came back is no reason to leave its slot
// out, even if that is found out late.
func TestWhoCameBackBlamesNobody(t *testing.T) {
	d := newDesk(t, "a", "b", "c")
	id := d.submit(1, specOf(t, 1, "true"))
	for range 3 {
		d.hand(id, "a")
		d.edit(1, func(g *observe.Group) { g.Shadows++ })
		d.now = d.now.Add(d.s.Patience)
		require.Len(t, d.look().Failed, 1)
		require.Empty(t, d.Suspects())
	}
}

// TestLooksFollowMatches says when looks at the pool follow a match.
func TestLooksFollowMatches(t *testing.T) {
	d := newDesk(t, "a", "b", "c")
	id := d.submit(1, specOf(t, 1, "true"))
	require.Zero(t, d.Deadline())
	d.hand(id, "a")
	began := d.now
	for _, after := range append(looksAfter, d.s.Patience) {
		require.Equal(t, began.Add(after), d.Deadline())
		d.now = d.Deadline()
		d.look()
	}
	d.hand(id, "b")
	began = d.now
	d.edit(1, func(g *observe.Group) { g.Status, g.Hosts, g.Started = observe.Running, []string{"b"}, d.snapshot.Now })
	for _, after := range looksAfter[:2] {
		require.Equal(t, began.Add(after), d.Deadline())
		d.now = d.Deadline()
		d.look()
	}
	require.NotContains(t, d.flights, id)
	require.NotEqual(t, began.Add(looksAfter[2]), d.Deadline(), "nothing is on its way")
}
