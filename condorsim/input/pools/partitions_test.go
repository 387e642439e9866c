package pools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// byName finds a partition.
func byName(t *testing.T, p *pools.Description, name string) *negotiator.Bundle {
	t.Helper()
	i := slices.IndexFunc(p.Bundles, func(b *negotiator.Bundle) bool { return b.Name == name })
	require.GreaterOrEqual(t, i, 0, "no partition %s", name)
	return p.Bundles[i]
}

// shared returns the slots that two partitions have in common.
func shared(a, b *negotiator.Bundle) (list []string) {
	for _, name := range a.Slots {
		if slices.Contains(b.Slots, name) {
			list = append(list, name)
		}
	}
	return list
}

func names(list []*negotiator.Bundle) (all []string) {
	for _, b := range list {
		all = append(all, b.Name)
	}
	return all
}

// TestIntrepid compares with counts of Cobalt's description: partitions of each size, and those in
// conflict only because of wires.
func TestIntrepid(t *testing.T) {
	p, err := pools.Open("../../../configs/pools/intrepid.yaml")
	require.NoError(t, err)
	require.Equal(t, []string{"cpus", "wires"}, p.Schema.Resources)
	sizes := map[int64]int{}
	for _, b := range p.Bundles {
		cpus, _ := b.Ad.Int("Cpus")
		sizes[cpus]++
	}
	require.Equal(t, map[int64]int{2048: 80, 4096: 40, 8192: 20, 16384: 10, 32768: 5, 65536: 3, 131072: 2, 163840: 1},
		sizes)
	require.Len(t, p.Slots, 80+20+20, "midplanes, lines along z and along y")
	total := make(backfill.Vector, 2)
	for _, s := range p.Slots {
		total.AddScaled(s.Capacity, 1)
	}
	require.Equal(t, backfill.Vector{163840, 40}, total)

	byWire := map[string]int{}
	for i, a := range p.Bundles {
		for _, b := range p.Bundles[i+1:] {
			both := shared(a, b)
			if len(both) > 0 && !slices.ContainsFunc(both, func(s string) bool { return strings.HasPrefix(s, "m-") }) {
				byWire[fmt.Sprintf("%d %d %s", nodes(a), nodes(b), both[0][:1])]++
			}
		}
		require.Equal(t, a.Slots, shared(a, byName(t, p, "40960-0.0.0-4.3.3")), "the whole machine takes them all")
	}
	require.Equal(t, map[string]int{"1024 1024 z": 20, "4096 4096 y": 5}, byWire)

	require.Equal(t, []string{"m-0.0.0"}, byName(t, p, "512-0.0.0").Slots, "one midplane takes no wire")
	require.Equal(t, []string{"m-0.0.0", "m-0.0.1", "z-0.0"}, byName(t, p, "1024-0.0.0-0.0.1").Slots)
	half := byName(t, p, "4096-1.2.0-1.3.3").Slots
	require.Len(t, half, 8+4+2, "all four wires along y, two along z")
	require.Subset(t, half, []string{"m-1.2.0", "m-1.3.3", "y-1.0", "y-1.3", "z-1.2", "z-1.3"})
}

func nodes(b *negotiator.Bundle) int {
	var n int
	_, err := fmt.Sscanf(b.Name, "%d-", &n)
	if err != nil {
		panic(err)
	}
	return n
}

const ring = `
kind: partitioned
grid:
  midplanes: [1, 1, 4]
  nodes: 2
  node_cpus: 3
  torus: [z]
  boxes:
    - {size: [1, 1, 1]}
    - {size: [1, 1, 2]}
    - {size: [1, 1, 2], at: [[0, 0, 1]], mesh: true}
    - {size: [1, 1, 2], mesh: true}
    - {size: [1, 1, 4]}
`

// A partition that closes its ring takes all links of its line, a mesh only those between its
// midplanes.
func TestMeshAndTorus(t *testing.T) {
	p := read(t, ring)
	require.Equal(t, []string{
		"2-0.0.0", "2-0.0.1", "2-0.0.2", "2-0.0.3", "4-0.0.0-0.0.1", "4-0.0.2-0.0.3",
		"mesh-4-0.0.1-0.0.2", "mesh-4-0.0.0-0.0.1", "mesh-4-0.0.2-0.0.3", "8-0.0.0-0.0.3",
	}, names(p.Bundles))
	require.EqualValues(t, 6, p.Slots[0].Capacity[0], "nodes by processors")
	torus, other := byName(t, p, "4-0.0.0-0.0.1"), byName(t, p, "4-0.0.2-0.0.3")
	mesh, beside, middle := byName(t, p, "mesh-4-0.0.0-0.0.1"), byName(t, p, "mesh-4-0.0.2-0.0.3"),
		byName(t, p, "mesh-4-0.0.1-0.0.2")
	require.Len(t, shared(torus, other), 4, "the links within one, two that both go through")
	require.Empty(t, shared(mesh, beside))
	require.Len(t, shared(torus, beside), 1)
	require.Equal(t, []string{"m-0.0.1"}, shared(mesh, middle), "they have no link in common")
	require.Len(t, p.Slots, 4+4)
}

