package condorsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

const gpuPool = `
classes: [{name: node, count: 2, cpus: 8, gpus: 2}]
pack: {chunk_cpus: 4}
gpu_jobs: {share: 0.3, per_chunk: 2}
`

// Of twenty users with as much work each, six have three tenths. All jobs of a user ask alike, each chunk for two,
// and jobs of nobody for none.
func TestJobsOfSomeUsersAskForGPUs(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("; MaxProcs: 16\n")
	for i := range 42 {
		user := i % 21
		if user == 0 {
			user = -1
		}
		fmt.Fprintf(&text, "%d %d -1 100 8 -1 -1 8 100 -1 1 %d 1 1 1 1 -1 -1\n", i+1, i, user)
	}
	trace, err := workload.ReadSWF(strings.NewReader(text.String()), "a", workload.Options{})
	require.NoError(t, err)
	pool, err := pools.Read(strings.NewReader(gpuPool), "pool.yaml")
	require.NoError(t, err)
	w, err := condorsim.OnPool(trace, pool)
	require.NoError(t, err)
	asking := map[string]int{}
	for i, request := range w.Requests() {
		require.Equal(t, int64(4), request[0])
		require.Equal(t, 2, w.Jobs[i].Nodes)
		if gpus := request[1]; gpus > 0 {
			require.Equal(t, int64(2), gpus)
			asking[w.Jobs[i].User]++
		}
	}
	require.Len(t, asking, 6, "%v", asking)
	for user, jobs := range asking {
		require.NotEmpty(t, user)
		require.Equal(t, 2, jobs, user)
	}
}

// The GPUs that a trace says of a job count before those that the pool has users ask for, and are spread over the
// job's chunks.
func TestGPUsOfTraces(t *testing.T) {
	trace := &workload.Trace{Name: "t", Machine: workload.Machine{Processors: 16, GPUs: workload.AnyGPUs}, Jobs: []workload.Job{
		{ID: 1, Run: 100, Estimate: 100, Procs: 8, GPUs: 1, User: "a"},
		{ID: 2, Run: 100, Estimate: 100, Procs: 8, GPUs: 3, User: "a"},
		{ID: 3, Run: 100, Estimate: 100, Procs: 8, User: "a"},
	}}
	pool, err := pools.Read(strings.NewReader(strings.Replace(gpuPool, "0.3", "1", 1)), "pool.yaml")
	require.NoError(t, err)
	w, err := condorsim.OnPool(trace, pool)
	require.NoError(t, err)
	var each []int64
	for _, request := range w.Requests() {
		each = append(each, request[1])
	}
	require.Equal(t, []int64{1, 2, 2}, each)

	trace.Machine.GPUs = 4
	trace.Jobs[2].GPUs = 2
	w, err = condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"cpus", "gpus"}, w.Schema.Resources)
	r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	starts := make([]backfill.Time, len(r.Outcomes))
	for i := range r.Outcomes {
		starts[i] = r.Outcomes[i].Start
	}
	require.Equal(t, []backfill.Time{0, 0, 100}, starts, "of four GPUs one and three are used, then two")
}
