package pools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

// openPBS is what pbsnodes -a prints in PBS Professional: a node, one with a vnode, and two that are not to be
// used.
const openPBS = `n1
     Mom = n1.example
     ntype = PBS
     state = free
     pcpus = 64
     resources_available.arch = linux
     resources_available.host = n1
     resources_available.mem = 263774612kb
     resources_available.ncpus = 32
     resources_available.ngpus = 4
     resources_available.vnode = n1
     resources_assigned.mem = 0kb
     queue = gpu
     sharing = default_shared

n2
     Mom = n2.example
     state = job-busy
     resources_available.ncpus = 0

n2[0]
     Mom = n2.example
     state = job-exclusive,resv-exclusive
     resources_available.mem = 8gb
     resources_available.ncpus = 16

n3
     Mom = n3.example
     state = down,offline
     resources_available.ncpus = 16

n4
     Mom = n4.example
     state = state-unknown
     resources_available.ncpus = 16
`

const torque = `n1
     state = job-exclusive
     power_state = Running
     np = 16
     properties = fast,ib
     ntype = cluster
     jobs = 0-15/12.server
     status = rectime=1719741000,state=free,ncpus=20,physmem=65842484kb,availmem=1kb,totmem=2kb
     mom_service_port = 15002
     gpus = 2

n2
     state = offline
     np = 16
`

const asJSON = `{
    "timestamp":1719741000,
    "pbs_version":"2022.1.1",
    "pbs_server":"server",
    "nodes":{
        "n2":{"Mom":"n2.example","state":"offline","resources_available":{"ncpus":4}},
        "n1":{"Mom":"n1.example","state":"free","resources_available":{"mem":"8gb","ncpus":4,"ngpus":1}}
    }
}
`

func TestPBSNodes(t *testing.T) {
	for _, c := range []struct {
		text     string
		want     map[string][]int64
		left     pools.LeftOut
		property string
	}{
		{openPBS, map[string][]int64{"n1": {32, 257592, 4}, "n2[0]": {16, 8192, 0}}, pools.LeftOut{Down: 2, Others: 1}, ""},
		{torque, map[string][]int64{"n1": {16, 64299, 2}}, pools.LeftOut{Down: 1}, "fast,ib"},
		{asJSON, map[string][]int64{"n1": {4, 8192, 1}}, pools.LeftOut{Down: 1}, ""},
		{"n1\n  state = free\n  np = 3\n", map[string][]int64{"n1": {3}}, pools.LeftOut{}, ""},
	} {
		p, err := pools.Read(strings.NewReader(c.text), "folder/nodes.txt")
		require.NoError(t, err, c.text)
		got := map[string][]int64{}
		for _, slot := range p.Slots {
			got[slot.Name] = slot.Capacity
		}
		require.Equal(t, c.want, got)
		require.Equal(t, c.left, p.LeftOut)
		require.Equal(t, []string{"cpus", "memory", "gpus"}[:len(p.Schema.Resources)], p.Schema.Resources)
		property, _ := p.Slots[0].Ad.Text(pools.PBSProperties)
		require.Equal(t, c.property, property)
		if c.left.Down > 0 {
			require.Contains(t, p.Unheeded()[0], "nodes that are down or drained")
		}
	}
}

func TestPBSNodesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"n1\n  state = down\n  np = 3\n": "read the pool: nodes: there is no node in it that can run jobs; 1 are down or offline",
		"n1\n  state = free\n  np = x\n": `read the pool: nodes:1: node n1: "x" is no amount of what it has; correct it, or ` +
			"delete the node",
		"n1\n  state = free\n  resources_available.ncpus = 1\n  resources_available.mem = 9z\n": `node n1: "9z" is no amount`,
		`{"pbs_version": "1", "nodes": {`: "nodes: the nodes in JSON cannot be read: unexpected EOF; print them without: " +
			"pbsnodes -a",
		"                                                        mem       ncpus   nmics   ngpus\n" +
			"vnode           state           njobs   run   susp      f/t        f/t     f/t     f/t   jobs\n": "nodes: looks " +
			"like the table of nodes that pbsnodes prints for people, which is not read; print it with pbsnodes -a",
		"vnode           state           OS       hardware host            queue        mem     ncpus\n": "the table of nodes",
	} {
		_, err := pools.Read(strings.NewReader(text), "nodes")
		require.ErrorContains(t, err, want)
	}
}
