package profile_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// rowModel is rows as arrays: what is free of each in each second, the last of which stands for all
// later ones.
type rowModel struct {
	height []int64
	free   [][]int64
}

// taken is what one call of Take took.
type taken struct {
	takes      []profile.Take
	start, end profile.Time
}

func (m *rowModel) set(id int, height int64) {
	if id == len(m.free) {
		m.height, m.free = append(m.height, 0), append(m.free, make([]int64, horizon+1))
	}
	for t := range m.free[id] {
		m.free[id][t] += height - m.height[id]
	}
	m.height[id] = height
}

func (m *rowModel) shift(s taken, sign int64) {
	for _, take := range s.takes {
		for t := s.start; t < s.end; t++ {
			m.free[take.Row][t] += sign * take.Amount
		}
	}
}

// fits reports whether the amounts are free in each second of [start, end).
func (m *rowModel) fits(takes []profile.Take, start, end profile.Time) bool {
	for _, take := range takes {
		for t := start; t < min(end, horizon+1); t++ {
			if m.free[take.Row][t] < take.Amount {
				return false
			}
		}
	}
	return true
}

// drawTakes draws what a request takes of rows; nil for some.
func drawTakes(t *rapid.T, rows int) (takes []profile.Take) {
	for id := range profile.RowID(rows) {
		if rapid.IntRange(0, 2).Draw(t, "takes") > 0 {
			takes = append(takes, profile.Take{Row: id, Amount: rapid.Int64Range(1, 4).Draw(t, "amount")})
		}
	}
	return takes
}

// TestRowsSecondBySecond checks that requests which take of rows start where a reading of each second
// says, on one slot and on many, gangs included, while rows change their heights.
func TestRowsSecondBySecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, slots, rows := profile.New(profile.Pack), &model{rule: profile.Pack}, &rowModel{}
		if rapid.Bool().Draw(t, "by reach") {
			profile.AskMany(p, 2, 12)
		}
		n := rapid.IntRange(1, 4).Draw(t, "slots")
		set := &profile.Candidates{}
		for i := range n {
			capacity := profile.Vector{rapid.Int64Range(1, 6).Draw(t, "capacity")}
			p.SetSlot(profile.SlotID(i), string(rune('a'+i)), capacity)
			slots.setSlot(i, capacity)
			set.Slots = append(set.Slots, profile.SlotID(i))
		}
		set.Windows = drawWindows(t, n)
		setRow := func(id int) {
			height := rapid.Int64Range(0, 8).Draw(t, "height")
			p.SetRow(profile.RowID(id), string(rune('A'+id)), height)
			rows.set(id, height)
		}
		for id := range rapid.IntRange(1, 3).Draw(t, "rows") {
			setRow(id)
		}
		var all []taken
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			start := profile.Time(rapid.IntRange(0, 40).Draw(t, "start"))
			end := start + profile.Time(rapid.IntRange(1, 20).Draw(t, "length"))
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				setRow(rapid.IntRange(0, len(rows.free)-1).Draw(t, "row"))
			case 1:
				if len(all) > 0 {
					i := rapid.IntRange(0, len(all)-1).Draw(t, "given back")
					p.GiveBack(all[i].takes, all[i].start, all[i].end)
					rows.shift(all[i], 1)
					all = slices.Delete(all, i, i+1)
				}
			case 2:
				at := profile.Placement{{Slot: profile.SlotID(rapid.IntRange(0, n-1).Draw(t, "slot")), Count: 1}}
				s := span{at, profile.Vector{rapid.Int64Range(1, 3).Draw(t, "chunk")}, start, end}
				p.Add(s.at, s.chunk, s.start, s.end)
				slots.shift(s, -1)
			default:
				s := taken{drawTakes(t, len(rows.free)), start, end}
				p.Take(s.takes, start, end)
				rows.shift(s, -1)
				all = append(all, s)
			}
		}
		if rapid.Bool().Draw(t, "clone") {
			p = p.Clone()
		}
		for range 4 {
			askRows(t, p, slots, rows, profile.Request{
				Chunk: profile.Vector{rapid.Int64Range(1, 4).Draw(t, "chunk")}, Nodes: rapid.IntRange(1, 3).Draw(t, "nodes"),
				Duration: profile.Time(rapid.IntRange(1, 12).Draw(t, "duration")), Candidates: set,
				Takes: drawTakes(t, len(rows.free)),
			})
		}
	})
}

