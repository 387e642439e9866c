package htcondor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// What a look costs outside of the network when nothing has changed: 10,000 slots,
// 10,000 jobs in 100 groups.
func BenchmarkSteadyLook(b *testing.B) {
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", Claims}
	p := New(Settings{Schema: schema, Clock: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	slots := make([][]byte, 10_000)
	for i := range slots {
		slots[i] = fmt.Appendf(nil, "MyType = \"Machine\"\nName = \"slot1@n%d\"\nState = \"Unclaimed\"\nPartitionableSlot = true\nCpus = 8\nMemory = 8192\nTotalSlotCpus = 8\nTotalSlotMemory = 8192\nArch = \"X86_64\"\nRequirements = START\nSTART = true\n", i)
	}
	s := &schedd{name: "schedd@test", groups: map[string]*group{}, submitters: map[string]submitter{}}
	p.schedds[s.name] = s
	r := reading{began: p.now()}
	for g := range 100 {
		ids := make([]string, 100)
		for i := range ids {
			ids[i] = fmt.Sprintf("%d.%d", g+1, i)
		}
		r.groups = append(r.groups, rawGroup{
			fmt.Appendf(nil, "User = \"alice@test\"\nJobUniverse = 5\nJobStatus = 1\nQDate = %d\nRequestCpus = 1\nRequestMemory = %d\nRequirements = TARGET.Arch == \"X86_64\"\n", 1_600_000_000+g, 100+g),
			[]byte(strings.Join(ids, " ")),
		})
	}
	look := func() negotiator.Delta {
		p.number++
		l := &look{number: p.number, began: p.now()}
		for _, lines := range slots {
			if _, err := p.readSlot(lines, p.number); err != nil {
				b.Fatal(err)
			}
		}
		s.seen = l.began
		p.digest(s, r, p.number)
		p.miss(l)
		return p.differ(l)
	}
	d := look()
	require.Len(b, d.Submitted, 10_000)
	require.Len(b, d.SlotsUp, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		look()
	}
}

// What a look costs more where 100,000 jobs are kept out by a limit.
func BenchmarkUnplanned(b *testing.B) {
	p := New(Settings{Schema: negotiator.DefaultSchema()})
	plans := make([]*plan, 100)
	for i := range plans {
		plans[i] = &plan{labels: map[string]string{"owner": "alice"}}
	}
	l := &look{}
	for i := range int64(100_000) {
		j := p.job(jobKey{"schedd@test", i / 100, i % 100})
		j.group = &group{plan: plans[i%100], submit: backfill.Time(i / 100)}
		l.outside = append(l.outside, outside{j.id, j.key, j.group, "limit sw: 2 of 2 in use, 1 wanted", false})
	}
	p.renamed = false
	b.Run("look", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.publish(l)
		}
	})
	b.Run("ask", func(b *testing.B) {
		for b.Loop() {
			p.publish(l)
			require.Len(b, p.Unplanned(), len(l.outside))
		}
	})
}
