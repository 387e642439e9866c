package claims

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestRecounts: the schedd of a gang that has its slots, and does not ask for them, is told to count its queue, now
// and then.
func TestRecounts(t *testing.T) {
	for name, c := range map[string]struct {
		nodes  int
		change func(d *desk)
		told   []int // after how many seconds
	}{
		"silent":          {nodes: 2, change: func(*desk) {}, told: []int{2, 17, 32}},
		"no gang":         {nodes: 1, change: func(*desk) {}},
		"only observes":   {nodes: 2, change: func(d *desk) { d.s.Observe = true }},
		"starts another":  {nodes: 2, change: func(d *desk) { d.started["s"] = 1 }},
		"does not answer": {nodes: 2, change: func(d *desk) { d.schedd.Late = true }},
		"asks": {nodes: 2, change: func(d *desk) {
			d.schedd.Submitters["DedicatedScheduler@s"] = observe.Submitter{Idle: 2}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b")
			d.start(d.submit(1, specOf(t, c.nodes, "true")), []string{"a", "b"}[:c.nodes]...)
			c.change(d)
			d.look()
			var told []int
			for second := range 40 {
				d.Ready(d.now)
				for range Recounts(d.State, d.now) {
					told = append(told, second)
				}
				d.now = d.now.Add(time.Second)
			}
			require.Equal(t, c.told, told)
		})
	}
}

// TestRecountsOnceScavengersHaveLeft: no schedd is told to ask for slots that scavengers have yet to leave.
func TestRecountsOnceScavengersHaveLeft(t *testing.T) {
	d := newDesk(t, "a", "b")
	victim := d.submit(1, scavenger(t))
	d.handed(d.start(victim, "a"))
	d.runs(1, "a")
	d.look()
	at := negotiator.Placement{
		{Slot: d.snapshot.Slots["a"].Ad, Count: 1}, {Slot: d.snapshot.Slots["b"].Ad, Count: 1},
	}
	d.Start(d.now, []negotiator.Match{{
		Job: &negotiator.Job{ID: d.submit(2, specOf(t, 2, "true"))}, Placement: at, Displaces: []backfill.JobID{victim},
	}})
	pass := func(seconds int) (told int) {
		for range seconds {
			d.Ready(d.now)
			told += len(Recounts(d.State, d.now))
			d.now = d.now.Add(time.Second)
		}
		return told
	}
	require.Zero(t, pass(20))
	d.edit(1, func(g *observe.Group) { g.Status, g.Hosts = observe.Idle, nil })
	d.look()
	require.Equal(t, 1, pass(10))
}
