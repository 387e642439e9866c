package condorsim_test

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// ads reads ads in the line form; semicolons stand for ends of lines, and two of them end an ad.
func ads(text string) iter.Seq2[*classad.ClassAd, error] {
	return classad.ReadAds(strings.NewReader(strings.ReplaceAll(text, ";", "\n")), "test.ads")
}

// slots makes two slots: a of 2 cpus and 100 MiB, b of 3 and 200.
func slots(tb testing.TB) []*negotiator.Slot {
	tb.Helper()
	return slotsOf(tb, `Name = "a"; Cpus = 2; Memory = 100; Requirements = TARGET.RequestCpus <= MY.Cpus;;`+
		`Name = "b"; Cpus = 3; Memory = 200; Requirements = TARGET.RequestCpus <= MY.Cpus;;`)
}

// slotsOf makes partitionable slots of ads, written as for ads.
func slotsOf(tb testing.TB, text string) []*negotiator.Slot {
	tb.Helper()
	text = strings.ReplaceAll(text, "Name = ", "PartitionableSlot = true; Name = ")
	pool, err := pools.FromAds("test.ads", negotiator.DefaultSchema(), ads(text))
	require.NoError(tb, err)
	return pool.Slots
}

// queued reads job ads, written as for ads, as a negotiator sees them that has this pool.
func queued(pool *pools.Description, text string) (*condorsim.Workload, error) {
	o := condorsim.ReadingFor(pool, formats.Options{Ads: history.Options{Whole: true}})
	jobs, err := formats.Open(strings.NewReader(strings.ReplaceAll(text, ";", "\n")), "test.ads")
	if err != nil {
		return nil, err
	}
	defer jobs.Close()
	read, err := jobs.Read(o)
	if err != nil {
		return nil, err
	}
	return condorsim.Queued(read, pool, nil)
}

// fromAds is queued for these slots, and ads that are right.
func fromAds(tb testing.TB, slots []*negotiator.Slot, text string) *condorsim.Workload {
	tb.Helper()
	w, err := queued(&pools.Description{Schema: negotiator.DefaultSchema(), Slots: slots}, text)
	require.NoError(tb, err)
	return w
}

// trace is a machine of 8 processors and 1000 MiB with the jobs, numbered from 1.
func trace(jobs ...workload.Job) *workload.Trace {
	for i := range jobs {
		jobs[i].ID = int64(i + 1)
		jobs[i].Procs = max(jobs[i].Procs, 1)
		if !jobs[i].Lies {
			jobs[i].Estimate = max(jobs[i].Estimate, jobs[i].Run, 1)
		}
	}
	return &workload.Trace{Name: "test", Machine: workload.Machine{Processors: 8, Memory: 1000}, Jobs: jobs}
}

func TestFromTraceOnOneMachine(t *testing.T) {
	in := trace(
		workload.Job{
			Submit: 3, Run: 5, Estimate: 9, Procs: 2, Memory: 70, User: "7", Group: "1",
			Executable: "12", Queue: "0",
		},
		workload.Job{Submit: 4, Run: 6, Procs: 2, Memory: 70, User: "7"},
		workload.Job{Submit: 4, Run: 0, Procs: 1},
	)
	in.Cleaning.TooWide = 5
	w, err := condorsim.FromTrace(in, nil)
	require.NoError(t, err)
	require.Equal(t, "test", w.Name)
	require.Equal(t, 5, w.Cleaning.TooWide)
	require.Equal(t, []string{"cpus", "memory"}, w.Schema.Resources)
	require.Len(t, w.Slots, 1)
	require.Equal(t, "machine", w.Slots[0].Name)
	require.Equal(t, backfill.Vector{8, 1000}, w.Capacity())
	require.EqualValues(t, 1000, w.Memory())

	j := w.Jobs[0]
	require.Equal(t, &negotiator.Job{
		ID: 0, Name: "1", Submit: 3, Nodes: 1, Estimate: 9, Enforced: true,
		User: "7", Labels: map[string]string{"owner": "7", "group": "1", "executable": "12", "qos": "0"}, Ad: j.Ad,
	}, j.Job)
	require.Equal(t, condorsim.Job{Job: j.Job, Run: 5, Ran: 5, Cpus: 2, Memory: 70}, j)
	require.Same(t, j.Ad, w.Jobs[1].Ad, "the same request, the same ad")
	require.NotSame(t, j.Ad, w.Jobs[2].Ad)
	require.Nil(t, w.Jobs[2].Labels)
	for i, job := range w.Jobs {
		require.EqualValues(t, i, job.ID)
		require.EqualValues(t, i, job.Position.Cluster)
		require.True(t, classad.Match(job.Ad, w.Slots[0].Ad))
	}
}

// TestJobsKeepTheirNamesAndLabels checks that no job gets what another is called, however many users
// and executables there are.
func TestJobsKeepTheirNamesAndLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Map(rapid.IntRange(0, 2000), strconv.Itoa)
		text := rapid.OneOf(rapid.Just(""), number)
		in := trace(make([]workload.Job, rapid.IntRange(1, 3000).Draw(t, "jobs"))...)
		users, files := rapid.SliceOfN(text, 1, 9).Draw(t, "users"), rapid.SliceOfN(text, 1, 99).Draw(t, "files")
		for i := range in.Jobs {
			j := &in.Jobs[i]
			j.User, j.Executable, j.Queue = users[i%len(users)], files[i*i%len(files)], users[i/7%len(users)]
			j.ID = int64(i * i)
		}
		w, err := condorsim.FromTrace(in, nil)
		require.NoError(t, err)
		for i := range in.Jobs {
			require.Equal(t, in.Jobs[i].Labels(), w.Jobs[i].Labels)
			require.Equal(t, strconv.Itoa(i*i), w.Jobs[i].Name)
		}
	})
}

