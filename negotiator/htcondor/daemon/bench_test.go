package daemon

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// BenchmarkSubmitted is a question to a schedd how many jobs were submitted, on a real socket: the
// processor time of this side beside the time of both.
func BenchmarkSubmitted(b *testing.B) {
	schedd, as := fakes.NewSchedd(b, "schedd@test"), fakes.Client()
	s := &observe.Schedd{Name: "schedd@test", Address: schedd.Address()}
	spent := time.Duration(0)
	for b.Loop() {
		spent += Timed(func() {
			if _, err := s.Submitted(b.Context(), as, poll.Patience); err != nil {
				b.Error(err)
			}
		})
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkCycle measures a cycle with 10,000 jobs, of which one starts and another waits with a
// promise; it includes saving the state.
func BenchmarkCycle(b *testing.B) {
	w := newWorld()
	o := w.options("easy")
	state, err := OpenState(b.Context(), b.TempDir(), hclog.NewNullLogger())
	require.NoError(b, err)
	defer state.Close() //nolint:errcheck // a test's
	o.State = state
	d := New(o)
	d.n, err = negotiator.New(d.o.Negotiator)
	require.NoError(b, err)
	c := &cycles{d: d, pool: w, soft: b.Context()}
	now := backfill.Time(1000)
	cycle := func(delta negotiator.Delta) {
		w.deltas <- delta
		delta, err := c.fetch()
		require.NoError(b, err)
		require.NoError(b, c.step(b.Context(), delta))
	}
	first := negotiator.Delta{Now: now, SlotsUp: []*negotiator.Slot{w.slot}}
	for id := range 10_000 {
		first.Submitted = append(first.Submitted, w.job(backfill.JobID(id+1), 4, 100))
	}
	cycle(first)
	running := backfill.JobID(1)
	b.ReportAllocs()
	for b.Loop() {
		now++
		again := w.job(running+10_000, 4, 100)
		cycle(negotiator.Delta{Now: now, Completed: []backfill.JobID{running}, Submitted: []*negotiator.Job{again}})
		running++
	}
}

// BenchmarkFirstSave writes the saved state of a pool of 100,000 slots for the first time.
func BenchmarkFirstSave(b *testing.B) {
	saved := &track.SavedState{Version: track.SavedVersion}
	for i := range 100_000 {
		saved.Slots = append(saved.Slots, track.SavedSlot{Name: fmt.Sprintf("slot1@n%d", i), Capacity: backfill.Vector{8}})
	}
	for b.Loop() {
		state, err := OpenState(b.Context(), b.TempDir(), hclog.NewNullLogger())
		require.NoError(b, err)
		require.NoError(b, state.Save(saved))
		require.NoError(b, state.Close())
	}
}

// BenchmarkScavengersWait measures a cycle with 25,000 scavengers that wait, of which one ends and another one
// starts; it includes saving the state and what a forecast says of them.
func BenchmarkScavengersWait(b *testing.B) {
	w := newWorld()
	o := w.options("easy")
	state, err := OpenState(b.Context(), b.TempDir(), hclog.NewNullLogger())
	require.NoError(b, err)
	defer state.Close() //nolint:errcheck // a test's
	o.State = state
	d := New(o)
	d.n, err = negotiator.New(d.o.Negotiator)
	require.NoError(b, err)
	c := &cycles{d: d, pool: w, soft: b.Context()}
	d.pool.Store(&c.pool)
	now := backfill.Time(1000)
	cycle := func(delta negotiator.Delta) {
		w.deltas <- delta
		delta, err := c.fetch()
		require.NoError(b, err)
		require.NoError(b, c.step(b.Context(), delta))
	}
	scavenger := func(id int) *negotiator.Job {
		j := w.job(backfill.JobID(id), 4, 100)
		j.Scavenger = true
		return j
	}
	first := negotiator.Delta{Now: now, SlotsUp: []*negotiator.Slot{w.slot}}
	for id := range 25_000 {
		first.Submitted = append(first.Submitted, scavenger(id+1))
	}
	cycle(first)
	running := 1
	b.ReportAllocs()
	for b.Loop() {
		now++
		cycle(negotiator.Delta{
			Now: now, Completed: []backfill.JobID{backfill.JobID(running)},
			Submitted: []*negotiator.Job{scavenger(running + 25_000)},
		})
		running++
	}
}
