package shapes_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/negotiator/meter/shapes"
)

// pool is a state as plain data, at time 100.
type pool struct{ snap backfill.Snapshot }

func newPool(capacities ...backfill.Vector) *pool {
	p := &pool{backfill.Snapshot{
		Resources: []string{"cpus", "memory", "gpus"}[:len(capacities[0])], Rule: profile.ByRank, Now: 100,
		Planning: backfill.Planning{}, Policy: "easy",
	}}
	var all backfill.Candidates
	for i, c := range capacities {
		id := backfill.SlotID(i)
		slot := backfill.Slot{ID: id, Name: fmt.Sprint("s", i), Capacity: c}
		p.snap.Slots = append(p.snap.Slots, backfill.SlotState{Slot: slot, Up: true})
		all.Slots = append(all.Slots, id)
	}
	p.candidates(all)
	return p
}

// candidates adds a set, and returns its ID.
func (p *pool) candidates(c backfill.Candidates) int {
	id := len(p.snap.Candidates)
	p.snap.Candidates = append(p.snap.Candidates, backfill.CandidateSet{ID: id, Candidates: c})
	return id
}

// job adds a job that waits, or stands as it is said.
func (p *pool) job(
	s backfill.Standing, at backfill.Placement, nodes int, estimate backfill.Time, request ...int64,
) *backfill.Job {
	id := backfill.JobID(len(p.snap.Jobs) + 1)
	j := &backfill.Job{
		ID: id, Nodes: nodes, Request: request, Estimate: estimate, Position: backfill.QueuePosition{Cluster: int64(id)},
	}
	p.snap.Jobs = append(p.snap.Jobs, backfill.JobState{Job: j, Placement: at, Standing: s})
	return j
}

func (p *pool) state(t require.TestingT) *backfill.State {
	s, err := backfill.Restore(p.snap)
	require.NoError(t, err)
	return s
}

func on(slot backfill.SlotID, chunks int) backfill.Placement {
	return backfill.Placement{{Slot: slot, Count: chunks}}
}

var waits = backfill.Standing{}

func runs(end backfill.Time) backfill.Standing {
	return backfill.Standing{Running: true, Start: 50, End: end}
}

func reserved(start, end backfill.Time) backfill.Standing {
	return backfill.Standing{Start: start, End: end}
}

// TestShapes rounds requests.
func TestShapes(t *testing.T) {
	p := newPool(backfill.Vector{64, 1 << 20, 8})
	for _, request := range [][]int64{
		{1, 1, 0}, {1, 128, 0}, {1, 129, 0}, {3, 5000, 1}, {4, 8192, 1}, {17, 8193, 3}, {2, 0, 0},
	} {
		p.job(waits, nil, 1, 60, request...)
	}
	var found []shapes.Shape
	for _, w := range shapes.Of(p.state(t), nil).Wanted {
		found = append(found, w.Shape)
	}
	require.Equal(t, []shapes.Shape{{1, 128, 0}, {4, 8192, 1}, {1, 256, 0}, {2, 0, 0}, {32, 16384, 4}}, found)
}

// TestMemoryIsGone has cpus that are idle and of use to nobody: the rest of their slot has no
// memory, the jobs that wait cannot end before the slot does, a reservation is in the way, or the
// slot is down. Whoever counts them as idle provisions no more.
func TestMemoryIsGone(t *testing.T) {
	p := newPool(slices.Repeat([]backfill.Vector{{8, 16000}}, 5)...)
	p.job(runs(1000), on(0, 1), 1, 950, 2, 14000) // leaves 6 cpus and 2000 MiB
	p.snap.Slots[1].End = 400
	p.job(reserved(200, 900), on(2, 1), 1, 700, 8, 100).Candidates = p.candidates(backfill.Candidates{
		Slots: []backfill.SlotID{2},
	})
	p.snap.Slots[4].Up = false
	p.job(waits, nil, 1, 600, 1, 4000)
	p.job(waits, nil, 1, 700, 1, 4000)
	p.job(waits, nil, 3, 700, 2, 7000)
	c := shapes.Of(p.state(t), nil)
	require.Equal(t, shapes.Idle{CPUs: 6 + 8 + 8 + 8, Reserved: 8, Usable: 4, Largest: 8, Slots: 1}, c.Idle)
	require.Equal(t, []shapes.Wanted{
		{Shape: shapes.Shape{CPUs: 2, Memory: 8192}, Jobs: 1, Slots: 3, Chunks: 3, Places: 2},
		{Shape: shapes.Shape{CPUs: 1, Memory: 4096}, Jobs: 2, Slots: 2, Chunks: 1, Places: 4},
		{Shape: shapes.Shape{CPUs: 8, Memory: 128}, Jobs: 1, Slots: 1, Chunks: 1, First: 200, Foreseen: true},
	}, c.Wanted)
	require.Equal(t, backfill.Time(900), c.QueueEnd)
	require.Equal(t, 3, c.Unforeseen)

	// A job that ends in time may use what is reserved later.
	p.job(waits, nil, 1, 100, 1, 4000)
	c = shapes.Of(p.state(t), func(id backfill.JobID) (backfill.Time, bool) { return 150, id == 6 })
	require.EqualValues(t, 12, c.Idle.Usable)
	require.Equal(t, 3, c.Unforeseen)
	require.EqualValues(t, 12, c.Wanted[0].Places)
	require.Equal(t, shapes.Shape{CPUs: 1, Memory: 4096}, c.Wanted[0].Shape)
}

