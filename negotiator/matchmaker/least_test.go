package matchmaker

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// least is what must be free on an autocluster's first candidate.
func (p *pool) least(id int) backfill.Vector {
	if all := p.clusters[id].candidates.Least; all != nil {
		return all[0]
	}
	return nil
}

func TestLeastThatMustBeFree(t *testing.T) {
	limits := `WithinResourceLimits = MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory; `
	within := limits + "Requirements = START && WithinResourceLimits; START = "
	submitted := "RequestCpus = 2; RequestMemory = 100; Requirements = "
	standard := "(TARGET.Cpus >= RequestCpus) && TARGET.Memory >= ifThenElse(MemoryUsage =!= undefined, MemoryUsage, RequestMemory)"
	for _, c := range []struct {
		name, slot, job string
		want            backfill.Vector // nil: no more than the job takes
		pairs           int64           // that are evaluated at most
	}{
		{"nothing asks", within + "true", submitted + "true", nil, 1},
		{"the job asks as condor_submit writes it", within + "true", submitted + standard, nil, 1},
		{"the slot asks for what the job takes", within + "TARGET.RequestCpus <= Cpus", submitted + standard, nil, 1},
		{"what is asked is always there", within + "Cpus > 0", submitted + standard, nil, 2},
		{"a reserve", within + "Cpus - TARGET.RequestCpus >= 4", submitted + standard, backfill.Vector{6, 0}, 20},
		{"a level", within + "Cpus >= 6", submitted + standard, backfill.Vector{6, 0}, 20},
		{"through an attribute", within + "Enough; Enough = MY.Memory > 700", submitted + standard, backfill.Vector{0, 701}, 30},
		{"two", within + "Cpus >= 3 && Memory >= 500", submitted + standard, backfill.Vector{3, 500}, 40},
		{"one or the other", within + "Cpus >= 5 || Memory >= 500", submitted + standard, backfill.Vector{0, 500}, 60},
		{"all of it", within + "Cpus == TotalSlotCpus; TotalSlotCpus = 8", submitted + standard, backfill.Vector{8, 0}, 20},
		{"random numbers beside it", within + "random(10) < 11 && Cpus >= 6", submitted + standard, backfill.Vector{6, 0}, 40},
		{"in a text", within + `eval("Cpus") >= 6`, submitted + standard, backfill.Vector{6, 0}, 20},
		{"by a text", within + `MY["Cpus"] >= 6`, submitted + `TARGET["Memory"] >= 200`, backfill.Vector{6, 200}, 40},
		{"by a text that is made", within + `eval(strcat("Cp", "us")) >= 6`, submitted + standard, backfill.Vector{6, 0}, 40},
		{"by a name that is made", within + `MY[strcat("Cp", "us")] >= 6`, submitted + standard, backfill.Vector{6, 0}, 40},
		{"the job", within + "true", submitted + "TARGET.Cpus >= 7", backfill.Vector{7, 0}, 20},
		{
			"the job, by half", within + "true", submitted + "Cpus >= Half; Half = TotalSlotCpus / 2; TotalSlotCpus = 10",
			backfill.Vector{5, 0},
			20,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool()
			p.add(slotAd(t, "a", 8, c.slot), slotAd(t, "b", 8, c.slot))
			id := p.clusterOf(t, ad(t, c.job))
			_, err := p.Match(context.Background(), 0)
			require.NoError(t, err)
			require.Equal(t, []backfill.SlotID{0, 1}, p.clusters[id].candidates.Slots)
			require.Equal(t, c.want, p.least(id))
			require.LessOrEqual(t, p.clusters[id].pairs, c.pairs)
			if c.want != nil {
				require.Len(t, p.clusters[id].candidates.Least, 2)
			}
		})
	}
}

