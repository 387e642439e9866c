package daemon

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
)

// recorded reads a record, by job.
func recorded(t *testing.T, folder string) (jobs map[string]witness.Job, last witness.Look) {
	t.Helper()
	jobs = map[string]witness.Job{}
	_, err := witness.Read(folder, func(l witness.Line) error {
		if l.Look != nil {
			last = *l.Look
		}
		if l.Job != nil {
			if j, known := jobs[l.Job.Job]; known {
				l.Job.Merge(j)
			}
			jobs[l.Job.Job] = *l.Job
		}
		return nil
	})
	require.NoError(t, err)
	return jobs, last
}

// TestAnObserversRecord: of each job it says when the observer would first have started it, what it
// first promised, when the job really began for the first time, and what the plan was if the
// observer would not have started it by then.
func TestAnObserversRecord(t *testing.T) {
	w := newWorld()
	folder := t.TempDir()
	record, err := witness.Open(folder, witness.Least)
	require.NoError(t, err)
	o := w.options("conservative")
	o.Observe, o.Record = true, record
	d, end := run(t, o)
	cycles := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.status.total
	}
	sent := 0
	send := func(delta negotiator.Delta) {
		w.deltas <- delta
		sent++
		poll.Equal(t, sent, cycles)
	}
	runs := func(j *negotiator.Job, at, until backfill.Time) negotiator.Running {
		return negotiator.Running{Job: j, Start: at, End: until, Placement: negotiator.Placement{{Slot: w.slot, Count: 1}}}
	}
	// 1.0 ran before anybody looked. 2.0 waits for all four cpus; 3.0 fits beside 1.0.
	old, wide, small := w.job(1, 3, 100), w.job(2, 4, 50), w.job(3, 1, 10)
	send(negotiator.Delta{
		Now: 1000, SlotsUp: []*negotiator.Slot{w.slot}, Found: []negotiator.Running{runs(old, 900, 1100)},
		Submitted: []*negotiator.Job{wide, small},
	})
	send(negotiator.Delta{Now: 1005, StartFailed: []backfill.JobID{3}})
	// 4.0 comes later and is started first, by the other one: here it would delay 2.0.
	later, huge := w.job(4, 1, 500), w.job(5, 9, 10)
	later.Submit = 1006
	send(negotiator.Delta{Now: 1010, Submitted: []*negotiator.Job{later, huge}, StartFailed: []backfill.JobID{3}})
	send(negotiator.Delta{Now: 1015, StartFailed: []backfill.JobID{3}, Found: []negotiator.Running{runs(later, 1012, 1512)}})
	send(negotiator.Delta{Now: 1100, Completed: []backfill.JobID{1}})
	send(negotiator.Delta{Now: 1110, StartFailed: []backfill.JobID{3}})
	send(negotiator.Delta{Now: 1121, Began: []negotiator.Began{{Job: 3, At: 1120}}})
	// It is evicted and starts again, which says nothing of the first start.
	send(negotiator.Delta{Now: 1130, StartFailed: []backfill.JobID{3}})
	send(negotiator.Delta{Now: 1140, Began: []negotiator.Began{{Job: 3, At: 1135}}})
	// What no slot has the other one starts all the same, elsewhere; 2.0 is removed.
	bigger := *w.slot
	bigger.Capacity = backfill.Vector{16}
	send(negotiator.Delta{
		Now: 1150, SlotsUp: []*negotiator.Slot{&bigger}, Found: []negotiator.Running{runs(huge, 1148, 1160)},
		Removed: []backfill.JobID{2},
	})
	// 6.0 waits, until another pool starts it.
	far := w.job(6, 16, 10)
	send(negotiator.Delta{Now: 1152, Submitted: []*negotiator.Job{far}})
	send(negotiator.Delta{Now: 1155, Removed: []backfill.JobID{6}, Elsewhere: []backfill.JobID{6}})
	require.NoError(t, end())
	require.NoError(t, record.Close())

	jobs, last := recorded(t, folder)
	require.Equal(t, witness.Look{
		At: 1155, Since: 1000, Policy: "conservative", Order: "fcfs", Guarantees: true, Running: 3, Slots: 1, Largest: 16,
	}, last)
	job := func(name string, cpus, submit int64) witness.Job {
		return witness.Job{
			Job: name, Schedd: "a", User: "alice", Chunks: 1, Cpus: cpus, Submit: submit, Since: 1000,
		}
	}
	second, third, fourth, fifth := job("2.0", 4, 1000), job("3.0", 1, 1000), job("4.0", 1, 1006), job("5.0", 9, 1000)
	second.Promise, second.Told, second.Gone = 1100, 1000, 1150
	third.Would, third.Start = 1000, 1120
	fourth.Start, fourth.Planned, fourth.Promise, fourth.Told = 1012, 1150, 1150, 1010
	fifth.Start, fifth.Held = 1148, "fits on no slot of the pool, even an empty one"
	sixth := job("6.0", 16, 1000)
	sixth.Promise, sixth.Told, sixth.Elsewhere = 1512, 1152, 1155
	require.Equal(t, map[string]witness.Job{"2.0": second, "3.0": third, "4.0": fourth, "5.0": fifth, "6.0": sixth}, jobs)
}

