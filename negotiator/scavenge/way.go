package scavenge

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Others is what the jobs of the plan leave, and where scavengers may be.
type Others struct {
	Now backfill.Time
	// Free is what they leave of a slot now: beside those that run, those that were started and are still to
	// begin, and those that are to take over from others. It may be less than nothing. The book does not
	// change it.
	Free func(backfill.SlotID) backfill.Vector
	// Rows is what they leave of rows; it is asked for only where scavengers take of some.
	Rows func() backfill.Vector
}

// Claim is the place of a job that was started, or is to take over from others.
type Claim struct {
	Slots []backfill.SlotID
	Takes []backfill.Take
}

// MakeWay tells scavengers to leave so that a job has its place, for which [Others] already leave less: on
// each slot as few as it needs, the youngest first, and each of them is needed. The result is in the order
// in which they were chosen. waits says that the job cannot begin at once: some have yet to leave its slots,
// now or since another job needed that.
func (b *Book) MakeWay(o Others, c Claim) (victims []backfill.JobID, waits bool) {
	for _, id := range c.Slots {
		running := b.onSlot[id]
		if len(running) == 0 {
			continue
		}
		staying := slices.DeleteFunc(slices.Clone(running), func(e *entry) bool { return e.run.Leaves })
		amounts := func(e *entry) backfill.Vector {
			use := make(backfill.Vector, len(e.has))
			e.useOn(id, use, 1)
			return use
		}
		for _, e := range choose(staying, short(o.Free(id), staying, amounts), amounts) {
			e.run.Leaves = true
			victims = append(victims, e.ID)
		}
		waits = waits || short(o.Free(id), running, amounts) != nil
	}
	more, late := b.yieldRows(o, c)
	return append(victims, more...), waits || late
}

// Spare has scavengers stay that were told to leave in vain: those of the victims that have room beside all the
// jobs and the scavengers that stay, as others of the victims leave more than was lacking. The oldest stay
// first. It returns the victims that do leave, in their order.
func (b *Book) Spare(o Others, victims []backfill.JobID) []backfill.JobID {
	if len(victims) < 2 { // each was needed when it was chosen
		return victims
	}
	oldest := make([]*entry, len(victims))
	for i, id := range victims {
		oldest[i] = b.all[id]
	}
	slices.SortFunc(oldest, compareRuns)
	for _, e := range oldest {
		e.run.Leaves = false
		e.run.Leaves = !b.hasRoom(o, e)
	}
	return slices.DeleteFunc(slices.Clone(victims), func(id backfill.JobID) bool { return !b.all[id].run.Leaves })
}

// hasRoom reports whether a scavenger can stay where it is, beside the others that stay.
func (b *Book) hasRoom(o Others, e *entry) bool {
	for _, on := range e.run.Placement {
		amounts := func(e *entry) backfill.Vector {
			use := make(backfill.Vector, len(e.has))
			e.useOn(on.Slot, use, 1)
			return use
		}
		staying := slices.DeleteFunc(slices.Clone(b.onSlot[on.Slot]), func(e *entry) bool { return e.run.Leaves })
		if short(o.Free(on.Slot), staying, amounts) != nil {
			return false
		}
	}
	if len(e.Takes) == 0 {
		return true
	}
	left := slices.Clone(o.Rows())
	for _, other := range b.runs {
		if other.run.Leaves {
			continue
		}
		for _, t := range other.Takes {
			left[t.Row] -= t.Amount
		}
	}
	return !slices.ContainsFunc(e.Takes, func(t backfill.Take) bool { return left[t.Row] < 0 })
}

// Leaving iterates over the scavengers that were told to leave and are in the way of a job: on its slots, or
// taking of its rows. Some may come more than once.
func (b *Book) Leaving(c Claim) iter.Seq[backfill.JobID] {
	return func(yield func(backfill.JobID) bool) {
		for _, id := range c.Slots {
			for _, e := range b.onSlot[id] {
				if e.run.Leaves && !yield(e.ID) {
					return
				}
			}
		}
		for _, e := range b.sharing(c) {
			if e.run.Leaves && !yield(e.ID) {
				return
			}
		}
	}
}

// sharing lists the running scavengers that take of rows of a job, the youngest last.
func (b *Book) sharing(c Claim) (all []*entry) {
	if len(c.Takes) == 0 {
		return nil
	}
	for _, e := range b.runs {
		if shares(e.Takes, c.Takes) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, compareRuns)
	return all
}

// yieldRows is MakeWay for what a job takes of rows.
func (b *Book) yieldRows(o Others, c Claim) (victims []backfill.JobID, waits bool) {
	running := b.sharing(c)
	if len(running) == 0 {
		return nil, false
	}
	left := o.Rows()
	free := make(backfill.Vector, len(c.Takes)) // by place among the takes
	for i, t := range c.Takes {
		free[i] = left[t.Row]
	}
	amounts := func(e *entry) backfill.Vector {
		use := make(backfill.Vector, len(c.Takes))
		for i, t := range c.Takes {
			use[i] = amountOf(e.Takes, t.Row)
		}
		return use
	}
	staying := slices.DeleteFunc(slices.Clone(running), func(e *entry) bool { return e.run.Leaves })
	for _, e := range choose(staying, short(free, staying, amounts), amounts) {
		e.run.Leaves = true
		victims = append(victims, e.ID)
	}
	return victims, short(free, running, amounts) != nil
}

// shares reports whether two jobs take of the same row.
func shares(a, b []backfill.Take) bool {
	return slices.ContainsFunc(a, func(t backfill.Take) bool { return amountOf(b, t.Row) > 0 })
}

// amountOf returns how much a job takes of a row.
func amountOf(takes []backfill.Take, row backfill.RowID) int64 {
	for _, t := range takes {
		if t.Row == row {
			return t.Amount
		}
	}
	return 0
}

// short returns by how much there is too little beside these scavengers; nil if there is enough.
func short(free backfill.Vector, running []*entry, amounts func(*entry) backfill.Vector) (lack backfill.Vector) {
	left := slices.Clone(free)
	for _, e := range running {
		left.AddScaled(amounts(e), -1)
	}
	for k, n := range left {
		if n >= 0 {
			continue
		}
		if lack == nil {
			lack = make(backfill.Vector, len(left))
		}
		lack[k] = -n
	}
	return lack
}

// choose returns who is to leave, of running scavengers by age, so that what is lacking is there: the youngest
// one that does alone, else the youngest ones, without those that are not needed. If all of them are not
// enough, all that have some of it leave.
func choose(running []*entry, lack backfill.Vector, amounts func(*entry) backfill.Vector) (chosen []*entry) {
	if lack == nil {
		return nil
	}
	for _, e := range slices.Backward(running) {
		if lack.Within(amounts(e)) {
			return []*entry{e}
		}
	}
	left := slices.Clone(lack)
	for _, e := range slices.Backward(running) {
		if helps(amounts(e), left) {
			chosen = append(chosen, e)
			left.AddScaled(amounts(e), -1)
		}
	}
	needed := make([]*entry, 0, len(chosen))
	for _, e := range slices.Backward(chosen) { // the oldest first
		without := slices.Clone(left)
		without.AddScaled(amounts(e), 1)
		if slices.ContainsFunc(without, func(n int64) bool { return n > 0 }) {
			needed = append(needed, e)
		} else {
			left = without
		}
	}
	slices.Reverse(needed)
	return needed
}

// helps reports whether an amount has some of what is lacking.
func helps(amount, lack backfill.Vector) bool {
	for k, n := range lack {
		if n > 0 && amount[k] > 0 {
			return true
		}
	}
	return false
}