// askRows compares the profile's answers to what arrays say.
func askRows(t *rapid.T, p *profile.Profile, slots *model, rows *rowModel, r profile.Request) {
	from := profile.Time(rapid.IntRange(0, 40).Draw(t, "from"))
	planned := from + profile.Time(rapid.IntRange(0, 30).Draw(t, "planned"))
	limit := from + profile.Time(rapid.Int64Range(0, int64(planned-from)).Draw(t, "limit"))
	earliest := func(limit, until profile.Time) (profile.Time, bool) {
		for at := from; at < min(limit, horizon); at++ {
			end := min(at+r.Duration, until)
			if _, ok := slots.earliest(r, at, at+1, until); ok && rows.fits(r.Takes, at, end) {
				return at, true
			}
		}
		return 0, false
	}
	for _, until := range []profile.Time{profile.Forever, limit} {
		first, found := earliest(until, profile.Forever)
		got, where, fits := p.EarliestFitBefore(r, from, until)
		require.Equal(t, found, fits)
		if found {
			require.Equal(t, first, got)
			require.Equal(t, slots.place(r, first), where)
			require.NoError(t, p.Misfit(r, where, first))
		}
	}
	first, found := earliest(limit, planned)
	got, ok := p.EarliestAhead(r, planned, from, limit)
	require.Equal(t, found, ok)
	if found {
		require.Equal(t, first, got)
	}

	fits := rows.fits(r.Takes, from, from+r.Duration)
	require.Equal(t, fits, p.Rows().Free(r.Takes, from, from+r.Duration))
	_, ok = p.Place(r, from)
	require.Equal(t, fits && slots.place(r, from) != nil, ok)
	bare := r
	bare.Takes = nil
	if at, ok := p.Place(bare, from); ok {
		require.Equal(t, fits, p.Fits(r, at, from))
	}
	until := from
	for rows.fits(r.Takes, until, until+1) && until < horizon {
		until++
	}
	if until == horizon {
		until = profile.Forever
	}
	require.Equal(t, until, p.Rows().FreeUntil(r.Takes, from))
	for id, free := range rows.free {
		row := profile.RowID(id)
		require.Equal(t, free[from], p.Rows().FreeAt(row, from))
		require.Equal(t, slices.Min(free[from:]) < 0, p.Rows().Overfull(row, from))
		if planned > from {
			low, high := p.Rows().Bounds(row, from, planned)
			require.Equal(t, slices.Min(free[from:planned]), low)
			require.Equal(t, slices.Max(free[from:planned]), high)
		}
	}
	low, isLow := p.Rows().TooLow(r.Takes)
	want := slices.IndexFunc(r.Takes, func(take profile.Take) bool { return take.Amount > rows.height[take.Row] })
	if require.Equal(t, want >= 0, isLow); isLow {
		require.Equal(t, r.Takes[want], low)
		require.False(t, p.EverFits(r))
	}
}

// TestAFullRowIsNamed checks what is said of a placement for which a row has no room.
func TestAFullRowIsNamed(t *testing.T) {
	t.Parallel()
	p := profile.New(profile.Pack)
	p.SetSlot(0, "a", profile.Vector{8})
	p.SetRow(0, "licences", 10)
	takes := []profile.Take{{Row: 0, Amount: 4}}
	p.Take(takes, 0, 100)
	p.Take(takes, 20, 60)
	r := profile.Request{
		Chunk: profile.Vector{1}, Nodes: 1, Duration: 30, Candidates: &profile.Candidates{Slots: []profile.SlotID{0}},
		Takes: takes,
	}
	at := profile.Placement{{Slot: 0, Count: 1}}
	require.EqualError(t, p.Misfit(r, at, 0), "4 of limit licences are not free during [0, 30): it is 10, and 2 are free")
	require.NoError(t, p.Misfit(r, at, 60))
	alone := p.Rows().Alone()
	alone.GiveBack(takes, 20, 60)
	require.True(t, alone.Rows().Free(takes, 0, 30))
	require.False(t, p.Rows().Free(takes, 0, 30), "a copy of the rows is a copy")
}
