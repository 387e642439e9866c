package scavenge_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/scavenge"
)

// pool is slots of cpus and memory, on which others have some.
type pool struct {
	free       map[backfill.SlotID]backfill.Vector
	ends       map[backfill.SlotID]backfill.Time
	reserved   map[backfill.SlotID]backfill.Time
	candidates map[int]*backfill.Candidates
	now        backfill.Time
}

func newPool(cpus ...int64) *pool {
	p := &pool{free: map[backfill.SlotID]backfill.Vector{}, candidates: map[int]*backfill.Candidates{0: {}}}
	for i, n := range cpus {
		p.free[backfill.SlotID(i)] = backfill.Vector{n, 100}
		p.candidates[0].Slots = append(p.candidates[0].Slots, backfill.SlotID(i))
	}
	return p
}

func (p *pool) others() scavenge.Others {
	return scavenge.Others{Now: p.now, Free: func(id backfill.SlotID) backfill.Vector { return p.free[id] }}
}

func (p *pool) idle() scavenge.Idle {
	in := scavenge.Idle{
		Others: p.others(), Candidates: func(c int) *backfill.Candidates { return p.candidates[c] },
		Ends: func(id backfill.SlotID) backfill.Time { return p.ends[id] },
		Reserved: func(id backfill.SlotID) backfill.Time {
			if at, reserved := p.reserved[id]; reserved {
				return at
			}
			return backfill.Forever
		},
	}
	for id := range p.free {
		in.Slots = append(in.Slots, id)
	}
	slices.Sort(in.Slots)
	return in
}

func job(id backfill.JobID, cpus int64, user string) scavenge.Job {
	return scavenge.Job{User: user, Job: backfill.Job{
		ID: id, Nodes: 1, Request: backfill.Vector{cpus, 1}, Submit: backfill.Time(id), Estimate: 10,
	}}
}

func ids(runs []scavenge.Run) (all []backfill.JobID) {
	for _, r := range runs {
		all = append(all, r.Job)
	}
	return all
}

func on(runs []scavenge.Run) (all []backfill.SlotID) {
	for _, r := range runs {
		all = append(all, r.Placement[0].Slot)
	}
	return all
}

func TestUsersTakeTurns(t *testing.T) {
	var b scavenge.Book
	for i, user := range []string{"a", "a", "a", "b", "b"} {
		b.Put(job(backfill.JobID(i+1), 1, user))
	}
	p := newPool(4)
	require.Equal(t, []backfill.JobID{1, 4, 2, 5}, ids(b.Fill(p.idle())))
	require.Equal(t, 1, b.Waiting())
	b.Delete(4)
	b.Put(job(6, 1, "b"))
	require.Equal(t, []backfill.JobID{6}, ids(b.Fill(p.idle())), "he has one, the other two")
}

func TestWhereTheyStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *pool, j *scavenge.Job)
		want   []backfill.SlotID
	}{
		"the fewest idle cpus":          {func(*pool, *scavenge.Job) {}, []backfill.SlotID{1}},
		"reserved latest":               {func(p *pool, _ *scavenge.Job) { p.reserved = map[backfill.SlotID]backfill.Time{1: 5, 2: 9, 0: 7} }, []backfill.SlotID{2}},
		"ranked higher":                 {func(p *pool, _ *scavenge.Job) { p.candidates[0].Rank = []int32{1, 0, 0} }, []backfill.SlotID{0}},
		"where it ends before the slot": {func(p *pool, _ *scavenge.Job) { p.ends = map[backfill.SlotID]backfill.Time{1: 9, 2: 10} }, []backfill.SlotID{2}},
		"in an open window": {func(p *pool, _ *scavenge.Job) {
			p.candidates[0].Windows = [][]backfill.Window{nil, {{From: 1, To: 2}}, nil}
		}, []backfill.SlotID{2}},
		"where enough is left":            {func(p *pool, _ *scavenge.Job) { p.candidates[0].Least = []backfill.Vector{nil, {3, 0}, nil} }, []backfill.SlotID{2}},
		"on several slots":                {func(_ *pool, j *scavenge.Job) { j.Nodes = 4 }, []backfill.SlotID{1}},
		"nowhere, as it is too wide":      {func(_ *pool, j *scavenge.Job) { j.Request[0] = 5 }, nil},
		"nowhere, as memory is lacking":   {func(_ *pool, j *scavenge.Job) { j.Request[1] = 101 }, nil},
		"nowhere, before its release":     {func(_ *pool, j *scavenge.Job) { j.Release = 1 }, nil},
		"nowhere, as it has no slots":     {func(p *pool, _ *scavenge.Job) { p.candidates[0] = nil }, nil},
		"nowhere, with too many chunks":   {func(_ *pool, j *scavenge.Job) { j.Nodes = 10 }, nil},
		"on what is free, not less":       {func(p *pool, _ *scavenge.Job) { p.free[1][0] = -1 }, []backfill.SlotID{2}},
		"where it is at once, to the end": {func(p *pool, _ *scavenge.Job) { p.ends = map[backfill.SlotID]backfill.Time{1: 10} }, []backfill.SlotID{1}},
	} {
		t.Run(name, func(t *testing.T) {
			var b scavenge.Book
			p, j := newPool(4, 2, 3), job(1, 1, "a")
			c.change(p, &j)
			b.Put(j)
			require.Equal(t, c.want, on(b.Fill(p.idle())))
		})
	}
}

