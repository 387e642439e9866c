package gwf_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/gwf"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// grid has every field in use, and times as the archive has them.
const grid = `# Computer: a grid of two sites
# MaxProcs: 400
#
# JobID SubmitTime WaitTime RunTime NProcs AverageCPUTimeUsed UsedMemory ReqNProcs ReqTime ReqMemory Status UserID GroupID ExecutableID QueueID PartitionID OrigSiteID LastRunSiteID JobStructure JobStructureParams UsedNetwork UsedLocalDiskSpace UsedResources ReqPlatform ReqNetwork ReqLocalDiskSpace ReqResources VOID ProjectID
1	1109000000	12	59.25	4	50.5	2048	8	100.5	4096	1	U12	G3	X7	Q1	P0	site1/c1	site2/c1	UNITARY	-1	-1	100	-1	linux,amd64	-1	-1	-1	atlas	P9
2	1109000005	-1	60	1	-1	-1	-1	-1	-1	1	U13	-1	-1	-1	-1	-1	-1	BOT	17	-1	-1	-1	-1	-1	-1	-1	atlas	P9
3	1109000006	0	60	1	-1	-1	1	90	-1	0	-1	-1	-1	-1	-1	-1	-1	DAG	1,2	-1	-1	-1	-1	-1	-1	-1	-1	P9
4	1109000007	3	-1	1	-1	-1	1	90	-1	5	U12	G3	X7	Q1	P0	-1	-1	UNITARY	-1	-1	-1	-1	-1	-1	-1	-1	-1	-1
5	1109000007	3	7	1	-1	-1	1	90	-1	3	U12	G3	X7	Q1	P0	-1	-1	UNITARY	-1	-1	-1	-1	-1	-1	-1	-1	-1	-1
`

func read(t *testing.T, text string, o workload.Options) *workload.Trace {
	t.Helper()
	trace, err := gwf.Read(strings.NewReader(text), "folder/das.gwf.gz", o)
	require.NoError(t, err)
	return trace
}

func TestFields(t *testing.T) {
	trace := read(t, grid, workload.Options{Memory: 1 << 20})
	require.Equal(t, []workload.Job{
		{
			ID: 1, Run: 60, Estimate: 101, Procs: 4, Memory: 8, Wait: 12, Waited: 12, HasWaited: true,
			User: "U12", Group: "G3", Executable: "X7", Queue: "Q1",
		},
		{ID: 2, Submit: 5, Run: 60, Estimate: 60, Origin: workload.Assumed, Procs: 1, User: "U13", Group: "atlas"},
		{ID: 3, Submit: 6, Run: 60, Estimate: 90, Procs: 1, HasWaited: true, Group: "P9"},
	}, trace.Jobs)
	require.Equal(t, "das", trace.Name)
	require.EqualValues(t, 400, trace.Machine.Processors)
	require.EqualValues(t, 1109000000, trace.Header.Start())
	require.Equal(t, "a grid of two sites", trace.Header.Text("Computer"))
	require.Equal(t, []workload.Omission{
		{Why: workload.WhyPartial, Jobs: 1}, {Why: workload.WhyCancelled, Jobs: 1},
	}, trace.Cleaning.Dropped())
	require.Equal(t, []string{
		"1 jobs are parts of graphs (field 19, DAG), and wait for no other job: each is submitted when it was",
	}, trace.Warnings)

	trace = read(t, grid, workload.Options{
		Memory: 1 << 20, MemoryModel: workload.MemoryRequested, ProcsField: workload.ProcsRequested, CPUs: 10,
	})
	require.Equal(t, []int64{8, 32}, []int64{trace.Jobs[0].Procs, trace.Jobs[0].Memory})
}

// A trace whose seconds are its own keeps them; without a header the machine is what jobs used.
func TestOwnSeconds(t *testing.T) {
	trace := read(t, "7 10 0 20 3 -1 -1 3 30 -1 1 a b c d e\n6 10 0 20 2 -1 -1 2 30 -1 1 a b c d e\n8 31 0 5 4 -1 -1 4 5 -1 1 a b c d e", workload.Options{})
	require.Equal(t, []int64{10, 10, 31}, []int64{trace.Jobs[0].Submit, trace.Jobs[1].Submit, trace.Jobs[2].Submit})
	require.EqualValues(t, 7, trace.Jobs[0].ID, "as in the file")
	require.EqualValues(t, 5, trace.Machine.Processors)
	require.Zero(t, trace.Header.Start())
}

func TestFaults(t *testing.T) {
	const job = "1 0 0 5 1 -1 -1 1 -1 -1 1 U1 G1 X1 Q1 P1"
	for text, want := range map[string]string{
		"# GWF\n": "x.gwf: there is no job in it; a job is a line of 29 fields, the first of which are JobID SubmitTime",
		"1 2 3":   "x.gwf:1: the line has 3 of 29 fields; complete the line (-1: unknown) or delete it",
		job + "\n" + strings.Replace(job, "5", "five", 1): `x.gwf:2: field 4 (RunTime): "five" is no number up to 1e12; correct`,
		strings.Replace(job, "5", "1e9", 1):               `field 4 (RunTime): "1e9" is no number`,
		strings.Replace(job, "5", "1234567890123", 1):     `field 4 (RunTime): "1234567890123" is no number up to 1e12`,
		"# JobID WaitTime SubmitTime\n" + job: "x.gwf:1: field 2 is named \"WaitTime\" and not SubmitTime; put the fields in " +
			"the order of the Grid Workloads Format",
	} {
		_, err := gwf.Read(strings.NewReader(text), "x.gwf", workload.Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := gwf.Read(strings.NewReader(job), "x", workload.Options{Clean: "x"})
	require.ErrorContains(t, err, "clean")
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{grid, "1 0 0 5 1 -1 -1 1 -1 -1 1 U1 G1 X1 Q1 P1\n", "# MaxProcs: 0\n1 -1 0.5 .5 5. -.1 -1 1 9 9 1 - - - - -\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := gwf.Read(strings.NewReader(text), "log", workload.Options{Memory: 1 << 30, Clean: workload.CleanNone})
		if err != nil {
			require.Contains(t, err.Error(), "log")
			return
		}
		for _, j := range trace.Jobs {
			require.GreaterOrEqual(t, j.Run, int64(0))
			require.GreaterOrEqual(t, j.Submit, int64(0))
			require.Positive(t, j.Procs)
			require.GreaterOrEqual(t, j.Estimate, j.Run)
		}
	})
}
