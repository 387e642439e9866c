package pools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func read(t *testing.T, text string) *pools.Description {
	t.Helper()
	p, err := pools.Read(strings.NewReader(text), "folder/test.yaml")
	require.NoError(t, err)
	return p
}

const mixed = `
# Two classes.
classes:
  - {name: node, count: 3, cpus: 32, memory: 128GiB}
  - name: fat
    count: 2
    cpus: 64
    memory: 1TiB
    gpus: 2
    resources: {licenses: 1}
    attributes: {HasX: true, Site: '"north"', Speed: 1.5, Twice: 2 * Cpus}
    start: TARGET.Owner != "guest"
pack: {chunk_cpus: 32}
failures:
  - {slots: [node3], at: 1h, for: 7200}
  - {slots: ["fat*", node1], mtbf: 30d, mttr: 4h, shape: 0.7}
  - {mtbf: 1d, mttr: 60}
drains:
  - {slots: ["node*"], at: 7d}
give_up_after: 7
`

func TestClasses(t *testing.T) {
	p := read(t, mixed)
	require.Equal(t, "test", p.Name)
	require.Equal(t, []string{"cpus", "memory", "gpus", "licenses"}, p.Schema.Resources)
	var names []string
	for _, s := range p.Slots {
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"node1", "node2", "node3", "fat1", "fat2"}, names)
	require.Equal(t, backfill.Vector{32, 128 << 10, 0, 0}, p.Slots[0].Capacity)
	require.Equal(t, backfill.Vector{64, 1 << 20, 2, 1}, p.Slots[4].Capacity)
	require.True(t, p.HasMemory())
	require.Equal(t, pools.Pack{ChunkCpus: 32}, p.Pack)
	require.Equal(t, 7, p.GiveUpAfter)
	require.Equal(t, []pools.Outage{
		{Slots: []int{2}, At: 3600, For: 7200, Shape: 1},
		{Slots: []int{0, 3, 4}, MTBF: 30 * 86400, MTTR: 4 * 3600, Shape: 0.7},
		{Slots: []int{0, 1, 2, 3, 4}, MTBF: 86400, MTTR: 60, Shape: 1},
		{Slots: []int{0, 1, 2}, Drain: true, At: 7 * 86400, Shape: 1},
	}, p.Outages)
	require.Equal(t, []string{"owner", "requestcpus", "requestgpus", "requestlicenses", "requestmemory"}, p.Asked())

	fat := p.Slots[3].Ad
	for name, want := range map[string]string{
		"HasX": "true", "Site": `"north"`, "Speed": "1.500000000000000E+00",
		"Twice": "128", "Name": `"fat1"`, "Machine": `"fat1"`,
	} {
		require.Equal(t, want, fat.Eval(name, nil).String(), name)
	}
	node := p.Slots[0].Ad
	for _, c := range []struct {
		job       string
		node, fat bool
	}{
		{"RequestCpus = 32; RequestMemory = 1", true, true},
		{"RequestCpus = 33; RequestMemory = 1", false, true},
		{`RequestCpus = 1; Owner = "guest"`, true, false},
		{"RequestCpus = 1; RequestGPUs = 1", false, true},
		{"RequestCpus = 1; RequestLicenses = 1", false, true},
		{"RequestCpus = 1; RequestMemory = 131073", false, true},
		{`RequestCpus = 1; Requirements = TARGET.Site == "north"`, false, true},
		{`RequestCpus = 1; RequestDisk = 5; Requirements = TARGET.Arch == "X86_64" && TARGET.OpSys == "LINUX" ` +
			`&& TARGET.Disk >= RequestDisk && TARGET.HasFileTransfer`, true, true},
	} {
		job, err := classad.Parse("[Requirements = true; Owner = \"eve\"; " + c.job + "]")
		require.NoError(t, err)
		require.Equal(t, c.node, classad.Match(job, node), c.job)
		require.Equal(t, c.fat, classad.Match(job, fat), c.job)
	}
}

