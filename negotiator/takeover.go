package negotiator

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Jobs that are to take over from others get what these have, and may need more. Until they begin, nobody else may
// come into their way: what they need then is kept from scavengers. What is given back later than that does not
// help them.

// shift is how much more is taken from an instant on, or less.
type shift struct {
	at   backfill.Time
	more backfill.Vector
}

// peak returns how much more is taken at most, of each of so many resources.
func peak(all []shift, resources int) backfill.Vector {
	slices.SortStableFunc(all, func(a, b shift) int { return cmp.Compare(a.at, b.at) })
	most, taken := make(backfill.Vector, resources), make(backfill.Vector, resources)
	for i, s := range all {
		taken.AddScaled(s.more, 1)
		if i+1 < len(all) && all[i+1].at == s.at {
			continue
		}
		for k := range most {
			most[k] = max(most[k], taken[k])
		}
	}
	return most
}

// takesOver returns when a job of the plan takes over, with sign 1, or leaves to another what it has, with -1; 0: it
// does neither.
func takesOver(run *backfill.RunningJob) (at backfill.Time, sign int64) {
	switch {
	case run.Pinned:
		return run.Start, 1
	case run.Yields:
		return run.End, -1
	default:
		return 0, 0
	}
}

// rowsLeft returns what the jobs of the plan leave of rows, also those that are to take over from others.
func (n *Negotiator) rowsLeft() backfill.Vector {
	state := n.State()
	rows := make(backfill.Vector, len(state.Rows()))
	for i, row := range state.Rows() {
		rows[i] = row.Height
	}
	var shifts []shift
	for run := range state.Running() {
		at, sign := takesOver(&run)
		if len(run.Job.Takes) == 0 {
			continue
		}
		takes := make(backfill.Vector, len(rows))
		for _, t := range run.Job.Takes {
			takes[t.Row] += t.Amount
		}
		if !run.Pinned {
			rows.AddScaled(takes, -1)
		}
		if sign != 0 {
			more := make(backfill.Vector, len(rows))
			more.AddScaled(takes, sign)
			shifts = append(shifts, shift{at, more})
		}
	}
	rows.AddScaled(peak(shifts, len(rows)), -1)
	return rows
}

// yetToTake returns what jobs that are to take over from others will take of slots beyond what these have.
func (n *Negotiator) yetToTake() map[backfill.SlotID]backfill.Vector {
	if !n.preemption.busy {
		return nil
	}
	shifts := map[backfill.SlotID][]shift{}
	for run := range n.State().Running() {
		at, sign := takesOver(&run)
		if sign == 0 {
			continue
		}
		for _, on := range run.Placement {
			more := make(backfill.Vector, len(run.Job.Request))
			more.AddScaled(run.Job.Request, sign*int64(on.Count))
			shifts[on.Slot] = append(shifts[on.Slot], shift{at, more})
		}
	}
	n.preemption.busy = len(shifts) > 0
	extra := map[backfill.SlotID]backfill.Vector{}
	for slot, all := range shifts {
		extra[slot] = peak(all, len(all[0].more))
	}
	return extra
}
