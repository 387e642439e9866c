package dispatch

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a dispatcher for a pool that snapshots by hand show: the schedd s, the slots that are
// named, and jobs. Time stands still unless it is moved.
type desk struct {
	*Dispatcher
	t        testing.TB
	at       time.Time
	belief   *track.Belief
	snapshot *observe.Snapshot
	schedd   *observe.Schedd // s, of the next snapshot
}

func newDesk(tb testing.TB, slots ...string) *desk {
	tb.Helper()
	d := &desk{t: tb, at: time.Unix(1_700_000_000, 0), schedd: &observe.Schedd{
		Name: "s", Read: true, Submitters: map[string]observe.Submitter{"": {Idle: 1}, "DedicatedScheduler@s": {Idle: 1}},
	}}
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", observe.Claims}
	log, patience := hclog.NewNullLogger(), 30*time.Second
	d.snapshot = &observe.Snapshot{Slots: map[string]*observe.Slot{}}
	for _, name := range slots {
		ad := classad.New()
		ad.SetString("Name", name)
		ad.SetBool("Requirements", true)
		d.snapshot.Slots[name] = &observe.Slot{
			Name: name, Host: name, Static: true, Advertised: true, Free: backfill.Vector{4, 4096, 1},
			Ad: &negotiator.Slot{Name: name, Capacity: backfill.Vector{4, 4096, 1}, Ad: ad},
		}
	}
	d.belief = track.New(track.Settings{Schema: schema, Patience: patience, Logger: log})
	d.Dispatcher = New(Settings{
		Schema: schema, Patience: patience, Tuning: Tuning{Hold: time.Hour}, Logger: log, Clock: func() time.Time { return d.at },
	}, claims.New(claims.Settings{Schema: schema, Patience: patience, Logger: log}, d.belief))
	d.look()
	return d
}

// look shows the pool to the dispatcher and its state. Change changes the next snapshot first.
func (d *desk) look(changes ...func(s *observe.Snapshot)) track.Outcome {
	d.t.Helper()
	next := *d.snapshot
	next.Number++
	next.Began, next.Ended, next.Now = d.at, d.at, backfill.Time(d.at.Unix())
	schedd := *d.schedd
	if schedd.Read {
		schedd.Since = d.at
	}
	next.Schedds = map[string]*observe.Schedd{schedd.Name: &schedd}
	for _, change := range changes {
		change(&next)
	}
	d.snapshot = &next
	d.Look(&next)
	return d.claims.See(d.at, &next)
}

// specOf is what a job is planned by; of several nodes it is a gang.
func specOf(tb testing.TB, nodes int, requirements string) *observe.Spec {
	tb.Helper()
	ad := classad.New()
	ad.SetInt("RequestCpus", 1)
	require.NoError(tb, ad.SetExpr("Requirements", requirements))
	return &observe.Spec{
		Ad: ad, Text: ad.String(), Request: backfill.Vector{1, 128, 1}, Nodes: nodes, Parallel: nodes > 1,
	}
}

// submit adds a job to the queue of s, and gives its ID.
func (d *desk) submit(cluster int64, spec *observe.Spec) backfill.JobID {
	d.t.Helper()
	key := observe.JobKey{Schedd: "s", Cluster: cluster}
	d.schedd.Groups = append(d.schedd.Groups, &observe.Group{
		Spec: spec, Status: observe.Idle, Submit: 1_600_000_000, Jobs: []observe.JobKey{key},
	})
	d.look()
	for j := range d.belief.Jobs() {
		if j.Key == key {
			return j.ID
		}
	}
	require.Fail(d.t, "the job is not there")
	return 0
}

// grant has a job start on a slot, and gives what its schedd is to be told: one of these claims for
// each of its chunks.
func (d *desk) grant(id backfill.JobID, slot string, ids ...string) claims.Grants {
	d.t.Helper()
	d.claims.Start(d.at, []negotiator.Match{{
		Job: &negotiator.Job{ID: id}, Placement: negotiator.Placement{{Slot: d.snapshot.Slots[slot].Ad, Count: len(ids)}},
	}})
	ready := d.claims.Ready(d.at)
	require.Len(d.t, ready, 1)
	return d.claims.Grant(d.at, ready, map[string]*claims.Offer{
		slot: {Ad: classad.New(), Free: backfill.Vector{4, 4096, 4}, Open: true, Claims: ids},
	})
}

// hand has a job start on a slot, with its claims handed over.
func (d *desk) hand(id backfill.JobID, slot string, ids ...string) {
	d.t.Helper()
	for _, all := range d.grant(id, slot, ids...)["s"] {
		d.claims.Told(d.at, "s", all, nil)
	}
	require.True(d.t, d.claims.Flights()[id].Sent)
}

// edit changes the group of the last job of s for the next look.
func (d *desk) edit(change func(g *observe.Group)) {
	last := len(d.schedd.Groups) - 1
	edited := *d.schedd.Groups[last]
	change(&edited)
	d.schedd.Groups[last] = &edited
}

// ask has the dispatcher ask a collector, and accept the daemons that are fakes.
func (d *desk) ask(c *fakes.Collector) {
	d.s.Security = fakes.Client()
	d.s.Collector = &client.Collector{Security: d.s.Security, Addresses: []cedar.Address{c.Address()}}
}
