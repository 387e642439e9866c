package rehearsal

import (
	"cmp"
	"context"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
)

// Drain plays what becomes of slots that are asked for at an instant to be empty at another one: which
// jobs run on each of them from then on, when the last of these ends, and which do not end in time.
func (p *Rehearsal) Drain(ctx context.Context, at backfill.Time, r drains.Request) ([]drains.Listed, error) {
	names, index := make([]string, len(p.Workload.Slots)), map[string]int{}
	for i, s := range p.Workload.Slots {
		names[i], index[s.Name] = s.Name, i
	}
	book, meant, err := drains.Book{}.Apply(r, names, "", at)
	if err != nil || len(p.Workload.Jobs) == 0 {
		return book.List(nil, nil), err
	}
	w, first := *p.Workload, p.Workload.Jobs[0].Submit
	drain := pools.Outage{Drain: true, Shape: 1, At: max(0, backfill.Time(r.By)-first)}
	drain.Notice = drain.At - max(0, at-first)
	if r.Until != 0 {
		drain.For = backfill.Time(r.Until) - first - drain.At
	}
	for _, slot := range meant {
		drain.Slots = append(drain.Slots, index[slot])
	}
	slices.Sort(drain.Slots)
	w.Outages = append(slices.Clone(w.Outages), drain)
	f := &filling{from: at, slots: map[string]map[backfill.JobID]backfill.Time{}, run: p.ends}
	for _, slot := range meant {
		f.slots[slot] = map[backfill.JobID]backfill.Time{}
	}
	err = condorsim.RunTo(ctx, &w, p.config, backfill.Time(r.By), f, p)
	if err != nil {
		return nil, err
	}
	return p.filled(book, f), nil
}

// ends returns when a job ends that has begun at an instant.
func (p *Rehearsal) ends(id backfill.JobID, start backfill.Time) backfill.Time {
	return start + p.actual(id)
}

// filling notes which jobs run on slots, and until when.
type filling struct {
	from  backfill.Time
	slots map[string]map[backfill.JobID]backfill.Time
	run   func(backfill.JobID, backfill.Time) backfill.Time
}

// Cycle notes what runs after a cycle.
func (f *filling) Cycle(r *negotiator.Report) error {
	slots := r.State.Slots()
	for job := range r.State.Running() {
		end := f.run(job.Job.ID, job.Start)
		if end <= f.from {
			continue
		}
		for _, at := range job.Placement {
			if ran, drained := f.slots[slots[at.Slot].Name]; drained {
				ran[job.Job.ID] = end
			}
		}
	}
	return nil
}

// filled tells of the drains of a book what was noted.
func (p *Rehearsal) filled(book drains.Book, f *filling) []drains.Listed {
	all := book.List(nil, nil)
	for i := range all {
		l := &all[i]
		ran := f.slots[l.Slot]
		l.Jobs = len(ran)
		var late []backfill.JobID
		for id, end := range ran {
			l.Empty = max(l.Empty, int64(end))
			if int64(end) > l.By {
				late = append(late, id)
			}
		}
		slices.SortFunc(late, func(a, b backfill.JobID) int { return cmp.Or(cmp.Compare(ran[a], ran[b]), cmp.Compare(a, b)) })
		for _, id := range late {
			l.Late = append(l.Late, p.Workload.Jobs[id].Name)
		}
	}
	return all
}