func TestWiresThatNobodyNeedsAreLeftOut(t *testing.T) {
	p := read(t, "kind: partitioned\ngrid: {midplanes: [2, 1, 1], nodes: 1, node_cpus: 1, torus: [y, z], boxes: "+
		"[{size: [1, 1, 1]}, {size: [2, 1, 1]}]}")
	require.Equal(t, []string{"cpus"}, p.Schema.Resources)
	require.Len(t, p.Slots, 2)
	require.Len(t, p.Bundles, 3)
}

const byHand = `
kind: partitioned
classes:
  - {name: node, count: 4, cpus: 8}
  - {name: fat, cpus: 40, attributes: {HasX: true}}
wires: [ring]
partitions:
  - {name: all, slots: ["*"]}
  - {name: left, slots: [node1, "node[12]", ring], attributes: {Side: '"left"'}}
  - name: right
    slots: ["node[34]", ring]
    start: TARGET.Owner == "eve"
  - {name: big, slots: [fat1]}
failures:
  - {slots: [ring], at: 5, for: 1}
`

// The ads decide which partitions a job may use: those of the smallest size that holds it, and that
// admit its owner.
func TestPartitionsByName(t *testing.T) {
	p := read(t, byHand)
	require.Equal(t, []string{"node1", "node2", "ring"}, p.Bundles[1].Slots)
	require.Len(t, p.Bundles[0].Slots, 6)
	require.Equal(t, []int{5}, p.Outages[0].Slots, "wires fail, too")
	require.Equal(t, []string{"owner", "requestcpus", "requestgpus", "requestwires"}, p.Asked())
	require.EqualValues(t, 1<<62, p.Pack.ChunkCpus&(1<<62), "a job is not cut")
	for _, c := range []struct {
		job  string
		want []string
	}{
		{"RequestCpus = 1", []string{"left"}},
		{`RequestCpus = 16; Owner = "eve"`, []string{"left", "right"}},
		{"RequestCpus = 17", []string{"big"}},
		{"RequestCpus = 41", []string{"all"}},
		{"RequestCpus = 72; RequestWires = 1", []string{"all"}},
		{"RequestCpus = 73", nil},
		{`RequestCpus = 1; Requirements = TARGET.Side is "left"`, []string{"left"}},
		{"RequestCpus = 20; RequestWires = 1", nil},
	} {
		job, err := classad.Parse("[Requirements = true; " + c.job + "]")
		require.NoError(t, err)
		var got []string
		for _, b := range p.Bundles {
			if classad.Match(job, b.Ad) {
				got = append(got, b.Name)
			}
		}
		require.Equal(t, c.want, got, c.job)
	}
}

