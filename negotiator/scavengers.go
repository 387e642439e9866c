package negotiator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
	"github.com/condor-backfill/condor-backfill/negotiator/scavenge"
)

// Scavengers run on what is idle now, also where it is reserved. The core never hears of them: what the pool
// reports of them is taken out of each delta first. Once the policy has decided, those make way in whose place
// it started others, and those that wait get what is still idle.

// scavengers are the scavengers of a pool.
type scavengers struct {
	book scavenge.Book
	jobs map[backfill.JobID]*scavenger
	// pending are candidate sets that the core has yet to be told of, by ID: they changed in cycles in
	// which the policy was not asked.
	pending map[int]backfill.CandidateSet
	// anew says that all are to be clustered anew, and due is when it is to be looked again who may start.
	anew bool
	due  backfill.Time
}

// scavenger is what is known of one, besides what the book has.
type scavenger struct {
	job       *Job
	cluster   int
	clustered bool
	leaves    backfill.Time      // when it has left that makes way, at the latest, as far as is known
	displaced *preempt.Displaced // nil: it runs undisturbed, or has not run yet
}

// hearOfScavengers is knowScavengers; it returns nil if there are none and were none.
func (n *Negotiator) hearOfScavengers(d *Delta, news *scavengerNews) (*Scavenged, error) {
	if !news.any && n.scavengers.book.Len() == 0 {
		return nil, nil
	}
	return n.knowScavengers(d, news)
}

