package condorsim_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// lateRecorder is a recorder that begins at an instant.
type lateRecorder struct {
	negotiator.Recorder
	from backfill.Time
	on   bool
}

func (l *lateRecorder) Told(n *negotiator.Negotiator, d *negotiator.Delta) {
	if l.on = l.on || d.Now >= l.from; l.on {
		l.Recorder.Told(n, d)
	}
}

func (l *lateRecorder) Decided(s backfill.Settled) {
	if l.on {
		l.Recorder.Decided(s)
	}
}

// toldTo has a negotiator under easy be told these deltas, and records it from an instant on. From the delta of that
// number on they are told to another one; 0: there is one.
func toldTo(tb testing.TB, from backfill.Time, restart int, deltas ...negotiator.Delta) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "pool.rec")
	recorder, err := record.New(record.Options{Path: path, Wait: true, Clock: func() time.Time { return time.Unix(0, 0) }},
		func() record.About { return record.About{Program: "test", Pool: "told"} })
	require.NoError(tb, err)
	config := link(tb, "easy", nil)
	config.Schema = negotiator.DefaultSchema()
	config.Schema.Resources = []string{"cpus"}
	config.Recorder = &lateRecorder{Recorder: recorder, from: from}
	var n *negotiator.Negotiator
	for i, d := range deltas {
		if i == 0 || i == restart {
			n, err = negotiator.New(config)
			require.NoError(tb, err)
		}
		_, err = n.RunCycle(tb.Context(), d)
		require.NoError(tb, err)
	}
	require.NoError(tb, recorder.Close())
	return joined(tb, path)
}

func adOf(tb testing.TB, text string) *classad.ClassAd {
	tb.Helper()
	ad, err := classad.Parse(text)
	require.NoError(tb, err)
	return ad
}

