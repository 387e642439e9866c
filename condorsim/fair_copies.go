package condorsim

import (
	"cmp"
	"context"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// fairCopy is a copy of the simulation in which no more jobs arrive, except the one in the field
// late, if set: it arrives as soon as no job waits.
type fairCopy struct {
	from       ahead.Start
	last, late fairJob // the jobs whose starts are to be found
	awaits     int     // number of caps not known yet
}

// fairJob is a job whose start is to be found in a copy; a start at the cap or later is taken as
// the cap. Job is nil if there is none, and once its start is found.
type fairJob struct {
	*backfill.Job
	cap backfill.Time
}

// Decide makes copies of the simulation for the jobs that arrive, then lets the policy decide.
func (f *fairStarts) Decide(ctx context.Context, tx *backfill.Transaction) error {
	for k, e := range tx.Round().Events {
		if e.Kind != backfill.Submitted {
			continue
		}
		f.keepOrderTime(e.Job, tx.Now())
		before := tx.Round().Events[:k]
		together := k > 0 && before[k-1].Kind == backfill.Submitted // the last job arrives at this instant, too
		var copied fairCopy
		if (f.fair.Strict || f.alone) && (together || f.last != nil && tx.State().IsWaiting(f.last.ID)) {
			copied.last = fairJob{f.last, backfill.Forever}
		}
		f.last, f.alone = e.Job, !together && tx.State().Waiting() == 0
		if f.fair.Relaxed && !f.alone {
			copied.late = fairJob{e.Job, backfill.Forever}
		}
		if copied.last.Job != nil || copied.late.Job != nil {
			copied.from = ahead.Start{State: tx.State().Clone(), End: f.end}
			if k > 0 {
				copied.from.First = &backfill.Round{Now: tx.Now(), Events: slices.Clone(before)}
			}
			f.hand(&copied)
		}
	}
	return f.Decider.Decide(ctx, tx)
}

// These bound the copies that wait for their caps, and so their memory: a copy takes about 500
// bytes for each slot, and what differs from other copies.
const maxHeld, maxHeldSlots = 2000, 1 << 18

// hand passes a copy to the workers. If fair start times are capped, it keeps the copy until its
// caps, the jobs' own starts in the simulation, are known, unless it already keeps too many.
func (f *fairStarts) hand(copied *fairCopy) {
	if !f.fair.Capped || f.held >= min(maxHeld, maxHeldSlots/len(f.w.Slots)) {
		f.copies <- copied
		return
	}
	f.held++
	for _, j := range []fairJob{copied.last, copied.late} {
		if j.Job != nil {
			copied.awaits++
			f.waiting[j.ID] = append(f.waiting[j.ID], copied)
		}
	}
}

// Decided sets the caps of the kept copies to the starts of their jobs in the simulation, and
// passes the copies whose caps are all known to the workers.
func (f *fairStarts) Decided(r backfill.Round, d backfill.Decision, own bool) {
	f.Decider.Decided(r, d, own)
	for _, s := range d.Started {
		for _, copied := range f.waiting[s.Job.ID] {
			if copied.last.Job == s.Job {
				copied.last.cap = d.Now
			} else {
				copied.late.cap = d.Now
			}
			if copied.awaits--; copied.awaits == 0 {
				f.held--
				f.copies <- copied
			}
		}
		delete(f.waiting, s.Job.ID)
	}
}

// finish passes to the workers the copies that are still kept because some of their jobs never
// started, and waits until the workers are done.
func (f *fairStarts) finish() {
	for _, copies := range f.waiting {
		for _, copied := range copies {
			if copied.awaits--; copied.awaits == 0 {
				f.copies <- copied
			}
		}
	}
	close(f.copies)
	f.working.Wait()
}

// end returns when a job that started will end.
func (f *fairStarts) end(j *backfill.Job, start backfill.Time) backfill.Time {
	return start + f.w.Jobs[j.ID].runs()
}

// follow plays a copy of the simulation until each fair start that is computed on this copy is known
// or cannot come before its cap, and stores it or the cap.
func (f *fairStarts) follow(ctx context.Context, play *ahead.Play, copied *fairCopy) error {
	play.Again(copied.from)
	arrives := copied.late.Job
	for f.wanted(copied, play.Instant()) {
		d, _, err := play.Next(ctx)
		if err != nil {
			return err
		}
		for _, s := range d.Started {
			f.record(copied, s.Job, d.Now)
		}
		if arrives != nil && play.State().Waiting() == 0 {
			play.Arrive(arrives)
			arrives = nil
		}
	}
	return nil
}

// wanted reports whether the copy still has to find a start at now. A start that has not come
// before its cap is set to the cap.
func (f *fairStarts) wanted(copied *fairCopy, now backfill.Time) bool {
	for _, j := range []fairJob{copied.last, copied.late} {
		if j.Job != nil && j.cap <= now {
			f.record(copied, j.Job, j.cap)
		}
	}
	return copied.last.Job != nil || copied.late.Job != nil
}

// record stores the start of a job if the copy is to find it; other jobs are ignored.
func (f *fairStarts) record(copied *fairCopy, j *backfill.Job, start backfill.Time) {
	switch j {
	case copied.last.Job:
		f.strict[j.ID], copied.last.Job = start, nil
	case copied.late.Job:
		f.relaxed[j.ID], copied.late.Job = start, nil
	}
}

// keepOrderTime notes for the copies the run time with which the order ranks an arriving job, since
// the state does not hold it. The estimators are asked before the round is decided, so they answer
// as they did at the arrival.
func (f *fairStarts) keepOrderTime(j *backfill.Job, now backfill.Time) {
	if f.estimates == nil {
		return
	}
	asked := f.w.Jobs[j.ID].asked()
	asked.Actual = f.w.actual(j.ID)
	if t := f.estimates.Estimate(&asked, now).Order; t != j.Estimate {
		ordered := *j
		ordered.Estimate = t
		f.ordered[j.ID] = &ordered
	}
}

// order returns the queue's order for copies, which ranks each job by the run time that was
// predicted at its arrival.
func (f *fairStarts) order(order backfill.Order) backfill.Order {
	if f.estimates == nil || order == nil {
		return order
	}
	return func(j *backfill.Job, at backfill.Moment) (key float64, moves backfill.Moves) {
		return order(cmp.Or(f.ordered[j.ID], j), at)
	}
}