func TestFromTraceWithoutMemory(t *testing.T) {
	in := trace(workload.Job{Run: 5, Procs: 2})
	in.Machine.Memory = 0
	w, err := condorsim.FromTrace(in, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"cpus"}, w.Schema.Resources)
	require.Equal(t, backfill.Vector{8}, w.Capacity())
	require.Zero(t, w.Memory())
	require.True(t, classad.Match(w.Jobs[0].Ad, w.Slots[0].Ad))
}

func TestFromTraceOnSlots(t *testing.T) {
	for _, c := range []struct{ procs, memory, chunk int64 }{
		{4, 100, 25}, {4, 101, 26}, {3, 1, 1}, {3, 0, 0}, {1, 77, 77},
	} {
		w, err := condorsim.FromTrace(trace(workload.Job{Run: 5, Procs: c.procs, Memory: c.memory}), slots(t))
		require.NoError(t, err)
		require.Len(t, w.Slots, 2)
		require.Equal(t, []string{"cpus", "memory", "disk", "gpus"}, w.Schema.Resources)
		require.Equal(t, backfill.Vector{5, 300, 0, 0}, w.Capacity())
		j := w.Jobs[0]
		require.EqualValues(t, c.procs, j.Nodes, "a processor, a chunk")
		memory, _ := j.Ad.Int("RequestMemory")
		require.Equal(t, c.chunk, memory, "%d of %d", c.memory, c.procs)
		cpus, _ := j.Ad.Int("RequestCpus")
		require.EqualValues(t, 1, cpus)
		require.Equal(t, []int64{c.procs, c.memory}, []int64{j.Cpus, j.Memory}, "the totals are the trace's")
	}
}

// Job ads in a queue are submitted when they say, and state what they state; what does not belong in a
// workload is dropped, as wherever ads are read.
func TestQueued(t *testing.T) {
	w := fromAds(t, slots(t),
		`ClusterId = 2; ProcId = 0; QDate = 5; RemoteWallClockTime = 7.0; MinHosts = 3; RequestCpus = 2; `+
			`RequestMemory = 10; Owner = "eve"; Cmd = "sleep";;`+
			"ClusterId = 1; ProcId = 10; QDate = 5; RemoteWallClockTime = 80; EstimatedRunTime = 60; "+
			"AllowedJobDuration = 70;;"+
			"ClusterId = 1; ProcId = 9; QDate = 5; RemoteWallClockTime = 1; EstimatedRunTime = 60;;"+
			"ClusterId = 3; ProcId = 0; QDate = 5; RemoteWallClockTime = 0; JobStatus = 3;;"+
			"ClusterId = 4; QDate = 5;;"+
			"ClusterId = 9; ProcId = 0; QDate = 4; RemoteWallClockTime = 1")
	require.Equal(t, "test", w.Name)
	var names []string
	for i, j := range w.Jobs {
		names = append(names, j.Name)
		require.EqualValues(t, i, j.ID)
		require.False(t, j.Enforced)
	}
	require.Equal(t, []string{"9.0", "1.9", "1.10", "2.0"}, names, "by QDate, then as numbers")
	last := w.Jobs[3]
	require.Equal(t, condorsim.Job{Job: last.Job, Run: 7, Ran: 7, Cpus: 6, Memory: 30}, last)
	require.Equal(t, "eve", last.User)
	command, _ := last.Ad.Text("Cmd")
	require.Equal(t, "sleep", command)
	require.EqualValues(t, 1, w.Jobs[0].Cpus, "one cpu where none is named")
	require.Equal(t, []backfill.Time{4, 5}, []backfill.Time{w.Jobs[0].Submit, last.Submit})
	require.Zero(t, w.UnixStart)
	require.Equal(t, []backfill.Time{0, 60, 60, 0},
		[]backfill.Time{w.Jobs[0].Estimate, w.Jobs[1].Estimate, w.Jobs[2].Estimate, last.Estimate})
	require.Equal(t, []backfill.Time{80, 70}, []backfill.Time{w.Jobs[2].Run, w.Jobs[2].Limit})
	require.Equal(t, workload.Cleaning{JobsRead: 6, Cancelled: 1, Ads: true, Unreadable: 1, JobsLeft: 4, EstimateDefault: 2, Overrunning: 1}, w.Cleaning)
}

func TestTheMachinesAdIsTheSameEachTime(t *testing.T) {
	var first []string
	for range 50 {
		w, err := condorsim.FromTrace(trace(workload.Job{Run: 1}), nil)
		require.NoError(t, err)
		var names []string
		for name := range w.Slots[0].Ad.All() {
			names = append(names, name)
		}
		if first == nil {
			first = slices.Clone(names)
		}
		require.Equal(t, first, names)
	}
}
