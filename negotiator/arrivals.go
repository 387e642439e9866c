package negotiator

import (
	"cmp"
	"slices"
	"sort"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// A future in which others arrive repeats the arrivals of the last days. It begins a number of whole
// days ago, so that the time of day is right, and goes on from the first day that is known when it
// has come to the present. So jobs come in bursts as they do, and as alike as they are.
const (
	mostArrivals  = 2000 // that are known
	leastArrivals = 500  // without which none come in a future
	day           = 24 * 60 * 60
	// firstAgain is the first ID of jobs that come once more; hosts count theirs from 0.
	firstAgain backfill.JobID = 1 << 61
)

// arrived is a job that came.
type arrived struct {
	job       *backfill.Job
	requested backfill.Time
	uses      *estimate.Uses // nil: as requested
	of        *Job
}

// arrive notes a job that comes, as planned.
func (n *Negotiator) arrive(job *Job, planned *backfill.Job) {
	a := arrived{job: planned, requested: n.predictions.requested(job), of: job}
	if known := n.predictions.known[job.ID]; known != nil {
		a.uses = &known.Uses
	}
	if len(n.arrived) == mostArrivals {
		n.arrived = n.arrived[1:]
	}
	n.arrived = append(n.arrived, a) // never changed in place: outlooks share the memory
}

// comers returns those that arrived, by submit time, as jobs that may come once more.
func (o *Outlook) comers(known []arrived) []*backfill.Job {
	if len(known) < leastArrivals {
		return nil
	}
	jobs := make([]*backfill.Job, len(known))
	for i, a := range known {
		copied := *a.job
		copied.ID = firstAgain + backfill.JobID(i)
		copied.Submit = min(copied.Submit, o.now)
		jobs[i] = &copied
		if a.uses != nil {
			o.of[copied.ID] = predicted{Uses: *a.uses, requested: a.requested}
		}
		if o.jobs != nil { // the order is an expression, and sees the job's ad
			o.jobs[copied.ID] = a.of
		}
	}
	slices.SortFunc(jobs, func(a, b *backfill.Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
	})
	return jobs
}

// again returns who comes in a future, by submit time: each of those that are known once.
func (d *drawn) again() []*backfill.Job {
	known := d.o.come
	if len(known) == 0 {
		return nil
	}
	now, number := d.o.now, d.number(ofDays, 0)
	span := now - known[0].Submit + 1
	back := 1 + backfill.Time(number%uint64(span))
	if days := span / day; days > 0 {
		span = days * day
		back = day * (1 + backfill.Time(number%uint64(days)))
	}
	at := func(t backfill.Time) int { // the first who came after this instant
		return sort.Search(len(known), func(i int) bool { return known[i].Submit > t })
	}
	made := make([]backfill.Job, 0, len(known))
	come := make([]*backfill.Job, 0, len(known))
	add := func(jobs []*backfill.Job, later backfill.Time) {
		for _, j := range jobs {
			made = append(made, *j)
			next := &made[len(made)-1]
			next.Submit += later
			come = append(come, next)
		}
	}
	first, second := at(now-span), at(now-back)
	add(known[second:], back)
	add(known[first:second], back+span)
	return come
}