// What is found of two amounts is enough, and on either way down is not, if the expression wants more
// rather than less.
func TestLeastIsEnough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := func(label string, most int) int { return rapid.IntRange(0, most).Draw(rt, label) }
		start := rapid.SampledFrom([]string{
			fmt.Sprintf("Cpus >= %d && Memory >= %d", n("cpus", 8), n("memory", 1000)),
			fmt.Sprintf("Cpus >= %d || Memory >= %d", n("cpus", 10), n("memory", 1200)),
			fmt.Sprintf("Cpus * %d + Memory >= %d", n("weight", 300), n("sum", 3000)),
			fmt.Sprintf("ifThenElse(Cpus > %d, Memory > %d, Memory > %d)", n("cpus", 8), n("memory", 300), 300+n("more", 700)),
		}).Draw(rt, "start")
		p := newPool()
		p.add(slotAd(t, "a", 8, "Requirements = START; START = "+start))
		id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 1; RequestMemory = 10"))
		_, err := p.Match(context.Background(), 0)
		require.NoError(rt, err)
		with := func(cpus, memory int64) bool {
			slot := slotAd(t, "a", int(cpus), "Requirements = START; START = "+start)
			slot.SetInt("Memory", memory)
			return offer{ad: slot, m: p.Matchmaker}.match(&trial{m: p.Matchmaker}, p.clusters[id].ad)
		}
		require.Equal(rt, with(8, 1000), len(p.clusters[id].candidates.Slots) > 0)
		if !with(8, 1000) {
			return
		}
		least := p.least(id)
		if least == nil {
			least = backfill.Vector{0, 0}
		}
		cpus, memory := max(1, least[0]), max(10, least[1])
		require.True(rt, with(cpus, memory), "%s: %v", start, least)
		if cpus > 1 && memory > 10 {
			require.False(rt, with(cpus-1, memory) && with(cpus, memory-1), "%s: %v is more than enough", start, least)
		}
	})
}

// A pool in which too much is to be looked at takes no job that a START would refuse: for a time all of
// a slot must be free.
func TestLeastWithinLimits(t *testing.T) {
	p := newLimitedPool(StrangersLimits())
	for i := range 300 {
		p.add(slotAd(t, fmt.Sprintf("s%03d", i), 8, fmt.Sprintf("Requirements = Memory >= %d", 200+i)))
	}
	var ids []int
	for i := range 30 {
		ids = append(ids, p.clusterOf(t, ad(t, fmt.Sprintf("Requirements = TARGET.Cpus >= %d; RequestCpus = 1; RequestMemory = %d",
			2+i%5, 1+i))))
	}
	found := 0
	for now := range backfill.Time(20) {
		_, err := p.Match(context.Background(), now)
		require.NoError(t, err)
		found = 0
		for i, id := range ids {
			for n, slot := range p.clusters[id].candidates.Slots {
				least := p.clusters[id].candidates.Least[n]
				require.GreaterOrEqual(t, least[0], int64(2+i%5))
				require.GreaterOrEqual(t, least[1], int64(200+slot))
				if least[0] == int64(2+i%5) && least[1] == int64(200+slot) {
					found++
				}
			}
		}
	}
	require.Equal(t, 300*30, found)
}

// It is told where more must be free than a job takes.
func TestWhySlotsAreGuarded(t *testing.T) {
	p := newPool()
	p.add(slotAd(t, "a", 8, "Requirements = Cpus >= 6"), slotAd(t, "b", 8, "Requirements = Cpus >= 6 && Memory > 500"),
		slotAd(t, "c", 8, ""), slotAd(t, "d", 8, "Requirements = MY.Cpus >= 6"))
	id := p.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
	p.match(t)
	up := func(backfill.SlotID) bool { return true }
	fit := p.Fit(id, up)
	require.Equal(t, 4, fit.Matching)
	require.Equal(t, "2 of 4 slots accept it only while at least 6 cpus are free; "+
		"1 of 4 slots accepts it only while at least 6 cpus and 501 memory are free", fit.WhyGuarded())
	require.Empty(t, Fit{Slots: 3}.WhyGuarded())

	c := newCountingPool()
	c.add(busyAd(t, "NumDynamicSlots < 2"))
	id = c.clusterOf(t, ad(t, "Requirements = true; RequestCpus = 2"))
	c.match(t)
	require.Equal(t, "1 of 1 slots accepts it only while at most 1 job runs there", c.Fit(id, up).WhyGuarded())
}
