package dispatch

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a dispatcher with a belief in a pool that snapshots by hand show: the schedd s, the slots
// that are named, and jobs. Time stands still unless it is moved.
type desk struct {
	*Dispatcher
	t        testing.TB
	at       time.Time
	snapshot *observe.Snapshot
	schedd   *observe.Schedd // s, of the next snapshot
	out      strings.Builder // the log
}

func newDesk(tb testing.TB, slots ...string) *desk {
	tb.Helper()
	d := &desk{t: tb, at: time.Unix(1_700_000_000, 0), schedd: &observe.Schedd{Name: "s", Read: true}}
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", observe.Claims}
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &d.out, DisableTime: true})
	d.snapshot = &observe.Snapshot{Slots: map[string]*observe.Slot{}}
	for _, name := range slots {
		d.snapshot.Slots[name] = slotOf(name)
	}
	d.Dispatcher = New(Settings{
		Schema: schema, Patience: 30 * time.Second, Tuning: Tuning{Hold: time.Hour}, Logger: log,
		Clock: func() time.Time { return d.at },
	}, track.New(track.Settings{Schema: schema, Patience: 30 * time.Second, Logger: log}))
	d.look()
	return d
}

// slotOf is a free slot.
func slotOf(name string) *observe.Slot {
	ad := classad.New()
	ad.SetString("Name", name)
	ad.SetBool("Requirements", true)
	return &observe.Slot{
		Name: name, Host: name, Static: true, Advertised: true, Free: backfill.Vector{4, 4096, 1},
		Ad: &negotiator.Slot{Name: name, Capacity: backfill.Vector{4, 4096, 1}, Ad: ad},
	}
}

// look shows the pool to the belief and the dispatcher. Change changes the next snapshot first.
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
	d.belief.See(&next)
	out, _ := track.Diff(d.belief, &next, d.Judge())
	d.Settle(out)
	return out
}

// specOf is what a job is planned by; of several nodes it is a gang.
func specOf(tb testing.TB, nodes int, requirements string) *observe.Spec {
	tb.Helper()
	ad := classad.New()
	ad.SetInt("RequestCpus", 1)
	require.NoError(tb, ad.SetExpr("Requirements", requirements))
	return &observe.Spec{
		Ad: ad, Text: ad.String(), Request: backfill.Vector{1, 128, 1}, Nodes: nodes, Parallel: nodes > 1, Weight: 1,
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

// start has a job start on slots, a chunk on each.
func (d *desk) start(id backfill.JobID, slots ...string) *flight {
	d.t.Helper()
	var at negotiator.Placement
	for _, name := range slots {
		at = append(at, negotiator.Chunks{Slot: d.snapshot.Slots[name].Ad, Count: 1})
	}
	j := d.belief.Start(negotiator.Match{Job: &negotiator.Job{ID: id}, Placement: at})
	require.NotNil(d.t, j)
	d.Start(j)
	return d.flights[id]
}

// edit changes the group of a job of s for the next look.
func (d *desk) edit(cluster int64, change func(g *observe.Group)) {
	for i, g := range d.schedd.Groups {
		if g.Jobs[0].Cluster == cluster {
			edited := *g
			change(&edited)
			d.schedd.Groups[i] = &edited
		}
	}
}

// ask has the dispatcher ask a collector, and accept the daemons that are fakes.
func (d *desk) ask(c *fakes.Collector) {
	d.s.Security = fakes.Client()
	d.s.Collector = &client.Collector{Security: d.s.Security, Addresses: []cedar.Address{c.Address()}}
}