func TestBadPartitions(t *testing.T) {
	grid := func(rest string) string {
		return "kind: partitioned\ngrid:\n  midplanes: [2, 2, 2]\n  nodes: 512\n  node_cpus: 4\n" + rest
	}
	list := func(rest string) string {
		return "kind: partitioned\nclasses: [{name: n, count: 4, cpus: 8}]\n" + rest
	}
	for _, c := range []struct{ name, text, want string }{
		{
			"a kind that is none", "kind: cloud\nclasses: [{name: n, cpus: 1}]",
			`[1:7] kind: "cloud": must be partitioned, or be left out`,
		},
		{
			"a grid of another kind", "grid: {midplanes: [1, 1, 1]}",
			"only a machine of kind: partitioned has a grid, wires or partitions",
		},
		{"nothing", "kind: partitioned", "there is no partition in it: give a grid, or classes and partitions"},
		{"ads", "kind: partitioned\nads: x.ads", "[2:6] ads: the slots of a partitioned machine are those of its grid"},
		{"pack", list("pack: {chunk_cpus: 2}"), "[3:"},
		{
			"grid and partitions", grid("  boxes: [{size: [1, 1, 1]}]\npartitions: [{name: a, slots: [b]}]"),
			"grid: it has the slots and partitions",
		},
		{"an unknown key", grid("  boxes: [{size: [1, 1, 1], mush: true}]"), `[6:29] unknown field "mush"`},
		{
			"two numbers", grid("  boxes: [{size: [1, 1]}]"),
			"[6:18] grid.boxes[0].size: must be three numbers, along x, y and z",
		},
		{
			"a length of none", grid("  boxes: [{size: [1, 0, 1]}]"),
			"[6:22] grid.boxes[0].size[1]: 0: must be from 1 to 4096",
		},
		{
			"too long", grid("  boxes: [{size: [1, 1, 3]}]"),
			"grid.boxes[0].size: 1.1.3 midplanes: the machine has 2.2.2",
		},
		{
			"sticking out", grid("  boxes: [{size: [2, 1, 1], at: [[0, 0, 0], [1, 0, 0]]}]"),
			"grid.boxes[0].at[1]: the box sticks out: the machine has 2.2.2 midplanes",
		},
		{"no boxes", grid("  torus: [x]"), "grid: must have boxes, which are its partitions"},
		{
			"a dimension that is none", grid("  torus: [x, w]\n  boxes: [{size: [1, 1, 1]}]"),
			`[6:14] grid.torus[1]: "w": must be x, y or z`,
		},
		{
			"a box twice", grid("  boxes: [{size: [1, 1, 1]}, {size: [1, 1, 1], at: [[0, 1, 0]]}]"),
			"grid.boxes[1]: another partition is called 512-0.1.0, too",
		},
		{
			"the same by another name", grid("  boxes: [{size: [1, 1, 1]}, {size: [1, 1, 1], mesh: true}]"),
			"grid.boxes[1]: they are those of partition 512-0.0.0",
		},
		{
			"midplanes in no box", grid("  boxes: [{size: [1, 1, 1], at: [[0, 0, 0]]}]"),
			"slot m-0.0.1 is in none of them, so that no job can use it",
		},
		{"too many midplanes", "kind: partitioned\ngrid: {midplanes: [100, 100, 2], nodes: 1, node_cpus: 1, boxes: " +
			"[{size: [1, 1, 1]}]}", "20000 of them: must be at most 4096"},
		{"overflow", "kind: partitioned\ngrid: {midplanes: [4096, 4096, 4096], nodes: 1, node_cpus: 1, boxes: " +
			"[{size: [1, 1, 1]}]}", "must be at most 4096"},
		{
			"no nodes", "kind: partitioned\ngrid: {midplanes: [1, 1, 1], node_cpus: 1, boxes: [{size: [1, 1, 1]}]}",
			"grid.nodes: 0: must be from 1 to",
		},
		{"too many processors", "kind: partitioned\ngrid: {midplanes: [1, 1, 1], nodes: 1000000, node_cpus: 1000001, " +
			"boxes: [{size: [1, 1, 1]}]}", "grid.node_cpus: 1000001: must be from 1 to 1000000"},
		{
			"too many shares", "kind: partitioned\ngrid: {midplanes: [4096, 1, 1], nodes: 1, node_cpus: 1, boxes: " +
				"[{size: [2048, 1, 1], at: [" + strings.Repeat("[0, 0, 0], ", 600) + "]}]}",
			"with it the partitions have 1228800 midplanes in all: must be at most 1048576",
		},

		{"no name", list("partitions: [{slots: [n1]}]"), `partitions[0].name: "": must be a name`},
		{
			"a name twice", list("partitions:\n  - {name: a, slots: [n1]}\n  - {name: a, slots: [n2]}"),
			"[5:12] partitions[1].name: another partition is called a, too",
		},
		{
			"the same slots", list("partitions:\n  - {name: a, slots: [n1, n2]}\n  - {name: b, slots: ['n[12]']}"),
			"partitions[1].slots: they are those of partition a",
		},
		{
			"an unknown slot", list("partitions:\n  - {name: a, slots: [n1, n5]}"),
			`[4:27] partitions[0].slots[1]: there is no slot or machine n5 in the pool`,
		},
		{"no pattern", list("partitions:\n  - {name: a, slots: ['n[']}"), `partitions[0].slots[0]: "n[" is no pattern`},
		{"no slots", list("partitions:\n  - {name: a}"), "partitions[0]: must name its slots"},
		{
			"no cpus", list("wires: [w]\npartitions:\n  - {name: a, slots: [w]}"),
			"partitions[0].slots: no slot with cpus is in it: no job can use it",
		},
		{
			"a slot of none", list("partitions:\n  - {name: a, slots: [n1, n2, n3]}"),
			"partitions: slot n4 is in none of them, so that no job can use it",
		},
		{
			"a wire called as a slot", list("wires: [w, n2]\npartitions:\n  - {name: a, slots: ['*']}"),
			"[3:12] wires[1]: another slot is called n2, too",
		},
		{
			"a wire without a name", list("wires: ['4']\npartitions:\n  - {name: a, slots: ['*']}"),
			`wires[0]: "4": must be a name`,
		},
		{
			"an attribute of its own", list("partitions:\n  - {name: a, slots: ['*'], attributes: {Cpus: 4}}"),
			`partitions[0].attributes: "Cpus" is no name of an attribute, or one that cannot be set`,
		},
		{
			"an attribute without a value", list("partitions:\n  - {name: a, slots: ['*'], attributes: {Side: ~}}"),
			"partitions[0].attributes.Side: has no value",
		},
		{
			"an outage of no slot", list("partitions:\n  - {name: a, slots: ['*']}\nfailures: [{slots: [a], at: 5}]"),
			`failures[0].slots[0]: there is no slot or machine a in the pool`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := pools.Read(strings.NewReader(c.text), "bad.yaml")
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "bad.yaml: ")
		})
	}
}
