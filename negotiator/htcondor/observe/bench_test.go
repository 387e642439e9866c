package observe

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// What a look costs outside of the network when nothing has changed: 10,000 slots, 10,000 jobs in
// 100 groups. A machine's RANK costs nothing more, as an ad that stays is not read again; what it costs
// to read all slots' is under news.
func BenchmarkSteadyLook(b *testing.B) {
	for _, rank := range []struct{ name, line string }{
		{"no rank", ""}, {"a number", "Rank = 0.0\n"}, {"an owner", "Rank = TARGET.Owner == \"bob\"\n"},
	} {
		b.Run(rank.name, func(b *testing.B) { steadyLook(b, rank.line, false) })
		b.Run(rank.name+"/news", func(b *testing.B) { steadyLook(b, rank.line, true) })
	}
}

// steadyLook looks at slots that are claimed and have a line more. With news each slot's ad is another one
// in every look.
func steadyLook(b *testing.B, line string, news bool) {
	b.Helper()
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", Claims}
	o := New(Settings{
		Schema: schema, Clock: func() time.Time { return time.Unix(1_700_000_000, 0) }, Logger: hclog.NewNullLogger(),
		Scope: Scope{Look: config.Look{Preemption: config.Preemption{ConsiderPreemption: true}}},
	})
	slots := make([][]byte, 10_000)
	for i := range slots {
		slots[i] = fmt.Appendf(nil, "MyType = \"Machine\"\nName = \"slot1@n%d\"\nState = \"Claimed\"\n"+
			"Cpus = 8\nMemory = 8192\nTotalSlotCpus = 8\nTotalSlotMemory = 8192\n"+
			"Arch = \"X86_64\"\nRequirements = START\nSTART = true\nTotalJobRunTime = 100000\n"+line, i)
	}
	s := &schedd{Schedd: Schedd{Name: "schedd@test", Submitters: map[string]Submitter{}}, groups: map[string]*Group{}}
	o.schedds[s.Name] = s
	r := reading{question: question{began: o.now()}}
	for g := range 100 {
		ids := make([]string, 100)
		for i := range ids {
			ids[i] = fmt.Sprintf("%d.%d", g+1, i)
		}
		r.groups = append(r.groups, rawGroup{
			fmt.Appendf(nil, "User = \"alice@test\"\nJobUniverse = 5\nJobStatus = 1\nQDate = %d\nRequestCpus = 1\n"+
				"RequestMemory = %d\nRequirements = TARGET.Arch == \"X86_64\"\n", 1_600_000_000+g, 100+g),
			[]byte(strings.Join(ids, " ")),
		})
	}
	look := func() *Snapshot {
		o.number++
		l := &look{Snapshot: Snapshot{Number: o.number, Began: o.now()}}
		for _, lines := range slots {
			if news {
				at := bytes.Index(lines, []byte("Time = ")) + len("Time = ")
				copy(lines[at:], strconv.Itoa(100000+o.number))
			}
			if _, err := o.readSlot(lines, lookOf(o.number)); err != nil {
				b.Fatal(err)
			}
		}
		o.digest(s, r, o.number)
		o.noteMissing(l)
		o.putSchedds(l)
		l.Slots = maps.Clone(o.slots)
		return &l.Snapshot
	}
	snapshot := look()
	require.Len(b, snapshot.Slots, 10_000)
	require.Len(b, snapshot.Schedds[s.Name].Groups, 100)
	b.ReportAllocs()
	for b.Loop() {
		look()
	}
}

// What is done with a queue of 10,000 different groups while it is read.
func BenchmarkIntake(b *testing.B) {
	ads := make([]cedar.Lines, 10_000)
	for i := range ads {
		ads[i] = fmt.Appendf(nil, "Owner = \"u%d\"\nUser = \"u%d@test\"\nJobUniverse = 5\nJobStatus = 1\nQDate = %d\n"+
			"RequestCpus = 1\nRequestMemory = 100\nRequirements = (TARGET.Arch == \"X86_64\") && (TARGET.OpSys == \"LINUX\")"+
			" && (TARGET.Disk >= RequestDisk) && (TARGET.Memory >= RequestMemory)\nJobCount = 1\nJobIds = \"%d.0\"\n",
			i%100, i%100, 1_600_000_000+i, i+1)
	}
	b.ReportAllocs()
	for b.Loop() {
		k := newIntake(question{most: maxQueue})
		for _, lines := range ads {
			if err := k.add(lines, len(lines)); err != nil {
				b.Fatal(err)
			}
		}
		require.Len(b, k.all(), len(ads))
	}
}

// What it takes to leave out ads of 4 kB, once there is no room for any.
func BenchmarkLeaveOut(b *testing.B) {
	k := newIntake(question{most: 64 << 20})
	add := func(i int) {
		lines := fmt.Appendf(nil, "Owner = \"u\"\nUser = \"u@test\"\nJobUniverse = 5\nJobStatus = 1\nQDate = %d\nRequestCpus = 1\n"+
			"Requirements = true\nEnvironment = \"%s\"\nJobCount = 1\nJobIds = \"%d.0\"\n", i, strings.Repeat("x", 4000), i+1)
		if err := k.add(lines, len(lines)); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 20_000 {
		add(i)
	}
	b.ReportAllocs()
	b.SetBytes(4000)
	for i := 0; b.Loop(); i++ {
		add(i)
	}
}
