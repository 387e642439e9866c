package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// hand has a job start on a slot, with its claim handed over.
func (d *desk) hand(id backfill.JobID, slot string) *flight {
	d.t.Helper()
	f := d.start(id, slot)
	d.wasSent(match{flight: f, slot: slot, Grant: client.Grant{Claim: "a claim"}})
	require.True(d.t, f.sent())
	return f
}

// refuse has a job start on a slot, and its claim refused two seconds later.
func (d *desk) refuse(id backfill.JobID, slot string) (out []backfill.JobID) {
	d.t.Helper()
	f := d.hand(id, slot)
	d.at = d.at.Add(2 * time.Second)
	f.gone = d.at
	return d.look().Failed
}

// TestAskStartds says when a claim that was handed over is over: its slot's private ad is there,
// and has it neither among the claims to give nor among those of dynamic slots.
func TestAskStartds(t *testing.T) {
	const free = "Name = \"a\"\nMyAddress = \"<n1>\"\nState = \"Unclaimed\"\n"
	const partitionable = free + "PartitionableSlot = true\n"
	const private = "Name = \"a\"\nMyAddress = \"<n1>\"\n"
	for name, c := range map[string]struct {
		slot, private string
		over          bool
	}{
		"still to give":        {slot: free, private: private + `ClaimId = "a claim"`},
		"over":                 {slot: free, private: private + `ClaimId = "another"`, over: true},
		"the job runs":         {slot: free + "State = \"Claimed\"", private: private + `ClaimId = "another"`},
		"the job is vacated":   {slot: free + "State = \"Preempting\"", private: private + `ClaimId = "another"`},
		"refused, now Owner":   {slot: free + "State = \"Owner\"", private: private + `ClaimId = "another"`, over: true},
		"no private ad":        {slot: free, private: `Name = "b"`},
		"no claim to see":      {slot: free, private: private},
		"of a startd before":   {slot: free, private: "Name = \"a\"\nMyAddress = \"<n2>\"\nClaimId = \"another\""},
		"not advertised":       {slot: `Name = "b"`, private: private + `ClaimId = "another"`},
		"one of several":       {slot: free, private: private + "ClaimId = \"x\"\nClaimIdList = \" x y\""},
		"of a dynamic slot":    {slot: partitionable, private: private + "ClaimId = \"x\"\nChildClaimIds = {\"a claim\"}"},
		"of no dynamic slot":   {slot: partitionable, private: private + "ClaimId = \"x\"\nChildClaimIds = {\"y\"}", over: true},
		"dynamic slots hidden": {slot: partitionable, private: private + `ClaimId = "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c")
			collector := fakes.NewCollector(t)
			collector.Set("Machine", c.slot)
			collector.Set("MachinePrivate", c.private)
			d.ask(collector)
			f := d.hand(d.submit(1, specOf(t, 1, "true")), "a")
			if name == "one of several" {
				f.claims = []string{"y"}
			}
			require.False(t, d.InDoubt(), "the claim is on its way")
			d.at = d.at.Add(unasked)
			require.Empty(t, d.look().Failed)
			require.True(t, d.InDoubt())
			require.Equal(t, c.over, d.AskStartds(t.Context()))
			require.Equal(t, !c.over, d.InDoubt())
			d.at = d.at.Add(time.Second)
			require.Equal(t, c.over, len(d.look().Failed) == 1)
		})
	}
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
		"refused":   {change: func(d *desk, f *flight) { f.gone = d.at }, want: refused},
		"came back": {edit: ran, want: cameBack},
		"came back, and its claim is over": {
			change: func(d *desk, f *flight) { f.gone = d.at }, edit: ran, want: cameBack,
		},
		"the queue was read before": {change: func(d *desk, f *flight) { f.gone = d.at.Add(time.Second) }},
		"it runs": {
			change: func(d *desk, f *flight) { f.gone = d.at },
			edit:   func(g *observe.Group) { g.Status, g.Shadows = observe.Running, 1 },
		},
		"it has failed before": {
			change: func(d *desk, f *flight) { f.gone, d.failures[f.job.Key] = d.at, d.at }, edit: ran,
		},
		"its slot has refused one claim": {change: func(d *desk, f *flight) {
			f.gone, d.suspects["a"] = d.at, map[string]*suspect{"s": {failures: 1, until: d.at}}
		}, want: refused},
		"its slot has refused two": {change: func(d *desk, f *flight) {
			f.gone, d.suspects["a"] = d.at, map[string]*suspect{"s": {failures: 2, until: d.at}}
		}},
		"its schedd is being told": {change: func(d *desk, f *flight) { f.gone, f.telling = d.at, true }, edit: ran},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c")
			f := d.hand(d.submit(1, specOf(t, 1, "true")), "a")
			if c.edit != nil {
				d.edit(1, c.edit)
			}
			d.at = d.at.Add(2 * time.Second)
			if c.change != nil {
				c.change(d, f)
			}
			out := d.look()
			require.Equal(t, c.want, f.failed)
			require.Equal(t, c.want != none, len(out.Failed) == 1)
			require.Equal(t, c.want == refused, out.Unstarted == 1)
			_, used := d.used["a claim"]
			require.True(t, used, "it is no claim to be handed out again")
		})
	}
}

// TestRefusalsTakeTime says that the first claim that a slot refuses is soon followed by another, and
// that a job or a slot with several failures has to wait.
func TestRefusalsTakeTime(t *testing.T) {
	d := newDesk(t, "a", "b", "c", "d")
	first := d.submit(1, specOf(t, 1, "true"))
	second := d.submit(2, specOf(t, 1, "true"))
	third := d.submit(3, specOf(t, 1, "true"))

	require.Len(t, d.refuse(first, "a"), 1)
	require.Empty(t, d.Paused(), "another try is due")
	require.Empty(t, d.refuse(first, "b"), "the job has failed before")
	d.at = d.at.Add(d.s.Patience)
	require.Len(t, d.look().Failed, 1, "it is overdue")

	require.Len(t, d.refuse(second, "a"), 1)
	require.Equal(t, []Pause{{Slot: "a", Failures: 2, Until: d.at.Add(2 * firstPause)}}, d.Paused())
	d.at = d.at.Add(2 * firstPause)
	require.Empty(t, d.refuse(third, "a"), "the slot has refused two claims")
	d.at = d.at.Add(d.s.Patience)
	require.Len(t, d.look().Failed, 1)

	d.at = d.at.Add(forgiven + time.Second)
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
		d.at = d.at.Add(d.s.Patience)
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
	began := d.at
	for _, after := range append(looksAfter, d.s.Patience) {
		require.Equal(t, began.Add(after), d.Deadline())
		d.at = d.Deadline()
		d.look()
	}
	d.hand(id, "b")
	began = d.at
	d.edit(1, func(g *observe.Group) { g.Status, g.Hosts, g.Started = observe.Running, []string{"b"}, d.snapshot.Now })
	for _, after := range looksAfter[:2] {
		require.Equal(t, began.Add(after), d.Deadline())
		d.at = d.Deadline()
		d.look()
	}
	require.NotContains(t, d.flights, id)
	require.NotEqual(t, began.Add(looksAfter[2]), d.Deadline(), "nothing is on its way")
}