// TestARecordThatCannotBeWritten: the observer goes on, and says so once.
func TestARecordThatCannotBeWritten(t *testing.T) {
	w := newWorld()
	folder := t.TempDir()
	record, err := witness.Open(folder, witness.Least)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(folder))
	o := w.options("easy")
	o.Observe, o.Record = true, record
	var log buffer
	o.Logger = logTo(&log)
	d, end := run(t, o)
	first := w.begin()
	w.deltas <- first
	w.deltas <- negotiator.Delta{Now: first.Now + 100}
	w.deltas <- negotiator.Delta{Now: first.Now + 200}
	poll.Equal(t, 3, func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.status.total
	})
	require.NoError(t, end())
	require.Equal(t, 1, strings.Count(log.String(), "the observer's record could not be written"))
}

// TestTheRecordOverARestart: what began while no process was at work is in the record, as found; what
// began before is there already.
func TestTheRecordOverARestart(t *testing.T) {
	w := newWorld()
	folder, stateFolder := t.TempDir(), t.TempDir()
	record, err := witness.Open(folder, witness.Least)
	require.NoError(t, err)
	record.Begin(witness.Look{At: 1000})
	require.NoError(t, record.End())
	require.NoError(t, record.Close()) // kill -9
	state, err := OpenState(t.Context(), stateFolder, hclog.NewNullLogger())
	require.NoError(t, err)
	defer func() { require.NoError(t, state.Close()) }()
	saved := &track.SavedState{Version: track.SavedVersion, Now: 1000, Policy: "conservative", Guarantees: true}
	for cluster, start := range map[int64]backfill.Time{1: 700, 2: 1003} {
		w.job(backfill.JobID(cluster), 1, 9000)
		saved.Jobs = append(saved.Jobs, track.SavedJob{
			Schedd: "a", Cluster: cluster, Submit: 1000, Nodes: 1, Estimate: 9000,
			Standing: backfill.Standing{Running: true, Start: start, End: start + 9000},
		})
	}
	slices.SortFunc(saved.Jobs, func(a, b track.SavedJob) int { return int(a.Cluster - b.Cluster) })
	require.NoError(t, state.Save(saved))

	record, err = witness.Open(folder, witness.Least)
	require.NoError(t, err)
	o := w.options("conservative")
	o.Observe, o.Record, o.State = true, record, state
	d, end := run(t, o)
	w.deltas <- negotiator.Delta{Now: 1010, Submitted: []*negotiator.Job{w.job(3, 1, 10)}}
	w.deltas <- negotiator.Delta{Now: 1020, StartFailed: []backfill.JobID{3}}
	poll.Equal(t, 2, func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.status.total
	})
	require.NoError(t, end())
	require.NoError(t, record.Close())
	jobs, last := recorded(t, folder)
	require.EqualValues(t, 1000, last.Since)
	require.Equal(t, map[string]witness.Job{
		"2.0": {
			Job: "2.0", Schedd: "a", User: "alice", Chunks: 1, Cpus: 1, Submit: 1000, Since: 1000, Start: 1003, Found: true,
		},
		"3.0": {Job: "3.0", Schedd: "a", User: "alice", Chunks: 1, Cpus: 1, Submit: 1000, Since: 1000, Would: 1010},
	}, jobs)
}
