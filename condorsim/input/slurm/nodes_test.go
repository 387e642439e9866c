package slurm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
)

const shownNodes = `NodeName=n001 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=0 CPUEfctv=62 CPUTot=64 CPULoad=0.01
   AvailableFeatures=ib,a100
   ActiveFeatures=ib,a100
   Gres=gpu:a100:4(S:0-1),nvme:1
   NodeAddr=n001 NodeHostName=n001 Version=22.05.8
   OS=Linux 4.18.0 #1 SMP Mon Jan 1 10:00:00 UTC 2024
   RealMemory=256000 AllocMem=0 FreeMem=240000 Sockets=2 Boards=1
   MemSpecLimit=1000
   State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=gpu,batch
   BootTime=2024-01-01T10:00:00 SlurmdStartTime=2024-01-01T10:01:00
   CfgTRES=cpu=62,mem=250G,billing=62,gres/gpu=4,gres/gpu:a100=4
   AllocTRES=
   CapWatts=n/a

NodeName=n002 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=0 CPUTot=32
   RealMemory=128000
   Gres=(null)
   State=MIXED+CLOUD+POWERED_DOWN
   CfgTRES=cpu=32,mem=125G,billing=32

NodeName=n003
   CPUTot=32 State=IDLE+DRAIN
   Reason=disk State=IDLE broken [root@2024-05-01T10:00:00]
`

