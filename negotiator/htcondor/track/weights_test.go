package track

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// weighing has a slot of this size weigh by an expression, as an observer reads it.
func weighing(expr string, cpus, memory, jobs int64) func(*observe.Slot) {
	return func(s *observe.Slot) {
		sized(cpus, memory, jobs)(s)
		ad := s.Ad.Ad.Clone()
		ad.SetInt("Cpus", cpus)
		ad.SetInt("Memory", memory)
		if err := ad.SetExpr(observe.SlotWeight, expr); err != nil {
			panic(err)
		}
		s.Ad = &negotiator.Slot{Name: s.Name, Capacity: s.Ad.Capacity, Ad: ad}
		if s.Static {
			weight := observe.WeightOf(ad, nil, nil)
			s.Weight = &weight
		}
	}
}

// charging has jobs be charged otherwise than by default.
func charging(p *pool, c accountant.Charging) *pool {
	settings := accountant.DefaultSettings()
	settings.Charging = c
	a, err := accountant.New(settings)
	require.NoError(p.t, err)
	p.belief.s.Accounting.Accountant = a
	return p
}

// TestLeastWeight says what a job counts for that waits, where slots say what they weigh: what it
// would get where that weighs least.
func TestLeastWeight(t *testing.T) {
	const byMemory, unlimited = "Memory / 1024.0", observe.Unlimited
	slot := func(size backfill.Vector, expr string) func(*observe.Slot) {
		return weighing(expr, size[0], size[1], size[2])
	}
	for name, c := range map[string]struct {
		slots map[string]func(*observe.Slot)
		want  float64 // for two chunks of 2 cpus and 512 MiB
	}{
		"of a partitionable slot": {map[string]func(*observe.Slot){
			"c": slot(backfill.Vector{16, 8192, unlimited}, byMemory),
		}, 1},
		"of the lighter one": {map[string]func(*observe.Slot){
			"c": slot(backfill.Vector{16, 8192, unlimited}, byMemory),
			"d": slot(backfill.Vector{16, 8192, unlimited}, "Memory / 4096.0"),
		}, 0.25},
		"of the lighter one, if it is large enough": {map[string]func(*observe.Slot){
			"c": slot(backfill.Vector{16, 8192, unlimited}, byMemory),
			"d": slot(backfill.Vector{1, 8192, unlimited}, "Memory / 4096.0"),
		}, 1},
		"of one by cpus": {map[string]func(*observe.Slot){
			"c": slot(backfill.Vector{16, 8192, unlimited}, "Memory"),
			"d": slot(backfill.Vector{16, 8192, unlimited}, "Cpus"),
		}, 4},
		"by what only one slot has": {map[string]func(*observe.Slot){
			"c": slot(backfill.Vector{16, 8192, unlimited}, "Cpus * (Name == \"slot1@c\" ? 3 : 5)"),
			"d": slot(backfill.Vector{16, 8192, unlimited}, "Cpus * (Name == \"slot1@c\" ? 3 : 5)"),
		}, 12},
		"of the lightest static slot": {map[string]func(*observe.Slot){
			"c": slot(backfill.Vector{8, 8192, 1}, "1.5"), "d": slot(backfill.Vector{2, 1024, 1}, "3"),
		}, 3},
		"that is no number": {map[string]func(*observe.Slot){
			"c": slot(backfill.Vector{16, 8192, unlimited}, "NoSuch + 1"),
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			delete(p.slots, full("a"))
			delete(p.slots, full("b"))
			for name, change := range c.slots {
				p.slot(name, change)
			}
			p.job(1, is("it", func(s *observe.Spec) { s.Request, s.Nodes = backfill.Vector{2, 512, 1}, 2 }))
			for range 2 { // what is remembered is the same
				p.look()
				j := p.belief.JobOf(key(1))
				require.InDelta(t, c.want, p.belief.weight(j), 0)
				require.InDelta(t, c.want, p.belief.share(j).Weight, 0)
			}
			for name := range c.slots { // and forgotten when slots change
				p.slot(name, weighing("7", 16, 8192, unlimited))
			}
			p.look()
			require.InDelta(t, 14, p.belief.weight(p.belief.JobOf(key(1))), 0)
		})
	}
}