// knowScavengers takes in what a delta says of scavengers: phase 2 for them. The result is for the report.
func (n *Negotiator) knowScavengers(d *Delta, news *scavengerNews) (told *Scavenged, err error) {
	s := &n.scavengers
	told = &Scavenged{
		Completed: news.completed, Removed: news.removed, Back: news.failed, Displaced: news.displaced,
		Found: news.found, Began: news.began,
	}
	for _, ids := range [][]backfill.JobID{news.completed, news.removed} {
		for _, id := range ids {
			n.forgetScavenger(id)
		}
	}
	for _, id := range news.failed {
		s.book.Return(id)
	}
	if len(d.SlotsDown) > 0 {
		told.Back = append(slices.Clip(told.Back), n.scavengersLost(d.SlotsDown)...)
	}
	for _, list := range [][]*Job{news.submitted, news.changed} {
		for _, j := range list {
			if err = n.putScavenger(j); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range news.found {
		if err = n.putScavenger(r.Job); err != nil {
			return nil, err
		}
	}
	if otherTakes := len(n.limits.fresh)+len(d.LimitsGone) > 0; s.anew || otherTakes {
		for _, id := range s.book.IDs() {
			if j := s.jobs[id].job; s.anew || len(j.Takes) > 0 {
				err = cmp.Or(err, n.putScavenger(j))
			}
		}
		s.anew = false
	}
	return told, err
}

// findScavengers has those run that were found running, with what they request as far as that is known now.
func (n *Negotiator) findScavengers(found []Running) {
	for _, r := range found {
		n.scavengers.book.Start(scavenge.Run{Job: r.Job.ID, Placement: n.inventory.toCore(r.Placement), Start: r.Start})
		n.scavengers.jobs[r.Job.ID].displaced = nil
	}
}

// putScavenger adds a scavenger, or has it be what it is now, with its autocluster.
func (n *Negotiator) putScavenger(j *Job) error {
	known := n.scavengers.jobs[j.ID]
	if known == nil {
		if n.scavengers.jobs == nil {
			n.scavengers.jobs = map[backfill.JobID]*scavenger{}
		}
		known = &scavenger{}
		n.scavengers.jobs[j.ID] = known
	}
	cluster, err := n.matchmaker.Cluster(j.Ad, j.payer())
	if err != nil {
		return fmt.Errorf("scavenger %s: %w", j.Name, err)
	}
	n.leaveScavengers(known)
	n.limits.know(known.job, j)
	known.job, known.cluster, known.clustered = j, cluster.ID, true
	n.scavengers.book.Put(scavenge.Job{Job: *n.inCoreTerms(j, cluster), User: j.payer()})
	return nil
}

// leaveScavengers says that a scavenger is not of its autocluster any more.
func (n *Negotiator) leaveScavengers(known *scavenger) {
	if known.clustered {
		n.matchmaker.Leave(known.cluster, known.job.payer())
		known.clustered = false
	}
}

// forgetScavenger drops one that is gone.
func (n *Negotiator) forgetScavenger(id backfill.JobID) {
	known := n.scavengers.jobs[id]
	if known == nil {
		return
	}
	n.leaveScavengers(known)
	n.limits.know(known.job, nil)
	n.scavengers.book.Delete(id)
	delete(n.scavengers.jobs, id)
}

// scavengersLost puts the scavengers that run on slots that are gone back into the queue, and lists them.
func (n *Negotiator) scavengersLost(down []string) (lost []backfill.JobID) {
	book := &n.scavengers.book
	for _, name := range down {
		lost = append(lost, book.OnSlot(n.inventory.ids[name])...)
	}
	slices.Sort(lost)
	lost = slices.Compact(lost)
	for _, id := range lost {
		book.Return(id)
	}
	return lost
}

// candidatesAfter adds to candidate sets that have changed those that the core has not been told of.
func (n *Negotiator) candidatesAfter(changed []backfill.CandidateSet) []backfill.CandidateSet {
	if len(n.scavengers.pending) == 0 {
		return changed
	}
	for _, set := range changed {
		n.scavengers.pending[set.ID] = set
	}
	all := make([]backfill.CandidateSet, 0, len(n.scavengers.pending))
	for _, set := range n.scavengers.pending {
		all = append(all, set)
	}
	slices.SortFunc(all, func(a, b backfill.CandidateSet) int { return cmp.Compare(a.ID, b.ID) })
	clear(n.scavengers.pending)
	return all
}

// keepCandidates notes candidate sets of a cycle in which the core is told of none.
func (n *Negotiator) keepCandidates(changed []backfill.CandidateSet) {
	if len(changed) > 0 && n.scavengers.pending == nil {
		n.scavengers.pending = map[int]backfill.CandidateSet{}
	}
	for _, set := range changed {
		n.scavengers.pending[set.ID] = set
	}
}

// WhyScavenger says of a scavenger why it waits, or what it does; "" if the job is none. The function at
// writes an instant.
func (n *Negotiator) WhyScavenger(id backfill.JobID, at func(backfill.Time) string) string {
	known := n.scavengers.jobs[id]
	if known == nil {
		return ""
	}
	run, runs := n.scavengers.book.Run(id)
	switch {
	case runs && known.displaced != nil:
		return "a scavenger: it makes way; " + known.displaced.Text()
	case runs:
		return "a scavenger: it runs on " + n.State().DescribePlacement(run.Placement) + " until any other job needs its place"
	case len(n.inventory.bundles) > 0:
		return "a scavenger: none runs in a pool whose jobs take partitions"
	}
	why, waits := "it starts as soon as something is idle that it can use", known.job.Release > n.State().Now()
	if unmatched, unknown := n.matchmaker.Unmatched(known.cluster); unknown {
		why = unmatched
	} else if n.matchmaker.MatchesNone(known.cluster) {
		why, _ = n.matchmaker.WhyNone(known.cluster)
		why = backfill.AsReason(why)
	} else if never := n.scavengerNeverFits(id); never != "" {
		why = never
	} else if waits {
		why = "it may not start before " + at(known.job.Release)
	}
	if known.displaced != nil {
		return "a scavenger: " + known.displaced.Text() + "; " + why
	}
	return "a scavenger: " + why
}

// scavengerNeverFits says why a scavenger could not run in an empty pool, as other jobs are told; "": it could.
func (n *Negotiator) scavengerNeverFits(id backfill.JobID) string {
	j, _ := n.scavengers.book.Job(id)
	candidates := n.candidatesOf(j.Candidates)
	if candidates == nil {
		return ""
	}
	why := n.State().WhyNever(&j.Job, candidates)
	if why == backfill.ReasonNeverFits {
		why += n.lacking(&j.Job)
	}
	return why
}

// Scavengers returns a negotiator's scavengers as [Negotiator.Checkpoint] has them, by ID: all that run, and at
// most so many of those that wait, as there may be a million. Waiting counts all that wait. They are in no
// [Negotiator.Settled].
func Scavengers(n *Negotiator, most int) (some []JobCheckpoint, waiting int) {
	s := &n.scavengers
	for _, id := range s.book.IDs() {
		run, runs := s.book.Run(id)
		if !runs {
			if waiting++; waiting > most {
				continue
			}
		}
		saved := JobCheckpoint{Job: s.jobs[id].job, Displaced: s.jobs[id].displaced}
		if runs {
			saved.Placement = n.inventory.fromCore(run.Placement)
			saved.Running, saved.Start, saved.Yields = true, run.Start, run.Leaves
		}
		some = append(some, saved)
	}
	return some, waiting
}

// restoreScavengers takes the scavengers out of the jobs of a checkpoint, and returns the others.
func (n *Negotiator) restoreScavengers(from Checkpoint) (others []JobCheckpoint, err error) {
	s := &n.scavengers
	saved, others := split(from.Jobs, func(j JobCheckpoint) bool { return j.Job != nil && j.Job.Scavenger })
	isUp := n.isUpAfter(&Delta{SlotsUp: from.Slots})
	for _, j := range saved {
		if s.book.Has(j.Job.ID) {
			return nil, sameID(j.Job, s.jobs[j.Job.ID].job)
		}
		if err = n.checkPlannable(j.Job, nil); err == nil {
			err = n.putScavenger(j.Job)
		}
		if err == nil && j.Running {
			err = n.inventory.checkPlacement(j.Job, j.Placement, isUp)
		}
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", j.Job.Name, err)
		}
		s.jobs[j.Job.ID].displaced = j.Displaced
		if j.Running {
			s.book.Start(scavenge.Run{
				Job: j.Job.ID, Placement: n.inventory.toCore(j.Placement), Start: j.Start, Leaves: j.Yields,
			})
			if j.Displaced != nil {
				s.jobs[j.Job.ID].leaves = j.Displaced.End
			}
		}
	}
	for _, j := range others {
		if j.Job != nil && s.book.Has(j.Job.ID) {
			return nil, sameID(j.Job, s.jobs[j.Job.ID].job)
		}
	}
	if len(saved) > 0 {
		s.due = from.Now // it is not known when it is to be looked again
	}
	return others, nil
}

func sameID(j, other *Job) error {
	return fmt.Errorf("job %s: its ID %d is that of scavenger %s, too", j.Name, j.ID, other.Name)
}
