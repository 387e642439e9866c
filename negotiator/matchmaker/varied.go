package matchmaker

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// For some pairs one vector of what must be free is not all of the truth: one amount or another will do,
// as with NumDynamicSlots < 2 || Cpus >= 6, or more may be worse, as with NumDynamicSlots != 1. Such a pair
// is judged in each Match by what is free on each slot now, as in little.go. Beside that something is
// promised: what is enough whatever else is free.

// varied is what is known of a pair that matches if all of a slot is free, in more than one way.
type varied struct {
	enough []backfill.Vector // each will do; the first is promised where none is free now
	all    bool              // nothing else does
	worse  bool              // more may be worse
}

// mostTried is how many levels of one resource are tried, if it has more.
const mostTried = 64

// chains calls a function with rows of levels, each from less to more, that show whether more is worse:
// of each resource while all or none of the others is free, and what jobs alike leave.
func (l *levels) chains(try func(row [][]int64) bool) {
	for n := range l.at {
		for _, others := range [][]int64{l.high, l.low} {
			var row [][]int64
			for _, v := range l.tried(n) {
				at := slices.Clone(others)
				at[n] = v
				row = append(row, at)
			}
			if !try(row) || len(l.at) == 1 {
				break
			}
		}
	}
	var row [][]int64
	for k := int64(mostTried); k >= 0; k-- {
		at := slices.Clone(l.high)
		for n := range at {
			at[n] -= k * max(l.takes(n), 0)
		}
		if !slices.ContainsFunc(at, func(v int64) bool { return v < 0 }) {
			for n := range at {
				at[n] = max(at[n], l.low[n])
			}
			row = append(row, at)
		}
	}
	try(row)
}

// takes is how much of a resource each chunk takes.
func (l *levels) takes(n int) int64 { return l.requests(l.o, l.resources[n]) }

// tried are the levels of a resource to try, ascending: all, or what jobs alike take and leave, and some.
func (l *levels) tried(n int) (all []int64) {
	low, high := l.low[n], l.high[n]
	if high-low <= mostTried {
		for v := low; v <= high; v++ {
			all = append(all, v)
		}
		return all
	}
	all = append(all, low, high)
	step := max(1, l.takes(n))
	for k := range int64(mostTried / 4) {
		all = append(all, low+(high-low)/(mostTried/4)*k)
		if (high-low)/step >= k {
			all = append(all, low+k*step, high-k*step)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// varies looks for levels with which the pair does not match although it does with less. If there are any,
// it sets the levels to such that it matches with all that is more, for all that was seen.
func (l *levels) varies() (worse bool) {
	var bad [][]int64
	enough := slices.Clone(l.low)
	l.chains(func(row [][]int64) bool {
		met := false
		for _, at := range row {
			if !l.affords() {
				return false
			}
			copy(l.at, at)
			if l.matches() {
				met = true
				continue
			}
			bad, worse = append(bad, at), worse || met
		}
		return true
	})
	if !worse {
		return false
	}
	// A level of one resource is raised above all with which the pair does not match while all else is free.
	for n := range enough {
		for _, at := range bad {
			others := slices.Clone(at)
			if others[n] = l.high[n]; slices.Equal(others, l.high) {
				enough[n] = max(enough[n], at[n]+1)
			}
		}
	}
	copy(l.at, enough)
	if slices.ContainsFunc(bad, func(at []int64) bool { return reaches(at, enough) }) || !l.matches() {
		copy(l.at, l.high)
	}
	return true
}

// reaches reports whether none of some amounts is less than another.
func reaches[T ~[]int64](amounts, least T) bool {
	for i, n := range least {
		if amounts[i] < n {
			return false
		}
	}
	return true
}

// others returns vectors of which each will do, where several resources together do not all need what each
// needs alone; that first which leaves room for the most jobs alike. The levels are those of each alone. It
// returns whether nothing else does.
func (l *levels) others() (found []backfill.Vector, all bool) {
	alone, rows := slices.Clone(l.at), [][]int64{}
	for first := range l.at {
		copy(l.at, l.high)
		l.at[first] = alone[first]
		for k := 1; k < len(l.at); k++ {
			l.lower((first + k) % len(l.at))
		}
		if !slices.ContainsFunc(rows, func(row []int64) bool { return slices.Equal(row, l.at) }) {
			rows = append(rows, slices.Clone(l.at))
		}
	}
	slices.SortStableFunc(rows, func(a, b []int64) int { return int(l.before(b) - l.before(a)) })
	for _, row := range rows {
		copy(l.at, row)
		found = append(found, l.vector())
	}
	if len(rows) == 2 {
		differ := 0
		for n := range l.at {
			if l.at[n] = max(rows[0][n], rows[1][n]); rows[0][n] != rows[1][n] {
				l.at[n]--
				differ++
			}
		}
		all = differ == 2 && !l.matches()
	}
	copy(l.at, rows[0])
	return found, all
}

// before returns how many jobs alike may begin one after another before these levels are not there.
func (l *levels) before(at []int64) int64 {
	n := int64(mostTried)
	for i := range at {
		if takes := l.takes(i); takes > 0 {
			n = min(n, (l.high[i]-at[i])/takes)
		}
	}
	return n
}

// vector returns the present levels as what must be free.
func (l *levels) vector() backfill.Vector {
	least := make(backfill.Vector, len(l.m.resources))
	for n, i := range l.resources {
		if least[i] = l.at[n]; l.at[n] == l.low[n] {
			least[i] = 0
		}
	}
	return least
}

// withFree returns what holds on one slot for a pair that matches in more than one way: with one that is
// free there, else with what is free if that will do now.
func (s *search) withFree(id int, h hold) hold {
	now := backfill.Time(s.m.clock.now - s.m.world.Start)
	opens := func(w backfill.Window) bool { return w.From <= now && now < w.To }
	if h.windows != nil && !slices.ContainsFunc(h.windows, opens) {
		return h
	}
	v, free := h.little.varied, s.m.Free(backfill.SlotID(id))
	at := slices.IndexFunc(v.enough, func(enough backfill.Vector) bool { return reaches(free, enough) })
	if at >= 0 {
		h.least = v.enough[at]
	}
	if !v.worse && (at >= 0 || v.all) {
		return h
	}
	open, known := s.opens(h.little, free)
	switch {
	case !known:
	case !open && at >= 0: // more than was seen is worse
		h.windows = unforeseen
	case open && at < 0:
		h.least = make(backfill.Vector, len(s.m.resources))
		for _, i := range h.little.resources {
			h.least[i] = free[i]
		}
		if v.worse { // nobody knows whether that much and no more will be free
			h.windows = s.m.intern([]backfill.Window{{From: now, To: now + 1}})
		}
	}
	return h
}

// inWords says what must be free in any of the ways that are known.
func (v *varied) inWords(words func(backfill.Vector) string) string {
	var all []string
	for _, enough := range v.enough {
		all = append(all, words(enough))
	}
	text := strings.Join(all, ", or ")
	switch {
	case v.worse:
		return text + ", or while certain amounts below that are"
	case !v.all:
		return text + ", or while enough of both is"
	default:
		return text
	}
}