func TestAShorterOneMayFitBeforeASlotEnds(t *testing.T) {
	var b scavenge.Book
	p := newPool(2)
	p.ends = map[backfill.SlotID]backfill.Time{0: 5}
	for i, estimate := range []backfill.Time{10, 12, 4, 3} {
		j := job(backfill.JobID(i+1), 1, "a")
		j.Estimate = estimate
		b.Put(j)
	}
	require.Equal(t, []backfill.JobID{3, 4}, ids(b.Fill(p.idle())))
}

func TestWhoMakesWay(t *testing.T) {
	for name, c := range map[string]struct {
		cpus []int64 // of the running ones, the oldest first
		lack int64
		want []backfill.JobID
	}{
		"nobody":                           {[]int64{1, 2}, 0, nil},
		"the youngest that does":           {[]int64{4, 2, 4, 1}, 2, []backfill.JobID{3}},
		"the youngest ones":                {[]int64{1, 1, 1}, 2, []backfill.JobID{3, 2}},
		"no more than needed":              {[]int64{3, 1, 1}, 4, []backfill.JobID{3, 1}},
		"all, if that is still too little": {[]int64{1, 1}, 3, []backfill.JobID{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var b scavenge.Book
			used := int64(0)
			for i, cpus := range c.cpus {
				b.Put(job(backfill.JobID(i+1), cpus, "a"))
				b.Start(scavenge.Run{Job: backfill.JobID(i + 1), Placement: backfill.Placement{{Slot: 0, Count: 1}}, Start: backfill.Time(i)})
				used += cpus
			}
			p := newPool(used - c.lack)
			victims, waits := b.MakeWay(p.others(), scavenge.Claim{Slots: []backfill.SlotID{0}})
			require.Equal(t, c.want, victims)
			require.Equal(t, c.want != nil, waits)
			for _, id := range c.want {
				b.Return(id)
			}
			again, waits := b.MakeWay(p.others(), scavenge.Claim{Slots: []backfill.SlotID{0}})
			require.Empty(t, again)
			require.False(t, waits)
		})
	}
}

// TestFillIsGreedyAndFits fills random pools: nothing is used twice, and afterwards no waiting job fits
// anywhere.
func TestFillIsGreedyAndFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b scavenge.Book
		p := newPool(rapid.SliceOfN(rapid.Int64Range(-1, 6), 1, 4).Draw(t, "free")...)
		n := rapid.IntRange(0, 8).Draw(t, "jobs")
		for i := range n {
			j := job(backfill.JobID(i+1), rapid.Int64Range(1, 4).Draw(t, "cpus"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "user"))
			j.Candidates = int(j.Request[0])
			p.candidates[j.Candidates] = p.candidates[0]
			j.Nodes = rapid.IntRange(1, 3).Draw(t, "nodes")
			b.Put(j)
		}
		left := map[backfill.SlotID]int64{}
		for id, free := range p.free {
			left[id] = free[0]
		}
		for _, r := range b.Fill(p.idle()) {
			j, _ := b.Job(r.Job)
			chunks := 0
			for _, at := range r.Placement {
				left[at.Slot] -= j.Request[0] * int64(at.Count)
				chunks += at.Count
				require.GreaterOrEqual(t, left[at.Slot], int64(0))
			}
			require.Equal(t, j.Nodes, chunks)
		}
		for _, id := range b.IDs() {
			j, _ := b.Job(id)
			if _, runs := b.Run(id); runs {
				continue
			}
			room := int64(0)
			for _, cpus := range left {
				room += max(cpus, 0) / j.Request[0]
			}
			require.Less(t, room, int64(j.Nodes), "job %d fits, and waits", id)
		}
		require.Empty(t, b.Fill(p.idle()), "it is as full as it can be")
	})
}
