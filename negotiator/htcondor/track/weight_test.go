package track

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// sized has a slot be of this size, static if it takes one job.
func sized(cpus, memory, jobs int64) func(*observe.Slot) {
	return func(s *observe.Slot) {
		ad := slotAd(s.Name, "true")
		s.Ad, s.Static = &negotiator.Slot{Name: s.Name, Capacity: backfill.Vector{cpus, memory, jobs}, Ad: ad.Ad}, jobs == 1
	}
}

// TestWeightOfWaitingJobs says what a job counts for that waits: the smallest static slot that is
// large enough, unless a partitionable slot can host it.
func TestWeightOfWaitingJobs(t *testing.T) {
	for name, c := range map[string]struct {
		cut     backfill.Vector // the partitionable slot's size; nil: there is none
		request backfill.Vector
		nodes   int
		want    float64
	}{
		"the smallest":         {nil, backfill.Vector{1, 100, 1}, 1, 4},
		"each chunk":           {nil, backfill.Vector{1, 100, 1}, 3, 12},
		"enough cpus":          {nil, backfill.Vector{5, 100, 1}, 1, 8},
		"enough memory":        {nil, backfill.Vector{1, 5000, 1}, 1, 8},
		"too large":            {nil, backfill.Vector{99, 100, 1}, 2, 198},
		"no cpus":              {nil, backfill.Vector{0, 100, 1}, 1, 4},
		"unknown":              {nil, nil, 2, 2},
		"cut":                  {backfill.Vector{16, 2000, observe.Unlimited}, backfill.Vector{1, 100, 1}, 1, 1},
		"cut, for no cpus":     {backfill.Vector{16, 2000, observe.Unlimited}, backfill.Vector{0, 100, 1}, 1, 1},
		"too large to be cut":  {backfill.Vector{16, 2000, observe.Unlimited}, backfill.Vector{1, 5000, 1}, 1, 8},
		"as many cpus as none": {backfill.Vector{16, 2000, observe.Unlimited}, backfill.Vector{17, 100, 1}, 1, 17},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			p.slot("b", sized(8, 8192, 1))
			if c.cut != nil {
				p.slot("c", sized(c.cut[0], c.cut[1], c.cut[2]))
			}
			p.job(1, is("it", func(s *observe.Spec) { s.Request, s.Nodes = c.request, c.nodes }))
			p.look()
			j := p.belief.JobOf(key(1))
			require.InDelta(t, c.want, p.belief.weight(j), 0)
			require.InDelta(t, c.want, p.belief.share(j).Weight, 0)
		})
	}
}

// TestWeightOfRunningJobs says what a job counts for that runs: all of its static slot, or what its
// dynamic slot says that it has, if that says that it runs the job, and no more than can be.
func TestWeightOfRunningJobs(t *testing.T) {
	asks := is("of three cpus", func(s *observe.Spec) { s.Request = backfill.Vector{3, 128, 1} })
	has := func(cpus int64) func(*observe.Slot) {
		return func(s *observe.Slot) { s.Free = backfill.Vector{cpus, 128, 0} }
	}
	for name, c := range map[string]struct {
		at   string
		do   func(p *pool)
		want float64
	}{
		"static":          {"a", func(*pool) {}, 4},
		"dynamic":         {"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(1), has(2)) }, 2},
		"more than asked": {"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(1), has(4)) }, 4},
		"a part of one":   {"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(1), has(0)) }, 1},
		"a lie":           {"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(1), has(1_000_000)) }, 4},
		"not seen yet":    {"slot1_1@b", func(p *pool) { p.slot("b", func(s *observe.Slot) { s.Static = false }) }, 3},
		"that of others":  {"slot1_1@b", func(p *pool) { p.claim("slot1_1@b", "b", key(2), has(1)) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			p.job(1, asks)
			c.do(p)
			p.look()
			p.start(1, sent, c.at[len(c.at)-1:])
			p.runs(1, c.at)
			p.look()
			j := p.belief.JobOf(key(1))
			require.Equal(t, Running, j.Phase)
			require.InDelta(t, c.want, p.belief.weight(j), 0)
		})
	}
}

// A job whose queue says that it runs on no slot of the pool counts for the slot that it had.
func TestWeightStays(t *testing.T) {
	p := begun(t)
	p.job(1)
	p.look()
	p.start(1, sent, "a")
	p.runs(1, "a")
	p.look()
	p.says(1, "nowhere")
	p.look()
	j := p.belief.JobOf(key(1))
	require.Equal(t, Unknown, j.Phase)
	require.InDelta(t, 4, p.belief.weight(j), 0)
}