// TestOwnWeight says what a job counts for that runs: what its slot says that it weighs.
func TestOwnWeight(t *testing.T) {
	weight := func(w float64, more ...func(*observe.Slot)) func(*observe.Slot) {
		return func(s *observe.Slot) {
			s.Weight = &w
			for _, change := range more {
				change(s)
			}
		}
	}
	lies := func(s *observe.Slot) { s.Free = backfill.Vector{2, 1 << 40, 0} }
	suspended := func(s *observe.Slot) { s.Suspended = true }
	for name, c := range map[string]struct {
		at       string
		do       func(p *pool)
		charging accountant.Charging
		want     accountant.Use
	}{
		"static": {
			"a", func(p *pool) { p.slot("a", weight(2.5)) },
			accountant.Charging{},
			accountant.Use{Slots: 1, Weight: 2.5},
		},
		"nothing": {"a", func(p *pool) { p.slot("a", weight(0)) }, accountant.Charging{}, accountant.Use{Slots: 1}},
		"dynamic": {
			"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(1), weight(0.75)) },
			accountant.Charging{},
			accountant.Use{Slots: 1, Weight: 0.75},
		},
		"a lie": {
			"slot1_1@b", func(p *pool) {
				p.slot("b", weighing("Memory / 1024.0", 4, 4096, observe.Unlimited))
				p.claim("slot1_1@b", "b", key(1), weight(1<<30, lies))
			},
			accountant.Charging{},
			accountant.Use{Slots: 1, Weight: 4},
		},
		"not seen yet": {
			"slot1_1@b", func(p *pool) { p.slot("b", weighing("Memory / 64.0", 4, 4096, observe.Unlimited)) },
			accountant.Charging{},
			accountant.Use{Slots: 1, Weight: 2}, // of 128 MiB
		},
		"unweighted": {
			"a", func(p *pool) { p.slot("a", weight(2.5)) },
			accountant.Charging{Unweighted: true},
			accountant.Use{Slots: 1, Weight: 1},
		},
		"unweighted, dynamic": {
			"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(1)) },
			accountant.Charging{Unweighted: true},
			accountant.Use{Slots: 1, Weight: 1},
		},
		"suspended": {
			"a", func(p *pool) { p.slot("a", suspended) }, accountant.Charging{}, accountant.Use{Slots: 1, Weight: 4},
		},
		"suspended, and that is free": {
			"a", func(p *pool) { p.slot("a", suspended) }, accountant.Charging{WithoutSuspended: true}, accountant.Use{},
		},
		"suspended on a dynamic slot, and that is free": {
			"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(1), suspended) },
			accountant.Charging{WithoutSuspended: true},
			accountant.Use{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := charging(begun(t), c.charging)
			p.job(1)
			c.do(p)
			p.look()
			p.start(1, sent, c.at[len(c.at)-1:])
			p.runs(1, c.at)
			p.look()
			require.Equal(t, c.want, p.belief.Use()[p.belief.JobOf(key(1)).charged().Submitter()])
			require.InDelta(t, c.want.Weight, p.belief.weight(p.belief.JobOf(key(1))), 0)
		})
	}
}

// TestPoolsWeight says what the pool weighs, of which groups have their shares.
func TestPoolsWeight(t *testing.T) {
	p := newPool(t)
	p.look()
	require.InDelta(t, 8, p.belief.total(), 0, "the cpus of a and b")
	p.slot("a", weighing("2.5", 4, 4096, 1))
	p.slot("b", weighing("Memory / 1024.0", 4, 4096, observe.Unlimited))
	p.slot("c", sized(16, 1024, observe.Unlimited))
	p.look()
	require.InDelta(t, 2.5+4+16, p.belief.total(), 0)
	uncounted := func(s *observe.Slot) { s.Uncounted = true }
	p.slot("c", uncounted)
	p.look()
	require.InDelta(t, 2.5+4, p.belief.total(), 0)

	charging(p, accountant.Charging{Unweighted: true})
	p.look()
	require.InDelta(t, 1+4, p.belief.total(), 0, "a slot, and the cpus that may be slots")
	p.claim("slot1_1@b", "b", key(9), func(s *observe.Slot) { s.Free = backfill.Vector{3, 128, 0} })
	p.look()
	require.InDelta(t, 1+1+1, p.belief.total(), 0, "two slots and a cpu")
	p.job(1, gang(3))
	p.look()
	require.InDelta(t, 3, p.belief.weight(p.belief.JobOf(key(1))), 0)
	p.slot("a", uncounted)
	p.slot("b", uncounted)
	p.look()
	require.Zero(t, p.belief.total())
}
