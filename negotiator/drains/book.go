package drains

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// Book is the drains of a pool, by slot. A book is not changed: its methods return another one.
type Book map[string]Drain

// forgotten is how long a slot may be gone until its drain is forgotten, in seconds: a machine that is
// under repair has longer ads elsewhere than here.
const forgotten = 30 * 24 * 3600

// BookOf returns the book with these drains.
func BookOf(all []Drain) Book {
	b := Book{}
	for _, d := range all {
		b[d.Slot] = d
	}
	return b
}

// All returns the drains, by time and slot.
func (b Book) All() []Drain { return slices.SortedFunc(maps.Values(b), compare) }

// Apply returns the book after a request that somebody made, in a pool with these slots, and the
// slots that it meant, sorted. A drain of a slot that has one takes its place.
func (b Book) Apply(r Request, slots []string, user string, now backfill.Time) (Book, []string, error) {
	if err := r.Validate(); err != nil {
		return b, nil, err
	}
	if r.Cancel {
		return b.cancel(r.Slots, slots)
	}
	if r.Until != 0 && r.Until <= int64(now) {
		return b, nil, badly("what is to be drained is over: it ended %s ago", inwords.Duration(float64(int64(now)-r.Until), 0))
	}
	meant, err := find(r.Slots, slots)
	if err != nil {
		return b, nil, err
	}
	next := maps.Clone(b)
	if next == nil {
		next = Book{}
	}
	for _, slot := range meant {
		next[slot] = Drain{
			Slot: slot, By: max(r.By, int64(now)), Until: r.Until, AskedBy: backfill.Printable(user, longestName), AskedAt: int64(now),
		}
	}
	if len(next) > Most {
		return b, nil, badly("%d slots would be drained: at most %d can be; cancel some drains", len(next), Most)
	}
	return next, meant, nil
}

// cancel returns the book without the drains of slots. These may have left the pool.
func (b Book) cancel(names, slots []string) (Book, []string, error) {
	drained := slices.Collect(maps.Keys(b))
	meant, err := find(names, drained)
	if err != nil {
		if there, known := find(names, slots); known == nil {
			return b, nil, badly("%s is not drained", there[0])
		}
		return b, nil, err
	}
	next := maps.Clone(b)
	for _, slot := range meant {
		delete(next, slot)
	}
	return next, meant, nil
}

// Tend returns the book without the drains that are over, or whose slots have left the pool for
// good, and what it has dropped, by time and slot. If there is nothing to change, it is the same book.
func (b Book) Tend(now backfill.Time, there func(slot string) bool) (next Book, dropped []Drain, changed bool) {
	next = b
	edit := func() {
		if !changed {
			next, changed = maps.Clone(b), true
		}
	}
	for slot, d := range b {
		up := there(slot)
		switch {
		case d.Over(now) || d.Gone != 0 && !up && int64(now)-d.Gone >= forgotten:
			edit()
			delete(next, slot)
			dropped = append(dropped, d)
		case up && d.Gone != 0:
			edit()
			d.Gone = 0
			next[slot] = d
		case !up && d.Gone == 0:
			edit()
			d.Gone = int64(now)
			next[slot] = d
		}
	}
	slices.SortFunc(dropped, compare)
	return next, dropped, changed
}
