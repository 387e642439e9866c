package negotiator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// check returns an error if a delta contradicts itself or what is known. It runs before anything is
// changed.
func (n *Negotiator) check(d *Delta) error {
	if d.Now < n.State().Now() {
		return fmt.Errorf("the last cycle was at %d", n.State().Now())
	}
	if err := n.inventory.checkSlots(d.SlotsUp, d.SlotsDown); err != nil {
		return err
	}
	if len(d.Bundles) > 0 && len(n.inventory.bundles) == 0 && n.jobs.Len() > 0 {
		return errors.New("the first bundles came, and there are jobs: those would have none")
	}
	if err := n.inventory.checkBundles(d.Bundles, d.SlotsUp); err != nil {
		return err
	}
	if err := n.checkLimits(d); err != nil {
		return err
	}
	n.reported.Clear()
	if err := n.checkJobs(d); err != nil {
		return err
	}
	if err := n.checkFound(d); err != nil {
		return err
	}
	if err := n.checkReports(d); err != nil {
		return err
	}
	if err := checkDisplaced(d); err != nil {
		return err
	}
	return n.checkEnds(d)
}

// checkJobs refuses submitted jobs that are already known, and edited jobs that run or are unknown.
func (n *Negotiator) checkJobs(d *Delta) error {
	for _, job := range d.Submitted {
		if n.jobs.get(job.ID) != nil || n.reported.Has(job.ID) {
			return fmt.Errorf("job %s (ID %d) was submitted twice", job.Name, job.ID)
		}
		if err := n.checkJob(job, d.Bundles); err != nil {
			return err
		}
	}
	for _, job := range d.Changed {
		if !n.queued(job.ID) && !slices.Contains(d.StartFailed, job.ID) {
			return fmt.Errorf("job %s (ID %d) was edited, but does not wait", job.Name, job.ID)
		}
		if err := n.checkJob(job, d.Bundles); err != nil {
			return err
		}
	}
	return nil
}

// checkReports refuses completions and failed starts of jobs that do not run, and removals of
// unknown jobs. A job that is back in the queue may have been edited, too.
func (n *Negotiator) checkReports(d *Delta) error {
	edited := func(id backfill.JobID) bool {
		return slices.ContainsFunc(d.Changed, func(j *Job) bool { return j.ID == id })
	}
	var back backfill.JobSet
	for _, report := range []struct {
		what    string
		ids     []backfill.JobID
		running bool // the job must be running
		back    bool // the job is back in the queue
	}{
		{"completed", d.Completed, true, false},
		{"removed", d.Removed, false, false},
		{"failed to start", d.StartFailed, true, true},
	} {
		for _, id := range report.ids {
			if err := n.markReported(id); err != nil && (!report.back || !back.Add(id) || !edited(id)) {
				return err
			}
			if !n.State().IsRunning(id) && (report.running || n.jobs.get(id) == nil) {
				return fmt.Errorf("job ID %d %s, but was not there for it", id, report.what)
			}
		}
	}
	return nil
}

// checkEnds refuses new expected ends of jobs that do not run, and expected ends that are not in
// the future.
func (n *Negotiator) checkEnds(d *Delta) error {
	for _, end := range d.Ends {
		if err := n.markReported(end.Job); err != nil {
			return err
		}
		switch {
		case n.jobs.get(end.Job) == nil || !n.State().IsRunning(end.Job):
			return fmt.Errorf("job ID %d is expected to end at %d, but does not run", end.Job, end.At)
		case n.isPinned(end.Job):
			return fmt.Errorf("job %s is expected to end at %d, but others have yet to make way for it", n.jobs.get(end.Job).Name,
				end.At)
		case end.At <= d.Now || end.At > backfill.Forever:
			return fmt.Errorf("job %s is expected to end at %d, and it is %d", n.jobs.get(end.Job).Name, end.At, d.Now)
		}
	}
	return nil
}

