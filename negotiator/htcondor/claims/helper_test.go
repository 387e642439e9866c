package claims

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// desk is a state of a pool that snapshots by hand show: the schedd s, the slots
// that are named, and jobs. Time stands still unless it is moved.
type desk struct {
	*State
	t        testing.TB
	snapshot *observe.Snapshot
	schedd   *observe.Schedd // s, of the next snapshot
	out      strings.Builder // the log
}

func newDesk(tb testing.TB, slots ...string) *desk {
	tb.Helper()
	return deskOf(tb, 0, slots...)
}

// deskOf is a desk of a negotiator with a start slack.
func deskOf(tb testing.TB, slack backfill.Time, slots ...string) *desk {
	tb.Helper()
	d := &desk{t: tb, schedd: &observe.Schedd{
		Name: "s", Read: true, Own: true, Submitters: map[string]observe.Submitter{"": {}},
	}}
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", observe.Claims}
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &d.out, DisableTime: true})
	d.snapshot = &observe.Snapshot{Slots: map[string]*observe.Slot{}}
	for _, name := range slots {
		d.snapshot.Slots[name] = slotOf(name)
	}
	d.State = New(Settings{Schema: schema, StartSlack: slack, Patience: 30 * time.Second, Logger: log},
		track.New(track.Settings{Schema: schema, StartSlack: slack, Patience: 30 * time.Second, Logger: log}))
	d.now = time.Unix(1_700_000_000, 0).UTC()
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

// look shows the pool to the state. Change changes the next snapshot first.
func (d *desk) look(changes ...func(s *observe.Snapshot)) track.Outcome {
	d.t.Helper()
	next := *d.snapshot
	next.Number++
	next.Began, next.Ended, next.Now = d.now, d.now, backfill.Time(d.now.Unix())
	schedd := *d.schedd
	if schedd.Read {
		schedd.Since = d.now
	}
	next.Schedds = map[string]*observe.Schedd{schedd.Name: &schedd}
	for _, change := range changes {
		change(&next)
	}
	d.snapshot = &next
	return d.See(d.now, &next)
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

// specBy is what a job of a user is planned by.
func specBy(tb testing.TB, user string) *observe.Spec {
	tb.Helper()
	spec := specOf(tb, 1, "true")
	spec.Ad.SetString("User", user)
	spec.Text = spec.Ad.String()
	return spec
}

// prove has it known that the hosts of slots work.
func (d *desk) prove(slots ...string) {
	for _, slot := range slots {
		d.proven[d.hostOf(slot)] = d.now
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
	d.Start(d.now, []negotiator.Match{{Job: &negotiator.Job{ID: id}, Placement: at}})
	require.Contains(d.t, d.flights, id)
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