// TestNobodyWaits counts what some job may use for any time if no job wants slots.
func TestNobodyWaits(t *testing.T) {
	p := newPool(backfill.Vector{8, 16000}, backfill.Vector{8, 300}, backfill.Vector{8, 16000})
	p.snap.Slots[2].End = 400
	c := shapes.Of(p.state(t), nil)
	require.Equal(t, shapes.Idle{CPUs: 24, Usable: 10, Largest: 8, Slots: 2}, c.Idle)
	require.Empty(t, c.Wanted)
	require.Zero(t, c.QueueEnd)
}

// TestWhoWantsNothing: a job that may not start yet wants no slot, nor does one that waits for a
// limit of the pool. One that no slot of the pool would do for wants one of another kind.
func TestWhoWantsNothing(t *testing.T) {
	p := newPool(backfill.Vector{8, 16000})
	p.snap.Rows = []backfill.Row{{ID: 0, Name: "licences", Height: 1}}
	p.job(waits, nil, 1, 60, 1, 1000).Release = 200
	p.job(waits, nil, 1, 60, 1, 1000).Takes = []backfill.Take{{Row: 0, Amount: 1}}
	p.job(runs(1000), on(0, 1), 1, 950, 1, 1000).Takes = []backfill.Take{{Row: 0, Amount: 1}}
	p.job(backfill.Standing{Held: "matches no slot"}, nil, 2, 60, 64, 1000)
	c := shapes.Of(p.state(t), nil)
	require.Equal(t, []shapes.Wanted{
		{Shape: shapes.Shape{CPUs: 64, Memory: 1024}, Jobs: 1, Slots: 2, Chunks: 2, Unmatched: 1},
	}, c.Wanted)
	require.Equal(t, []int{1, 1}, []int{c.Early, c.Limited})
	require.Zero(t, c.Idle.Usable, "nobody who wants slots can use these")
	require.EqualValues(t, 7, c.Idle.CPUs)
}

// TestWindowsAndLeast: candidates that are closed now have no place, nor have those that accept a
// job only while more is free.
func TestWindowsAndLeast(t *testing.T) {
	p := newPool(backfill.Vector{8, 16000}, backfill.Vector{8, 16000}, backfill.Vector{8, 16000})
	three := []backfill.SlotID{0, 1, 2}
	closed := []backfill.Window{{From: 500, To: 600}}
	p.job(runs(1000), on(2, 1), 1, 950, 2, 14000)
	p.job(waits, nil, 1, 60, 4, 1000).Candidates = p.candidates(backfill.Candidates{
		Slots: three, Windows: [][]backfill.Window{nil, closed, nil},
	})
	require.EqualValues(t, 2+1, shapes.Of(p.state(t), nil).Wanted[0].Places)
	p.job(waits, nil, 1, 60, 2, 1000).Candidates = p.candidates(backfill.Candidates{
		Slots: three, Least: []backfill.Vector{nil, nil, {7, 1000}},
	})
	require.EqualValues(t, 4+4, shapes.Of(p.state(t), nil).Wanted[0].Places)
}

