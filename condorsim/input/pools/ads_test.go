package pools_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

// dump is the output of condor_status -long for a small busy pool: a partitionable slot with a
// dynamic one, a static slot, an offline one, a backfill slot, a startd's own ad, and an older ad
// of the partitionable slot.
const dump = `MyType = "Machine"
Name = "slot1@a.example.org"
SlotType = "Partitionable"
PartitionableSlot = true
Cpus = 6
TotalSlotCpus = 8
Memory = 12288
TotalSlotMemory = 16384
Disk = 1000
TotalSlotDisk = 2000.0
Start = TARGET.Owner =!= "mallory"
Requirements = START && TARGET.RequestCpus <= MY.Cpus
LastHeardFrom = 200
SomethingNew = {1, [a = 2]}

MyType = "Machine"
Name = "slot1_1@a.example.org"
SlotType = "Dynamic"
DynamicSlot = true
Cpus = 2
Memory = 4096

MyType = "Machine"
Name = "slot1@b.example.org"
SlotType = "Static"
Cpus = 1
Memory = 2048
Requirements = START
Start = true

MyType = "Machine"
Name = "slot1@c.example.org"
Offline = true
Cpus = 64
Memory = 1

MyType = "Machine"
Name = "backfill2@a.example.org"
SlotType = "Partitionable"
BackfillSlot = true
Cpus = 8

MyType = "StartDaemon"
Name = "a.example.org"

MyType = "Machine"
Name = "slot1@a.example.org"
PartitionableSlot = true
Cpus = 1
TotalSlotCpus = 4
LastHeardFrom = 100
`

func TestADumpOfAPoolAtWork(t *testing.T) {
	var ads []*classad.ClassAd
	for ad, err := range classad.ReadAds(strings.NewReader(dump), "dump") {
		require.NoError(t, err)
		ads = append(ads, ad)
	}
	forms := map[string]string{"long": dump}
	for name, form := range map[string]classad.Style{
		"new": classad.Brackets, "json": classad.JSON,
		"xml": classad.XML,
	} {
		for _, ad := range ads {
			forms[name] += ad.Format(form) + "\n"
		}
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			p, err := pools.Read(strings.NewReader(text), "folder/dump.ads")
			require.NoError(t, err)
			require.Equal(t, "dump", p.Name)
			require.Equal(t, pools.LeftOut{Dynamic: 1, Offline: 1, Backfill: 1, Duplicates: 1, Others: 1}, p.LeftOut)
			require.Len(t, p.Slots, 2)
			require.Equal(t, "slot1@a.example.org", p.Slots[0].Name)
			require.Equal(t, backfill.Vector{8, 16384, 2000, 0, 1 << 20}, p.Slots[0].Capacity,
				"all that it has, not what is left")
			require.Equal(t, backfill.Vector{1, 2048, 0, 0, 1}, p.Slots[1].Capacity, "it is static: it hosts one job")
			require.Equal(t, []string{"owner", "requestcpus"}, p.Asked())
			require.True(t, p.HasMemory())
		})
	}
}

func TestTheLatestAdOfASlotCounts(t *testing.T) {
	const older, newer = "Name = \"a\"\nCpus = 1\nLastHeardFrom = 1\n\n",
		"Name = \"a\"\nCpus = 2\nLastHeardFrom = 2\n\n"
	for _, text := range []string{older + newer, newer + older} {
		p, err := pools.Read(strings.NewReader(text), "dump")
		require.NoError(t, err)
		require.Equal(t, backfill.Vector{2, 0, 0, 0, 1}, p.Slots[0].Capacity)
		require.Equal(t, 1, p.LeftOut.Duplicates)
	}
}

func TestDumpsThatAreNone(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "read the pool: dump: there is no slot in it"},
		{"Name = \"a\"\nCpus = \n", "read the pool: dump:2:"},
		{"Name = \"a\"\n", "read the pool: dump:1: slot a has no Cpus"},
		{
			"Name = \"a_1\"\nDynamicSlot = true\n",
			"no slot in it but 1 dynamic ones; print the partitionable slots as well",
		},
		{"; MaxProcs: 4\n1 0 -1", "read the pool: dump:1:"},
		{
			"MyType = \"Machine\"\nName = \"a\"\nOffline = true\n\nMyType = \"Negotiator\"\n\nMyType = \"Negotiator\"\n",
			"dump: there is no slot in it that can run jobs, but 1 ads of offline slots, 2 ads of type Negotiator; print the " +
				"slots' ads: condor_status -long",
		},
		{"ClusterId = 1\nProcId = 0\n", "dump:1: looks like ads of jobs, which are no pool; print the slots' ads"},
		{"[{\"MyType\": \"Job\"}]", "no slot in it that can run jobs, but 1 ads of jobs; print the slots' ads"},
		{"{\"processors\": 4, \"jobs\": []}", "dump: looks like a trace of jobs, which is no pool"},
	} {
		_, err := pools.Read(strings.NewReader(c.text), "dump")
		require.ErrorContains(t, err, c.want, c.text)
	}
	_, err := pools.Open("nowhere.ads")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestALargeDump(t *testing.T) {
	const path = "../../../../shared/classad-bench/slots.long.gz"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("skipped: %s is not there", path)
	}
	p, err := pools.Open(path)
	require.NoError(t, err)
	require.Len(t, p.Slots, 1250)
	require.Equal(t, pools.LeftOut{Dynamic: 8750}, p.LeftOut)
}

// Slots whose ads have no memory attribute have none, and jobs do not request any.
func TestSlotsWithoutMemory(t *testing.T) {
	for text, has := range map[string]bool{"Cpus = 4\n": false, "Cpus = 4\nMemory = 8\n": true} {
		p, err := pools.Read(strings.NewReader("Name = \"a\"\nCpus = 4\n\nName = \"b\"\n"+text), "slots")
		require.NoError(t, err)
		require.Equal(t, has, p.HasMemory(), text)
	}
}
