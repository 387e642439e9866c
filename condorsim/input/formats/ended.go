package formats

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// EndedOptions say how [ReadEnded] reads a file.
type EndedOptions struct {
	// Until is the end that the last job of the file gets; all other ends are shifted by the same
	// time. This is needed because the file has a clock of its own, and estimators that forget old
	// jobs count their age back from here.
	Until backfill.Time
	// EstimateAttributes are the attributes of job ads that may hold the requested time in
	// seconds; the first that a job has counts. If empty, those of [negotiator.DefaultSchema].
	EstimateAttributes []string
	// DefaultEstimate is the requested time of jobs without any of these attributes; if 0,
	// [negotiator.DefaultEstimate].
	DefaultEstimate backfill.Time
}

// anyMachine is more processors than any job needs, so that no job is dropped as too wide: a job
// that ran has fitted its machine.
const anyMachine = 1_000_000_000_000

// ReadEnded reads jobs that ended, for estimators to learn from before a run. The file is in any
// format that is read, compressed or not. The result is in the order of the ends, as
// [estimate.Set.Learn] takes it. A job ended at its submit time, plus its wait if recorded, plus
// its run time; its labels are those that simulator and negotiator give it. Jobs that did not
// complete, and others that [workload.CleanPapers] drops, are left out. Errors give the file by
// name, and the line.
func ReadEnded(r io.Reader, name string, o EndedOptions) ([]estimate.Ended, error) {
	jobs, err := Read(r, name, Options{
		Options: workload.Options{CPUs: anyMachine}, Ads: history.Options{Estimates: o.EstimateAttributes},
	})
	switch {
	case err != nil:
		return nil, err
	case jobs.History != nil:
		return endedOfAds(jobs.History, o), nil
	default:
		return endedOf(jobs.Trace, o.Until), nil
	}
}

// endedOf returns a trace's jobs as ended jobs, in the order of their ends, and shifted so that the
// last ends at until.
func endedOf(t *workload.Trace, until backfill.Time) []estimate.Ended {
	ended := make([]estimate.Ended, len(t.Jobs))
	labels := map[[4]string]map[string]string{} // by user, group, executable and queue
	for i := range t.Jobs {
		j := &t.Jobs[i]
		label := [4]string{j.User, j.Group, j.Executable, j.Queue}
		if labels[label] == nil {
			labels[label] = j.Labels()
		}
		ended[i] = endedJob(j)
		ended[i].Name, ended[i].Labels = strconv.FormatInt(j.ID, 10), labels[label]
	}
	return inOrder(ended, until)
}

// endedOfAds does the same for the jobs of ads. Their estimates are as given, and not raised to run
// times.
func endedOfAds(h *history.History, o EndedOptions) []estimate.Ended {
	ended := make([]estimate.Ended, len(h.Jobs))
	for i := range h.Jobs {
		j := &h.Jobs[i]
		ended[i] = endedJob(&j.Job)
		ended[i].Name, ended[i].Labels = j.Name, j.Labels
		if j.Estimate == 0 {
			ended[i].Unestimated = true
			ended[i].Requested = cmp.Or(o.DefaultEstimate, negotiator.DefaultEstimate)
		}
	}
	return inOrder(ended, o.Until)
}

func endedJob(j *workload.Job) (e estimate.Ended) {
	e.Requested, e.Ran, e.At = backfill.Time(j.Estimate), backfill.Time(j.Run), backfill.Time(j.Submit+j.Wait+j.Run)
	e.Cpus = j.Procs
	return e
}

// inOrder sorts jobs by their ends, keeping the order of equal ones, and shifts all ends so
// that the last is at until.
func inOrder(ended []estimate.Ended, until backfill.Time) []estimate.Ended {
	slices.SortStableFunc(ended, func(a, b estimate.Ended) int { return cmp.Compare(a.At, b.At) })
	if n := len(ended); n > 0 {
		later := until - ended[n-1].At
		for i := range ended {
			ended[i].At += later
		}
	}
	return ended
}
