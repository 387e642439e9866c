package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// TestPartners: only negotiators of ours that make matches on slots of their own are the others of a page, which links
// to theirs and adds up what all have.
func TestPartners(t *testing.T) {
	w := newWorld()
	has := observe.Has{Slots: 5, Cpus: 40, InUse: 10, Running: 3, Waiting: 7}
	w.others = []observe.Other{
		{Name: "here", Ours: true, SlotConstraint: "Half == 1"},
		{Name: "stock@h", Address: "<127.0.0.2:1>"},
		{Name: ObserverName + "h", Ours: true, SlotConstraint: "Half == 2"},
		{Name: "west@h", Ours: true, SlotConstraint: "Half == 2", Page: "https://h:9/", Has: has},
		{Name: "far@h", Address: "<192.0.2.1:1>", Ours: true, SlotConstraint: "Half == 4", Page: "http://127.0.0.1:9/"},
		{Name: "evil@h", Ours: true, SlotConstraint: "Half == 3", Page: "javascript:alert(1)"},
	}
	d := New(w.options("easy"))
	require.Nil(t, d.parts(), "the pool has not been looked at")
	var pool Pool = w
	d.pool.Store(&pool)
	d.change(func(s *status) { s.has = observe.Has{Slots: 1, Cpus: 8, InUse: 2, Running: 1, Waiting: 9} })
	parts := d.parts()
	require.Equal(t, []picture.Part{
		{Negotiator: "here", Own: true, Has: picture.Has{Slots: 1, Cpus: 8, InUse: 2, Running: 1, Waiting: 9}},
		{Negotiator: "west@h", Page: "https://h:9/", Has: picture.Has(has)},
		{Negotiator: "far@h"},
		{Negotiator: "evil@h"},
	}, parts)
	w.others = w.others[:3]
	require.Nil(t, d.parts(), "it is alone")
}

// TestThePageIsTold: our ad tells others what we have and where the page is, also if that listens at all addresses.
func TestThePageIsTold(t *testing.T) {
	d := New(newWorld().options("easy"))
	d.change(func(s *status) { s.has = observe.Has{Slots: 1, Cpus: 8, InUse: 2, Running: 4, Waiting: 9} })
	for listens, want := range map[string]string{
		"http://127.0.0.1:90": "http://127.0.0.1:90", "https://[::]:90": "https://here:90", "http://0.0.0.0:90": "http://here:90",
	} {
		d.tellPage(listens)
		o := observe.ReadOther(d.Ad())
		require.Equal(t, want, o.Page)
		require.Equal(t, observe.Has{Slots: 1, Cpus: 8, InUse: 2, Running: 4, Waiting: 9}, o.Has)
	}
}

// TestReasonsAreOfOurSlots: where others have slots, no schedd is told that a job cannot run in the pool.
func TestReasonsAreOfOurSlots(t *testing.T) {
	o := newWorld().options("easy")
	require.Equal(t, cannotRun+"why", New(o).onOurSlots(cannotRun+"why"))
	o.Name, o.SlotConstraint = "east@h", "Half == 1"
	require.Equal(t, "cannot run on the slots of east: why", New(o).onOurSlots(cannotRun+"why"))
	require.Equal(t, "reserved", New(o).onOurSlots("reserved"))
}

// TestStartsElsewhere: what is told of a job that waits says whether another would start it first.
func TestStartsElsewhere(t *testing.T) {
	d := New(newWorld().options("easy"))
	at := time.Now().Unix()
	j := JobForecast{Job: "1.0", Schedd: "s", Situation: "reserved", Start: &at}
	require.Empty(t, d.orElsewhere(&j), "nobody has been asked")
	d.halves.Store(&startsElsewhere{{"s", "1.0"}: {{"west@h", at - 60}, {"north@h", at + 60}}})
	sooner, later := at-60, at+60
	require.Equal(t, "; west would start it first, at "+dated(&sooner, time.Local)+"; north would start it at "+
		dated(&later, time.Local), d.orElsewhere(&j))
	j.Schedd = "other"
	require.Empty(t, d.orElsewhere(&j))
	j.Schedd, j.Situation = "s", "runs"
	require.Empty(t, d.orElsewhere(&j))
}
