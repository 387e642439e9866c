package negotiator

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// What a delta says of scavengers is taken out of it before anything else: here.

// scavengerNews is what a delta says of scavengers.
type scavengerNews struct {
	submitted, changed         []*Job
	completed, removed, failed []backfill.JobID
	displaced                  []backfill.JobID
	found                      []Running
	began                      []Began
	any                        bool
}

// takeScavengers takes what a delta says of scavengers out of it. It changes the lists' headers in the delta,
// not the lists, which are the pool's.
func (n *Negotiator) takeScavengers(d *Delta) (news scavengerNews) {
	isOne := func(j *Job) bool { return j.Scavenger }
	if n.scavengers.book.Len() == 0 && !slices.ContainsFunc(d.Submitted, isOne) && !slices.ContainsFunc(d.Changed, isOne) &&
		!slices.ContainsFunc(d.Found, func(r Running) bool { return r.Job.Scavenger }) {
		return news
	}
	known := n.scavengers.book.Has
	n.changeClass(d, &news)
	submitted, ordinary := split(d.Submitted, isOne)
	news.submitted, d.Submitted = append(news.submitted, submitted...), ordinary
	news.changed, d.Changed = split(d.Changed, isOne)
	news.completed, d.Completed = split(d.Completed, known)
	removed, others := split(d.Removed, known)
	news.removed, d.Removed = append(news.removed, removed...), others
	news.failed, d.StartFailed = split(d.StartFailed, known)
	news.displaced, d.Displaced = split(d.Displaced, known)
	_, d.SlotEnded = split(d.SlotEnded, known)
	_, d.Unadmitted = split(d.Unadmitted, known)
	news.found, d.Found = split(d.Found, func(r Running) bool { return r.Job.Scavenger })
	news.began, d.Began = split(d.Began, func(b Began) bool { return known(b.Job) })
	_, d.Ends = split(d.Ends, func(e End) bool { return known(e.Job) })
	_, d.Outliving = split(d.Outliving, func(r PastRun) bool { return r.Job.Scavenger })
	_, d.Taught = split(d.Taught, func(r PastRun) bool { return r.Job.Scavenger })
	news.any = len(news.submitted)+len(news.changed)+len(news.completed)+len(news.removed)+len(news.failed)+len(news.found)+
		len(news.began) > 0
	return news
}

// split returns the entries that are chosen, and the others; the list stays as it is.
func split[T any](list []T, chosen func(T) bool) (some, others []T) {
	if !slices.ContainsFunc(list, chosen) {
		return nil, list
	}
	others = make([]T, 0, len(list))
	for _, entry := range list {
		if chosen(entry) {
			some = append(some, entry)
		} else {
			others = append(others, entry)
		}
	}
	return some, others
}

// changeClass has jobs that become scavengers, or are none any more, leave their former class and come to the
// other one. An edited job that runs and does not come back to the queue is left where it is, to be refused.
func (n *Negotiator) changeClass(d *Delta, news *scavengerNews) {
	book := &n.scavengers.book
	var moved backfill.JobSet
	removed := slices.Clip(d.Removed)
	move := func(j *Job) bool {
		switch known := n.jobs.get(j.ID) != nil; {
		case j.Scavenger && !book.Has(j.ID) && known:
			removed = append(removed, j.ID)
		case !j.Scavenger && book.Has(j.ID):
			news.removed = append(news.removed, j.ID)
		default:
			return false
		}
		moved.Add(j.ID)
		return true
	}
	back := setOf(d.StartFailed)
	waits := func(id backfill.JobID) bool {
		_, runs := book.Run(id)
		return back.Has(id) || !runs && !n.State().IsRunning(id)
	}
	var fresh, changed []*Job
	for _, j := range d.Changed {
		switch {
		case !waits(j.ID) || !move(j):
			changed = append(changed, j)
		case j.Scavenger:
			news.submitted = append(news.submitted, j)
		default:
			fresh = append(fresh, j)
		}
	}
	for _, r := range d.Found {
		move(r.Job)
	}
	if len(removed)+len(news.removed) == len(d.Removed) {
		return
	}
	d.Changed, d.Removed = changed, removed
	for _, list := range []*[]backfill.JobID{&d.StartFailed, &d.Displaced, &d.SlotEnded, &d.Unadmitted} {
		_, *list = split(*list, moved.Has)
	}
	if len(fresh) > 0 {
		d.Submitted = slices.Concat(d.Submitted, fresh)
	}
}

