package condorsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