// markReported notes that the delta reports a job, and refuses its second report in the same delta.
func (n *Negotiator) markReported(id backfill.JobID) error {
	if !n.reported.Add(id) {
		return fmt.Errorf("job ID %d is reported twice", id)
	}
	return nil
}

// checkJob refuses a second report of a job, and a job that a policy could not plan with. bundles
// are the new ones in the delta.
func (n *Negotiator) checkJob(job *Job, bundles []*Bundle) error {
	if err := n.markReported(job.ID); err != nil {
		return err
	}
	if err := n.checkPlannable(job, bundles); err != nil {
		return fmt.Errorf("job %s: %w", job.Name, err)
	}
	return nil
}

// checkPlannable refuses a job with amounts or times out of bounds and, in a pool with bundles, a
// job of several chunks.
func (n *Negotiator) checkPlannable(job *Job, bundles []*Bundle) error {
	if len(n.inventory.bundles)+len(bundles) > 0 && job.Nodes != 1 {
		return fmt.Errorf("%d chunks: in a pool with bundles a job has one, and asks it for all", job.Nodes)
	}
	if err := checkTakes(job.Takes); err != nil {
		return err
	}
	request, _ := n.matchmaker.Known(job.Ad)
	return n.schema.check(job, request)
}

// checkFound refuses jobs that the delta found running with an impossible placement or impossible
// times.
func (n *Negotiator) checkFound(d *Delta) error {
	if len(d.Found) == 0 {
		return nil
	}
	isUp := n.isUpAfter(d)
	for _, run := range d.Found {
		if err := n.checkJob(run.Job, d.Bundles); err != nil {
			return err
		}
		if err := n.inventory.checkPlacement(run.Job, run.Placement, isUp); err != nil {
			return fmt.Errorf("job %s runs, but %w", run.Job.Name, err)
		}
		if run.Start > d.Now || run.Start < -backfill.MaxTime || run.End > backfill.Forever {
			return fmt.Errorf("job %s cannot run from %d to %d: it is %d", run.Job.Name, run.Start, run.End, d.Now)
		}
	}
	return nil
}

// isUpAfter returns a function that says whether a slot is up once a delta is taken in.
func (n *Negotiator) isUpAfter(d *Delta) func(name string) bool {
	up := map[string]bool{} // the slots in the delta
	for _, name := range d.SlotsDown {
		up[name] = false
	}
	for _, slot := range d.SlotsUp {
		up[slot.Name] = true
	}
	return func(name string) bool {
		there, reported := up[name]
		if id, known := n.inventory.ids[name]; !reported && known {
			there = n.State().SlotUp(id)
		}
		return there
	}
}

// checkLimits refuses limits that are out of bounds or named twice, and the end of unknown ones.
func (n *Negotiator) checkLimits(d *Delta) error {
	named := map[string]bool{}
	for _, l := range d.Limits {
		switch {
		case l.Name == "":
			return errors.New(`limit "" has no name`)
		case named[l.Name]:
			return fmt.Errorf("limit %q is reported twice", l.Name)
		case l.Height < 0 || l.Height > backfill.MaxAmount:
			return fmt.Errorf("limit %q has a height of %d: must be from 0 to %d", l.Name, l.Height, int64(backfill.MaxAmount))
		}
		named[l.Name] = true
	}
	for _, name := range d.LimitsGone {
		switch _, known := n.limits.byName[name]; {
		case !known:
			return fmt.Errorf("limit %q is gone, and was not there", name)
		case named[name]:
			return fmt.Errorf("limit %q is gone, and is reported, too", name)
		}
		named[name] = true
	}
	return nil
}

// checkTakes refuses amounts out of bounds.
func checkTakes(takes []Take) error {
	for _, t := range takes {
		if t.Amount < 1 || t.Amount > backfill.MaxAmount {
			return fmt.Errorf("it takes %d of the limit %q: must be from 1 to %d", t.Amount, t.Limit, int64(backfill.MaxAmount))
		}
	}
	return nil
}
