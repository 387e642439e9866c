// Package past reads jobs that ended before, from a trace or from job ads, for
// estimators to learn from before they are asked (--history FILE).
//
// [Read] takes either, compressed or not, and gives what [estimate.Set.Learn] takes, in
// the order of the ends; [FromTrace] does so for a trace that is at hand. A job ended
// when it had waited, where it was recorded, and had run. Its labels are those that the
// simulator and the negotiator give it. Jobs that did not run to an end, and what else
// the studies of traces leave out (see [workload.CleanPapers]), are not learned from.
package past

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/history"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Options say how the past is read.
type Options struct {
	// Until is when the last of the jobs is taken to have ended. A past has its own
	// clock; what is forgotten with age is counted from here on.
	Until backfill.Time
	// EstimateAttributes are the attributes of job ads that may hold what is requested,
	// in seconds; the first that a job has counts. Without any, they are those of
	// [negotiator.DefaultSchema]. DefaultEstimate is for jobs that have none of them;
	// 0: [negotiator.DefaultEstimate].
	EstimateAttributes []string
	DefaultEstimate    backfill.Time
}

// anyMachine is as large as a machine may be: that a job ran shows that it fitted.
const anyMachine = 1_000_000_000_000

// Read reads jobs that ended. Errors name the file, by the name that is given here, and
// the line.
func Read(r io.Reader, name string, o Options) ([]estimate.Ended, error) {
	text, stop, err := workload.Text(r)
	if err != nil {
		return nil, fmt.Errorf("read the past: %s: %w", name, err)
	}
	defer stop()
	if history.AdsAhead(text) {
		return readAds(text, name, o)
	}
	t, err := workload.ReadSWF(text, name, workload.Options{CPUs: anyMachine})
	if err != nil {
		return nil, err
	}
	return FromTrace(t, o.Until), nil
}

// FromTrace is the jobs of a trace as ended, until then.
func FromTrace(t *workload.Trace, until backfill.Time) []estimate.Ended {
	ended := make([]estimate.Ended, len(t.Jobs))
	labels := map[[4]string]map[string]string{} // shared by the jobs that have the same
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

func readAds(r io.Reader, name string, o Options) ([]estimate.Ended, error) {
	schema := negotiator.DefaultSchema()
	if len(o.EstimateAttributes) > 0 {
		schema.Estimates = o.EstimateAttributes
	}
	h, err := history.Read(r, name, history.Options{Schema: schema})
	if err != nil {
		return nil, err
	}
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
	return inOrder(ended, o.Until), nil
}

func endedJob(j *workload.Job) (e estimate.Ended) {
	e.Requested, e.Ran, e.At = backfill.Time(j.Estimate), backfill.Time(j.Run), backfill.Time(j.Submit+j.Wait+j.Run)
	return e
}

// inOrder brings jobs in the order of their ends; of equal ones, that of jobs.
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
