package condorsim

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// fairCopy is a copy of the simulation in which no more jobs arrive, except late, if set, which
// arrives as soon as no job waits.
type fairCopy struct {
	state      *backfill.State
	now        backfill.Time
	events     []backfill.Event // of the first round, if it is at this instant
	ends       endings          // of the running jobs
	last, late fairJob          // the jobs whose starts are wanted
	arrived    bool             // late arrived
	awaits     int              // number of caps that are not known yet
}

// fairJob is a job whose start is wanted, until it is known or cannot be earlier than the cap.
// Without a job nothing is wanted.
type fairJob struct {
	*backfill.Job
	cap backfill.Time
}

// Decide makes copies for the jobs that arrive, then lets the policy decide.
func (f *fairStarts) Decide(ctx context.Context, tx *backfill.Transaction) error {
	for k, e := range tx.Round().Events {
		if e.Kind != backfill.Submitted {
			continue
		}
		f.keepOrderTime(e.Job)
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
			f.fill(&copied, tx, before)
			f.hand(&copied)
		}
	}
	return f.Decider.Decide(ctx, tx)
}

// fill copies the simulation as it is just before an event of the round; before holds the earlier
// events of that round.
func (f *fairStarts) fill(copied *fairCopy, tx *backfill.Transaction, before []backfill.Event) {
	copied.state, copied.now, copied.events = tx.State().Clone(), tx.Now(), slices.Clone(before)
	for r := range tx.Running() {
		if end := f.end(r.Job, r.Start); end > copied.now { // jobs that end now are among the events
			copied.ends = append(copied.ends, ending{at: end, job: r.Job.ID})
		}
	}
	heap.Init(&copied.ends)
}

// These bound the copies that wait for their caps, and so their memory: a copy takes about 500
// bytes for each slot, and what differs from other copies.
const maxHeld, maxHeldSlots = 2000, 1 << 18

// hand passes a copy to the workers, or keeps it until its caps are known.
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

// Decided sets the caps of copies from the jobs that started.
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

// finish passes on the copies that still wait for jobs which never started, and waits for all
// workers.
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

// follow runs a copy until the wanted starts are known.
func (f *fairStarts) follow(ctx context.Context, host *backfill.Host, copied *fairCopy) error {
	host.State = copied.state
	round := backfill.Round{Now: copied.now, Events: copied.events}
	if len(round.Events) == 0 {
		round = f.next(copied)
	}
	for f.wanted(copied, round.Now) {
		d, err := host.Decide(ctx, round)
		if err != nil {
			return err
		}
		for _, s := range d.Started {
			heap.Push(&copied.ends, ending{at: f.end(s.Job, d.Now), job: s.Job.ID})
			f.record(copied, s.Job, d.Now)
		}
		if copied.late.Job != nil && !copied.arrived && host.State.Waiting() == 0 {
			copied.arrived = true
			round = backfill.Round{
				Now:    d.Now,
				Events: []backfill.Event{{Kind: backfill.Submitted, Job: copied.late.Job}},
			}
			continue
		}
		round = f.next(copied)
	}
	return nil
}

// wanted reports whether a start that the copy looks for is still unknown at now. A start that has
// reached its cap is set to the cap; at the end of time every start has.
func (f *fairStarts) wanted(copied *fairCopy, now backfill.Time) bool {
	for _, j := range []fairJob{copied.last, copied.late} {
		if j.Job != nil && j.cap <= now {
			f.record(copied, j.Job, j.cap)
		}
	}
	return copied.last.Job != nil || copied.late.Job != nil
}

// record stores a job's start if it is wanted.
func (f *fairStarts) record(copied *fairCopy, j *backfill.Job, start backfill.Time) {
	switch j {
	case copied.last.Job:
		f.strict[j.ID], copied.last.Job = start, nil
	case copied.late.Job:
		f.relaxed[j.ID], copied.late.Job = start, nil
	}
}

// next returns the next round of a copy, at [backfill.Forever] if there is none.
func (f *fairStarts) next(copied *fairCopy) backfill.Round {
	r := backfill.Round{Now: copied.state.NextWake(), Events: copied.events[:0]}
	if len(copied.ends) > 0 {
		r.Now = min(r.Now, copied.ends[0].at)
	}
	for len(copied.ends) > 0 && copied.ends[0].at <= r.Now {
		ended, _ := heap.Pop(&copied.ends).(ending)
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: ended.job})
	}
	copied.events = r.Events
	return r
}

// keepOrderTime keeps the run time that the order uses for an arriving job, which the state does
// not hold. It asks before the round is decided, so the estimators answer as they did at the
// arrival.
func (f *fairStarts) keepOrderTime(j *backfill.Job) {
	if f.estimates == nil {
		return
	}
	asked := f.w.Jobs[j.ID].asked()
	asked.Actual = f.w.actual(j.ID)
	if t := f.estimates.Estimate(&asked).Order; t != j.Estimate {
		ordered := *j
		ordered.Estimate = t
		f.ordered[j.ID] = &ordered
	}
}

// order returns the order for copies, which sees each job as at its arrival.
func (f *fairStarts) order(by backfill.Order) backfill.Order {
	if f.estimates == nil || by == nil {
		return by
	}
	return func(j *backfill.Job, now backfill.Time) (key float64, moves bool) {
		return by(cmp.Or(f.ordered[j.ID], j), now)
	}
}