// Nodes as scontrol shows them, on several lines or on one.
func TestShownNodes(t *testing.T) {
	want := &slurm.Nodes{Usable: []slurm.Node{
		{Name: "n001", Cpus: 62, Memory: 255000, GPUs: 4, Partitions: []string{"batch", "gpu"}, Features: []string{"a100", "ib"}},
		{Name: "n002", Cpus: 32, Memory: 128000},
	}, Down: 1}
	for _, text := range []string{shownNodes, strings.ReplaceAll(shownNodes, "\n   ", " ")} {
		require.True(t, slurm.IsNodes([]byte(text)))
		got, err := slurm.ReadNodes(strings.NewReader(text), "nodes.txt")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := slurm.ReadNodes(strings.NewReader("NodeName=a[08-10],b Features=x CfgTRES=cpu=4,mem=8G,gres/gpu:v100=2"), "nodes.txt")
	require.NoError(t, err)
	require.Len(t, got.Usable, 4)
	require.Equal(t, slurm.Node{Name: "a09", Cpus: 4, Memory: 8192, GPUs: 2, Features: []string{"x"}}, got.Usable[1])
}

func TestStatesOfNodes(t *testing.T) {
	for state, down := range map[string]int{
		"IDLE": 0, "MIXED": 0, "ALLOCATED": 0, "COMPLETING": 0, "IDLE+PLANNED": 0, "RESERVED": 0, "IDLE+CLOUD": 0, "idle~": 0,
		"MAINT": 0, "IDLE+MAINTENANCE+RESERVED": 0, "mix-": 0, "POWERED_DOWN": 0, "": 0,
		"DOWN": 1, "down*": 1, "IDLE*": 1, "IDLE+DRAIN": 1, "drained": 1, "drng": 1, "MIXED+DRAIN": 1, "FAIL": 1, "UNKNOWN": 1,
		"DOWN+NOT_RESPONDING": 1, "FUTURE": 1, "ERROR": 1, "inval": 1, "drain$": 1,
	} {
		got, err := slurm.ReadNodes(strings.NewReader("NodeName=a CPUTot=1 State="+state), "nodes.txt")
		require.NoError(t, err)
		require.Equal(t, down, got.Down, state)
		require.Len(t, got.Usable, 1-down, state)
	}
}

// Tables of sinfo, with a node in a row or many, and a row for each partition.
func TestSinfo(t *testing.T) {
	node := func(name string, cpus, memory, gpus int64, partitions ...string) slurm.Node {
		return slurm.Node{Name: name, Cpus: cpus, Memory: memory, GPUs: gpus, Partitions: partitions}
	}
	for text, want := range map[string]*slurm.Nodes{
		"NODELIST CPUS MEMORY GRES STATE PARTITION\nn1 64 256000 gpu:a100:4(S:0-1) idle batch*\nn1 64 256000 gpu:a100:4(S:0-1) idle " +
			"gpu\nn2 32 128000+ (null) down* batch*\nn2 32 128000 (null) down* gpu\n": {
			Usable: []slurm.Node{node("n1", 64, 256000, 4, "batch", "gpu")}, Down: 1,
		},
		"PARTITION|AVAIL|NODES|STATE|NODELIST|CPUS(A/I/O/T)|MEMORY\nbatch*|up|3|mix|n[001-002,007]|32/32/0/64|1G\n": {
			Usable: []slurm.Node{
				node("n001", 64, 1024, 0, "batch"), node("n002", 64, 1024, 0, "batch"), node("n007", 64, 1024, 0, "batch"),
			},
		},
		"HOSTNAMES|CPUS|AVAIL_FEATURES\nr1[0-1]s[2-3]x|4+|(null)\nHOSTNAMES|CPUS|AVAIL_FEATURES\n": {Usable: []slurm.Node{
			node("r10s2x", 4, 0, 0), node("r10s3x", 4, 0, 0), node("r11s2x", 4, 0, 0), node("r11s3x", 4, 0, 0),
		}},
	} {
		require.True(t, slurm.IsNodes([]byte(text)), text)
		got, err := slurm.ReadNodes(strings.NewReader(text), "nodes.txt")
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestFaultyNodes(t *testing.T) {
	const titles = "NODELIST CPUS MEMORY GRES STATE PARTITION\n"
	for text, want := range map[string]string{
		"NodeName=a State=IDLE\n":                         "nodes.txt: node a: CPUTot= is no number of cpus; print it again: scontrol show node",
		"NodeName=a CPUTot=x\nNodeName=b":                 "nodes.txt:2: node a: CPUTot=x is no amount",
		"NodeName=a CPUTot=1 RealMemory=x":                "node a: RealMemory=x is no amount",
		"NodeName=a CPUTot=1 RealMemory=1 MemSpecLimit=x": "node a: MemSpecLimit=x is no amount",
		"NodeName=a CPUTot=1 Gres=gpu:2z":                 `node a: Gres=gpu:2z "gpu:2z" has no number of GPUs`,
		"NodeName=a CfgTRES=cpu":                          `node a: CfgTRES=cpu "cpu" is no resource`,
		"NodeName=a[3-1] CPUTot=1":                        "node a[3-1]: NodeName=a[3-1] is no list of nodes such as n[001-004,007]",
		"NodeName=a[0-999999] CPUTot=1":                   "is no list of nodes",
		"NodeName=a[0-999][0-999] CPUTot=1":               "names more than 262144 nodes",
		"NODES PARTITION STATE\n1 a idle\n":               "nodes.txt:1: there is no column NODELIST (%N) among NODES PARTITION STATE; print it as well: sinfo -N",
		"NODELIST PARTITION STATE\nn a idle\n":            "nodes.txt:1: there is no column CPUS (%c) among",
		titles + "n1 4 5\n":                               `nodes.txt:2: the row has 3 of 6 columns; print few columns, with bars between them: sinfo -N -o "%N|%c|%m`,
		titles + "n1 x 5 (null) idle a\n":                 `nodes.txt:2: column 2 (CPUS): "x" is no amount`,
		titles + "n1 0 5 (null) idle a\n":                 `nodes.txt:2: column 2 (CPUS): "0" is no amount`,
		"NODELIST|CPUS\nn1|(null)\n":                      `nodes.txt:2: column 2 (CPUS): "(null)" is no amount`,
		titles + "n1 4 x (null) idle a\n":                 `nodes.txt:2: column 3 (MEMORY): "x" is no amount`,
		titles + "n1 4 5 gpu:9w idle a\n":                 `nodes.txt:2: column 4 (GRES): "gpu:9w" "gpu:9w" has no number of GPUs`,
		titles + "n[1 4 5 (null) idle a\n":                `nodes.txt:2: column 1 (NODELIST): "n[1" is no list of nodes`,
		titles + "n1,,n2 4 5 (null) idle a\n":             `nodes.txt:2: column 1 (NODELIST)`,
		"NodeName=" + strings.Repeat("a", 2<<20):          "nodes.txt:1: the line has more than 1048576 bytes",
	} {
		_, err := slurm.ReadNodes(strings.NewReader(text), "nodes.txt")
		require.ErrorContains(t, err, want, head(text))
	}
	for _, text := range []string{"", "a b c\n", "JOBID PARTITION NODES STATE\n", "Name = \"a\"\n", "NodeName = 1\n"} {
		require.False(t, slurm.IsNodes([]byte(text)), text)
	}
}
