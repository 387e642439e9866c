package profile

import (
	"fmt"
	"slices"
)

// row is an amount that all slots share, with what is free of it in the future.
type row struct {
	name   string
	height int64
	free   steps
}

// SetRow adds the row, or changes its name and height; what is taken of it stays taken. IDs are dense:
// a new row's ID is the number of rows so far.
func (p *Profile) SetRow(id RowID, name string, height int64) {
	if int(id) == len(p.rows) {
		p.rows = append(p.rows, row{name: name, height: height, free: steps{base: height}})
		return
	}
	x := &p.rows[id]
	x.free.isAnswered = false
	x.free.base += height - x.height
	x.name, x.height = name, height
}

// DropLastRow undoes the SetRow that added the last row. Nothing may be taken of it.
func (p *Profile) DropLastRow() { p.rows = p.rows[:len(p.rows)-1] }

// Take takes amounts of rows during [start, end). It does not check whether they are free.
func (p *Profile) Take(takes []Take, start, end Time) { p.shiftRows(takes, start, end, -1) }

// GiveBack frees what Take with the same arguments took.
func (p *Profile) GiveBack(takes []Take, start, end Time) { p.shiftRows(takes, start, end, 1) }

// shiftRows adds the amounts to what is free of rows during [start, end) if sign is 1, and subtracts
// them if sign is -1. Time before the origin is ignored.
func (p *Profile) shiftRows(takes []Take, start, end Time, sign int64) {
	if start = max(start, p.past); start >= end {
		return
	}
	for _, t := range takes {
		free := &p.rows[t.Row].free
		free.forget(p.owner, p.past)
		free.shiftSpan(p.owner, p.past, start, end, sign*t.Amount)
	}
}

// Rows is what can be asked of a profile's rows. It holds as long as the profile does.
type Rows struct{ p *View }

// Rows returns the view's rows.
func (p *View) Rows() Rows { return Rows{p} }

// FreeAt returns how much is free of the row at t. It is negative if more is taken than the row has,
// as its height was reduced, or jobs run longer than planned.
func (r Rows) FreeAt(id RowID, t Time) int64 { return r.p.rows[id].free.value(t) }

// Bounds returns the least and the most that is free of the row during [from, to).
func (r Rows) Bounds(id RowID, from, to Time) (low, high int64) {
	return r.p.rows[id].free.bounds(from, to)
}

// Overfull reports whether at some instant from t on more is taken of the row than it has.
func (r Rows) Overfull(id RowID, t Time) bool { return r.p.rows[id].free.min(t, Forever) < 0 }

// Free reports whether the amounts are free during [start, end).
func (r Rows) Free(takes []Take, start, end Time) bool {
	for _, t := range takes {
		free := &r.p.rows[t.Row].free
		if free.value(start) < t.Amount || free.min(start, end) < t.Amount {
			return false
		}
	}
	return true
}

// FreeUntil is [View.FreeUntil] for rows: until when the amounts are free from an instant on.
func (r Rows) FreeUntil(takes []Take, from Time) Time {
	until := Forever
	for _, t := range takes {
		if short, ok := r.p.rows[t.Row].free.firstBelow(from, t.Amount); ok {
			if until = min(until, short); until <= from {
				return from
			}
		}
	}
	return until
}

// TooLow returns the first row that is too low for what a request takes of it, whatever else is taken.
func (r Rows) TooLow(takes []Take) (Take, bool) {
	for _, t := range takes {
		if t.Amount > r.p.rows[t.Row].height {
			return t, true
		}
	}
	return Take{}, false
}

// Alone returns a copy that has the rows and no slots. It can be changed, and holds until the profile
// changes.
func (r Rows) Alone() *Profile {
	p := r.p
	return &Profile{View{rows: slices.Clone(p.rows), owner: new(owner), past: p.past, from: p.from, limits: p.limits}}
}

// end returns the end of the time during which rows must be free if the request starts at start: its
// duration, even if it may end earlier with its slot.
func (r *Request) end(start Time) Time {
	if r.bounded {
		return min(start+r.Duration, r.until)
	}
	return start + r.Duration
}

// earliestInRows returns the first start in [from, limit) at which what the request takes of rows is
// free for its duration; false if there is none.
func (p *View) earliestInRows(r *Request, from, limit Time) (Time, bool) {
	start := from
	for start < limit {
		blocked := false
		for _, t := range r.Takes {
			free := &p.rows[t.Row].free
			// No start up to the last short instant can do, as the request would last until then.
			short, _, found := free.lastBelow(start, r.end(start), t.Amount)
			if !found {
				continue
			}
			if short+1 >= limit {
				return 0, false
			}
			again, found := free.nextAtLeast(short, t.Amount)
			if !found || again >= limit {
				return 0, false
			}
			start, blocked = again, true
		}
		if !blocked {
			return start, true
		}
	}
	return 0, false
}

// earliestInBoth is [View.earliestStart] for a request that takes of rows: slots and rows are asked in
// turn, each from the other's answer on, until both agree.
func (p *View) earliestInBoth(r *Request, from, limit Time) (Time, bool) {
	start, ok := p.earliestInRows(r, from, limit)
	for ok {
		p.GoOn()
		at, fits := p.earliestOnSlots(r, start, limit)
		if !fits {
			return 0, false
		}
		if start, ok = p.earliestInRows(r, at, limit); ok && start == at {
			return start, true
		}
	}
	return 0, false
}

// misfitRows returns an error that names the row of which too little is free from start on; nil: none.
func (p *View) misfitRows(r *Request, start Time) error {
	for _, t := range r.Takes {
		if free := p.rows[t.Row].free.min(start, start+r.Duration); free < t.Amount {
			return fmt.Errorf("%d of limit %s are not free during [%d, %d): it is %d, and %d are free", t.Amount,
				p.rows[t.Row].name, start, start+r.Duration, p.rows[t.Row].height, max(0, free))
		}
	}
	return nil
}
