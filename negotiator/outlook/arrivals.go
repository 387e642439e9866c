package outlook

import (
	"cmp"
	"slices"
	"sort"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// A future in which others arrive repeats the arrivals of the last days. It begins a number of whole
// days ago, so that the time of day is right, and goes on from the first day that is known when it
// has come to the present. So jobs come in bursts as they do, and as alike as they are.
const (
	leastArrivals = 50  // without which none come in a future
	leastSpan     = 180 // seconds since the first of them, likewise: one burst says nothing of the next
	day           = 24 * 60 * 60
	// firstAgain is the first ID of jobs that come once more; hosts count theirs from 0.
	firstAgain backfill.JobID = 1 << 61
)

// comeAgain notes those that arrived as jobs that may come once more, and returns them as such.
func (o *Outlook) comeAgain(arrived []negotiator.Expected) []negotiator.Expected {
	if len(arrived) < leastArrivals || o.now-arrived[0].Job.Submit < leastSpan {
		return nil
	}
	again := slices.Clone(arrived)
	o.arrivals = make([]*backfill.Job, len(again))
	for i := range again {
		copied := *again[i].Job
		copied.ID = firstAgain + backfill.JobID(i)
		copied.Submit = min(copied.Submit, o.now)
		again[i].Job, o.arrivals[i] = &copied, &copied
	}
	slices.SortFunc(o.arrivals, func(a, b *backfill.Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
	})
	return again
}

// again returns who comes in a future, by submit time: each of those that are known once. The number
// says with which of the last days the future begins.
func (o *Outlook) again(number uint64) []*backfill.Job {
	known := o.arrivals
	if len(known) == 0 {
		return nil
	}
	span := o.now - known[0].Submit + 1
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
	first, second := at(o.now-span), at(o.now-back)
	add(known[second:], back)
	add(known[first:second], back+span)
	return come
}
