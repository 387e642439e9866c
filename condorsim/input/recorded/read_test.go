package recorded_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// text writes entries as a record that is not compressed.
func text(tb testing.TB, entries ...*recordv1.Entry) []byte {
	tb.Helper()
	all := []byte(record.Magic)
	for _, e := range entries {
		one, err := e.MarshalVT()
		require.NoError(tb, err)
		all = append(binary.AppendUvarint(all, uint64(len(one))), one...)
	}
	return all
}

func read(tb testing.TB, from []byte) (*recorded.Record, error) {
	tb.Helper()
	opened, err := packed.NewReaderOf(bytes.NewReader(from), record.AnyVersion)
	require.NoError(tb, err)
	defer opened.Close() //nolint:errcheck // only read
	return recorded.Read(opened, "pool.rec")
}

func begin(tb testing.TB, resources ...string) *recordv1.Entry {
	tb.Helper()
	snapshot, err := (&policyv1.Snapshot{Resources: resources}).MarshalVT()
	require.NoError(tb, err)
	return &recordv1.Entry{Entry: &recordv1.Entry_Begin{Begin: &recordv1.Begin{
		Pool: "lab", Snapshot: snapshot, Now: math.MinInt32, StartSlack: 60, DefaultEstimate: 100,
		Policy: &recordv1.Policy{Name: "easy", Settings: []*recordv1.Setting{{Name: "order", Value: "sjf"}}},
	}}}
}

func told(t *recordv1.Told) *recordv1.Entry {
	return &recordv1.Entry{Entry: &recordv1.Entry_Told{Told: t}}
}

func ad(number uint64, attributes string) *recordv1.Entry {
	return &recordv1.Entry{Entry: &recordv1.Entry_Ad{Ad: &recordv1.Ad{Number: number, Text: attributes}}}
}

// TestRead: what a record says of itself, and a job of which no estimate is known.
func TestRead(t *testing.T) {
	r, err := read(t, text(t, begin(t, "cpus", "memory"), ad(1, "[Cpus = 4]"), ad(2, "[RequestCpus = 2; RequestMemory = 10]"),
		told(&recordv1.Told{
			Now: 5, SlotsUp: []*recordv1.Slot{{Name: "a", Capacity: []int64{4, 100}, Ad: 1}},
			Submitted: []*recordv1.Job{{Id: 3, Name: "7.0", Nodes: 2, Ad: 2, Submit: 1}},
		})))
	require.NoError(t, err)
	require.Equal(t, recorded.Policy{Name: "easy", Settings: map[string]string{"order": "sjf"}}, r.Policy)
	require.Equal(t, 1, r.Policies)
	require.Nil(t, r.Changes)
	require.Len(t, r.Jobs, 1)
	j := r.Jobs[0]
	require.Equal(t, []int64{5, 100, 4, 20}, []int64{int64(j.Submit), int64(j.Run), j.Cpus, j.Memory})
	require.False(t, j.Started)
	trace := r.Trace()
	require.Equal(t, "lab", trace.Name)
	require.Equal(t, workload.Machine{Processors: 4, Memory: 100}, trace.Machine)
	require.EqualValues(t, 100, trace.Jobs[0].Estimate)
	require.Equal(t, 1, trace.Cleaning.EstimateDefault)
}

// TestBadRecords: what cannot be a record of a pool is an error that says so, and nothing else.
func TestBadRecords(t *testing.T) {
	up := func(s *recordv1.Slot) *recordv1.Entry {
		return told(&recordv1.Told{Now: 1, SlotsUp: []*recordv1.Slot{s}})
	}
	comes := func(j *recordv1.Job) *recordv1.Entry {
		return told(&recordv1.Told{Now: 1, Submitted: []*recordv1.Job{j}})
	}
	for _, c := range []struct {
		entries []*recordv1.Entry
		want    string
	}{
		{nil, "has no whole beginning yet"},
		{[]*recordv1.Entry{told(&recordv1.Told{})}, "does not begin with a state"},
		{[]*recordv1.Entry{begin(t, "cpus"), told(&recordv1.Told{Now: 9}), told(&recordv1.Told{Now: 8})}, "time goes from 9 to 8"},
		{[]*recordv1.Entry{begin(t, "cpus"), begin(t, "gpus")}, "the pool's resources become [gpus], and were [cpus]"},
		{[]*recordv1.Entry{ad(1, "[a = ")}, "ad 1: "},
		{[]*recordv1.Entry{begin(t, "cpus"), up(&recordv1.Slot{Name: "a", Capacity: []int64{1}, Ad: 9})}, "slot a: it has no ad"},
		{[]*recordv1.Entry{ad(1, "[]"), begin(t, "cpus"), up(&recordv1.Slot{Name: "a", Ad: 1})}, "amounts of 0 resources and not of 1"},
		{[]*recordv1.Entry{ad(1, "[]"), begin(t, "cpus"), up(&recordv1.Slot{Name: "a", Ad: 1, Capacity: []int64{-1}})}, "-1 is no amount"},
		{[]*recordv1.Entry{begin(t, "cpus"), comes(&recordv1.Job{Id: 1, Ad: 9})}, "job 1: ad 9 is missing"},
		{[]*recordv1.Entry{begin(t, "cpus"), comes(&recordv1.Job{Id: 1, Estimate: -5})}, "job 1: -5 is no time"},
		{[]*recordv1.Entry{begin(t, "cpus"), comes(&recordv1.Job{Id: 1, Nodes: math.MaxInt64})}, "chunks; the file is damaged"},
	} {
		_, err := read(t, text(t, c.entries...))
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "read the record: pool.rec: ")
	}
}

// TestDated: the instants of a real pool's record are Unix times, and a trace that is written counts from its first job.
func TestDated(t *testing.T) {
	const first = 1796076321
	arrives := func(id int64, name string, submit int64) *recordv1.Job {
		return &recordv1.Job{Id: id, Name: name, Nodes: 1, Ad: 2, Submit: submit}
	}
	dated := func(first int64) *workload.Trace {
		r, err := read(t, text(t, begin(t, "cpus"), ad(1, "[Cpus = 4]"), ad(2, "[RequestCpus = 2]"),
			told(&recordv1.Told{
				Now: first, SlotsUp: []*recordv1.Slot{{Name: "a", Capacity: []int64{4}, Ad: 1}},
				Submitted: []*recordv1.Job{arrives(3, "7.0", first)},
			}), told(&recordv1.Told{Now: first + 9, Submitted: []*recordv1.Job{arrives(4, "8.0", first+9)}})))
		require.NoError(t, err)
		trace := r.Trace()
		recorded.Date(trace)
		return trace
	}
	trace := dated(first)
	require.EqualValues(t, first, trace.Header.Start())
	require.Equal(t, []int64{0, 9}, []int64{trace.Jobs[0].Submit, trace.Jobs[1].Submit})
	trace = dated(5)
	require.Zero(t, trace.Header.Start(), "a clock of its own")
	require.Equal(t, []int64{5, 14}, []int64{trace.Jobs[0].Submit, trace.Jobs[1].Submit})
}
