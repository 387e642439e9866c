package pools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

// A node of Slurm is a slot with its cpus, memory and GPUs; those that are down are left out, and counted.
func TestNodesOfSlurm(t *testing.T) {
	for name, text := range map[string]string{
		"scontrol": "NodeName=n1 CPUTot=32 RealMemory=1000 State=IDLE Partitions=batch\nNodeName=g1 CPUTot=8 RealMemory=2000 " +
			"Gres=gpu:a100:4 State=MIXED Partitions=gpu,batch AvailableFeatures=ib\nNodeName=n2 CPUTot=32 State=DOWN\n",
		"sinfo": "NODELIST CPUS MEMORY GRES STATE PARTITION AVAIL_FEATURES\nn1 32 1000 (null) idle batch* (null)\n" +
			"g1 8 2000 gpu:a100:4 mix gpu ib\ng1 8 2000 gpu:a100:4 mix batch* ib\nn2 32 1000 (null) down batch* (null)\n",
	} {
		p, err := pools.Read(strings.NewReader(text), name+".txt")
		require.NoError(t, err, name)
		require.Equal(t, 1, p.LeftOut.Down)
		require.Equal(t, []string{"nodes that are down or drained (1) are left out"}, p.Unheeded())
		require.Equal(t, map[string]int64{"cpus": 40, "memory": 3000, "gpus": 4}, p.Capacity())
		require.Len(t, p.Slots, 2)
		require.Equal(t, "g1", p.Slots[1].Name)
		partitions, _ := p.Slots[1].Ad.Text(pools.SlurmPartitions)
		features, _ := p.Slots[1].Ad.Text(pools.SlurmFeatures)
		require.Equal(t, []string{"batch,gpu", "ib"}, []string{partitions, features})
		require.True(t, p.HasMemory())
	}
	p, err := pools.Read(strings.NewReader("NodeName=n[01-20] CPUTot=4\n"), "n.txt")
	require.NoError(t, err)
	require.Len(t, p.Slots, 20)
	require.Equal(t, map[string]int64{"cpus": 80}, p.Capacity())
	for text, want := range map[string]string{
		"NodeName=n1 CPUTot=4 State=DOWN\n":                "read the pool: n.txt: there is no node in it that can run jobs; 1 are down or drained",
		"NodeName=n1 CPUTot=x\n":                           "read the pool: n.txt: node n1: CPUTot=x is no amount",
		"NodeName=n1 CPUTot=900000000000001\n":             "read the pool: n.txt: node n1: CPUTot=900000000000001 is no amount",
		"JobID|State\n1|COMPLETED\n":                       "looks like the accounting of Slurm, as sacct prints it, which holds jobs; print the nodes: scontrol show node",
		`{"meta": {}, "jobs": [{"job_state": "RUNNING"}]}`: "print the nodes: scontrol show node",
		"17|bash|COMPLETED|0:0\n":                          "looks like rows of sacct without titles, which is not read; print the nodes: scontrol show node",
		"JOBID PARTITION NAME USER ST\n1 2 3":              "looks like the queue of Slurm, as squeue prints it, which is not read",
	} {
		_, err = pools.Read(strings.NewReader(text), "n.txt")
		require.ErrorContains(t, err, want, text)
	}
}