func setOf(ids []backfill.JobID) *backfill.JobSet {
	set := &backfill.JobSet{}
	for _, id := range ids {
		set.Add(id)
	}
	return set
}

// checkScavengers returns an error if what a delta says of scavengers contradicts itself or what is known.
func (n *Negotiator) checkScavengers(d *Delta, news *scavengerNews) error {
	book, seen := &n.scavengers.book, backfill.JobSet{}
	failed := setOf(news.failed)
	if err := n.checkNewScavengers(d, news, &seen); err != nil {
		return err
	}
	for _, j := range news.changed {
		if _, runs := book.Run(j.ID); !seen.Add(j.ID) || !book.Has(j.ID) || runs && !failed.Has(j.ID) {
			return fmt.Errorf("scavenger %s (ID %d) was edited, but does not wait", j.Name, j.ID)
		}
	}
	isUp := n.isUpAfter(d)
	for _, r := range news.found {
		if !seen.Add(r.Job.ID) {
			return fmt.Errorf("scavenger %s (ID %d) is reported twice", r.Job.Name, r.Job.ID)
		}
		if err := n.inventory.checkPlacement(r.Job, r.Placement, isUp); err != nil {
			return fmt.Errorf("scavenger %s runs, but %w", r.Job.Name, err)
		}
	}
	for _, list := range [][]*Job{news.submitted, news.changed} {
		for _, j := range list {
			if err := n.checkPlannable(j, d.Bundles); err != nil {
				return fmt.Errorf("scavenger %s: %w", j.Name, err)
			}
		}
	}
	for _, id := range news.completed {
		if _, runs := book.Run(id); !runs {
			return fmt.Errorf("scavenger ID %d completed, but did not run", id)
		}
	}
	for _, id := range news.displaced {
		if !failed.Has(id) {
			return displacedError(id, "did not come back to the queue")
		}
	}
	return nil
}

// checkNewScavengers refuses jobs that come although others of their IDs are known, of either class.
func (n *Negotiator) checkNewScavengers(d *Delta, news *scavengerNews, seen *backfill.JobSet) error {
	book, gone, left := &n.scavengers.book, setOf(d.Removed), setOf(news.removed)
	for _, j := range news.submitted {
		if !seen.Add(j.ID) || book.Has(j.ID) || n.jobs.get(j.ID) != nil && !gone.Has(j.ID) {
			return fmt.Errorf("scavenger %s (ID %d) was submitted twice", j.Name, j.ID)
		}
	}
	for _, j := range d.Submitted {
		if book.Has(j.ID) && !left.Has(j.ID) {
			return fmt.Errorf("job %s (ID %d) was submitted twice", j.Name, j.ID)
		}
	}
	return nil
}

// isQuiet reports whether a cycle that was not due for others brings nothing but news of scavengers, also as to
// candidates, or of jobs that have begun in their place, which run in the plan already: the core and the policy
// need not hear of it. What they would do else may depend on when they are asked.
func (n *Negotiator) isQuiet(d *Delta, news *scavengerNews, candidates []backfill.CandidateSet) bool {
	s := &n.scavengers
	none := !news.any && (s.book.Len() == 0 || d.Now < s.due && len(d.Began) == 0)
	if none || n.renewed || len(n.arrivals) > 0 || d.Now >= n.dueAt() {
		return false
	}
	isOfOthers := func(set backfill.CandidateSet) bool { return set.ID < len(n.members) && n.members[set.ID] > 0 }
	if slices.ContainsFunc(candidates, isOfOthers) {
		return false
	}
	return len(d.SlotsUp)+len(d.SlotsDown)+len(d.Bundles)+len(d.Limits)+len(d.LimitsGone)+len(d.Submitted)+len(d.Changed)+
		len(d.Completed)+len(d.Removed)+len(d.StartFailed)+len(d.Found)+len(d.Ends)+len(d.Taught)+
		len(d.Outliving) == 0
}

// willBeQuiet reports whether the cycle of a delta will be quiet, as far as that is known before it.
func (n *Negotiator) willBeQuiet(d *Delta) bool {
	others := *d
	news := n.takeScavengers(&others)
	return others.Now < n.dueAt() && n.isQuiet(&others, &news, nil)
}