// TestRecordedCases: jobs that are removed, held and released, and slots that come and go, on a pool of slots with 4
// cpus each, under a policy that is not the record's: fcfs.
func TestRecordedCases(t *testing.T) {
	slot := func(name string, end backfill.Time) *negotiator.Slot {
		return &negotiator.Slot{
			Name: name, Capacity: backfill.Vector{4}, End: end,
			Ad: adOf(t, `[Name = "`+name+`"; Cpus = 4; Requirements = true]`),
		}
	}
	job := func(id, submit int64, nodes int, cpus, estimate int64) *negotiator.Job {
		return &negotiator.Job{
			ID: backfill.JobID(id), Name: strconv.FormatInt(id, 10), Submit: backfill.Time(submit), Nodes: nodes,
			Position: backfill.QueuePosition{Cluster: id}, Estimate: backfill.Time(estimate), User: "j",
			Ad: adOf(t, fmt.Sprintf("[RequestCpus = %d; Requirements = true]", cpus)),
		}
	}
	licensed := func(id int64) *negotiator.Job {
		j := job(id, 0, 1, 1, 50)
		j.Takes = []negotiator.Take{{Limit: "sw", Amount: negotiator.LimitUnit}}
		return j
	}
	named := func(cluster int64, j *negotiator.Job) *negotiator.Job {
		j.Name, j.Position.Cluster = strconv.FormatInt(cluster, 10), cluster
		return j
	}
	type delta = negotiator.Delta
	type jobs = []*negotiator.Job
	type slots = []*negotiator.Slot
	type ids = []backfill.JobID
	for name, c := range map[string]struct {
		from     backfill.Time
		restart  int
		deltas   []delta
		want     string
		cleaning workload.Cleaning
	}{
		"ran as told": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0)}, Submitted: jobs{job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 100)}},
			{Now: 30, Completed: ids{1}},
			{Now: 90, Completed: ids{2}},
		}, want: "j1@0 j2@30"},
		"arrives when it is told of": {deltas: []delta{
			{Now: 5, SlotsUp: slots{slot("a", 0)}, Submitted: jobs{job(1, 2, 1, 4, 100)}},
			{Now: 30, Completed: ids{1}},
		}, want: "j1@5"},
		"removed while it waited": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0)}, Submitted: jobs{job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 100), job(3, 0, 1, 4, 100)}},
			{Now: 20, Removed: ids{2}},
			{Now: 30, Completed: ids{1}},
			{Now: 90, Completed: ids{3}},
		}, want: "j1@0 j3@30 j2: " + condorsim.LeftQueue, cleaning: workload.Cleaning{LeftQueue: 1}},
		"removed while it ran": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0)}, Submitted: jobs{job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 100)}},
			{Now: 40, Removed: ids{1}},
			{Now: 60, Completed: ids{2}},
		}, want: "j1@0 j2@40"},
		"held and released": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0)}, Submitted: jobs{job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 100), job(3, 0, 1, 4, 100)}},
			{Now: 20, Removed: ids{2}},
			{Now: 40, Completed: ids{1}, Submitted: jobs{job(2, 0, 1, 4, 100)}}, // before job 3 in the queue
			{Now: 60, Completed: ids{2}},
			{Now: 90, Completed: ids{3}},
		}, want: "j1@0 j2@40 j3@60"},
		"gangs": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0), slot("b", 0)}, Submitted: jobs{job(1, 0, 2, 3, 100), job(2, 0, 1, 1, 10), job(3, 0, 2, 2, 10)}},
			{Now: 10, Completed: ids{2}},
			{Now: 50, Completed: ids{1}},
			{Now: 60, Completed: ids{3}},
		}, want: "j1@0 j2@0 j3@50"},
		"a slot comes and goes": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0)}, Submitted: jobs{job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 30), job(3, 0, 1, 4, 30)}},
			{Now: 10, SlotsUp: slots{slot("b", 0)}}, // job 2 starts
			{Now: 40, Completed: ids{2}},            // job 3 starts
			{Now: 50, SlotsDown: []string{"b"}},     // and waits again
			{Now: 100, Completed: ids{1}},
			{Now: 130, Completed: ids{3}},
		}, want: "j1@0 j2@10 j3@100"},
		"a slot ends": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 60)}, Submitted: jobs{job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 30)}},
			{Now: 25, Completed: ids{2}},
			{Now: 60, SlotsDown: []string{"a"}},
			{Now: 70, SlotsUp: slots{slot("c", 0)}},
			{Now: 170, Completed: ids{1}},
		}, want: "j1@70 j2@170"}, // fcfs has job 2 wait behind job 1, though it would end in time
		"limits": {deltas: []delta{
			{
				Now: 0, SlotsUp: slots{slot("a", 0)}, Limits: []negotiator.Limit{{Name: "sw", Height: negotiator.LimitUnit}},
				Submitted: jobs{licensed(1), licensed(2)},
			},
			{Now: 20, Completed: ids{1}},
			{Now: 40, Completed: ids{2}},
		}, want: "j1@0 j2@20"},
		"runs when the record begins": {from: 30, deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0), slot("b", 0)}, Submitted: jobs{job(1, 0, 2, 3, 100), job(2, 0, 1, 4, 100)}},
			{Now: 20, Submitted: jobs{job(3, 20, 1, 1, 100)}},
			{Now: 30},
			{Now: 70, Completed: ids{1}},
			{Now: 80, Completed: ids{3}},
			{Now: 90, Completed: ids{2}},
		}, want: "j1@20 j3@20 j2@70"},
		"not over when the record ends": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0)}, Submitted: jobs{job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 50)}},
			{Now: 60},
		}, want: "j1@0 j2@100", cleaning: workload.Cleaning{RunAssumed: 2}},
		"found": {deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0)}},
			{Now: 10, Found: []negotiator.Running{{
				Job: job(9, 0, 1, 4, 100), Start: 5, Placement: negotiator.Placement{{Slot: slot("a", 0), Count: 1}},
			}}},
			{Now: 20, Submitted: jobs{job(1, 20, 1, 4, 10)}},
			{Now: 40, Completed: ids{9}},
			{Now: 50, Completed: ids{1}},
		}, want: "j9@10 j1@40"},
		"started again": {restart: 2, deltas: []delta{
			{Now: 0, SlotsUp: slots{slot("a", 0), slot("b", 0)}, Submitted: jobs{
				job(1, 0, 1, 4, 100), job(2, 0, 1, 4, 100), job(3, 0, 1, 4, 100), job(4, 0, 1, 4, 100),
			}},
			{Now: 10, Submitted: jobs{job(5, 10, 1, 4, 100)}},
			{ // job 2 has ended meanwhile, and job 4 is removed; jobs have other numbers
				Now: 30, SlotsUp: slots{slot("a", 0), slot("b", 0)}, Submitted: jobs{named(3, job(1, 0, 1, 4, 100)), named(5, job(2, 10, 1, 4, 100))},
				Found: []negotiator.Running{{
					Job: named(1, job(3, 0, 1, 4, 100)), Placement: negotiator.Placement{{Slot: slot("a", 0), Count: 1}},
				}},
			},
			{Now: 60, Completed: ids{3}},
			{Now: 70, Completed: ids{1}},
			{Now: 90, Completed: ids{2}},
		}, want: "j1@0 j2@0 j3@30 j5@60 j4: " + condorsim.LeftQueue, cleaning: workload.Cleaning{LeftQueue: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := ofRecord(t, toldTo(t, c.from, c.restart, c.deltas...))
			r, err := condorsim.Run(t.Context(), w, link(t, "fcfs", nil), nil)
			require.NoError(t, err)
			require.Equal(t, c.want, startsOf(w, r))
			c.cleaning.JobsRead, c.cleaning.JobsLeft = len(w.Jobs), len(w.Jobs)
			require.Equal(t, c.cleaning, w.Cleaning)
		})
	}
}