// TestManyShapes: however many shapes users make up, the number of rows is bounded, and no job is
// lost.
func TestManyShapes(t *testing.T) {
	p := newPool(backfill.Vector{64, 1 << 40, 8})
	const jobs = 500
	for i := range jobs {
		p.job(waits, nil, 1+i%3, 60, 1<<(i%6), 1<<(10+i/6%25), int64(i%5))
	}
	c := shapes.Of(p.state(t), nil)
	require.Len(t, c.Wanted, shapes.MostShapes+1)
	count := 0
	for i, w := range c.Wanted {
		count += w.Jobs
		require.Equal(t, i == shapes.MostShapes, w.Other)
	}
	require.Equal(t, jobs, count)
}

// TestPlacesAreTrue compares places with what the profile says, on pools as they come: with jobs
// that run and reservations, a kind of jobs has no place where the profile has none for it, and
// without reservations it has as many as can be placed one after another.
func TestPlacesAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Custom(func(t *rapid.T) backfill.Vector {
			return backfill.Vector{rapid.Int64Range(1, 8).Draw(t, "cpus"), rapid.Int64Range(1, 8).Draw(t, "GiB") << 10}
		})
		p := newPool(rapid.SliceOfN(capacity, 1, 5).Draw(t, "slots")...)
		for i := range p.snap.Slots {
			if rapid.Bool().Draw(t, "busy") {
				p.job(runs(rapid.Custom(drawTime).Draw(t, "end")), on(backfill.SlotID(i), 1), 1, 2000, 1, 512)
			}
		}
		plans := rapid.Bool().Draw(t, "plans")
		if plans {
			for i := range p.snap.Slots {
				if room := p.snap.Slots[i].Capacity; room[0] > 1 && rapid.Bool().Draw(t, "reserved") {
					start := rapid.Custom(drawTime).Draw(t, "start")
					p.job(reserved(start, start+99), on(backfill.SlotID(i), 1), 1, 99, room[0]-1, 256)
				}
			}
		}
		j := p.job(waits, nil, 1, rapid.Custom(drawTime).Draw(t, "estimate"), rapid.Int64Range(1, 3).Draw(t, "asks"), 1024)
		j.Candidates = p.candidates(backfill.Candidates{
			Slots: p.snap.Candidates[0].Candidates.Slots[:rapid.IntRange(1, len(p.snap.Slots)).Draw(t, "may use")],
		})
		s := p.state(t)
		places, alone := int64(-1), shapes.Of(s, nil)
		for _, w := range alone.Wanted {
			if w.Memory == 1024 {
				places = w.Places
			}
		}
		board, can := s.Profile().Clone(), int64(0)
		for {
			at, ok := board.Place(s.Request(j), s.Now())
			if !ok {
				break
			}
			board.Add(at, j.Request, s.Now(), s.Now()+j.Estimate)
			can++
		}
		if plans {
			require.LessOrEqual(t, places, can)
		} else {
			require.Equal(t, can, places)
		}
		require.LessOrEqual(t, alone.Idle.Usable, alone.Idle.CPUs)
		require.LessOrEqual(t, alone.Idle.Reserved, alone.Idle.CPUs)
	})
}

func drawTime(t *rapid.T) backfill.Time {
	return backfill.Time(rapid.Int64Range(101, 300).Draw(t, "time"))
}

// BenchmarkOf counts 50,000 waiting jobs of 500 kinds beside 10,000 slots, of which half are partly
// idle.
func BenchmarkOf(b *testing.B) {
	capacities := make([]backfill.Vector, 10_000)
	for i := range capacities {
		capacities[i] = backfill.Vector{64, 256 << 10, 4}
	}
	p := newPool(capacities...)
	for i := range capacities {
		used := int64(64)
		if i%2 == 0 {
			used = int64(i % 60)
		}
		p.job(runs(backfill.Time(1000+i)), on(backfill.SlotID(i), 1), 1, 2000, used, used<<10, 1)
	}
	for i := range capacities[:1000] {
		p.job(reserved(backfill.Time(2000+i), backfill.Time(9000+i)), on(backfill.SlotID(i), 1), 1, 7000, 30, 1<<10, 0)
	}
	for i := range 50_000 {
		p.job(waits, nil, 1, backfill.Time(100+i%7000), int64(1+i%20), int64(1+i/20%25)<<10, 0)
	}
	s := p.state(b)
	b.ReportAllocs()
	for b.Loop() {
		if c := shapes.Of(s, nil); len(c.Wanted) == 0 {
			b.Fatal("no job waits")
		}
	}
}