func TestOneClassOneSlot(t *testing.T) {
	p := read(t, "---\nclasses: [{name: node, cpus: 4, memory: 100, disk: 2MiB}]\n")
	require.Len(t, p.Slots, 1)
	require.Equal(t, []string{"cpus", "memory", "disk"}, p.Schema.Resources)
	require.Equal(t, backfill.Vector{4, 100, 2048}, p.Slots[0].Capacity)
}

func TestResourcesToPlanWith(t *testing.T) {
	p := read(t, "resources: [cpus]\nclasses: [{name: node, cpus: 4, memory: 100}]\npack: {whole_slots: true}")
	require.Equal(t, []string{"cpus", "slots"}, p.Schema.Resources)
	require.Equal(t, backfill.Vector{4, 1}, p.Slots[0].Capacity)
	require.False(t, p.HasMemory())
	require.Equal(t, pools.Pack{ChunkCpus: 4, WholeSlots: true}, p.Pack)
}

func TestWholeSlotsOfSeveralSizes(t *testing.T) {
	p := read(t, "classes: [{name: a, cpus: 8}, {name: b, cpus: 4}]\npack: {whole_slots: true}")
	require.EqualValues(t, 4, p.Pack.ChunkCpus, "as much as any slot has")
	p = read(t, "classes: [{name: a, cpus: 8}]\npack: {whole_slots: true, chunk_cpus: 2}")
	require.EqualValues(t, 2, p.Pack.ChunkCpus)
}

func TestSlotsFromAFileBeside(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("slots.ads", "Name = \"slot1@a\"\nCpus = 4\nRequirements = true\n\nName = \"slot1@b\"\nCpus = 4\n"+
		"Requirements = true\n")
	write("pool.yaml", "ads: slots.ads\nfailures: [{slots: [\"*@b\"], at: 5}]\n")
	p, err := pools.Open(filepath.Join(dir, "pool.yaml"))
	require.NoError(t, err)
	require.Len(t, p.Slots, 2)
	require.Equal(t, []pools.Outage{{Slots: []int{1}, At: 5, Shape: 1}}, p.Outages)
	require.Equal(t, []string{"cpus", "memory", "disk", "gpus", "claims"}, p.Schema.Resources, "they are static")

	write("bad.yaml", "give_up_after: 3\nads: none.ads\n")
	_, err = pools.Open(filepath.Join(dir, "bad.yaml"))
	require.ErrorContains(t, err, "[2:")
	require.ErrorContains(t, err, "none.ads: no such file")
}

func TestFaultsNameTheirPlace(t *testing.T) {
	class := func(more string) string { return "classes:\n  - {name: node, cpus: 4" + more + "}\n" }
	for _, c := range []struct{ text, want string }{
		{"classes: []\n", "there is no slot in it"},
		{"clases: []\n", `[1:1] unknown field "clases"`},
		{"classes: [\n", "[1:10]"},
		{class("") + "---\nclasses: []\n", "there is a second document"},
		{"classes: [{name: node}]\n", "classes[0].cpus: 0: must be from 1"},
		{"classes: [{cpus: 4}]\n", `classes[0].name: "": must be a name`},
		{class(", count: -1"), "[2:34] classes[0].count: -1: must be from 1"},
		{class(", count: 99999999"), "classes[0].count: 99999999: must be from 1 to 262144"},
		{class(", count: 0"), "classes[0].count: 0: must be from 1 to 262144"},
		{
			class(", count: 250000") + "  - {name: other, count: 250000, cpus: 4}\n",
			"[3:26] classes[1].count: 500000 slots with those above: must be at most 262144 in all",
		},
		{class(", cpu: 4"), `[2:27] unknown field "cpu", did you mean cpus? (known here: name, type,`},
		{class(", memory: lots"), "[2:35] lots is no amount such as 512GiB"},
		{class(", memory: -4"), "-4 is no amount"},
		{class(", memory: 5 Gigs"), "is no amount"},
		{class(", memory: [4]"), "is not one value"},
		{class(", gpus: -1"), "[2:33] classes[0].gpus: -1"},
		{class(", resources: {memory: 1}"), "classes[0].resources.memory: memory has a place of its own"},
		{class(", resources: {x: -1}"), "classes[0].resources.x: -1"},
		{class(", resources: {Big: 1}"), `"Big": must be a name in lower case`},
		{class(", attributes: {Site: 'a ='}"), "is no ClassAd expression"},
		{class(", attributes: {Site: [a]}"), "is no ClassAd expression; put it in quotes"},
		{class(", attributes: {Cpus: 5}"), "[2:46] classes[0].attributes.Cpus: the slots have their own"},
		{class(", attributes: {'a b': 5}"), `"a b" is no name of an attribute`},
		{class(", attributes: {Site}"), "classes[0].attributes.Site: has no value"},
		{class(", start: '('"), "is no ClassAd expression"},
		{
			"classes: [{name: a, count: 11, cpus: 1}, {name: a1, cpus: 1}]\n",
			"classes[1].name: another class has a slot a11",
		},
		{"resources: [memory]\n" + class(""), "resources[0]: memory: the first resource is cpus"},
		{"resources: [cpus, cpus]\n" + class(""), "resources[1]: cpus is there twice"},
		{class("") + "pack: {chunk_cpus: -1}\n", "[3:20] pack.chunk_cpus: -1"},
		{class("") + "give_up_after: -1\n", "[3:16] give_up_after: -1"},
		{class("") + "failures: [{slots: [fat1], at: 5}]\n", "[3:21] failures[0].slots[0]: there is no slot or machine fat1 in the pool; one of its slots is "},
		{class("") + "failures: [{slots: ['['], at: 5}]\n", "is no pattern"},
		{class("") + "failures: [{slots: [node1]}]\n", "failures[0]: must have either at (and for), or mtbf and mttr"},
		{class("") + "failures: [{at: 5, mtbf: 5, mttr: 5}]\n", "must have either"},
		{class("") + "failures: [{for: 5}]\n", "must say at what time"},
		{class("") + "failures: [{at: 5, for: 0}]\n", "failures[0].for: must be at least a second"},
		{class("") + "failures: [{mtbf: 5}]\n", "must have both mtbf and mttr"},
		{class("") + "failures: [{mtbf: 0, mttr: 5}]\n", "failures[0].mtbf: must be at least a second"},
		{class("") + "failures: [{mtbf: 5, mttr: 5, shape: 0}]\n", "failures[0].shape: 0: must be from 0.1 to 10"},
		{class("") + "failures: [{mtbf: 5, mttr: 5, shape: .nan}]\n", "failures[0].shape: NaN"},
		{class("") + "failures: [{at: soon}]\n", "[3:17] soon is no length of time"},
		{class("") + "failures: [{at: 1.5s}]\n", "1.5s is no length of time"},
		{class("") + "drains: [{mtbf: 5, mttr: 5}]\n", "drains come by schedule"},
		{class("") + "limits: {sw: four}\n", "[3:14] four is no amount of a limit: must be a plain number such as 4 or 2.5, " +
			"at least 0.000001 or 0, and at most 1000000000"},
		{class("") + "limits: {sw: -1}\n", "-1 is no amount of a limit"},
		{class("") + "limits: {sw: .nan}\n", ".nan is no amount of a limit"},
		{class("") + "limits: {sw: 2e9}\n", "2e9 is no amount of a limit"},
		{class("") + "limits: {sw: [1]}\n", "is not one value"},
		{class("") + "limits: {sw: }\n", "] limits.'sw': has no amount: must be a plain number"},
		{class("") + "limits: {sw: ~}\n", "] limits.'sw': has no amount"},
		{class("") + "limits:\n  sw:\n", "] limits.'sw': has no amount"},
		{class("") + "limits: {sw: ''}\n", "is no amount of a limit"},
		{class("") + "limits: {sw: 0.0000001}\n", "0.0000001 is no amount of a limit"},
		{class("") + "limits: {sw: 1e-7}\n", "1e-7 is no amount of a limit"},
		{class("") + "limits: {sw: 1000000001}\n", "1000000001 is no amount of a limit"},
		{class("") + "limits: {sw: 1_000}\n", "1_000 is no amount of a limit"},
		{class("") + "limits: {sw: 0x1p4}\n", "0x1p4 is no amount of a limit"},
		{class("") + "limits: {sw: 0x10}\n", "0x10 is no amount of a limit"},
		{class("") + "limits: {sw: 010}\n", "010 is no amount of a limit"},
		{class("") + "limits: {sw: .inf}\n", ".inf is no amount of a limit"},
		{class("") + "limits: {a.b.c: 1}\n", "must be a name of letters, digits and _, or two joined by a dot"},
		{class("") + "limits: {Sw: 1, sw: 1}\n", "there is another limit of that name"},
		{class("") + "ads: x.ads\n", "leave one of the two out"},
	} {
		_, err := pools.Read(strings.NewReader(c.text), "test.yaml")
		require.ErrorContains(t, err, "read the pool: test.yaml: ", c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
	_, err := pools.Read(strings.NewReader(class(", gpus: -1")), "test.yaml")
	require.ErrorContains(t, err, "^", "a caret")
}

func TestChunks(t *testing.T) {
	for _, c := range []struct{ most, cpus, memory, nodes, chunk, each int64 }{
		{0, 5, 11, 5, 1, 3},
		{1, 1, 0, 1, 1, 0},
		{4, 3, 7, 1, 3, 7},
		{4, 8, 16, 2, 4, 8},
		{4, 9, 10, 3, 3, 4},
		{4, 10, 10, 3, 4, 4},
		{1 << 62, 10, 10, 1, 10, 10},
	} {
		nodes, chunk, each := pools.Pack{ChunkCpus: c.most}.Chunks(c.cpus, c.memory)
		require.Equal(t, []int64{c.nodes, c.chunk, c.each}, []int64{nodes, chunk, each}, "%+v", c)
		require.GreaterOrEqual(t, nodes*chunk, c.cpus)
		require.GreaterOrEqual(t, nodes*each, c.memory)
	}
}

// FuzzRead reads any text; if it is a pool, it can be planned with.
func FuzzRead(f *testing.F) {
	f.Add(mixed)
	f.Add("classes: [{name: node, cpus: 4, memory: 1e3GiB}]\nfailures: [{at: 1h}]")
	f.Add("classes: [{name: node, count: 9, cpus: 4, start: 'TARGET.X > 1'}]\n" +
		"drains: [{slots: [node?], at: 0, for: 1d}]")
	f.Add("Name = \"a\"\nCpus = 4\n")
	f.Add(`{"Name": "a", "Cpus": 4}`)
	f.Add("a: &x [*x]\nclasses: *x")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "ads") {
			return // the text may name a file
		}
		p, err := pools.Read(strings.NewReader(text), "fuzz.yaml")
		if err != nil {
			return
		}
		require.NotEmpty(t, p.Slots)
		require.Equal(t, "cpus", p.Schema.Resources[0])
		for _, s := range p.Slots {
			require.Len(t, s.Capacity, len(p.Schema.Resources))
		}
		for _, o := range p.Outages {
			require.NotEmpty(t, o.Slots)
			require.True(t, o.MTBF == 0 || o.MTTR > 0 && o.Shape > 0)
		}
	})
}

func TestHeightsOfLimits(t *testing.T) {
	pool, err := pools.Read(strings.NewReader("classes: [{name: n, count: 1, cpus: 1}]\n"+
		"limits: {a: 0, b: .5, C: 2.5, d: '3', e: 0.000001, f: 1000000000, g: 0.0000015, h: 0.1}\n"), "test.yaml")
	require.NoError(t, err)
	require.Equal(t, []negotiator.Limit{
		{Name: "a"},
		{Name: "b", Height: 500_000},
		{Name: "c", Height: 2_500_000},
		{Name: "d", Height: 3_000_000},
		{Name: "e", Height: 1},
		{Name: "f", Height: 1e15},
		{Name: "g", Height: 1},
		{Name: "h", Height: 100_000},
	}, pool.Limits)
}
